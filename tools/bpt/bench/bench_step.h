// A step of the model that `bpt bench` measures: alone, or together with the other ranks of a team.
#ifndef BPT_TOOLS_BENCH_STEP_H
#define BPT_TOOLS_BENCH_STEP_H

#include "tools/bpt/bench/bench_model.h"

// A training step, or without `training` the logits of the batch.
bpt_status_t cli_bench_step(bpt_runner_t *runner, const cli_bench_tokens_t *t, bool training, float *logits) BPT_MUST_USE;
// The program that it runs.
bpt_step_key_t cli_bench_step_key(const bpt_runner_t *runner, const cli_bench_tokens_t *t, bool training);

#endif
