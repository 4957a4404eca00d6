// rotary.
#include "backends/cpu/cpu.h"

enum { ROWS = 16 };  // of one piece of work

static void rotate_piece(const void *context, int64_t i, int thread) {
    (void)thread;
    const bpt_cpu_call_t *call = context;
    const int64_t rows = bpt_shape_rows(&call->call->in[0].shape);
    bpt_cpu_kernels()->rotary(call, i * ROWS, bpt_cpu_min(ROWS, rows - i * ROWS));
}

static void run_rotary(const bpt_host_run_t *run) {
    const bpt_cpu_call_t call = {.call = run->call, .in = run->in, .out = run->out};
    bpt_team_for(run->team, bpt_cpu_blocks(bpt_shape_rows(&run->call->in[0].shape), ROWS), rotate_piece, &call);
}

const bpt_host_op_t bpt_cpu_op_ROTARY = {NULL, run_rotary};
