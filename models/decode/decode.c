// Incremental decoding (see decode.h): caches, programs by number of new nodes, and the tables of intervals on the host.
#include "models/decode/decode.h"

#include <inttypes.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/buffer.h"
#include "models/decode/decode_internal.h"

// Programs by rows: one token with its spans mostly fits the first; a prompt goes in blocks of BLOCK tokens, which complete at
// most BLOCK - 1 spans of its own and one of each level that began before.
enum { N_SIZES = 3, BLOCK = 240 };
static const int64_t sizes[N_SIZES] = {4, 32, 512};
_Static_assert(2 * BLOCK + BPT_MAX_LEVELS <= 512, "a block must fit the largest program");

struct bpt_decoder {
    struct bpt_device *device;
    decode_shape_t shape;
    bpt_intervals_t graph;
    int64_t capacity, length;
    bpt_workspace_t *workspace;
    struct bpt_buffer *states[DECODE_N_STATES];  // the parameters belong to the runner
    size_t state_bytes;                          // of its own states
    decode_program_t programs[N_SIZES];
    uint32_t *tokens, *positions, *leaf, *nodes, *table;  // staging, of the largest program
};

static bool has_spans(const bpt_decoder_t *d) { return d->graph.kind == BPT_GRAPH_BPT || d->graph.kind == BPT_GRAPH_SEGTREE; }

static bpt_status_t check(const bpt_model_config_t *c, int64_t capacity) {
    if (c->task != BPT_TASK_LM || !c->causal)
        return bpt_fail(BPT_ERR_USAGE, "only causal language models generate text; this one is a classifier");
    if (capacity < 1) return bpt_fail(BPT_ERR_USAGE, "room for %" PRId64 " tokens is no context", capacity);
    return bpt_model_check_length(c, capacity);
}

static bpt_status_t make_low_weights(bpt_decoder_t *d) {
    if (d->shape.precision == BPT_F32) return BPT_OK;
    bpt_graph_t *graph;
    bpt_program_t *program;
    const size_t bytes = (size_t)d->shape.params->elements * bpt_dtype_size(d->shape.precision);
    BPT_TRY(bpt_buffer_create(d->device, bytes, &d->states[DECODE_LOW]));
    d->state_bytes += bytes;
    BPT_TRY(bpt_decode_cast_graph(&d->shape, &graph));
    BPT_TRY(bpt_program_compile(graph, d->workspace, d->states, DECODE_N_STATES, &program));
    const bpt_status_t status = bpt_program_run(program);
    bpt_program_destroy(program);
    return status;
}

static bpt_status_t allocate(bpt_decoder_t *d) {
    const bpt_model_config_t *c = d->shape.config;
    const size_t rows = (size_t)sizes[N_SIZES - 1];
    const size_t cache = (size_t)c->layers * (size_t)d->shape.nodes * 2 * (size_t)c->d_model * bpt_dtype_size(d->shape.precision);
    BPT_TRY(bpt_workspace_create(d->device, &d->workspace));
    BPT_TRY(
        bpt_context(bpt_buffer_create(d->device, cache, &d->states[DECODE_CACHE]), "keys and values of %" PRId64 " tokens", d->capacity));
    d->state_bytes += cache;
    BPT_TRY(bpt_alloc(rows, sizeof(uint32_t), &d->tokens));
    BPT_TRY(bpt_alloc(rows, sizeof(uint32_t), &d->positions));
    BPT_TRY(bpt_alloc(rows, sizeof(uint32_t), &d->leaf));
    BPT_TRY(bpt_alloc(rows, sizeof(uint32_t), &d->nodes));
    BPT_TRY(bpt_alloc(rows * (size_t)d->shape.slots * 4, sizeof(uint32_t), &d->table));
    return make_low_weights(d);
}

bpt_status_t bpt_decoder_create(bpt_runner_t *runner, int64_t capacity, bpt_decoder_t **out) {
    const bpt_model_config_t *c = bpt_runner_config(runner);
    bpt_decoder_t *d;
    BPT_TRY(check(c, capacity));
    BPT_TRY(bpt_alloc(1, sizeof *d, &d));
    d->device = bpt_runner_device(runner);
    d->graph = bpt_model_intervals(c, capacity);
    d->capacity = capacity;
    d->states[DECODE_PARAMS] = bpt_runner_state(runner, BPT_STATE_PARAMS);
    d->shape = (decode_shape_t){.config = c, .params = bpt_runner_params(runner), .precision = bpt_runner_precision(runner)};
    d->shape.nodes = bpt_node_count(&d->graph);
    d->shape.slots = has_spans(d) ? 1 + 2 * bpt_levels(capacity) : 3;  // two a level; itself, near, beyond the table
    const bpt_status_t status = allocate(d);
    if (status == BPT_OK)
        *out = d;
    else
        bpt_decoder_destroy(d);
    return status;
}

void bpt_decoder_destroy(bpt_decoder_t *d) {
    if (!d) return;
    for (int i = 0; i < N_SIZES; ++i) bpt_program_destroy(d->programs[i].program);
    bpt_workspace_destroy(d->workspace);
    bpt_buffer_destroy(d->device, d->states[DECODE_LOW]);
    bpt_buffer_destroy(d->device, d->states[DECODE_CACHE]);
    bpt_free(d->tokens);
    bpt_free(d->positions);
    bpt_free(d->leaf);
    bpt_free(d->nodes);
    bpt_free(d->table);
    bpt_free(d);
}

