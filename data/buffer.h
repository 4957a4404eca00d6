// The arrays of one micro-batch and the padding rules of bpt/batch.h. Knows nothing of what the tokens mean.
#ifndef BPT_DATA_BUFFER_H
#define BPT_DATA_BUFFER_H

#include "bpt/batch.h"

// Zero-initialised: empty and valid.
typedef struct {
    uint32_t *tokens, *targets, *lengths, *sequences;
    float *weights;
    size_t n_tokens, n_targets, n_rows;  // room
} bpt_batch_buffer_t;

void bpt_batch_buffer_free(bpt_batch_buffer_t *buffer);
// Makes room for [rows, n] and gives a batch of these arrays that is all padding: tokens, targets, weights, sequences 0, lengths 1.
// Targets and weights are [rows, n] with per_leaf, else [rows].
bpt_status_t bpt_batch_buffer_start(bpt_batch_buffer_t *buffer, int64_t n, int64_t rows, bool per_leaf, bpt_batch_t *batch) BPT_MUST_USE;
// Copies a batch into the buffer; *copy points to it.
bpt_status_t bpt_batch_buffer_copy(bpt_batch_buffer_t *buffer, const bpt_batch_t *batch, bpt_batch_t *copy) BPT_MUST_USE;

#endif
