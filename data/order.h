// The order of an epoch.
#ifndef BPT_DATA_ORDER_H
#define BPT_DATA_ORDER_H

#include "bpt/base.h"

// A permutation of 0..count-1, a pure function of (seed, epoch).
void bpt_epoch_order(uint64_t seed, int64_t epoch, uint32_t *order, int64_t count);

#endif
