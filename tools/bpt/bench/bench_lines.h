// `bpt bench train --ops`: the ops of a training step as lines (bpt/line.h), for `bpt bench op` and for bug reports.
#ifndef BPT_TOOLS_BENCH_LINES_H
#define BPT_TOOLS_BENCH_LINES_H

#include "tools/bpt/bench/bench_model.h"

// The distinct lines, how often each occurs, and the time of all that have it.
bpt_status_t cli_bench_lines(const cli_bench_t *b) BPT_MUST_USE;
// The same without times of the step of a preset, --tokens at a time, which is compiled for the device and does not run.
bpt_status_t cli_bench_preset_lines(cli_options_t *o, bpt_device_t *device) BPT_MUST_USE;

#endif
