// A device cut into parts: devices that share its memory and compute side by side, each on its own share of the threads. For work that
// falls into pieces which know nothing of each other, and are too small to be worth several threads each.
#ifndef BPT_PARTS_H
#define BPT_PARTS_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

struct bpt_device;
typedef struct bpt_parts bpt_parts_t;

// How many parts a device can be cut into; 1: it works as a whole only.
BPT_API int bpt_parts_most(const struct bpt_device *whole);
// Cuts it into `count` parts, from 1 to that many. The parts may use the buffers of the whole, and those of each other.
BPT_API bpt_status_t bpt_parts_open(struct bpt_device *whole, int count, bpt_parts_t **out) BPT_MUST_USE;
// NULL is allowed. What was made on the parts is to be destroyed before, and the whole device after them.
BPT_API void bpt_parts_close(bpt_parts_t *parts);
BPT_API int bpt_parts_count(const bpt_parts_t *parts);
BPT_API struct bpt_device *bpt_parts_device(const bpt_parts_t *parts, int part);
// Calls work(user, part) for each part at the same time, on a thread of its own, and waits for all. The whole device must not be used
// meanwhile. Of failures that of the part with the smallest number is returned, with its message.
BPT_API bpt_status_t bpt_parts_run(bpt_parts_t *parts, bpt_status_t (*work)(void *user, int part), void *user) BPT_MUST_USE;

BPT_END_DECLS

#endif
