// `bpt bench op LINE`: one op call by itself, as a line says it (bpt/line.h). Prints nothing.
#ifndef BPT_TOOLS_BENCH_OP_H
#define BPT_TOOLS_BENCH_OP_H

#include "bpt/line.h"
#include "tools/bpt/bench/rates.h"

typedef struct {
    double seconds, least;  // the quantile that was asked for, and the fastest
    double flops, bytes;    // of the call; 0 flops: none are counted
    uint64_t device_bytes;  // operands and scratch
    bool by_host;           // the device has no timestamps: the host's clock, with submission and waiting
} cli_op_result_t;

// BPT_ERR_USAGE where the operands have no room on the device.
bpt_status_t cli_bench_time_line(bpt_device_t *device, const bpt_op_line_t *line, cli_timing_t timing, cli_op_result_t *out) BPT_MUST_USE;

#endif
