// The cache of keys and values of a decoder: where the nodes lie in it, and a larger one in its place (see cache.h). Knows
// nothing of what is computed from it.
#include "models/decode/cache.h"

#include <string.h>

#include "bpt/alloc.h"
#include "bpt/buffer.h"

// Rows of a token's piece and of a program for many. A piece is copied when so many rows are due: at a room of 1,024 leaves that is every
// eighth token or so.
enum { TOKEN_ROWS = 64, BULK_ROWS = 2048 };

// ---- Layout

int64_t bpt_decode_nodes_within(const bpt_intervals_t *graph, int level, int64_t leaves) {
    const int64_t step = bpt_tree_level_step(graph, level), most = bpt_tree_level_size(graph, level);
    const int64_t within = ((leaves >> level) + step - 1) / step;
    return within < most ? within : most;
}

void bpt_decode_lay_out(decode_shape_t *s, int64_t room) {
    s->room = room;
    s->rows = 0;
    for (int level = 0; level < BPT_MAX_LEVELS; ++level) {
        s->first_row[level] = s->rows;
        s->rows += bpt_decode_nodes_within(&s->graph, level, room);
    }
}

int64_t bpt_decode_row(const decode_shape_t *s, int64_t sequence, int64_t node) {
    int level;
    int64_t index;
    bpt_node_position(&s->graph, node, &level, &index);
    return sequence * s->rows + s->first_row[level] + index / bpt_tree_level_step(&s->graph, level);
}

bpt_status_t bpt_decode_cache_create(struct bpt_device *device, const decode_shape_t *s, struct bpt_buffer **out) {
    return bpt_context(bpt_buffer_create(device, bpt_decode_cache_bytes(s), out), "keys and values of %lld tokens", (long long)s->room);
}

static size_t row_bytes(const decode_shape_t *s) {  // of all layers
    return (size_t)s->config->layers * 2 * (size_t)s->config->d_model * bpt_dtype_size(s->precision);
}

size_t bpt_decode_cache_bytes(const decode_shape_t *s) { return (size_t)s->sequences * (size_t)s->rows * row_bytes(s); }

// ---- Growth

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

bpt_status_t bpt_decode_growth_create(const decode_shape_t *shape, decode_growth_t *g) {
    return bpt_alloc((size_t)shape->sequences * BPT_MAX_LEVELS, sizeof *g->copied, &g->copied);
}

static void drop_programs(decode_growth_t *g) {
    bpt_program_destroy(g->token.program);
    bpt_program_destroy(g->bulk.program);
    g->token.program = g->bulk.program = NULL;
}

void bpt_decode_growth_abandon(struct bpt_device *device, decode_growth_t *g) {
    drop_programs(g);
    bpt_buffer_destroy(device, g->buffer);
    g->buffer = NULL;
}

void bpt_decode_growth_destroy(struct bpt_device *device, decode_growth_t *g) {
    bpt_decode_growth_abandon(device, g);
    bpt_free(g->copied);
    *g = (decode_growth_t){0};
}

static bpt_status_t need_program(decode_growth_t *g, const decode_shape_t *from, int64_t rows, decode_copy_t *copy) {
    struct bpt_buffer *states[2] = {g->old, g->buffer};
    bpt_graph_t *graph;
    if (copy->program) return BPT_OK;
    copy->rows = rows;
    BPT_TRY(bpt_decode_copy_graph(from, &g->shape, copy, &graph));
    return bpt_program_compile(graph, g->workspace, states, 2, &copy->program);
}

bpt_status_t bpt_decode_growth_begin(struct bpt_device *device, bpt_workspace_t *workspace, const decode_shape_t *shape,
                                     struct bpt_buffer *old, int64_t room, int64_t leaves, decode_growth_t *g) {
    g->shape = *shape;
    g->begun = leaves;
    memset(g->copied, 0, (size_t)shape->sequences * BPT_MAX_LEVELS * sizeof *g->copied);
    bpt_decode_lay_out(&g->shape, room);
    g->workspace = workspace;
    g->old = old;
    return bpt_decode_cache_create(device, &g->shape, &g->buffer);
}

