// The largest of a range of rows, column by column, and where it stands.
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/vec.h"

BPT_INLINE void largest(const char *x, bpt_dtype_t dtype, int64_t rows, int64_t columns, size_t stride, uint32_t first, float *most,
                        uint32_t *place) {
    for (int64_t i = 0; i < columns; i += BPT_LANES) {
        const int64_t n = columns - i;
        const char *row = x;
        vf top = vf_read(row, dtype, i, n);
        vi at = (vi)vu_set1(first);
        for (int64_t r = 1; r < rows; ++r) {
            row += stride;
            const vf v = vf_read(row, dtype, i, n);
            const vi better = ~(v <= top) & (top == top);  // a NaN wins, the first of them stays
            top = vf_select(better, v, top);
            at = (vi)vf_select(better, (vf)vu_set1(first + (uint32_t)r), (vf)at);
        }
        vf_write(most, BPT_F32, i, n, top);
        memcpy(place + i, &at, (size_t)(n < BPT_LANES ? n : BPT_LANES) * sizeof *place);
    }
}

void BPT_KERNEL_NAME(segment_largest)(const void *x, bpt_dtype_t dtype, int64_t rows, int64_t columns, int64_t stride, uint32_t first,
                                      float *most, uint32_t *place) {
    const size_t stride_bytes = (size_t)stride * bpt_dtype_size(dtype);
    if (dtype == BPT_F32)
        largest(x, BPT_F32, rows, columns, stride_bytes, first, most, place);
    else if (dtype == BPT_BF16)
        largest(x, BPT_BF16, rows, columns, stride_bytes, first, most, place);
    else
        largest(x, BPT_F16, rows, columns, stride_bytes, first, most, place);
}
