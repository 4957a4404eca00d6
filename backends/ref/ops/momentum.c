// momentum, normalize, descend: the steps of Muon beside its products (Jordan et al. 2024).
#include <math.h>

#include "backends/ref/ops/element.h"

static int64_t count_of(const bpt_host_run_t *run) { return bpt_shape_count(&run->call->in[0].shape); }
static double scalar(const bpt_host_run_t *run, int slot) { return (double)*(const float *)run->in[slot]; }

static void run_momentum(const bpt_host_run_t *run) {
    const bpt_momentum_attrs_t *t = &run->attrs->momentum;
    float *g = run->in[0], *m = run->in[1];
    const double squares = scalar(run, 3), momentum = (double)t->momentum, scale = bpt_ref_gradient_scale(run->in[2], squares);
    if (!isfinite(squares)) return;
    for (int64_t i = 0; i < count_of(run); ++i) {
        const double gradient = (double)g[i] * scale, mean = momentum * (double)m[i] + (1 - momentum) * gradient;
        m[i] = (float)mean;
        g[i] = (float)(t->nesterov ? momentum * mean + (1 - momentum) * gradient : mean);
    }
}

static void run_normalize(const bpt_host_run_t *run) {
    const double norm = sqrt(scalar(run, 1)), eps = (double)run->attrs->normalize.eps;
    for (int64_t i = 0; i < count_of(run); ++i) bpt_ref_out(run, 0, i, bpt_ref_in(run, 0, i) / (norm < eps ? eps : norm));
}

static void run_descend(const bpt_host_run_t *run) {
    const bpt_descend_attrs_t *t = &run->attrs->descend;
    float *p = run->in[0];
    const double lr = (double)*(const float *)run->in[2];
    if (!isfinite(scalar(run, 3))) return;
    for (int64_t i = 0; i < count_of(run); ++i)
        p[i] = (float)((double)p[i] - lr * (double)t->weight_decay * (double)p[i] - lr * (double)t->lr_scale * bpt_ref_in(run, 1, i));
}

const bpt_host_op_t bpt_ref_op_MOMENTUM = {NULL, run_momentum};
const bpt_host_op_t bpt_ref_op_NORMALIZE = {NULL, run_normalize};
const bpt_host_op_t bpt_ref_op_DESCEND = {NULL, run_descend};
