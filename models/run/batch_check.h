// The boundary of data and models: what a source gives is held against its shape and the model, so that nothing that is wrong in it,
// whatever option or file it comes from, reads or writes beyond an array. Knows no source and no device.
#ifndef BPT_MODELS_BATCH_CHECK_H
#define BPT_MODELS_BATCH_CHECK_H

#include "bpt/batch.h"
#include "models/config/config.h"

// BPT_ERR_INPUT where rows are not those of the shape, sequences, segments, n-grams or nodes of trees are beyond their arrays, or tokens,
// symbols or targets are beyond the model's. One pass over the arrays, of whole sequences.
bpt_status_t bpt_batch_check(const bpt_model_config_t *config, const bpt_batch_t *batch) BPT_MUST_USE;

#endif
