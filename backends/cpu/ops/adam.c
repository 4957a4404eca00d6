// adam, accumulate.
#include <math.h>

#include "backends/cpu/cpu.h"

double bpt_cpu_gradient_scale(const float *hyper, double square_sum) {
    const double clip = (double)hyper[3], limit = sqrt(square_sum) * (double)hyper[4] + 1e-6, scale = (double)hyper[4];
    return clip > 0 && clip < limit ? scale * (clip / limit) : scale;
}

// The factors of the update (ops.h); double, because 1 - beta2^t and the norm feed every parameter.
static bpt_cpu_adam_t make_factors(const bpt_adam_attrs_t *a, const float *hyper, double square_sum) {
    const double lr = (double)hyper[0] * (double)a->lr_scale;
    return (bpt_cpu_adam_t){.gradient_scale = (float)bpt_cpu_gradient_scale(hyper, square_sum),
                            .coupled_decay = a->decoupled ? 0 : a->weight_decay,
                            .decoupled_decay = a->decoupled ? (float)(lr * (double)a->weight_decay) : 0,
                            .beta1 = a->beta1,
                            .rest1 = (float)(1 - (double)a->beta1),
                            .beta2 = a->beta2,
                            .rest2 = (float)(1 - (double)a->beta2),
                            .rate = (float)(lr / (double)hyper[1]),
                            .inverse_bias2 = (float)(1 / (double)hyper[2]),
                            .eps = a->eps};
}

static int64_t count_of(const bpt_host_run_t *run) { return bpt_shape_count(&run->call->in[0].shape); }

typedef struct {
    const bpt_host_run_t *run;
    bpt_cpu_adam_t factors;
} update_t;

static void update(const void *context, int64_t i, int64_t count) {
    const update_t *u = context;
    void *const *in = u->run->in;
    bpt_cpu_kernels()->adam(&u->factors, (float *)in[0] + i, (const float *)in[1] + i, (float *)in[2] + i, (float *)in[3] + i, count);
}

static void run_adam(const bpt_host_run_t *run) {
    const float square_sum = *(const float *)run->in[5];
    if (!isfinite(square_sum)) return;
    bpt_cpu_in_pieces(run, count_of(run), update, &(update_t){run, make_factors(&run->attrs->adam, run->in[4], (double)square_sum)});
}

static void accumulate(const void *context, int64_t i, int64_t count) {
    const bpt_host_run_t *run = context;
    bpt_cpu_kernels()->accumulate((float *)run->in[0] + i, (const float *)run->in[1] + i, *(const float *)run->in[2], count);
}

static void run_accumulate(const bpt_host_run_t *run) { bpt_cpu_in_pieces(run, count_of(run), accumulate, run); }

const bpt_host_op_t bpt_cpu_op_ADAM = {NULL, run_adam};
const bpt_host_op_t bpt_cpu_op_ACCUMULATE = {NULL, run_accumulate};
