// The recorded ops of one training step of the model: `bpt bench ops`, `attention`.
#ifndef BPT_TOOLS_BENCH_OPS_H
#define BPT_TOOLS_BENCH_OPS_H

#include "tools/bpt/bench/bench_model.h"

enum { CLI_BENCH_MAX_OPS = 4096 };

// Runs the step --repeat times, after once that warms up, and gives each op with the median of its times. Then `look`, unless NULL, sees
// the program, of which the last step's timings are still there.
bpt_status_t cli_bench_time_ops(const cli_bench_t *b, bpt_timing_t what, bpt_op_timing_t *timings, int *count,
                                bpt_status_t (*look)(void *user, bpt_program_t *program), void *user) BPT_MUST_USE;

// Each kind and shape, with its share of the device's limits.
bpt_status_t cli_bench_ops(const cli_bench_t *b) BPT_MUST_USE;
// Forward and backward of one middle layer, where every node asks: the attention ops with the most work.
bpt_status_t cli_bench_attention(const cli_bench_t *b) BPT_MUST_USE;

#endif
