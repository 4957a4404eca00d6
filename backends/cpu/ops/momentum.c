// momentum, normalize, descend: block by block.
#include <math.h>

#include "backends/cpu/cpu.h"

enum { BLOCK = 16384 };

static int64_t count_of(const bpt_host_run_t *run) { return bpt_shape_count(&run->call->in[0].shape); }
static double scalar(const bpt_host_run_t *run, int slot) { return (double)*(const float *)run->in[slot]; }
static void *at(void *data, bpt_dtype_t dtype, int64_t element) { return (char *)data + (size_t)element * bpt_dtype_size(dtype); }

static void in_blocks(const bpt_host_run_t *run, void (*block)(const void *, int64_t, int), const void *context) {
    bpt_team_for(run->team, bpt_cpu_blocks(count_of(run), BLOCK), block, context);
}

// ---- momentum

typedef struct {
    const bpt_host_run_t *run;
    bpt_cpu_momentum_t factors;
} momentum_t;

static void momentum_block(const void *context, int64_t block, int thread) {
    (void)thread;
    const momentum_t *t = context;
    const int64_t i = block * BLOCK;
    bpt_cpu_kernels()->momentum(&t->factors, (float *)t->run->in[0] + i, (float *)t->run->in[1] + i,
                                bpt_cpu_min(BLOCK, count_of(t->run) - i));
}

static void run_momentum(const bpt_host_run_t *run) {
    const bpt_momentum_attrs_t *a = &run->attrs->momentum;
    const double squares = scalar(run, 3);
    if (!isfinite(squares)) return;
    const momentum_t t = {run,
                          {.gradient_scale = (float)bpt_cpu_gradient_scale(run->in[2], squares),
                           .rest = (float)(1 - (double)a->momentum),
                           .ahead = a->nesterov ? a->momentum : 1}};
    in_blocks(run, momentum_block, &t);
}

// ---- normalize

typedef struct {
    const bpt_host_run_t *run;
    float norm;
} normalize_t;

static void normalize_block(const void *context, int64_t block, int thread) {
    (void)thread;
    const normalize_t *t = context;
    const bpt_dtype_t dtype = t->run->call->out[0].dtype;
    const int64_t i = block * BLOCK;
    bpt_cpu_kernels()->normalize(t->norm, (const float *)t->run->in[0] + i, at(t->run->out[0], dtype, i), dtype,
                                 bpt_cpu_min(BLOCK, count_of(t->run) - i));
}

static void run_normalize(const bpt_host_run_t *run) {
    const double norm = sqrt(scalar(run, 1)), eps = (double)run->attrs->normalize.eps;
    const normalize_t t = {run, (float)(norm < eps ? eps : norm)};
    in_blocks(run, normalize_block, &t);
}

// ---- descend

typedef struct {
    const bpt_host_run_t *run;
    bpt_cpu_descend_t factors;
} descend_t;

static void descend_block(const void *context, int64_t block, int thread) {
    (void)thread;
    const descend_t *t = context;
    const bpt_dtype_t dtype = t->run->call->in[1].dtype;
    const int64_t i = block * BLOCK;
    bpt_cpu_kernels()->descend(&t->factors, (float *)t->run->in[0] + i, at(t->run->in[1], dtype, i), dtype,
                               bpt_cpu_min(BLOCK, count_of(t->run) - i));
}

static void run_descend(const bpt_host_run_t *run) {
    const bpt_descend_attrs_t *a = &run->attrs->descend;
    const double lr = scalar(run, 2);
    if (!isfinite(scalar(run, 3))) return;
    const descend_t t = {run, {.decay = (float)(lr * (double)a->weight_decay), .rate = (float)(lr * (double)a->lr_scale)}};
    in_blocks(run, descend_block, &t);
}

const bpt_host_op_t bpt_cpu_op_MOMENTUM = {NULL, run_momentum};
const bpt_host_op_t bpt_cpu_op_NORMALIZE = {NULL, run_normalize};
const bpt_host_op_t bpt_cpu_op_DESCEND = {NULL, run_descend};
