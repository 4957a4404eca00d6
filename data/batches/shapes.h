// Which (n, rows) micro-batches may have, and how the sequences of a step are cut into them: little padding, few micro-batches, few shapes.
// Knows lengths only.
#ifndef BPT_DATA_SHAPES_H
#define BPT_DATA_SHAPES_H

#include "bpt/batch.h"

// Lengths that sequences are padded to: 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, ..; the smallest that has room for `length` >= 1.
int64_t bpt_length_bucket(int64_t length);
// The same in steps half as wide: 1, 2, .., 8, 10, 12, 14, 16, 20, ..
int64_t bpt_fine_length_bucket(int64_t length);
// Sequences that a micro-batch of this bucket may have: as many as `batch_tokens` leaves, padding included, but at least one.
int64_t bpt_most_rows(int64_t bucket, int64_t batch_tokens);
// Rows of a micro-batch for `count` <= most sequences: 1, 2, 3, 4, 6, 8, .. or `most`, the smallest that has room.
int64_t bpt_row_count(int64_t most, int64_t count);

// Rows of a micro-batch of packed sequences that hold so many tokens: a multiple of an eighth of a power of two, so that few programs are
// needed and little is padding; at most `most`, unless they do not fit there.
int64_t bpt_packed_rows(int64_t tokens, int64_t most);

// A micro-batch of `rows` rows in a bucket of n leaves for the sequences [first, first + count).
typedef struct {
    int64_t n, rows;
    size_t first, count;
} bpt_micro_t;

// Cuts `count` sequences, given by their buckets in falling order, into at most `count` micro-batches, largest bucket first; returns how
// many. Sequences of different buckets may share one, so that the sum of padded leaves and of a fixed price for every micro-batch is small.
size_t bpt_cut_step(const int64_t *buckets, size_t count, int64_t batch_tokens, bpt_micro_t *out);

// The shapes of a source, largest first, for bpt_batch_source_t.shapes. Zero-initialised: empty.
typedef struct {
    bpt_batch_shape_t *items;
    size_t count, capacity;
} bpt_shapes_t;
// A shape is there once, however often it is added.
bpt_status_t bpt_shapes_add(bpt_shapes_t *shapes, const bpt_batch_shape_t *shape) BPT_MUST_USE;
bpt_status_t bpt_shapes_add_buckets(bpt_shapes_t *shapes, int64_t n, int64_t rows) BPT_MUST_USE;
// All that bpt_cut_step can give for up to `most_sequences` sequences of the buckets that `bucket` rounds to, the longest one `longest`.
bpt_status_t bpt_shapes_add_cuts(bpt_shapes_t *shapes, int64_t (*bucket)(int64_t length), int64_t longest, int64_t most_sequences,
                                 int64_t batch_tokens) BPT_MUST_USE;
void bpt_shapes_free(bpt_shapes_t *shapes);

#endif
