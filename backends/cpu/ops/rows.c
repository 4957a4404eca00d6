// add_rows.
#include "backends/cpu/cpu.h"

enum { PIECE = 1024, ROWS = 16 };  // elements in a thread's buffer, rows of one piece of work

// One row, piece by piece through f32: out = a (zeros when NULL) + b (nothing when NULL).
static void add_row(const bpt_host_run_t *run, int64_t row, int64_t b_row, int64_t d) {
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    const bpt_dtype_t a_type = run->call->in[0].dtype, b_type = run->call->in[1].dtype, to = run->call->out[0].dtype;
    const int64_t b_rows = bpt_shape_rows(&run->call->in[1].shape);
    const bool has_b = b_row >= 0 && b_row < b_rows;
    if (!has_b && run->in[0] == run->out[0]) return;
    for (int64_t c = 0; c < d; c += PIECE) {
        const int64_t n = bpt_cpu_min(PIECE, d - c);
        float sum[PIECE];
        if (run->in[0])
            k->to_f32(sum, (const char *)run->in[0] + (size_t)(row * d + c) * bpt_dtype_size(a_type), a_type, n);
        else
            for (int64_t i = 0; i < n; ++i) sum[i] = 0;
        if (has_b) k->add(sum, (const char *)run->in[1] + (size_t)(b_row * d + c) * bpt_dtype_size(b_type), b_type, n);
        k->from_f32((char *)run->out[0] + (size_t)(row * d + c) * bpt_dtype_size(to), to, sum, n);
    }
}

static void add_block(const void *context, int64_t block, int thread) {
    (void)thread;
    const bpt_host_run_t *run = context;
    const bpt_rows_attrs_t *attrs = &run->attrs->rows;
    const int64_t d = bpt_shape_columns(&run->call->out[0].shape), end = bpt_cpu_min((block + 1) * ROWS, attrs->rows);
    for (int64_t row = block * ROWS; row < end; ++row) add_row(run, row, row - attrs->row, d);
}

static void run_add_rows(const bpt_host_run_t *run) {
    bpt_team_for(run->team, bpt_cpu_blocks(run->attrs->rows.rows, ROWS), add_block, run);
}

const bpt_host_op_t bpt_cpu_op_ADD_ROWS = {NULL, run_add_rows};
