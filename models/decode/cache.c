// The cache of keys and values of a decoder: where the nodes lie in it, and a larger one in its place (see decode_internal.h). Knows
// nothing of what is computed from it.
#include "models/decode/cache.h"

#include "bpt/alloc.h"
#include "bpt/buffer.h"

enum { COPY_ROWS = 2048 };

// ---- Layout

// Nodes of a level that end within the first `room` leaves.
static int64_t nodes_within(const bpt_intervals_t *graph, int level, int64_t room) {
    const int64_t step = bpt_graph_level_step(graph, level), most = bpt_graph_level_size(graph, level);
    const int64_t within = ((room >> level) + step - 1) / step;
    return within < most ? within : most;
}

void bpt_decode_lay_out(decode_shape_t *s, int64_t room) {
    s->room = room;
    s->rows = 0;
    for (int level = 0; level < BPT_MAX_LEVELS; ++level) {
        s->first_row[level] = s->rows;
        s->rows += nodes_within(&s->graph, level, room);
    }
}

int64_t bpt_decode_row(const decode_shape_t *s, int64_t sequence, int64_t node) {
    int level;
    int64_t index;
    bpt_node_position(&s->graph, node, &level, &index);
    return sequence * s->rows + s->first_row[level] + index / bpt_graph_level_step(&s->graph, level);
}

// ---- Growth

bpt_status_t bpt_decode_cache_create(struct bpt_device *device, const decode_shape_t *s, struct bpt_buffer **out) {
    return bpt_context(bpt_buffer_create(device, bpt_decode_cache_bytes(s), out), "keys and values of %lld tokens", (long long)s->room);
}

size_t bpt_decode_cache_bytes(const decode_shape_t *s) {
    return (size_t)s->config->layers * (size_t)s->sequences * (size_t)s->rows * 2 * (size_t)s->config->d_model *
           bpt_dtype_size(s->precision);
}

typedef struct {
    decode_copy_t copy;
    uint32_t from[COPY_ROWS], to[COPY_ROWS];
    int64_t count;
} copier_t;

static bpt_status_t copy_rows(copier_t *c) {
    if (!c->count) return BPT_OK;
    for (; c->count < COPY_ROWS; ++c->count) c->from[c->count] = c->to[c->count] = BPT_NO_ROW;
    c->count = 0;
    BPT_TRY(bpt_program_write(c->copy.program, c->copy.from, c->from));
    BPT_TRY(bpt_program_write(c->copy.program, c->copy.to, c->to));
    return bpt_program_run(c->copy.program);
}

// Nodes that end within the first `lengths[sequence]` leaves; there is nothing yet in the rows of others.
static bpt_status_t copy_nodes(copier_t *c, const decode_shape_t *from, const decode_shape_t *to, const int64_t *lengths) {
    for (int64_t sequence = 0; sequence < from->sequences; ++sequence)
        for (int level = 0; level < BPT_MAX_LEVELS; ++level)
            for (int64_t i = 0, n = nodes_within(&from->graph, level, lengths[sequence]); i < n; ++i) {
                c->from[c->count] = (uint32_t)(sequence * from->rows + from->first_row[level] + i);
                c->to[c->count] = (uint32_t)(sequence * to->rows + to->first_row[level] + i);
                if (++c->count == COPY_ROWS) BPT_TRY(copy_rows(c));
            }
    return copy_rows(c);
}

bpt_status_t bpt_decode_cache_move(bpt_workspace_t *workspace, const decode_shape_t *from, struct bpt_buffer *old, const decode_shape_t *to,
                                   struct bpt_buffer *new, const int64_t *lengths) {
    struct bpt_buffer *states[2] = {old, new};
    bpt_graph_t *graph;
    copier_t *c;
    BPT_TRY(bpt_alloc(1, sizeof *c, &c));
    c->copy.rows = COPY_ROWS;
    bpt_status_t status = bpt_decode_copy_graph(from, to, &c->copy, &graph);
    if (status == BPT_OK) status = bpt_program_compile(graph, workspace, states, 2, &c->copy.program);
    if (status == BPT_OK) status = copy_nodes(c, from, to, lengths);
    bpt_program_destroy(c->copy.program);
    bpt_free(c);
    return status;
}
