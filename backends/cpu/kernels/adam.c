// The optimiser's update of a piece of the flat arenas, and gradient accumulation.
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/vec.h"

BPT_INLINE vf vf_sqrt(vf x) {
#if defined(__AVX512F__)
    return (vf)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__)
    return (vf)_mm256_sqrt_ps((__m256)x);
#elif defined(__x86_64__)
    return (vf)_mm_sqrt_ps((__m128)x);
#else
    for (int i = 0; i < BPT_LANES; ++i) x[i] = sqrtf(x[i]);
    return x;
#endif
}

void BPT_KERNEL_NAME(adam)(const bpt_cpu_adam_t *t, float *p, const float *g, float *m, float *v, int64_t count) {
    for (int64_t i = 0; i < count; i += BPT_LANES) {
        const int64_t n = count - i;
        vf x = vf_read(p, BPT_F32, i, n), gradient = vf_read(g, BPT_F32, i, n) * t->gradient_scale;
        gradient += t->coupled_decay * x;
        x -= t->decoupled_decay * x;
        const vf first = vf_read(m, BPT_F32, i, n) * t->beta1 + gradient * t->rest1;
        const vf second = vf_read(v, BPT_F32, i, n) * t->beta2 + gradient * gradient * t->rest2;
        x -= t->rate * first / (vf_sqrt(second * t->inverse_bias2) + t->eps);
        vf_write(p, BPT_F32, i, n, x);
        vf_write(m, BPT_F32, i, n, first);
        vf_write(v, BPT_F32, i, n, second);
    }
}

void BPT_KERNEL_NAME(accumulate)(float *acc, const float *x, float keep, int64_t n) {
    if (keep == 0) {  // whatever acc holds, NaN included, is dropped
        memcpy(acc, x, (size_t)n * sizeof *x);
        return;
    }
    for (int64_t i = 0; i < n; i += BPT_LANES)
        vf_write(acc, BPT_F32, i, n - i, vf_read(acc, BPT_F32, i, n - i) * keep + vf_read(x, BPT_F32, i, n - i));
}
