// The arrays of one micro-batch, the padding rules of bpt/batch.h and the shapes that batches may have. Knows nothing of what the tokens mean.
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

// Lengths that sequences are padded to: 4, 8, 12, 16, 24, 32, 48, 64, ..; the smallest that has room for `length`.
int64_t bpt_length_bucket(int64_t length);
// Numbers of rows that a micro-batch may have, so that few shapes occur: `most`, a quarter of it (rounded up), a quarter of that, .., 1; the smallest that has
// room for `count` <= most.
int64_t bpt_row_count(int64_t most, int64_t count);

// The (n, rows) pairs of a source, largest first, for bpt_batch_source_t.shapes.
typedef struct {
    int64_t (*items)[2];
    size_t count, capacity;
} bpt_shapes_t;
bpt_status_t bpt_shapes_add(bpt_shapes_t *shapes, int64_t n, int64_t rows) BPT_MUST_USE;  // once, whatever the number of calls
void bpt_shapes_free(bpt_shapes_t *shapes);

#endif
