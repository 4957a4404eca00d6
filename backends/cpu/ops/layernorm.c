// layernorm, layernorm_grad; rmsnorm, rmsnorm_grad, which the kernels tell apart.
#include "backends/cpu/cpu.h"

enum { ROWS = 16 };  // rows of one piece of work, forward

typedef struct {
    bpt_cpu_call_t call;
    int64_t d, rows, block;  // rows of all, of one piece of work
    float *partials;         // the gradients' sums, by pieces
} pieces_t;

static pieces_t pieces_of(const bpt_host_run_t *run, int64_t rows, int64_t block) {
    return (pieces_t){.call = {.call = run->call, .in = run->in, .out = run->out},
                      .d = bpt_shape_columns(&run->call->in[0].shape),
                      .rows = rows,
                      .block = block,
                      .partials = run->scratch};
}

static void norm_piece(const void *context, int64_t i, int thread) {
    (void)thread;
    const pieces_t *p = context;
    bpt_cpu_kernels()->layernorm(&p->call, i * p->block, bpt_cpu_min(p->block, p->rows - i * p->block));
}

static void run_layernorm(const bpt_host_run_t *run) {
    const int64_t rows = bpt_shape_rows(&run->call->in[0].shape);
    const pieces_t pieces = pieces_of(run, rows, ROWS);
    bpt_team_for(run->team, bpt_cpu_blocks(rows, ROWS), norm_piece, &pieces);
}

static bpt_status_t plan_layernorm_grad(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    const int64_t rows = bpt_shape_rows(&call->in[0].shape), blocks = bpt_cpu_blocks(rows, bpt_cpu_sum_rows(rows));
    *scratch_bytes = (size_t)(2 * blocks * bpt_shape_columns(&call->in[0].shape)) * sizeof(float);
    return BPT_OK;
}

static void gradient_piece(const void *context, int64_t i, int thread) {
    (void)thread;
    const pieces_t *p = context;
    const int64_t first = i * p->block;
    bpt_cpu_kernels()->layernorm_grad(&p->call, first, bpt_cpu_min(p->block, p->rows - first), p->partials + 2 * i * p->d);
}

static void run_layernorm_grad(const bpt_host_run_t *run) {
    const int64_t rows = bpt_shape_rows(&run->call->in[0].shape), block = bpt_cpu_sum_rows(rows), blocks = bpt_cpu_blocks(rows, block);
    const pieces_t p = pieces_of(run, rows, block);
    bpt_team_for(run->team, blocks, gradient_piece, &p);
    bpt_cpu_sum_partials(p.partials, blocks, 2 * p.d, p.d, run->out[2]);
    if (run->out[3]) bpt_cpu_sum_partials(p.partials + p.d, blocks, 2 * p.d, p.d, run->out[3]);
}

const bpt_host_op_t bpt_cpu_op_LAYERNORM = {NULL, run_layernorm};
const bpt_host_op_t bpt_cpu_op_LAYERNORM_GRAD = {plan_layernorm_grad, run_layernorm_grad};
const bpt_host_op_t bpt_cpu_op_RMSNORM = {NULL, run_layernorm};
const bpt_host_op_t bpt_cpu_op_RMSNORM_GRAD = {plan_layernorm_grad, run_layernorm_grad};
