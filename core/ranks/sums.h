// Long arrays between ranks, by a thread of its own: it takes one exchange after the other while the caller computes. Knows the module that
// carries the bytes (module.h), and no one else.
#ifndef BPT_RANKS_SUMS_H
#define BPT_RANKS_SUMS_H

#include "bpt/status.h"
#include "core/ranks/module.h"

typedef struct bpt_sums bpt_sums_t;

typedef struct {
    float *values;
    int64_t count;
    bool reduce, collect;  // the own slice becomes the sum; every rank's own slice goes to all others. Both: the whole array is the sum
} bpt_sums_job_t;

// `module` outlives it. An exchange gives up after `patience` seconds.
bpt_status_t bpt_sums_create(const bpt_ranks_module_t *module, double patience, bpt_sums_t **out) BPT_MUST_USE;
void bpt_sums_destroy(bpt_sums_t *sums);  // behind the last job

// *ticket counts up from 1. After a failure all later jobs fail in the same way.
bpt_status_t bpt_sums_begin(bpt_sums_t *sums, const bpt_sums_job_t *job, uint64_t *ticket) BPT_MUST_USE;
bpt_status_t bpt_sums_wait(bpt_sums_t *sums, uint64_t ticket) BPT_MUST_USE;
// Seconds that the thread has spent in exchanges; that callers have waited for them.
void bpt_sums_seconds(bpt_sums_t *sums, double *exchanged, double *waited);

#endif
