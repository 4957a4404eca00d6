// The own range of the sequences of a batch, where the ranks of a team share them (blocks/halo.h): as a batch of shorter sequences in
// buckets.
#ifndef BPT_MODELS_SPLIT_BATCH_H
#define BPT_MODELS_SPLIT_BATCH_H

#include "bpt/batch.h"
#include "models/nn/shard.h"

// The arrays of such a batch. Begins as zeros; release with bpt_split_batch_free.
typedef struct {
    uint32_t *words;
    float *weights;
    size_t rows, sequences;  // that there is room for
} bpt_split_batch_t;
void bpt_split_batch_free(bpt_split_batch_t *room);

// The shape of the own range; of whole sequences (size 0 or 1) the same. BPT_ERR_USAGE where they cannot be cut evenly.
bpt_status_t bpt_split_shape(const bpt_batch_shape_t *whole, const bpt_shard_t *place, bpt_batch_shape_t *own) BPT_MUST_USE;
// Tokens, targets and weights of the own range; lengths are those in it, 0 where a sequence ends before. The arrays are those of `room` and
// of `whole`, and valid until either changes. For batches in buckets with a target for each token.
bpt_status_t bpt_split_batch(const bpt_batch_t *whole, const bpt_shard_t *place, bpt_split_batch_t *room, bpt_batch_t *own) BPT_MUST_USE;

#endif
