// Rows of layernorm, rmsnorm and their gradients (ops.h), with dropout, residual and low-precision copy in the same pass.
#include "backends/cpu/kernels/dropout.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/vec.h"

enum { PIECE = 1024 };  // columns whose dropout bits are made at once; a multiple of 8

// A call with its operands resolved; NULL = absent. In the gradient `low` is dy of output 3.
typedef struct {
    int64_t d;
    const void *x;
    bpt_dtype_t x_dtype, low_dtype, dx_dtype;
    const float *residual, *gamma, *beta, *dy;
    float *y, *z, *stats, *dz;
    void *low, *dx;
    float eps, p;
    uint32_t uid;
    const uint32_t *row_keys, *rng;
} norm_t;

static norm_t norm_of(const bpt_cpu_call_t *c) {
    const bpt_layernorm_attrs_t *attrs = &c->call->attrs.layernorm;
    return (norm_t){.d = bpt_shape_columns(&c->call->in[0].shape),
                    .eps = attrs->eps,
                    .p = attrs->p,
                    .uid = attrs->uid,
                    .row_keys = c->in[BPT_IN_ROW_KEYS],
                    .rng = c->in[BPT_IN_RNG]};
}

static norm_t forward_of(const bpt_cpu_call_t *c) {
    norm_t t = norm_of(c);
    t.x = c->in[0], t.x_dtype = c->call->in[0].dtype;
    t.residual = c->in[1], t.gamma = c->in[2], t.beta = c->in[3];
    t.y = c->out[0], t.z = c->out[1], t.stats = c->out[2];
    t.low = c->out[3], t.low_dtype = c->call->out[3].dtype;
    return t;
}

static norm_t gradient_of(const bpt_cpu_call_t *c) {
    norm_t t = norm_of(c);
    t.dy = c->in[0], t.z = c->in[1], t.stats = c->in[2], t.gamma = c->in[3];
    t.low = c->in[4], t.low_dtype = c->call->in[4].dtype;
    t.dz = c->out[0], t.dx = c->out[1], t.dx_dtype = c->call->out[1].dtype;
    return t;
}

static void make_bits(const norm_t *t, uint16_t *bits, int64_t row, int64_t column, int64_t n) {
    bpt_dropout_words(bits, column >> 3, (n + 7) >> 3, t->row_keys[2 * row], t->row_keys[2 * row + 1], t->uid << 8, t->rng);
}

// What rows have in common is compiled for layernorm (`about_mean`, and with a beta) and for rmsnorm.

// z = dropout(x) + residual; returns its sum.
BPT_INLINE float sum_inputs(const norm_t *t, bpt_dtype_t x_dtype, int64_t row, float *z) {
    const char *x = (const char *)t->x + (size_t)(row * t->d) * bpt_dtype_size(x_dtype);
    const float *residual = t->residual ? t->residual + row * t->d : NULL;
    const uint32_t threshold = bpt_dropout_threshold(t->p);
    const float inverse = 1.0f / (1.0f - t->p);
    uint16_t bits[PIECE + BPT_DROPOUT_SLACK];
    vf sum = {0};
    for (int64_t first = 0; first < t->d; first += PIECE) {
        const int64_t end = first + PIECE < t->d ? first + PIECE : t->d;
        if (t->p > 0) make_bits(t, bits, row, first, end - first);
        for (int64_t i = first; i < end; i += BPT_LANES) {
            vf v = vf_read(x, x_dtype, i, end - i);
            if (t->p > 0) v = bpt_dropout_vector(v, bits + (i - first), threshold, inverse);
            if (residual) v += vf_read(residual, BPT_F32, i, end - i);
            vf_write(z, BPT_F32, i, end - i, v);
            sum += v;
        }
    }
    return vf_sum(sum);
}

BPT_INLINE void normalise_row(const norm_t *t, bool about_mean, int64_t row, const float *z, float mean) {
    float *y = t->y + row * t->d;
    char *low = t->low ? (char *)t->low + (size_t)(row * t->d) * bpt_dtype_size(t->low_dtype) : NULL;
    vf squares = {0};
    for (int64_t i = 0; i < t->d; i += BPT_LANES) {
        const vf centred = vf_if(vi_first(t->d - i), vf_read(z, BPT_F32, i, t->d - i) - mean);
        squares += centred * centred;
    }
    const float inverse_deviation = 1.0f / sqrtf(vf_sum(squares) / (float)t->d + t->eps);
    for (int64_t i = 0; i < t->d; i += BPT_LANES) {
        const int64_t n = t->d - i;
        const vf scaled = (vf_read(z, BPT_F32, i, n) - mean) * inverse_deviation;
        const vf v = about_mean ? scaled * vf_read(t->gamma, BPT_F32, i, n) + vf_read(t->beta, BPT_F32, i, n)
                                : scaled * vf_read(t->gamma, BPT_F32, i, n);
        vf_write(y, BPT_F32, i, n, v);
        if (low) vf_write(low, t->low_dtype, i, n, v);
    }
    if (t->stats) t->stats[2 * row] = mean, t->stats[2 * row + 1] = inverse_deviation;
}

