// Pieces of momentum, normalize and descend.
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/vec.h"

void BPT_KERNEL_NAME(momentum)(const bpt_cpu_momentum_t *t, float *g, float *m, int64_t count) {
    for (int64_t i = 0; i < count; i += BPT_LANES) {
        const int64_t n = count - i;
        const vf gradient = vf_read(g, BPT_F32, i, n) * t->gradient_scale;
        const vf mean = t->momentum * vf_read(m, BPT_F32, i, n) + t->rest * gradient;
        vf_write(m, BPT_F32, i, n, mean);
        vf_write(g, BPT_F32, i, n, t->ahead * mean + t->here * gradient);
    }
}

void BPT_KERNEL_NAME(normalize)(float norm, const float *x, void *out, bpt_dtype_t dtype, int64_t count) {
    for (int64_t i = 0; i < count; i += BPT_LANES) vf_write(out, dtype, i, count - i, vf_read(x, BPT_F32, i, count - i) / norm);
}

void BPT_KERNEL_NAME(descend)(const bpt_cpu_descend_t *t, float *p, const void *u, bpt_dtype_t dtype, int64_t count) {
    for (int64_t i = 0; i < count; i += BPT_LANES) {
        const int64_t n = count - i;
        const vf x = vf_read(p, BPT_F32, i, n);
        vf_write(p, BPT_F32, i, n, x - t->decay * x - t->rate * vf_read(u, dtype, i, n));
    }
}
