// A layer by groups of heads and chunks of rows (see pieces.h).
#include "models/blocks/pieces.h"

enum { MOST_SETS = 2 };

// Of each group of heads: what attention gave, and the group's columns of W_o where there are several.
typedef struct {
    const bpt_builder_t *b;
    const bpt_pieces_t *pieces;
    const char *prefix;
    bpt_value_t attended[MOST_SETS][BPT_MOST_HEAD_GROUPS], columns[BPT_MOST_HEAD_GROUPS];
} layer_t;

// ---- Groups of heads

// Columns of W_o, [d, d / head_groups]: rows of a view of it.
static bpt_value_t columns_of_group(const layer_t *l, int32_t group) {
    bpt_graph_t *g = l->b->g;
    const int64_t d = l->b->config->d_model, groups = l->pieces->head_groups;
    const bpt_value_t view = bpt_view(g, bpt_weight(l->b->w, l->prefix, BPT_NAME_OUT), 0, bpt_shape2(d * groups, d / groups));
    const bpt_value_t ids = bpt_view(g, l->pieces->group_columns, (size_t)(group * d) * sizeof(uint32_t), bpt_shape1(d));
    return bpt_cast(g, bpt_gather(g, view, ids), l->b->precision);
}

void bpt_pieces_columns(const bpt_pieces_t *p, int64_t d, uint32_t *columns) {
    for (int64_t i = 0; i < p->head_groups * d; ++i) columns[i] = (uint32_t)(i % d * p->head_groups + i / d);
}

static void attend(layer_t *l, bpt_self_t *sets, int count) {
    const int32_t groups = l->pieces->head_groups;
    bpt_builder_t of_group = *l->b;
    of_group.head_groups = groups;
    for (int i = 0; i < count; ++i) sets[i].attrs.heads /= groups;
    for (int32_t group = 0; group < groups; ++group) {
        of_group.head_group = group;
        bpt_self_attend(&of_group, sets, count, l->prefix);
        for (int i = 0; i < count; ++i) l->attended[i][group] = sets[i].attended;
        if (groups > 1) l->columns[group] = columns_of_group(l, group);
    }
}

// W_o of all heads, of rows [row, row + rows) of what attention gave.
static bpt_value_t join_heads(const layer_t *l, int set, int64_t row, int64_t rows) {
    bpt_graph_t *g = l->b->g;
    const int32_t groups = l->pieces->head_groups;
    if (groups == 1) return bpt_self_out(l->b, bpt_rows(g, l->attended[set][0], row, rows), l->prefix);
    bpt_value_t sum = BPT_NO_VALUE;
    for (int32_t group = 0; group < groups; ++group) {
        const bpt_matmul_options_t options = {.transpose_b = true, .acc = sum, .bias = BPT_NO_VALUE, .dtype = BPT_F32};
        sum = bpt_matmul(g, bpt_rows(g, l->attended[set][group], row, rows), l->columns[group], options);
    }
    return sum;
}

// ---- Chunks of rows

static bpt_stream_t finish_rows(const layer_t *l, const bpt_self_t *sets, int set, int64_t row, int64_t rows) {
    const bpt_value_t x = bpt_rows(l->b->g, sets[set].residual, row, rows), sum = join_heads(l, set, row, rows);
    const bpt_place_t place = {BPT_NO_VALUE, rows};
    return bpt_self_finish(l->b, sum, x, place, NULL, 0, l->prefix);
}

// The result takes the place of the rows that it is added to.
static bpt_stream_t finish_chunks(const layer_t *l, const bpt_self_t *sets, int set) {
    const bpt_self_t *s = &sets[set];
    bpt_graph_t *g = l->b->g;
    const int64_t chunk = l->pieces->chunk_rows;
    const bpt_shape_t shape = bpt_shape2(s->place.rows, l->b->config->d_model);
    bpt_stream_t all = {.full = s->fresh ? bpt_parts(g, BPT_F32, shape) : s->residual};
    all.low = l->b->precision == BPT_F32 ? all.full : bpt_parts(g, l->b->precision, shape);
    if (s->fresh) bpt_graph_place(g, s->residual, all.full);
    for (int64_t row = 0; row < s->place.rows; row += chunk) {
        const int64_t rows = s->place.rows - row < chunk ? s->place.rows - row : chunk;
        const bpt_stream_t x = finish_rows(l, sets, set, row, rows);
        bpt_graph_place(g, x.full, bpt_rows(g, all.full, row, rows));
        if (all.low != all.full) bpt_graph_place(g, x.low, bpt_rows(g, all.low, row, rows));
    }
    return all;
}

// ---- The layer

void bpt_pieces_layer(const bpt_builder_t *b, const bpt_pieces_t *pieces, bpt_self_t *sets, int count, const char *prefix,
                      bpt_stream_t *out) {
    layer_t l = {.b = b, .pieces = pieces, .prefix = prefix};
    attend(&l, sets, count);
    for (int i = 0; i < count; ++i) {
        const bool chunks = pieces->chunk_rows && sets[i].place.rows > pieces->chunk_rows;
        out[i] = chunks ? finish_chunks(&l, sets, i) : finish_rows(&l, sets, i, 0, sets[i].place.rows);
    }
}

int64_t bpt_pieces_chunk_rows(int64_t rows) {
    enum { USUAL = 65536, MOST_CHUNKS = 16, TILE = 512 };
    const int64_t wanted = (rows + USUAL - 1) / USUAL, chunks = wanted < MOST_CHUNKS ? wanted : MOST_CHUNKS;
    return ((rows + chunks - 1) / chunks + TILE - 1) / TILE * TILE;
}

int32_t bpt_pieces_head_groups(int64_t rows, int32_t heads) {
    enum { USUAL = 1 << 19 };  // rows of all heads
    int32_t best = 1;
    for (int32_t groups = 1; groups <= heads && groups <= BPT_MOST_HEAD_GROUPS && rows / best > USUAL; ++groups)
        if (heads % groups == 0) best = groups;
    return best;
}
