// Arrays of micro-batches (see buffer.h).
#include "data/buffer.h"

#include <string.h>

#include "bpt/alloc.h"

void bpt_batch_buffer_free(bpt_batch_buffer_t *b) {
    bpt_free(b->tokens);
    bpt_free(b->targets);
    bpt_free(b->weights);
    bpt_free(b->lengths);
    bpt_free(b->sequences);
    *b = (bpt_batch_buffer_t){0};
}

static bpt_status_t reserve(bpt_batch_buffer_t *b, size_t tokens, size_t targets, size_t rows) {
    if (tokens > b->n_tokens) {
        BPT_TRY(bpt_realloc(&b->tokens, tokens, sizeof *b->tokens));
        b->n_tokens = tokens;
    }
    if (targets > b->n_targets) {
        BPT_TRY(bpt_realloc(&b->targets, targets, sizeof *b->targets));
        BPT_TRY(bpt_realloc(&b->weights, targets, sizeof *b->weights));
        b->n_targets = targets;
    }
    if (rows > b->n_rows) {
        BPT_TRY(bpt_realloc(&b->lengths, rows, sizeof *b->lengths));
        BPT_TRY(bpt_realloc(&b->sequences, rows, sizeof *b->sequences));
        b->n_rows = rows;
    }
    return BPT_OK;
}

static void point(const bpt_batch_buffer_t *b, bpt_batch_t *batch) {
    batch->tokens = b->tokens;
    batch->targets = b->targets;
    batch->weights = b->weights;
    batch->lengths = b->lengths;
    batch->sequences = b->sequences;
}

bpt_status_t bpt_batch_buffer_start(bpt_batch_buffer_t *b, int64_t n, int64_t rows, bool per_leaf, bpt_batch_t *batch) {
    int64_t tokens;
    if (__builtin_mul_overflow(n, rows, &tokens))
        return bpt_fail(BPT_ERR_NO_MEMORY, "a batch of %lld sequences of %lld tokens is too large; lower --batch-tokens", (long long)rows,
                        (long long)n);
    const size_t targets = (size_t)(per_leaf ? tokens : rows);
    BPT_TRY(reserve(b, (size_t)tokens, targets, (size_t)rows));
    memset(b->tokens, 0, (size_t)tokens * sizeof *b->tokens);
    memset(b->targets, 0, targets * sizeof *b->targets);
    memset(b->weights, 0, targets * sizeof *b->weights);
    memset(b->sequences, 0, (size_t)rows * sizeof *b->sequences);
    for (int64_t i = 0; i < rows; ++i) b->lengths[i] = 1;
    *batch = (bpt_batch_t){.n = n, .batch = rows, .n_targets = (int64_t)targets};
    point(b, batch);
    return BPT_OK;
}

bpt_status_t bpt_batch_buffer_copy(bpt_batch_buffer_t *b, const bpt_batch_t *batch, bpt_batch_t *copy) {
    const size_t rows = (size_t)batch->batch, tokens = rows * (size_t)batch->n, targets = (size_t)batch->n_targets;
    BPT_TRY(reserve(b, tokens, targets, rows));
    memcpy(b->tokens, batch->tokens, tokens * sizeof *b->tokens);
    memcpy(b->targets, batch->targets, targets * sizeof *b->targets);
    memcpy(b->weights, batch->weights, targets * sizeof *b->weights);
    memcpy(b->lengths, batch->lengths, rows * sizeof *b->lengths);
    memcpy(b->sequences, batch->sequences, rows * sizeof *b->sequences);
    *copy = *batch;
    point(b, copy);
    return BPT_OK;
}
