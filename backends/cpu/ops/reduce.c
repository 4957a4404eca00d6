// column_sum, square_sum, and the merging of partial sums.
#include <string.h>

#include "backends/cpu/cpu.h"

enum { SQUARE_BLOCK = 65536 };

void bpt_cpu_sum_partials(const float *partials, int64_t count, int64_t stride, int64_t n, float *out) {
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    memset(out, 0, (size_t)n * sizeof *out);
    for (int64_t i = 0; i < count; ++i) k->add(out, partials + i * stride, BPT_F32, n);
}

static bpt_status_t plan_column_sum(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    const int64_t rows = bpt_shape_rows(&call->in[0].shape), blocks = bpt_cpu_blocks(rows, bpt_cpu_sum_rows(rows));
    *scratch_bytes = (size_t)(blocks * bpt_shape_columns(&call->in[0].shape)) * sizeof(float);
    return BPT_OK;
}

static void sum_columns(const void *context, int64_t i, int thread) {
    (void)thread;
    const bpt_host_run_t *run = context;
    const bpt_dtype_t dtype = run->call->in[0].dtype;
    const int64_t rows = bpt_shape_rows(&run->call->in[0].shape), columns = bpt_shape_columns(&run->call->in[0].shape);
    const int64_t block = bpt_cpu_sum_rows(rows);
    const char *x = (const char *)run->in[0] + (size_t)(i * block * columns) * bpt_dtype_size(dtype);
    float *sum = (float *)run->scratch + i * columns;
    memset(sum, 0, (size_t)columns * sizeof *sum);
    bpt_cpu_kernels()->column_sum(sum, x, dtype, bpt_cpu_min(block, rows - i * block), columns, columns);
}

static void run_column_sum(const bpt_host_run_t *run) {
    const int64_t rows = bpt_shape_rows(&run->call->in[0].shape), columns = bpt_shape_columns(&run->call->in[0].shape);
    const int64_t blocks = bpt_cpu_blocks(rows, bpt_cpu_sum_rows(rows));
    bpt_team_for(run->team, blocks, sum_columns, run);
    bpt_cpu_sum_partials(run->scratch, blocks, columns, columns, run->out[0]);
}

static bpt_status_t plan_square_sum(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    *scratch_bytes = (size_t)bpt_cpu_blocks(bpt_shape_count(&call->in[0].shape), SQUARE_BLOCK) * sizeof(double);
    return BPT_OK;
}

static void sum_squares(const void *context, int64_t i, int thread) {
    (void)thread;
    const bpt_host_run_t *run = context;
    const int64_t left = bpt_shape_count(&run->call->in[0].shape) - i * SQUARE_BLOCK;
    ((double *)run->scratch)[i] =
        bpt_cpu_kernels()->square_sum((const float *)run->in[0] + i * SQUARE_BLOCK, bpt_cpu_min(SQUARE_BLOCK, left));
}

static void run_square_sum(const bpt_host_run_t *run) {
    const int64_t blocks = bpt_cpu_blocks(bpt_shape_count(&run->call->in[0].shape), SQUARE_BLOCK);
    const double *partials = run->scratch;
    double sum = 0;
    bpt_team_for(run->team, blocks, sum_squares, run);
    for (int64_t i = 0; i < blocks; ++i) sum += partials[i];
    *(float *)run->out[0] = (float)sum;
}

const bpt_host_op_t bpt_cpu_op_COLUMN_SUM = {plan_column_sum, run_column_sum};
const bpt_host_op_t bpt_cpu_op_SQUARE_SUM = {plan_square_sum, run_square_sum};
