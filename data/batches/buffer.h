// The arrays of one micro-batch and the padding rules of bpt/batch.h. Knows nothing of what the tokens mean.
#ifndef BPT_DATA_BUFFER_H
#define BPT_DATA_BUFFER_H

#include "bpt/batch.h"

// Zero-initialised: empty and valid.
typedef struct {
    uint32_t *tokens, *start, *lengths, *bag, *bag_ranges, *segment_start, *segment_lengths;
    uint32_t *links, *node_labels, *node_start, *node_counts, *vertex_labels;
    float *numbers;
    size_t n_tokens, n_start, n_lengths, n_bag, n_bag_ranges, n_segment_start, n_segment_lengths, n_numbers;  // room
    size_t n_links, n_node_labels, n_node_start, n_node_counts, n_vertex_labels;
} bpt_side_buffer_t;
typedef struct {
    bpt_side_buffer_t side[BPT_SIDES];
    uint32_t *targets, *unknown, *sequences, *first_segment;
    float *weights, *values;
    size_t n_targets, n_unknown, n_sequences, n_first_segment, n_weights, n_values;  // room
} bpt_batch_buffer_t;

// Which arrays a micro-batch has, and how large they are.
typedef struct {
    bpt_batch_shape_t shape;
    int64_t columns;  // of numbers that side 0 has in place of tokens; 0: tokens
    int64_t n_targets;
    bool unknown;           // some targets may be labels that the model does not have
    bool vertex_labels;     // side 0 has those of its trees
    int64_t value_columns;  // targets are vectors of so many numbers; 0: they are ids
    int64_t segments;       // of documents, on each side; 0: there are none
} bpt_batch_layout_t;

void bpt_batch_buffer_free(bpt_batch_buffer_t *buffer);
// Makes room and gives a batch of these arrays that is all padding.
bpt_status_t bpt_batch_buffer_start(bpt_batch_buffer_t *buffer, const bpt_batch_layout_t *layout, bpt_batch_t *batch) BPT_MUST_USE;
// The same for one side of `batch` buckets of n rows, with a target for each row (per_token) or for each sequence.
bpt_status_t bpt_batch_buffer_buckets(bpt_batch_buffer_t *buffer, int64_t n, int64_t batch, bool per_token, bpt_batch_t *out) BPT_MUST_USE;
// Copies a batch into the buffer; *copy points to it.
bpt_status_t bpt_batch_buffer_copy(bpt_batch_buffer_t *buffer, const bpt_batch_t *batch, bpt_batch_t *copy) BPT_MUST_USE;

#endif
