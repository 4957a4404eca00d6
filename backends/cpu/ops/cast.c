// cast, fill, copy.
#include <string.h>

#include "backends/cpu/cpu.h"

enum { BLOCK = 16384 };  // elements of one piece of work

void bpt_cpu_run_CAST(const bpt_host_run_t *run) {
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    const bpt_dtype_t from = run->call->in[0].dtype, to = run->call->out[0].dtype;
    const int64_t n = bpt_shape_count(&run->call->out[0].shape), blocks = bpt_cpu_blocks(n, BLOCK);
#pragma omp parallel for num_threads(run->threads) schedule(static)
    for (int64_t b = 0; b < blocks; ++b) {
        const int64_t first = b * BLOCK, count = bpt_cpu_min(BLOCK, n - first);
        const char *x = (const char *)run->in[0] + (size_t)first * bpt_dtype_size(from);
        char *out = (char *)run->out[0] + (size_t)first * bpt_dtype_size(to);
        if (to == BPT_F32) {
            k->to_f32((float *)(void *)out, x, from, count);
        } else if (from == BPT_F32) {
            k->from_f32(out, to, (const float *)(const void *)x, count);
        } else {
            float wide[1024];
            for (int64_t i = 0; i < count; i += 1024) {
                const int64_t m = bpt_cpu_min(1024, count - i);
                k->to_f32(wide, x + 2 * i, from, m);
                k->from_f32(out + 2 * i, to, wide, m);
            }
        }
    }
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
    const size_t size = bpt_dtype_size(run->call->out[0].dtype);
    const int64_t n = bpt_shape_count(&run->call->out[0].shape), blocks = bpt_cpu_blocks(n, BLOCK);
    if (run->in[0] == run->out[0]) return;
#pragma omp parallel for num_threads(run->threads) schedule(static)
    for (int64_t b = 0; b < blocks; ++b) {
        const size_t first = (size_t)b * BLOCK * size, bytes = (size_t)bpt_cpu_min(BLOCK, n - b * BLOCK) * size;
        memcpy((char *)run->out[0] + first, (const char *)run->in[0] + first, bytes);
    }
}
