// The optimiser's update (Kingma & Ba 2015; decoupled decay: Loshchilov & Hutter 2019) and gradient accumulation.
#include <math.h>

#include "backends/ref/ops/element.h"

double bpt_ref_gradient_scale(const float *hyper, double square_sum) {
    const double clip = (double)hyper[3], scale = (double)hyper[4], norm = sqrt(square_sum) * scale;
    return clip > 0 && clip < norm + 1e-6 ? scale * (clip / (norm + 1e-6)) : scale;
}

static void run_adam(const bpt_host_run_t *run) {
    const bpt_adam_attrs_t *t = &run->attrs->adam;
    float *p = run->in[0], *m = run->in[2], *v = run->in[3];
    const float *g = run->in[1], *hyper = run->in[4], square_sum = *(const float *)run->in[5];
    const int64_t count = bpt_shape_count(&run->call->in[0].shape);
    if (!isfinite(square_sum)) return;
    const double lr = (double)hyper[0] * (double)t->lr_scale, decay = (double)t->weight_decay;
    const double beta1 = (double)t->beta1, beta2 = (double)t->beta2;
    const double scale = bpt_ref_gradient_scale(hyper, (double)square_sum);
    for (int64_t i = 0; i < count; ++i) {
        double x = (double)p[i], gradient = (double)g[i] * scale;
        if (t->decoupled)
            x -= lr * decay * x;
        else
            gradient += decay * x;
        const double first = beta1 * (double)m[i] + (1 - beta1) * gradient;
        const double second = beta2 * (double)v[i] + (1 - beta2) * gradient * gradient;
        x -= lr * (first / (double)hyper[1]) / (sqrt(second / (double)hyper[2]) + (double)t->eps);
        p[i] = (float)x, m[i] = (float)first, v[i] = (float)second;
    }
}

static void run_accumulate(const bpt_host_run_t *run) {
    float *acc = run->in[0];
    const float *x = run->in[1], keep = *(const float *)run->in[2];
    const int64_t count = bpt_shape_count(&run->call->in[0].shape);
    for (int64_t i = 0; i < count; ++i) acc[i] = (float)((keep == 0 ? 0 : (double)acc[i] * (double)keep) + (double)x[i]);
}

const bpt_host_op_t bpt_ref_op_ADAM = {NULL, run_adam};
const bpt_host_op_t bpt_ref_op_ACCUMULATE = {NULL, run_accumulate};
