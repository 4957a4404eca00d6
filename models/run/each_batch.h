// All batches of a source that ends, from its first one on.
#ifndef BPT_MODELS_EACH_BATCH_H
#define BPT_MODELS_EACH_BATCH_H

#include "bpt/batch.h"

// What is done with batch `number`, from 0. A status that is not BPT_OK ends the round and is its result.
typedef bpt_status_t (*bpt_each_batch_fn_t)(void *user, int64_t number, const bpt_batch_t *batch);
bpt_status_t bpt_each_batch(bpt_batch_source_t *source, bpt_each_batch_fn_t visit, void *user) BPT_MUST_USE;

#endif
