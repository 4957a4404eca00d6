// Rotary position embedding of rows; `out` may be `x`.
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/vec.h"

// One head: columns i and i + half from `at` on are rotated by the angle whose cosine and sine are angles[i] and angles[half + i].
BPT_INLINE void rotate_head(const void *x, bpt_dtype_t from, void *out, bpt_dtype_t to, int64_t at, int64_t half, const float *angles,
                            float sign) {
    for (int64_t i = 0; i < half; i += BPT_LANES) {
        const int64_t n = half - i;
        const vf a = vf_read(x, from, at + i, n), b = vf_read(x, from, at + half + i, n);
        const vf cosine = vf_read(angles, BPT_F32, i, n), sine = sign * vf_read(angles, BPT_F32, half + i, n);
        vf_write(out, to, at + i, n, a * cosine - b * sine);
        vf_write(out, to, at + half + i, n, a * sine + b * cosine);
    }
}

BPT_INLINE void rotate(const bpt_cpu_call_t *c, bpt_dtype_t from, bpt_dtype_t to, int64_t first, int64_t rows) {
    const bpt_rotary_attrs_t *t = &c->call->attrs.rotary;
    const int64_t columns = bpt_shape_columns(&c->call->in[0].shape), half = t->head_dim / 2;
    for (int64_t row = first; row < first + rows; ++row) {
        const int64_t begin = row * columns, end = begin + columns, kept = begin + t->columns;
        const float *angles = (const float *)c->in[1] + row * t->head_dim;
        for (int64_t at = begin; at < kept; at += t->head_dim)
            rotate_head(c->in[0], from, c->out[0], to, at, half, angles, t->inverse ? -1 : 1);
        for (int64_t at = kept; at < end && c->in[0] != c->out[0]; at += BPT_LANES)
            vf_write(c->out[0], to, at, end - at, vf_read(c->in[0], from, at, end - at));
    }
}

void BPT_KERNEL_NAME(rotary)(const bpt_cpu_call_t *c, int64_t first, int64_t rows) {
    const bpt_dtype_t from = c->call->in[0].dtype, to = c->call->out[0].dtype;
    if (from == BPT_F32 && to == BPT_F32)
        rotate(c, BPT_F32, BPT_F32, first, rows);
    else if (from == BPT_BF16 && to == BPT_BF16)
        rotate(c, BPT_BF16, BPT_BF16, first, rows);
    else
        rotate(c, from, to, first, rows);
}
