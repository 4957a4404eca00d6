// Devices of several ranks (ranks.h) that exchange memory without their hosts, such as NVIDIA GPUs by NCCL. Arrays are f32 and cut into
// slices as there. All functions but bpt_ranks_link_close and _wait are collective.
#ifndef BPT_LINK_H
#define BPT_LINK_H

#include "bpt/ranks.h"

BPT_BEGIN_DECLS

struct bpt_device;
struct bpt_buffer;
typedef struct bpt_ranks_link bpt_ranks_link_t;

// Connects this rank's device with those of the others where all are of one backend that can. *out is NULL where they are not, and for one
// rank: host memory carries then. `ranks` and `device` outlive it.
BPT_API bpt_status_t bpt_ranks_link_open(bpt_ranks_t *ranks, struct bpt_device *device, bpt_ranks_link_t **out) BPT_MUST_USE;
BPT_API void bpt_ranks_link_close(bpt_ranks_link_t *link);  // NULL is fine

// Begins, behind all that the device was given: slice r of elements [begin, begin + count) goes to rank r. received[size][own slice], in
// the order of the ranks. What the device is given later runs beside it.
BPT_API bpt_status_t bpt_ranks_link_exchange(bpt_ranks_link_t *link, struct bpt_buffer *values, int64_t begin, int64_t count,
                                             struct bpt_buffer *received) BPT_MUST_USE;
// Begins in the same way: the own slice goes to all others.
BPT_API bpt_status_t bpt_ranks_link_collect(bpt_ranks_link_t *link, struct bpt_buffer *values, int64_t begin, int64_t count) BPT_MUST_USE;
// All that was begun is done.
BPT_API bpt_status_t bpt_ranks_link_wait(bpt_ranks_link_t *link) BPT_MUST_USE;

BPT_END_DECLS

#endif
