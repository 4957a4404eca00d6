// `--dry-run`: what a training run would need. Knows the runner; trains nothing.
#ifndef BPT_TOOLS_PLAN_H
#define BPT_TOOLS_PLAN_H

#include "bpt/backend.h"
#include "bpt/batch.h"
#include "bpt/ranks.h"
#include "tools/bpt/options/options.h"

// Prints parameters, memory and steps to stdout; with --verbose the map of the largest shape's workspace too.
// `data_bytes`: what the data take. Of ranks that share each sequence (NULL: there are none) it is the plan of this one.
bpt_status_t cli_plan_print(const cli_options_t *o, bpt_device_t *device, bpt_ranks_t *ranks, const bpt_batch_source_t *source,
                            uint64_t data_bytes) BPT_MUST_USE;

#endif
