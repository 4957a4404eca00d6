// A layer by groups of heads and chunks of rows (see pieces.h).
#include "models/blocks/pieces.h"

#include "models/blocks/chunks.h"

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

// What attention gives is not computed once more for its gradient, which needs it and queries, keys and values.
static void keep_attended(bpt_graph_t *g, bpt_value_t attended) {
    if (attended == BPT_NO_VALUE) return;
    bpt_graph_region_result(g, attended);
    bpt_graph_region_result(g, bpt_attention_lse(g, attended));
}

// The streams of random numbers of a group's attention: those of the first group are those of all heads together.
static uint32_t randoms_of_group(uint32_t first, int32_t group) { return first + ((uint32_t)group << 20); }

static void attend(layer_t *l, bpt_self_t *sets, int count) {
    bpt_graph_t *g = l->b->g;
    const int32_t groups = l->pieces->head_groups;
    const uint32_t first = bpt_graph_randoms(g);
    uint32_t next = first;
    bpt_builder_t of_group = *l->b;
    of_group.head_groups = groups;
    for (int i = 0; i < count; ++i) sets[i].attrs.heads /= groups;
    for (int32_t group = 0; group < groups; ++group) {
        of_group.head_group = group;
        bpt_graph_set_randoms(g, randoms_of_group(first, group));
        bpt_graph_region_begin(g);  // queries, keys and values
        bpt_self_attend(&of_group, sets, count, l->prefix);
        for (int i = 0; i < count; ++i) l->attended[i][group] = sets[i].attended;
        for (int i = 0; i < count; ++i) keep_attended(g, sets[i].attended);
        bpt_graph_region_end(g);
        if (group == 0) next = bpt_graph_randoms(g);
        if (groups > 1) l->columns[group] = columns_of_group(l, group);
    }
    bpt_graph_set_randoms(g, next);
}

// W_o of all heads, of rows [row, row + rows) of what attention gave.
static bpt_value_t join_heads(const layer_t *l, int set, int64_t row, int64_t rows) {
    bpt_graph_t *g = l->b->g;
    const int32_t groups = l->pieces->head_groups;
    if (groups == 1) return bpt_self_out(l->b, bpt_rows(g, l->attended[set][0], row, rows), l->prefix);
    bpt_value_t sum = BPT_NO_VALUE;
    for (int32_t group = 0; group < groups; ++group) {
        const bool rounded = l->pieces->gradients && group == groups - 1;  // then so is what goes back through all of them
        const bpt_matmul_options_t options = {
            .transpose_b = true, .acc = sum, .bias = BPT_NO_VALUE, .dtype = rounded ? l->b->precision : BPT_F32};
        sum = bpt_matmul(g, bpt_rows(g, l->attended[set][group], row, rows), l->columns[group], options);
    }
    return sum;
}

// ---- Chunks of rows

typedef struct {
    const layer_t *layer;
    const bpt_self_t *self;
    int set;
} rows_t;

// Rows of what the layer's result is added to; 0 in a graph that has failed, where values are none.
static int64_t residual_rows(const bpt_graph_t *g, const bpt_self_t *s) {
    return s->residual == BPT_NO_VALUE ? 0 : bpt_shape_rows(&bpt_graph_value(g, s->residual)->shape);
}

static bpt_stream_t finish_rows(const void *part, int64_t row, int64_t rows) {
    const rows_t *r = part;
    const bpt_self_t *s = r->self;
    bpt_graph_t *g = r->layer->b->g;
    const bool has_residual = row < residual_rows(g, s);
    const bpt_value_t x = has_residual ? bpt_cast(g, bpt_rows(g, s->residual, row, rows), BPT_F32) : BPT_NO_VALUE;
    const bpt_place_t place = {s->place.keys == BPT_NO_VALUE ? BPT_NO_VALUE : bpt_rows(g, s->place.keys, row, rows), rows};
    return bpt_self_finish(r->layer->b, join_heads(r->layer, r->set, row, rows), x, place, NULL, 0, r->layer->prefix);
}

// Where nothing goes back through the layer, the result takes the place of the rows that it is added to.
static bpt_stream_t finish(const layer_t *l, const bpt_self_t *s, int set) {
    bpt_graph_t *g = l->b->g;
    const rows_t part = {l, s, set};
    const int64_t border = residual_rows(g, s);
    if (l->pieces->gradients || !l->pieces->chunk_rows || s->place.rows <= l->pieces->chunk_rows)
        return bpt_chunks(l->b, s->place.rows, border, BPT_NO_VALUE, finish_rows, &part);
    const bpt_value_t into = s->fresh ? bpt_parts(g, BPT_F32, bpt_shape2(s->place.rows, l->b->config->d_model)) : s->residual;
    if (s->fresh) bpt_graph_place(g, s->residual, into);
    return bpt_chunks(l->b, s->place.rows, border, into, finish_rows, &part);
}

// ---- The layer

void bpt_pieces_layer(const bpt_builder_t *b, const bpt_pieces_t *pieces, bpt_self_t *sets, int count, const char *prefix,
                      bpt_stream_t *out) {
    layer_t l = {.b = b, .pieces = pieces, .prefix = prefix};
    attend(&l, sets, count);
    for (int i = 0; i < count; ++i) out[i] = finish(&l, &sets[i], i);
}

static int64_t chunk_rows(int64_t rows, int64_t usual, int64_t most_chunks) {
    enum { TILE = 512 };
    const int64_t wanted = (rows + usual - 1) / usual, chunks = wanted < most_chunks ? wanted : most_chunks;
    return ((rows + chunks - 1) / chunks + TILE - 1) / TILE * TILE;
}

int64_t bpt_pieces_chunk_rows(int64_t rows) { return chunk_rows(rows, 65536, 16); }

int32_t bpt_pieces_head_groups(int64_t rows, int32_t heads) {
    enum { USUAL = 1 << 19 };  // rows of all heads
    int32_t best = 1;
    for (int32_t groups = 1; groups <= heads && groups <= BPT_MOST_HEAD_GROUPS && rows / best > USUAL; ++groups)
        if (heads % groups == 0) best = groups;
    return best;
}

// Rows whose layers are as they are without pieces, so that they have the same bits.
enum { WHOLE_ROWS = 32768 };

int64_t bpt_pieces_gradient_chunk_rows(int64_t rows) { return rows <= WHOLE_ROWS ? 0 : chunk_rows(rows, 16384, 64); }

int32_t bpt_pieces_gradient_head_groups(int64_t rows, int32_t heads) {
    enum { MOST = 4 };
    int32_t groups = rows <= WHOLE_ROWS ? 1 : MOST;
    while (heads % groups) --groups;
    return groups;
}
