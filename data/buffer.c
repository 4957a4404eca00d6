// Arrays of a micro-batch (see buffer.h).
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
    if (tokens > b->tokens_capacity) {
        BPT_TRY(bpt_realloc(&b->tokens, tokens, sizeof *b->tokens));
        b->tokens_capacity = tokens;
    }
    if (targets > b->targets_capacity) {
        BPT_TRY(bpt_realloc(&b->targets, targets, sizeof *b->targets));
        BPT_TRY(bpt_realloc(&b->weights, targets, sizeof *b->weights));
        b->targets_capacity = targets;
    }
    if (rows > b->batch_capacity) {
        BPT_TRY(bpt_realloc(&b->lengths, rows, sizeof *b->lengths));
        BPT_TRY(bpt_realloc(&b->sequences, rows, sizeof *b->sequences));
        b->batch_capacity = rows;
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
    if (__builtin_mul_overflow(n, rows, &tokens)) return bpt_fail(BPT_ERR_NO_MEMORY, "a batch of %lld x %lld", (long long)rows, (long long)n);
    const int64_t targets = per_leaf ? tokens : rows;
    BPT_TRY(reserve(b, (size_t)tokens, (size_t)targets, (size_t)rows));
    memset(b->tokens, 0, (size_t)tokens * sizeof *b->tokens);
    memset(b->targets, 0, (size_t)targets * sizeof *b->targets);
    memset(b->weights, 0, (size_t)targets * sizeof *b->weights);
    memset(b->sequences, 0, (size_t)rows * sizeof *b->sequences);
    for (int64_t i = 0; i < rows; ++i) b->lengths[i] = 1;
    *batch = (bpt_batch_t){.n = n, .batch = rows, .n_targets = targets};
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

int64_t bpt_bucket_of(int64_t length) {
    if (length <= 4) return 4;
    int64_t n = 8;
    while (n < length) n *= 2;
    return n / 4 * 3 >= length ? n / 4 * 3 : n;
}

int bpt_bucket_rows(int64_t n, int64_t batch_tokens, int64_t most, int64_t rows[BPT_MAX_ROW_COUNTS]) {
    int64_t largest = batch_tokens / n < most ? batch_tokens / n : most;
    int count = 0;
    if (largest < 1) largest = 1;
    for (; count < BPT_MAX_ROW_COUNTS && largest; largest /= 4) rows[count++] = largest;
    return count;
}