// Rows for one run of a program.
typedef struct {
    decode_growth_t *growth;
    const decode_copy_t *copy;
    uint32_t from[BULK_ROWS], to[BULK_ROWS];
    int64_t count;
} copier_t;

static bpt_status_t run(copier_t *c) {
    const int64_t rows = c->count;
    if (!rows) return BPT_OK;
    for (; c->count < c->copy->rows; ++c->count) c->from[c->count] = c->to[c->count] = BPT_NO_ROW;
    c->count = 0;
    c->growth->bytes += (uint64_t)rows * row_bytes(&c->growth->shape);
    BPT_TRY(bpt_program_write(c->copy->program, c->copy->from, c->from));
    BPT_TRY(bpt_program_write(c->copy->program, c->copy->to, c->to));
    return bpt_program_run(c->copy->program);
}

// The next `most` rows of those that are ready.
static bpt_status_t copy_rows(decode_growth_t *g, const decode_shape_t *from, const decode_copy_t *copy, int64_t most,
                              const int64_t *ready) {
    copier_t c;
    c.growth = g;
    c.copy = copy;
    c.count = 0;
    for (int64_t lane = 0; lane < from->sequences * BPT_MAX_LEVELS; ++lane) {
        const int64_t sequence = lane / BPT_MAX_LEVELS, level = lane % BPT_MAX_LEVELS;
        const int64_t old = sequence * from->rows + from->first_row[level], new = sequence * g->shape.rows + g->shape.first_row[level];
        for (; g->copied[lane] < ready[lane] && most > 0; ++g->copied[lane], --most) {
            c.from[c.count] = (uint32_t)(old + g->copied[lane]);
            c.to[c.count] = (uint32_t)(new + g->copied[lane]);
            if (++c.count == copy->rows) BPT_TRY(run(&c));
        }
    }
    return run(&c);
}

static int64_t sum_lanes(const decode_shape_t *shape, const int64_t *nodes) {
    int64_t rows = 0;
    for (int64_t lane = 0; lane < shape->sequences * BPT_MAX_LEVELS; ++lane) rows += nodes[lane];
    return rows;
}

bpt_status_t bpt_decode_growth_work(decode_growth_t *g, const decode_shape_t *from, int64_t leaves, const int64_t *ready) {
    const double share = (double)(leaves - g->begun) / (double)(from->room - g->begun);
    const int64_t copied = sum_lanes(from, g->copied), left = sum_lanes(from, ready) - copied;
    const int64_t due = (int64_t)(share * (double)(from->sequences * from->rows)) - copied;
    if (due < TOKEN_ROWS || left < TOKEN_ROWS) return BPT_OK;
    BPT_TRY(need_program(g, from, TOKEN_ROWS, &g->token));
    return copy_rows(g, from, &g->token, due / TOKEN_ROWS * TOKEN_ROWS, ready);
}

bpt_status_t bpt_decode_growth_finish(decode_growth_t *g, const decode_shape_t *from, const int64_t *ready, struct bpt_buffer **buffer) {
    const bool few = sum_lanes(from, ready) - sum_lanes(from, g->copied) <= TOKEN_ROWS;
    decode_copy_t *copy = few ? &g->token : &g->bulk;
    BPT_TRY(need_program(g, from, few ? TOKEN_ROWS : BULK_ROWS, copy));
    BPT_TRY(copy_rows(g, from, copy, INT64_MAX, ready));
    drop_programs(g);
    *buffer = g->buffer;
    g->buffer = NULL;
    return BPT_OK;
}

void bpt_decode_growth_rewind(decode_growth_t *g, const decode_shape_t *from, const int64_t *ready) {
    for (int64_t lane = 0; lane < from->sequences * BPT_MAX_LEVELS; ++lane) g->copied[lane] = least(g->copied[lane], ready[lane]);
}
