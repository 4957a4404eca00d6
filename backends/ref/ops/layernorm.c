// Layer normalisation with residual and dropout (Ba et al. 2016), and its gradient; without mean and beta (Zhang and Sennrich 2019).
#include <math.h>
#include <string.h>

#include "backends/ref/ops/element.h"

// Scratch: one row of z.
static bpt_status_t plan_layernorm(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    *scratch_bytes = (size_t)bpt_ref_columns(&call->in[0]) * sizeof(double);
    return BPT_OK;
}

static void run_layernorm(const bpt_host_run_t *run) {
    const bpt_layernorm_attrs_t *t = &run->attrs->layernorm;
    const int64_t rows = bpt_ref_rows(&run->call->in[0]), d = bpt_ref_columns(&run->call->in[0]);
    double *z = run->scratch;
    for (int64_t r = 0; r < rows; ++r) {
        double mean = 0, variance = 0;
        for (int64_t c = 0; c < d; ++c) {
            z[c] = bpt_ref_in(run, 0, r * d + c) * bpt_ref_dropout_at(run, t->p, t->uid, r, c);
            if (run->in[1]) z[c] += bpt_ref_in(run, 1, r * d + c);
            mean += z[c];
        }
        mean = bpt_norm_is_centred(run->call->op) ? mean / (double)d : 0;
        for (int64_t c = 0; c < d; ++c) variance += (z[c] - mean) * (z[c] - mean);
        const double inverse_deviation = 1 / sqrt(variance / (double)d + (double)t->eps);
        for (int64_t c = 0; c < d; ++c) {
            const double y = (z[c] - mean) * inverse_deviation * bpt_ref_in(run, 2, c) + (run->in[3] ? bpt_ref_in(run, 3, c) : 0);
            bpt_ref_out(run, 0, r * d + c, y);
            if (run->out[1]) bpt_ref_out(run, 1, r * d + c, z[c]);
            if (run->out[3]) bpt_ref_out(run, 3, r * d + c, y);
        }
        if (!run->out[2]) continue;
        bpt_ref_out(run, 2, 2 * r, mean);
        bpt_ref_out(run, 2, 2 * r + 1, inverse_deviation);
    }
}

// Scratch: sums for dgamma and dbeta.
static bpt_status_t plan_layernorm_grad(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    *scratch_bytes = 2 * (size_t)bpt_ref_columns(&call->in[0]) * sizeof(double);
    return BPT_OK;
}

static double dy_at(const bpt_host_run_t *run, int64_t i) { return bpt_ref_in(run, 0, i) + (run->in[4] ? bpt_ref_in(run, 4, i) : 0); }

// With x^ = (z - mean) / deviation and g = dy gamma:  dz = (g - mean(g) - x^ mean(g x^)) / deviation.
static void run_layernorm_grad(const bpt_host_run_t *run) {
    const bpt_layernorm_attrs_t *t = &run->attrs->layernorm;
    const int64_t rows = bpt_ref_rows(&run->call->in[0]), d = bpt_ref_columns(&run->call->in[0]);
    double *dgamma = run->scratch, *dbeta = dgamma + d;
    memset(dgamma, 0, 2 * (size_t)d * sizeof *dgamma);
    for (int64_t r = 0; r < rows; ++r) {
        const double mean = bpt_ref_in(run, 2, 2 * r), inverse_deviation = bpt_ref_in(run, 2, 2 * r + 1);
        double mean_g = 0, mean_gx = 0;
        for (int64_t c = 0; c < d; ++c) {
            const double dy = dy_at(run, r * d + c), x = (bpt_ref_in(run, 1, r * d + c) - mean) * inverse_deviation;
            dgamma[c] += dy * x;
            dbeta[c] += dy;
            mean_g += dy * bpt_ref_in(run, 3, c);
            mean_gx += dy * bpt_ref_in(run, 3, c) * x;
        }
        mean_g = bpt_norm_is_centred(run->call->op) ? mean_g / (double)d : 0;
        mean_gx /= (double)d;
        for (int64_t c = 0; c < d; ++c) {
            const double g = dy_at(run, r * d + c) * bpt_ref_in(run, 3, c);
            const double x = (bpt_ref_in(run, 1, r * d + c) - mean) * inverse_deviation;
            const double dz = (g - mean_g - x * mean_gx) * inverse_deviation;
            bpt_ref_out(run, 0, r * d + c, dz);
            if (run->out[1]) bpt_ref_out(run, 1, r * d + c, dz * bpt_ref_dropout_at(run, t->p, t->uid, r, c));
        }
    }
    for (int64_t c = 0; c < d; ++c) {
        bpt_ref_out(run, 2, c, dgamma[c]);
        if (run->out[3]) bpt_ref_out(run, 3, c, dbeta[c]);
    }
}

const bpt_host_op_t bpt_ref_op_LAYERNORM = {plan_layernorm, run_layernorm};
const bpt_host_op_t bpt_ref_op_LAYERNORM_GRAD = {plan_layernorm_grad, run_layernorm_grad};
const bpt_host_op_t bpt_ref_op_RMSNORM = {plan_layernorm, run_layernorm};
const bpt_host_op_t bpt_ref_op_RMSNORM_GRAD = {plan_layernorm_grad, run_layernorm_grad};
