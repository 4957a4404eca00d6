// adam, accumulate.
#include <math.h>

#include "backends/cpu/cpu.h"

enum { BLOCK = 16384 };

// The factors of the update (ops.h); double, because 1 - beta2^t and the norm feed every parameter.
static bpt_cpu_adam_t make_factors(const bpt_adam_attrs_t *a, const float *hyper, double square_sum) {
    const double lr = (double)hyper[0] * (double)a->lr_scale, clip = (double)hyper[3], limit = sqrt(square_sum) * (double)hyper[4] + 1e-6;
    double scale = (double)hyper[4];
    if (clip > 0 && clip < limit) scale *= clip / limit;
    return (bpt_cpu_adam_t){
        .gradient_scale = (float)scale, .coupled_decay = a->decoupled ? 0 : a->weight_decay,
        .decoupled_decay = a->decoupled ? (float)(lr * (double)a->weight_decay) : 0, .beta1 = a->beta1,
        .rest1 = (float)(1 - (double)a->beta1), .beta2 = a->beta2, .rest2 = (float)(1 - (double)a->beta2),
        .rate = (float)(lr / (double)hyper[1]), .inverse_bias2 = (float)(1 / (double)hyper[2]), .eps = a->eps};
}

void bpt_cpu_run_ADAM(const bpt_host_run_t *run) {
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    float *p = run->in[0], *m = run->in[2], *v = run->in[3];
    const float *g = run->in[1], square_sum = *(const float *)run->in[5];
    if (!isfinite(square_sum)) return;
    const bpt_cpu_adam_t t = make_factors(&run->attrs->adam, run->in[4], (double)square_sum);
    const int64_t n = bpt_shape_count(&run->call->in[0].shape), blocks = bpt_cpu_blocks(n, BLOCK);
#pragma omp parallel for num_threads(run->threads) schedule(static)
    for (int64_t b = 0; b < blocks; ++b) {
        const int64_t i = b * BLOCK;
        k->adam(&t, p + i, g + i, m + i, v + i, bpt_cpu_min(BLOCK, n - i));
    }
}

void bpt_cpu_run_ACCUMULATE(const bpt_host_run_t *run) {
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    float *acc = run->in[0];
    const float *x = run->in[1], keep = *(const float *)run->in[2];
    const int64_t n = bpt_shape_count(&run->call->in[0].shape), blocks = bpt_cpu_blocks(n, BLOCK);
#pragma omp parallel for num_threads(run->threads) schedule(static)
    for (int64_t b = 0; b < blocks; ++b) k->accumulate(acc + b * BLOCK, x + b * BLOCK, keep, bpt_cpu_min(BLOCK, n - b * BLOCK));
}
