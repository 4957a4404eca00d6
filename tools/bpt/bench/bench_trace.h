// `bpt bench train --trace FILE`: where the time of one training step goes, for Perfetto and chrome://tracing.
#ifndef BPT_TOOLS_BENCH_TRACE_H
#define BPT_TOOLS_BENCH_TRACE_H

#include "tools/bpt/bench/bench_model.h"

// Runs a step, after one that warms up, and writes when the device was at which op, and at which kernel where ops are made of kernels.
// Only rank 0 of a team writes.
bpt_status_t cli_bench_trace(const cli_bench_t *b, const char *path) BPT_MUST_USE;

#endif
