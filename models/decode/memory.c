// The memory of a decoder (see memory.h).
#include "models/decode/memory.h"

#include <string.h>

#include "bpt/alloc.h"
#include "bpt/buffer.h"
#include "models/run/batch_check.h"

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

size_t bpt_decode_memory_bytes(const decode_shape_t *s) {
    return (size_t)(s->config->layers * s->memory_rows * 2 * s->config->d_model) * bpt_dtype_size(s->precision);
}

static void drop_program(decode_encoder_t *p) {
    bpt_program_destroy(p->program);
    bpt_encoder_free(&p->encoder);
    bpt_free(p->sinusoids.rows);
    bpt_free(p);
}

static void drop_programs(decode_memory_t *m) {
    for (size_t i = 0; i < m->count; ++i) drop_program(m->programs[i]);
    m->count = 0;
}

static bpt_status_t make_room(decode_memory_t *m, decode_shape_t *s, const bpt_batch_t *batch, bool *moved) {
    // A tree has at most as many nodes as its text has tokens.
    const int64_t n = batch->shape.side[0].n, rows = batch->shape.side[0].rows + batch->shape.side[0].nodes;
    const int64_t longest = n ? n * s->memory_slots : rows;
    *moved = rows > s->memory_rows || longest > s->memory_longest;
    if (!*moved) return BPT_OK;
    drop_programs(m);
    bpt_buffer_destroy(m->device, m->states[DECODE_MEMORY]);
    m->states[DECODE_MEMORY] = NULL;
    s->memory_rows = most(rows, s->memory_rows);
    s->memory_longest = most(longest, s->memory_longest);
    return bpt_context(bpt_buffer_create(m->device, bpt_decode_memory_bytes(s), &m->states[DECODE_MEMORY]),
                       "keys and values of %lld tokens", (long long)s->memory_rows);
}

static bpt_status_t compile(decode_memory_t *m, const decode_shape_t *s, decode_encoder_t *p) {
    bpt_graph_t *graph;
    BPT_TRY(bpt_decode_encoder_graph(s, m->config, p, &graph));
    BPT_TRY(bpt_program_compile(graph, m->workspace, m->states, DECODE_N_STATES, &p->program));
    BPT_TRY(bpt_encoder_allocate(&p->encoder));
    return bpt_encoder_write_constants(&p->encoder, p->program, &p->sinusoids);
}

static bpt_status_t program_for(decode_memory_t *m, const decode_shape_t *s, const bpt_batch_shape_t *shape, decode_encoder_t **out) {
    for (size_t i = 0; i < m->count; ++i)
        if (bpt_batch_shape_same(&m->programs[i]->shape, shape)) {
            *out = m->programs[i];
            return BPT_OK;
        }
    decode_encoder_t *p;
    BPT_TRY(bpt_grow(&m->programs, m->count, &m->capacity, sizeof(decode_encoder_t *)));
    BPT_TRY(bpt_alloc(1, sizeof *p, &p));
    p->shape = *shape;
    const bpt_status_t status = compile(m, s, p);
    if (status == BPT_OK)
        *out = m->programs[m->count++] = p;
    else
        drop_program(p);
    return status;
}

bpt_status_t bpt_decode_memory_read(decode_memory_t *m, decode_shape_t *s, const bpt_batch_t *batch, int64_t sequences_per_text,
                                    bool *moved) {
    const uint32_t rng[2] = {0, 0};
    const bpt_side_t *side = &batch->side[0];
    decode_encoder_t *p;
    BPT_TRY(bpt_batch_check(m->config, batch));
    BPT_TRY(make_room(m, s, batch, moved));
    BPT_TRY(program_for(m, s, &batch->shape, &p));
    BPT_TRY(bpt_encoder_write(&p->encoder, p->program, &p->sinusoids, batch, rng));
    for (int64_t i = 0; i < s->sequences; ++i) {
        const int64_t text = i / sequences_per_text;
        uint32_t *range = m->ranges + 2 * s->memory_slots * i;
        memset(range, 0, (size_t)(2 * s->memory_slots) * sizeof *range);
        if (text >= batch->n_real) continue;
        range[0] = side->start[text], range[1] = range[0] + side->lengths[text];
        if (s->memory_slots > 1) range[2] = side->node_start[text], range[3] = range[2] + side->node_counts[text];
    }
    return bpt_program_run(p->program);
}

void bpt_decode_memory_entry(const decode_memory_t *m, const decode_shape_t *s, int64_t sequence, uint32_t *entries) {
    const uint32_t *range = m->ranges + 2 * s->memory_slots * sequence;
    for (int64_t slot = 0; slot < s->memory_slots; ++slot, range += 2, entries += 4)
        entries[0] = range[0], entries[1] = range[1], entries[2] = BPT_NO_ROW, entries[3] = 0;
}

void bpt_decode_memory_destroy(decode_memory_t *m) {
    drop_programs(m);
    bpt_free(m->programs);
    bpt_buffer_destroy(m->device, m->states[DECODE_MEMORY]);
    bpt_free(m->ranges);
}