uint64_t bpt_decoder_device_bytes(const bpt_decoder_t *d) { return d->state_bytes + bpt_workspace_bytes(d->workspace); }
int64_t bpt_decoder_length(const bpt_decoder_t *d) { return d->length; }
void bpt_decoder_rewind(bpt_decoder_t *d, int64_t length) { d->length = length < d->length ? length : d->length; }

static bpt_status_t program_for(bpt_decoder_t *d, int64_t rows, decode_program_t **out) {
    int i = 0;
    while (sizes[i] < rows) ++i;
    decode_program_t *p = *out = &d->programs[i];
    if (p->program) return BPT_OK;
    bpt_graph_t *graph;
    p->rows = sizes[i];
    BPT_TRY(bpt_decode_graph(&d->shape, p, &graph));
    return bpt_program_compile(graph, d->workspace, d->states, DECODE_N_STATES, &p->program);
}

// ---- staging

// The keys of a node as a row of the table. Causal leaves read only nodes that end before them, so that the tree of the whole
// capacity gives the same keys and rows of relative positions as the tree of the text so far.
static bpt_status_t fill_table(const bpt_decoder_t *d, int64_t node, uint32_t *entry) {
    bpt_slot_t slots[BPT_MAX_SLOTS];
    const int count = bpt_intervals_keys(&d->graph, d->capacity, node, slots);
    if (count > d->shape.slots) return bpt_fail(BPT_ERR_INTERNAL, "node %" PRId64 " has %d intervals", node, count);
    memset(entry, 0, (size_t)d->shape.slots * 4 * sizeof *entry);
    for (int s = 0; s < count; ++s, entry += 4) {
        entry[0] = (uint32_t)slots[s].begin;
        entry[1] = (uint32_t)slots[s].end;
        entry[2] = slots[s].rel_row < 0 ? BPT_NO_ROW : (uint32_t)slots[s].rel_row;
        entry[3] = (uint32_t)slots[s].rel_step;
    }
    return BPT_OK;
}

static bpt_status_t stage_node(bpt_decoder_t *d, int64_t row, int64_t node, uint32_t token) {
    const bool leaf = node < d->capacity;
    d->tokens[row] = leaf ? token : BPT_NO_ROW;
    d->positions[row] = leaf ? (uint32_t)node : BPT_NO_ROW;
    d->leaf[row] = leaf ? (uint32_t)row : BPT_NO_ROW;
    d->nodes[row] = (uint32_t)node;
    return fill_table(d, node, d->table + row * d->shape.slots * 4);
}

// Leaves first, then the spans whose last leaf is among them.
static bpt_status_t stage(bpt_decoder_t *d, const uint32_t *tokens, int64_t count, int64_t *rows) {
    const int64_t begin = d->length, end = begin + count;
    *rows = 0;
    for (int64_t i = 0; i < count; ++i) BPT_TRY(stage_node(d, (*rows)++, begin + i, tokens[i]));
    if (!has_spans(d)) return BPT_OK;
    for (int level = 1; level < bpt_levels(d->capacity); ++level)
        for (int64_t m = begin >> level; (m + 1) << level <= end; ++m)
            BPT_TRY(stage_node(d, (*rows)++, bpt_level_offset(d->capacity, level) + m, 0));
    return BPT_OK;
}

static void pad(bpt_decoder_t *d, int64_t rows, int64_t wanted) {
    for (int64_t row = rows; row < wanted; ++row) d->tokens[row] = d->positions[row] = d->leaf[row] = d->nodes[row] = BPT_NO_ROW;
    memset(d->table + rows * d->shape.slots * 4, 0, (size_t)((wanted - rows) * d->shape.slots * 4) * sizeof *d->table);
}

static bpt_status_t feed_block(bpt_decoder_t *d, const uint32_t *tokens, int64_t count, float *logits) {
    int64_t rows;
    decode_program_t *p;
    BPT_TRY(stage(d, tokens, count, &rows));
    BPT_TRY(program_for(d, rows, &p));
    pad(d, rows, p->rows);
    const uint32_t last = (uint32_t)(count - 1);
    BPT_TRY(bpt_program_write(p->program, p->tokens, d->tokens));
    BPT_TRY(bpt_program_write(p->program, p->positions, d->positions));
    BPT_TRY(bpt_program_write(p->program, p->leaf, d->leaf));
    BPT_TRY(bpt_program_write(p->program, p->nodes, d->nodes));
    BPT_TRY(bpt_program_write(p->program, p->table, d->table));
    BPT_TRY(bpt_program_write(p->program, p->last, &last));
    BPT_TRY(bpt_program_write(p->program, p->last_table, d->table + (count - 1) * d->shape.slots * 4));
    BPT_TRY(bpt_program_run(p->program));
    d->length += count;
    return logits ? bpt_program_read(p->program, p->logits, logits) : BPT_OK;
}

bpt_status_t bpt_decoder_feed(bpt_decoder_t *d, const uint32_t *tokens, int64_t count, float *logits) {
    if (count > d->capacity - d->length)
        return bpt_fail(BPT_ERR_USAGE, "the context is full: %" PRId64 " tokens more do not fit in %" PRId64, count, d->capacity);
    for (int64_t done = 0; done < count;) {
        const int64_t block = count - done < BLOCK ? count - done : BLOCK;
        BPT_TRY(feed_block(d, tokens + done, block, done + block == count ? logits : NULL));
        done += block;
    }
    return BPT_OK;
}
