// The arrays of one micro-batch and the padding rules of bpt/batch.h. Knows nothing of where the tokens come from.
#ifndef BPT_DATA_BUFFER_H
#define BPT_DATA_BUFFER_H

#include "bpt/batch.h"

typedef struct {
    uint32_t *tokens, *targets, *lengths, *sequences;
    float *weights;
    size_t tokens_capacity, targets_capacity, batch_capacity;
} bpt_batch_buffer_t;

void bpt_batch_buffer_free(bpt_batch_buffer_t *buffer);
// Makes room for [rows, n] and points the batch's arrays to it, all padding: tokens, targets, weights 0, lengths 1. Sets n, batch, n_targets
// (rows * n with `per_leaf`, else rows).
bpt_status_t bpt_batch_buffer_start(bpt_batch_buffer_t *buffer, int64_t n, int64_t rows, bool per_leaf, bpt_batch_t *batch) BPT_MUST_USE;
// Copies a batch into the buffer; *copy points to it.
bpt_status_t bpt_batch_buffer_copy(bpt_batch_buffer_t *buffer, const bpt_batch_t *batch, bpt_batch_t *copy) BPT_MUST_USE;

// Lengths that batches are padded to: 4, 8, 12, 16, 24, 32, 48, 64, 96, ...: the smallest one of at least `length`.
int64_t bpt_bucket_of(int64_t length);
// Numbers of rows that a micro-batch of a bucket may have: the largest one (within `batch_tokens` leaves and `most` sequences, at least 1), a quarter
// of it and a sixteenth, so that few shapes occur. Returns how many, falling.
enum { BPT_MAX_ROW_COUNTS = 3 };
int bpt_bucket_rows(int64_t n, int64_t batch_tokens, int64_t most, int64_t rows[BPT_MAX_ROW_COUNTS]);

#endif
