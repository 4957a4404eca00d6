// cast, fill, copy, and conversions for other ops.
#include <string.h>

#include "backends/cpu/cpu.h"

enum { BLOCK = 16384 };  // elements of one piece of work

void bpt_cpu_convert_piece(void *out, bpt_dtype_t to, const void *x, bpt_dtype_t from, int64_t n) {
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    if (from == to) {
        memcpy(out, x, (size_t)n * bpt_dtype_size(to));
    } else if (to == BPT_F32) {
        k->to_f32(out, x, from, n);
    } else if (from == BPT_F32) {
        k->from_f32(out, to, x, n);
    } else {
        enum { PIECE = 1024 };
        float wide[PIECE];
        for (int64_t i = 0; i < n; i += PIECE) {
            const int64_t m = bpt_cpu_min(PIECE, n - i);
            k->to_f32(wide, (const uint16_t *)x + i, from, m);
            k->from_f32((uint16_t *)out + i, to, wide, m);
        }
    }
}

void bpt_cpu_convert(void *out, bpt_dtype_t to, const void *x, bpt_dtype_t from, int64_t n, int threads) {
    const size_t to_size = bpt_dtype_size(to), from_size = bpt_dtype_size(from);
    const int64_t blocks = bpt_cpu_blocks(n, BLOCK);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t b = 0; b < blocks; ++b) {
        const size_t first = (size_t)b * BLOCK;
        bpt_cpu_convert_piece((char *)out + first * to_size, to, (const char *)x + first * from_size, from,
                              bpt_cpu_min(BLOCK, n - b * BLOCK));
    }
}

void bpt_cpu_run_CAST(const bpt_host_run_t *run) {
    const bpt_operand_t *in = &run->call->in[0], *out = &run->call->out[0];
    bpt_cpu_convert(run->out[0], out->dtype, run->in[0], in->dtype, bpt_shape_count(&out->shape), run->threads);
}

void bpt_cpu_run_FILL(const bpt_host_run_t *run) {
    const bpt_dtype_t dtype = run->call->out[0].dtype;
    const size_t size = bpt_dtype_size(dtype);
    const int64_t n = bpt_shape_count(&run->call->out[0].shape), blocks = bpt_cpu_blocks(n, BLOCK);
    float wide[1024];
    _Alignas(64) char value[4096];
    for (int i = 0; i < 1024; ++i) wide[i] = run->attrs->fill.value;
    bpt_cpu_kernels()->from_f32(value, dtype, wide, 1024);
#pragma omp parallel for num_threads(run->threads) schedule(static)
    for (int64_t b = 0; b < blocks; ++b) {
        const int64_t end = bpt_cpu_min((b + 1) * BLOCK, n);
        for (int64_t i = b * BLOCK; i < end; i += 1024)
            memcpy((char *)run->out[0] + (size_t)i * size, value, (size_t)bpt_cpu_min(1024, end - i) * size);
    }
}

void bpt_cpu_run_COPY(const bpt_host_run_t *run) {
    const bpt_operand_t *out = &run->call->out[0];
    if (run->in[0] != run->out[0])
        bpt_cpu_convert(run->out[0], out->dtype, run->in[0], out->dtype, bpt_shape_count(&out->shape), run->threads);
}
