// Files of numbers that `bpt eval` writes beside its result. Knows no model.
#ifndef BPT_TOOLS_EVAL_FILES_H
#define BPT_TOOLS_EVAL_FILES_H

#include "bpt/status.h"

// A list of numbers as JSON. BPT_ERR_NUMERIC where one is not finite.
bpt_status_t cli_write_nll(const char *path, const float *nll, size_t count) BPT_MUST_USE;
// A list for each example: values [examples, outputs].
bpt_status_t cli_write_predictions(const char *path, const float *values, int64_t examples, int64_t outputs) BPT_MUST_USE;

#endif
