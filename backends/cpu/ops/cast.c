// cast, fill, copy, and conversions for other ops.
#include <string.h>

#include "backends/cpu/cpu.h"

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

static void convert(const void *context, int64_t i, int64_t count) {
    const bpt_host_run_t *run = context;
    const bpt_dtype_t from = run->call->in[0].dtype, to = run->call->out[0].dtype;
    bpt_cpu_convert_piece((char *)run->out[0] + (size_t)i * bpt_dtype_size(to), to,
                          (const char *)run->in[0] + (size_t)i * bpt_dtype_size(from), from, count);
}

static int64_t count_of(const bpt_host_run_t *run) { return bpt_shape_count(&run->call->out[0].shape); }

static void run_cast(const bpt_host_run_t *run) { bpt_cpu_in_pieces(run, count_of(run), convert, run); }

typedef struct {
    const bpt_host_run_t *run;
    const char *value;  // FILLED elements
} fill_t;

enum { FILLED = 1024 };

static void fill(const void *context, int64_t begin, int64_t count) {
    const fill_t *f = context;
    const size_t size = bpt_dtype_size(f->run->call->out[0].dtype);
    for (int64_t i = 0; i < count; i += FILLED)
        memcpy((char *)f->run->out[0] + (size_t)(begin + i) * size, f->value, (size_t)bpt_cpu_min(FILLED, count - i) * size);
}

static void run_fill(const bpt_host_run_t *run) {
    float wide[FILLED];
    _Alignas(64) char value[FILLED * sizeof(float)];
    for (int i = 0; i < FILLED; ++i) wide[i] = run->attrs->fill.value;
    bpt_cpu_kernels()->from_f32(value, run->call->out[0].dtype, wide, FILLED);
    bpt_cpu_in_pieces(run, count_of(run), fill, &(fill_t){run, value});
}

static void run_copy(const bpt_host_run_t *run) {
    if (run->in[0] != run->out[0]) bpt_cpu_in_pieces(run, count_of(run), convert, run);
}

const bpt_host_op_t bpt_cpu_op_CAST = {NULL, run_cast};
const bpt_host_op_t bpt_cpu_op_FILL = {NULL, run_fill};
const bpt_host_op_t bpt_cpu_op_COPY = {NULL, run_copy};
