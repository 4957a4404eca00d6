// layernorm, layernorm_grad.
#include "backends/cpu/cpu.h"

enum { ROWS = 16 };  // rows of one piece of work, forward

typedef struct {
    bpt_cpu_layernorm_t t;
    int64_t rows, block;  // rows of all, of one piece of work
    float *partials;      // the gradients' sums, by pieces
} pieces_t;

static void norm_piece(const void *context, int64_t i, int thread) {
    (void)thread;
    const pieces_t *p = context;
    bpt_cpu_kernels()->layernorm(&p->t, i * p->block, bpt_cpu_min(p->block, p->rows - i * p->block));
}

static void run_layernorm(const bpt_host_run_t *run) {
    const bpt_layernorm_attrs_t *attrs = &run->attrs->layernorm;
    const bpt_op_call_t *call = run->call;
    const int64_t rows = bpt_shape_rows(&call->in[0].shape);
    const bpt_cpu_layernorm_t t = {.d = bpt_shape_columns(&call->in[0].shape),
                                   .x = run->in[0],
                                   .x_dtype = call->in[0].dtype,
                                   .residual = run->in[1],
                                   .gamma = run->in[2],
                                   .beta = run->in[3],
                                   .y = run->out[0],
                                   .z = run->out[1],
                                   .stats = run->out[2],
                                   .low = run->out[3],
                                   .low_dtype = call->out[3].dtype,
                                   .eps = attrs->eps,
                                   .p = attrs->p,
                                   .uid = attrs->uid,
                                   .row_keys = run->in[BPT_IN_ROW_KEYS],
                                   .rng = run->in[BPT_IN_RNG]};
    const pieces_t pieces = {t, rows, ROWS, NULL};
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
    bpt_cpu_kernels()->layernorm_grad(&p->t, first, bpt_cpu_min(p->block, p->rows - first), p->partials + 2 * i * p->t.d);
}

static void run_layernorm_grad(const bpt_host_run_t *run) {
    const bpt_layernorm_attrs_t *attrs = &run->attrs->layernorm;
    const bpt_op_call_t *call = run->call;
    const int64_t rows = bpt_shape_rows(&call->in[0].shape), block = bpt_cpu_sum_rows(rows), blocks = bpt_cpu_blocks(rows, block);
    const bpt_cpu_layernorm_t t = {.d = bpt_shape_columns(&call->in[0].shape),
                                   .dy = run->in[0],
                                   .z = run->in[1],
                                   .stats = run->in[2],
                                   .gamma = run->in[3],
                                   .low = run->in[4],
                                   .low_dtype = call->in[4].dtype,
                                   .dz = run->out[0],
                                   .dx = run->out[1],
                                   .dx_dtype = call->out[1].dtype,
                                   .p = attrs->p,
                                   .uid = attrs->uid,
                                   .row_keys = run->in[BPT_IN_ROW_KEYS],
                                   .rng = run->in[BPT_IN_RNG]};
    float *partials = run->scratch;
    const pieces_t pieces = {t, rows, block, partials};
    bpt_team_for(run->team, blocks, gradient_piece, &pieces);
    bpt_cpu_sum_partials(partials, blocks, 2 * t.d, t.d, run->out[2]);
    bpt_cpu_sum_partials(partials + t.d, blocks, 2 * t.d, t.d, run->out[3]);
}

const bpt_host_op_t bpt_cpu_op_LAYERNORM = {NULL, run_layernorm};
const bpt_host_op_t bpt_cpu_op_LAYERNORM_GRAD = {plan_layernorm_grad, run_layernorm_grad};