void BPT_KERNEL_NAME(layernorm)(const bpt_cpu_call_t *call, int64_t first, int64_t rows) {
    const norm_t t = forward_of(call);
    for (int64_t row = first; row < first + rows; ++row) {
        float *z = (t.z ? t.z : t.y) + row * t.d;  // nobody wants z: y is the place to work in
        const float sum = t.x_dtype == BPT_F32    ? sum_inputs(&t, BPT_F32, row, z)
                          : t.x_dtype == BPT_BF16 ? sum_inputs(&t, BPT_BF16, row, z)
                                                  : sum_inputs(&t, BPT_F16, row, z);
        if (bpt_norm_is_centred(call->call->op))
            normalise_row(&t, true, row, z, sum / (float)t.d);
        else
            normalise_row(&t, false, row, z, 0);
    }
}

// With x^ = (z - mean) / deviation and g = dy gamma:  dz = (g - mean(g) - x^ mean(g x^)) / deviation.
BPT_INLINE void gradient_row(const norm_t *t, bool about_mean, int64_t row, float *restrict dgamma, float *restrict dbeta) {
    const int64_t d = t->d;
    const float *dy = t->dy + row * d, *z = t->z + row * d, mean = t->stats[2 * row], inverse_deviation = t->stats[2 * row + 1];
    const char *dy_low = t->low ? (const char *)t->low + (size_t)(row * d) * bpt_dtype_size(t->low_dtype) : NULL;
    float *dz = t->dz + row * d;
    vf sum_g = {0}, sum_gx = {0};
    for (int64_t i = 0; i < d; i += BPT_LANES) {
        const int64_t n = d - i;
        vf v = vf_read(dy, BPT_F32, i, n);
        if (dy_low) v += vf_read(dy_low, t->low_dtype, i, n);
        const vf x = (vf_read(z, BPT_F32, i, n) - mean) * inverse_deviation, g = v * vf_read(t->gamma, BPT_F32, i, n);
        if (about_mean) sum_g += g;
        sum_gx += g * x;
        vf_write(dgamma, BPT_F32, i, n, vf_read(dgamma, BPT_F32, i, n) + v * x);
        if (about_mean) vf_write(dbeta, BPT_F32, i, n, vf_read(dbeta, BPT_F32, i, n) + v);
    }
    const float mean_g = vf_sum(sum_g) / (float)d, mean_gx = vf_sum(sum_gx) / (float)d;
    for (int64_t i = 0; i < d; i += BPT_LANES) {
        const int64_t n = d - i;
        vf v = vf_read(dy, BPT_F32, i, n);
        if (dy_low) v += vf_read(dy_low, t->low_dtype, i, n);
        const vf x = (vf_read(z, BPT_F32, i, n) - mean) * inverse_deviation, g = v * vf_read(t->gamma, BPT_F32, i, n);
        vf_write(dz, BPT_F32, i, n, (g - mean_g - x * mean_gx) * inverse_deviation);
    }
}

static void mask_row(const norm_t *t, int64_t row) {
    const float *dz = t->dz + row * t->d;
    char *dx = (char *)t->dx + (size_t)(row * t->d) * bpt_dtype_size(t->dx_dtype);
    const uint32_t threshold = bpt_dropout_threshold(t->p);
    const float inverse = 1.0f / (1.0f - t->p);
    uint16_t bits[PIECE + BPT_DROPOUT_SLACK];
    for (int64_t first = 0; first < t->d; first += PIECE) {
        const int64_t end = first + PIECE < t->d ? first + PIECE : t->d;
        if (t->p > 0) make_bits(t, bits, row, first, end - first);
        for (int64_t i = first; i < end; i += BPT_LANES) {
            vf v = vf_read(dz, BPT_F32, i, end - i);
            if (t->p > 0) v = bpt_dropout_vector(v, bits + (i - first), threshold, inverse);
            vf_write(dx, t->dx_dtype, i, end - i, v);
        }
    }
}

void BPT_KERNEL_NAME(layernorm_grad)(const bpt_cpu_call_t *call, int64_t first, int64_t rows, float *partial) {
    const norm_t t = gradient_of(call);
    memset(partial, 0, 2 * (size_t)t.d * sizeof *partial);
    for (int64_t row = first; row < first + rows; ++row) {
        if (bpt_norm_is_centred(call->call->op))
            gradient_row(&t, true, row, partial, partial + t.d);
        else
            gradient_row(&t, false, row, partial, partial + t.d);
        if (t.dx) mask_row(&t, row);
    }
}
