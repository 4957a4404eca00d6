// Conversions between f32 and the storage types.
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/vec.h"

BPT_INLINE void widen(float *out, const void *x, bpt_dtype_t dtype, int64_t n) {
    for (int64_t i = 0; i < n; i += BPT_LANES) vf_write(out, BPT_F32, i, n - i, vf_read(x, dtype, i, n - i));
}

BPT_INLINE void narrow(void *out, bpt_dtype_t dtype, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i += BPT_LANES) vf_write(out, dtype, i, n - i, vf_read(x, BPT_F32, i, n - i));
}

void BPT_KERNEL_NAME(to_f32)(float *out, const void *x, bpt_dtype_t dtype, int64_t n) {
    if (dtype == BPT_BF16) {
        widen(out, x, BPT_BF16, n);
    } else if (dtype == BPT_F16) {
        widen(out, x, BPT_F16, n);
    } else if (out != x) {
        memcpy(out, x, (size_t)n * sizeof *out);
    }
}

void BPT_KERNEL_NAME(from_f32)(void *out, bpt_dtype_t dtype, const float *x, int64_t n) {
    if (dtype == BPT_BF16) {
        narrow(out, BPT_BF16, x, n);
    } else if (dtype == BPT_F16) {
        narrow(out, BPT_F16, x, n);
    } else if (out != x) {
        memcpy(out, x, (size_t)n * sizeof *x);
    }
}
