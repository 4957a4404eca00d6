// Which elements of the trained arena a rank owns. The arena is cut into buckets, whose sums go from rank to rank one after the other, and
// each bucket into slices (bpt/ranks.h), so that all ranks have as much to do in each. With a sharded optimizer (Rajbhandari et al. 2020,
// ZeRO, stage 1) a rank has the moments of its own slices alone, one behind the other, and updates their parameters.
#ifndef BPT_MODELS_NN_SHARD_H
#define BPT_MODELS_NN_SHARD_H

#include "bpt/ranks.h"

enum { BPT_BUCKET_ELEMENTS = 1 << 21 };

typedef struct {
    int rank, size;  // size 0 or 1: one rank owns all
} bpt_shard_t;

typedef struct {
    int64_t begin, end;  // elements of the arena
} bpt_elements_t;

static inline int64_t bpt_buckets(int64_t elements) { return (elements + BPT_BUCKET_ELEMENTS - 1) / BPT_BUCKET_ELEMENTS; }

static inline bpt_elements_t bpt_bucket(int64_t elements, int64_t bucket) {
    const int64_t begin = bucket * BPT_BUCKET_ELEMENTS, end = begin + BPT_BUCKET_ELEMENTS;
    const bpt_elements_t span = {begin, end < elements ? end : elements};
    return span;
}

// The rank's own part of a bucket; all of it where one rank owns all.
static inline bpt_elements_t bpt_own_slice(const bpt_shard_t *shard, int64_t elements, int64_t bucket) {
    const bpt_elements_t all = bpt_bucket(elements, bucket);
    if (shard->size <= 1) return all;
    const int64_t count = all.end - all.begin;
    const bpt_elements_t own = {all.begin + bpt_rank_slice(count, shard->rank, shard->size),
                                all.begin + bpt_rank_slice(count, shard->rank + 1, shard->size)};
    return own;
}

// Elements that the rank owns in all buckets.
static inline int64_t bpt_own_elements(const bpt_shard_t *shard, int64_t elements) {
    int64_t own = 0;
    if (shard->size <= 1) return elements;
    for (int64_t b = 0; b < bpt_buckets(elements); ++b) {
        const bpt_elements_t slice = bpt_own_slice(shard, elements, b);
        own += slice.end - slice.begin;
    }
    return own;
}

#endif
