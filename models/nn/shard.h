// Which elements of the trained arena a rank owns. The arena is cut into buckets, whose sums go from rank to rank one after the other, and
// each bucket into slices (bpt/ranks.h), so that all ranks have as much to do in each. With a sharded optimizer (Rajbhandari et al. 2020,
// ZeRO, stage 1) a rank has the moments of its own slices alone, one behind the other, and updates their parameters.
#ifndef BPT_MODELS_NN_SHARD_H
#define BPT_MODELS_NN_SHARD_H

#include "bpt/ranks.h"

enum { BPT_BUCKETS = 16, BPT_LEAST_BUCKET = 1 << 14, BPT_LARGEST_BUCKET = 1 << 21 };  // elements

typedef struct {
    int rank, size;  // size 0 or 1: one rank owns all
} bpt_shard_t;

typedef struct {
    int64_t begin, end;  // elements of the arena
} bpt_elements_t;

// Of a bucket, but the last: several, so that most of them are on their way before the backward pass ends; not so small that the time of an
// exchange is that of its messages.
static inline int64_t bpt_bucket_elements(int64_t elements) {
    const int64_t even = (elements / BPT_BUCKETS + 63) / 64 * 64;
    return even < BPT_LEAST_BUCKET ? BPT_LEAST_BUCKET : even > BPT_LARGEST_BUCKET ? BPT_LARGEST_BUCKET : even;
}

static inline int64_t bpt_buckets(int64_t elements) {
    const int64_t each = bpt_bucket_elements(elements);
    return (elements + each - 1) / each;
}

static inline bpt_elements_t bpt_bucket(int64_t elements, int64_t bucket) {
    const int64_t begin = bucket * bpt_bucket_elements(elements), end = begin + bpt_bucket_elements(elements);
    const bpt_elements_t span = {begin, end < elements ? end : elements};
    return span;
}

// The order in which buckets go from rank to rank, the same on all ranks: as the backward pass makes their gradients final, from the last
// layer to the first, and then those with elements from `late` on, of which every layer has some.
static inline int64_t bpt_bucket_at(int64_t elements, int64_t late, int64_t place) {
    const int64_t early = late / bpt_bucket_elements(elements);
    return place < early ? early - 1 - place : bpt_buckets(elements) - 1 - (place - early);
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

// What a range has of the elements from `first` on.
static inline bpt_elements_t bpt_elements_from(bpt_elements_t range, int64_t first) {
    if (range.begin < first) range.begin = first < range.end ? first : range.end;
    return range;
}

// Elements from `first` on that the rank owns in all buckets.
static inline int64_t bpt_own_elements(const bpt_shard_t *shard, int64_t elements, int64_t first) {
    int64_t own = 0;
    if (shard->size <= 1) return elements - first;
    for (int64_t b = 0; b < bpt_buckets(elements); ++b) {
        const bpt_elements_t slice = bpt_elements_from(bpt_own_slice(shard, elements, b), first);
        own += slice.end - slice.begin;
    }
    return own;
}

#endif
