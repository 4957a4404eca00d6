// momentum, normalize, descend: piece by piece.
#include <math.h>

#include "backends/cpu/cpu.h"

static int64_t count_of(const bpt_host_run_t *run) { return bpt_shape_count(&run->call->in[0].shape); }
static double scalar(const bpt_host_run_t *run, int slot) { return (double)*(const float *)run->in[slot]; }
static void *at(void *data, bpt_dtype_t dtype, int64_t element) { return (char *)data + (size_t)element * bpt_dtype_size(dtype); }

// ---- momentum

typedef struct {
    const bpt_host_run_t *run;
    bpt_cpu_momentum_t factors;
} momentum_t;

static void momentum(const void *context, int64_t i, int64_t count) {
    const momentum_t *t = context;
    bpt_cpu_kernels()->momentum(&t->factors, (float *)t->run->in[0] + i, (float *)t->run->in[1] + i, count);
}

static void run_momentum(const bpt_host_run_t *run) {
    const bpt_momentum_attrs_t *a = &run->attrs->momentum;
    const double squares = scalar(run, 3);
    if (!isfinite(squares)) return;
    const momentum_t t = {run,
                          {.gradient_scale = (float)bpt_cpu_gradient_scale(run->in[2], squares),
                           .momentum = a->momentum,
                           .rest = (float)(1 - (double)a->momentum),
                           .ahead = a->nesterov ? a->momentum : 1,
                           .here = a->nesterov ? (float)(1 - (double)a->momentum) : 0}};
    bpt_cpu_in_pieces(run, count_of(run), momentum, &t);
}

// ---- normalize

typedef struct {
    const bpt_host_run_t *run;
    float norm;
} normalize_t;

static void normalize(const void *context, int64_t i, int64_t count) {
    const normalize_t *t = context;
    const bpt_dtype_t dtype = t->run->call->out[0].dtype;
    bpt_cpu_kernels()->normalize(t->norm, (const float *)t->run->in[0] + i, at(t->run->out[0], dtype, i), dtype, count);
}

static void run_normalize(const bpt_host_run_t *run) {
    const double norm = sqrt(scalar(run, 1)), eps = (double)run->attrs->normalize.eps;
    bpt_cpu_in_pieces(run, count_of(run), normalize, &(normalize_t){run, (float)(norm < eps ? eps : norm)});
}

// ---- descend

typedef struct {
    const bpt_host_run_t *run;
    bpt_cpu_descend_t factors;
} descend_t;

static void descend(const void *context, int64_t i, int64_t count) {
    const descend_t *t = context;
    const bpt_dtype_t dtype = t->run->call->in[1].dtype;
    bpt_cpu_kernels()->descend(&t->factors, (float *)t->run->in[0] + i, at(t->run->in[1], dtype, i), dtype, count);
}

static void run_descend(const bpt_host_run_t *run) {
    const bpt_descend_attrs_t *a = &run->attrs->descend;
    const double lr = scalar(run, 2);
    if (!isfinite(scalar(run, 3))) return;
    const descend_t t = {run, {.decay = (float)(lr * (double)a->weight_decay), .rate = (float)(lr * (double)a->lr_scale)}};
    bpt_cpu_in_pieces(run, count_of(run), descend, &t);
}

const bpt_host_op_t bpt_cpu_op_MOMENTUM = {NULL, run_momentum};
const bpt_host_op_t bpt_cpu_op_NORMALIZE = {NULL, run_normalize};
const bpt_host_op_t bpt_cpu_op_DESCEND = {NULL, run_descend};
