// Sums over a block; the blocks are merged by the ops in their order.
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/vec.h"

BPT_INLINE void column_sum(float *restrict sum, const char *x, bpt_dtype_t dtype, int64_t rows, int64_t columns, size_t stride) {
    int64_t row = 0;
    for (; row + 4 <= rows; row += 4, x += 4 * stride)  // four rows at a time: the sums are read and written once for all
        for (int64_t i = 0; i < columns; i += BPT_LANES) {
            const int64_t n = columns - i;
            const vf a = vf_read(x, dtype, i, n) + vf_read(x + stride, dtype, i, n);
            const vf b = vf_read(x + 2 * stride, dtype, i, n) + vf_read(x + 3 * stride, dtype, i, n);
            vf_write(sum, BPT_F32, i, n, vf_read(sum, BPT_F32, i, n) + (a + b));
        }
    for (; row < rows; ++row, x += stride)
        for (int64_t i = 0; i < columns; i += BPT_LANES)
            vf_write(sum, BPT_F32, i, columns - i, vf_read(sum, BPT_F32, i, columns - i) + vf_read(x, dtype, i, columns - i));
}

void BPT_KERNEL_NAME(column_sum)(float *sum, const void *x, bpt_dtype_t dtype, int64_t rows, int64_t columns, int64_t stride) {
    const size_t stride_bytes = (size_t)stride * bpt_dtype_size(dtype);
    if (dtype == BPT_F32)
        column_sum(sum, x, BPT_F32, rows, columns, stride_bytes);
    else if (dtype == BPT_BF16)
        column_sum(sum, x, BPT_BF16, rows, columns, stride_bytes);
    else
        column_sum(sum, x, BPT_F16, rows, columns, stride_bytes);
}

double BPT_KERNEL_NAME(square_sum)(const float *x, int64_t n) {
    enum { HALF = BPT_LANES / 2 };
    vd sum[4] = {{0}, {0}, {0}, {0}};
    int64_t i = 0;
    for (; i + 4 * HALF <= n; i += 4 * HALF)
        for (int j = 0; j < 4; ++j) {
            const vd v = vd_load(x + i + j * HALF);
            sum[j] += v * v;
        }
    double rest = 0;
    for (; i < n; ++i) rest += (double)x[i] * (double)x[i];
    return vd_sum((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

void BPT_KERNEL_NAME(add)(float *sum, const void *x, bpt_dtype_t dtype, int64_t n) {
    for (int64_t i = 0; i < n; i += BPT_LANES)
        vf_write(sum, BPT_F32, i, n - i, vf_read(sum, BPT_F32, i, n - i) + vf_read(x, dtype, i, n - i));
}
