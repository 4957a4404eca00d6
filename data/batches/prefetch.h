// A batch source that prepares the next batches of another one on a thread of its own while the device works. Knows nothing of what is in
// them.
#ifndef BPT_DATA_PREFETCH_H
#define BPT_DATA_PREFETCH_H

#include "bpt/batch.h"

// Wraps *source, which it then owns (*source becomes NULL on success and belongs to the caller still on failure). `depth` batches, at least
// 1, are kept ready; 0 means 2. The batches are the same as without it; an error of the source comes with its message in the place of its
// batch, and again until the next seek. Give it one caller at a time.
bpt_status_t bpt_prefetch_create(bpt_batch_source_t **source, int depth, bpt_batch_source_t **out) BPT_MUST_USE;

#endif
