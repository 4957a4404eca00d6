// The order of an epoch.
#ifndef BPT_DATA_ORDER_H
#define BPT_DATA_ORDER_H

#include "bpt/base.h"

// A permutation of 0..count-1, a pure function of (seed, epoch).
void bpt_epoch_order(uint64_t seed, int64_t epoch, uint32_t *order, int64_t count);

// Such an order in which the `step` examples of a step have about the same length: of every BPT_POOL_STEPS steps the examples are sorted
// by length and dealt out to the steps anew, which then come in random order. The last step of an epoch, which may be smaller, stays last.
// length [count]; room [BPT_POOL_STEPS * step, or count where that is less], for what is computed.
enum { BPT_POOL_STEPS = 32 };
typedef struct {
    uint32_t length, place, example;
} bpt_dealt_t;
void bpt_epoch_order_by_length(uint64_t seed, int64_t epoch, const uint32_t *length, int64_t step, bpt_dealt_t *room, uint32_t *order,
                               int64_t count);

#endif
