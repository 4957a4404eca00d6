// Sequences of their own as evaluation batches: neighbours of like length share a micro-batch, in the order of the file (lm.h).
#include <string.h>

#include "bpt/alloc.h"
#include "data/batches/buffer.h"
#include "data/batches/lm.h"
#include "data/batches/shapes.h"

enum { BATCH_LEAVES = 8192 };  // of a micro-batch, padding included, but at least one sequence

typedef struct {
    int64_t bucket, rows;  // rows 0: there are no more
    uint64_t first, last;  // sequences; those with nothing to score have no row
} group_t;

typedef struct {
    bpt_batch_source_t base;
    const uint32_t *ids;
    const uint64_t *offsets;
    uint64_t n_sequences, next;
    bpt_batch_buffer_t buffer;
    bpt_shapes_t shapes;
} lines_t;

static int64_t leaves_of(const lines_t *s, uint64_t sequence) {  // one token less than the sequence: the last one is only a target
    const uint64_t tokens = s->offsets[sequence + 1] - s->offsets[sequence];
    return tokens > 1 ? (int64_t)tokens - 1 : 0;
}

// The sequences from `first` on that go together: as many as fit, none more than twice as wide as another.
static group_t group_at(const lines_t *s, uint64_t first) {
    group_t g = {0, 0, first, first};
    int64_t narrowest = 0;
    for (; g.last < s->n_sequences; ++g.last) {
        if (!leaves_of(s, g.last)) continue;
        const int64_t bucket = bpt_length_bucket(leaves_of(s, g.last));
        const int64_t wide = bucket > g.bucket ? bucket : g.bucket, narrow = g.rows && narrowest < bucket ? narrowest : bucket;
        if (g.rows && (g.rows >= bpt_most_rows(wide, BATCH_LEAVES) || wide > 2 * narrow)) break;
        g.bucket = wide;
        narrowest = narrow;
        ++g.rows;
    }
    return g;
}

static int64_t rows_of(const group_t *g) { return bpt_row_count(bpt_most_rows(g->bucket, BATCH_LEAVES), g->rows); }

static void fill_row(const lines_t *s, uint64_t sequence, int64_t row, bpt_batch_t *out) {
    const int64_t leaves = leaves_of(s, sequence), at = row * out->shape.side[0].n;
    s->buffer.sequences[row] = (uint32_t)sequence;
    const uint32_t *ids = s->ids + s->offsets[sequence];
    memcpy(s->buffer.side[0].tokens + at, ids, (size_t)leaves * sizeof *ids);
    memcpy(s->buffer.targets + at, ids + 1, (size_t)leaves * sizeof *ids);
    for (int64_t i = 0; i < leaves; ++i) s->buffer.weights[at + i] = 1;
    s->buffer.side[0].lengths[row] = (uint32_t)leaves;
    out->n_scored += leaves;
    out->n_tokens += leaves;
    ++out->n_real;
}

static bpt_status_t next(bpt_batch_source_t *source, bpt_batch_t *out, bool *end) {
    lines_t *s = (lines_t *)source;
    const group_t g = group_at(s, s->next);
    *end = g.rows == 0;
    if (*end) return BPT_OK;
    BPT_TRY(bpt_batch_buffer_buckets(&s->buffer, g.bucket, rows_of(&g), true, out));
    for (uint64_t i = g.first; i < g.last; ++i)
        if (leaves_of(s, i)) fill_row(s, i, out->n_real, out);
    out->window_scored = out->n_scored;
    out->first = out->last = true;
    out->epoch_end = (double)g.last / (double)s->n_sequences;
    s->next = g.last;
    return BPT_OK;
}

static bpt_status_t seek(bpt_batch_source_t *source, int64_t step) {
    lines_t *s = (lines_t *)source;
    s->next = 0;
    while (step-- > 0) s->next = group_at(s, s->next).last;
    return BPT_OK;
}

static void destroy(bpt_batch_source_t *source) {
    lines_t *s = (lines_t *)source;
    if (!s) return;
    bpt_batch_buffer_free(&s->buffer);
    bpt_shapes_free(&s->shapes);
    bpt_free(s);
}

static bpt_status_t plan(lines_t *s) {
    for (uint64_t first = 0;;) {
        const group_t g = group_at(s, first);
        if (g.rows == 0) break;
        if (g.bucket > UINT32_MAX)
            return bpt_fail(BPT_ERR_INPUT, "sequence %llu is longer than 2^32 tokens", (unsigned long long)g.first + 1);
        BPT_TRY(bpt_shapes_add_buckets(&s->shapes, g.bucket, rows_of(&g)));
        ++s->base.steps_per_epoch;
        first = g.last;
    }
    s->base.n_shapes = (int64_t)s->shapes.count;
    s->base.shapes = s->shapes.items;
    return BPT_OK;
}

bpt_status_t bpt_lm_lines_source(const uint32_t *ids, const uint64_t *offsets, uint64_t n_sequences, bpt_batch_source_t **out) {
    lines_t *s;
    if (n_sequences > UINT32_MAX) return bpt_fail(BPT_ERR_INPUT, "more than 2^32 - 1 sequences; cut the file");
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    s->base = (bpt_batch_source_t){.next = next, .seek = seek, .destroy = destroy};
    s->ids = ids;
    s->offsets = offsets;
    s->n_sequences = n_sequences;
    const bpt_status_t status = plan(s);
    if (status == BPT_OK)
        *out = &s->base;
    else
        destroy(&s->base);
    return status;
}
