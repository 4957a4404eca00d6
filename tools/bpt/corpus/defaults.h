// Defaults that depend on how much there is to learn from, and warnings about schedules that cannot work. What a flag, a config file, a
// preset or a resumed run says is never touched. Knows the options and sizes, no data.
#ifndef BPT_TOOLS_DEFAULTS_H
#define BPT_TOOLS_DEFAULTS_H

#include "tools/bpt/options/options.h"

// The size and dropout of a classifier, before its configuration is checked. `examples` is 0 for a language model.
void cli_defaults_model(cli_options_t *o, int64_t examples);
// The batch, before sources of batches are made: small data get small steps.
void cli_defaults_batch(cli_options_t *o, int64_t examples, int64_t tokens);
// Length, warm-up and evaluations, once the steps of an epoch are known; steps are resolved afterwards.
bpt_status_t cli_defaults_length(cli_options_t *o, int64_t steps_per_epoch) BPT_MUST_USE;
// A line on stderr for everything in a resolved schedule that leaves a model with little to learn from.
void cli_defaults_warn(const cli_options_t *o);

#endif
