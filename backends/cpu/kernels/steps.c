// Pointwise chains on a piece of a row in f32 (ops.h, bpt_pointwise_step_t), and dropout, which other kernels use too.
#include "backends/cpu/kernels/dropout.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/vec.h"

// data[i] = expression of x = data[i] and a = arg[first + i], for i < n.
#define BINARY_LOOP(constant_dtype, expression)                                                                       \
    for (int64_t i = 0; i < n; i += BPT_LANES) {                                                                      \
        const vf x = vf_read(data, BPT_F32, i, n - i), a = vf_read((const char *)arg + at, constant_dtype, i, n - i); \
        vf_write(data, BPT_F32, i, n - i, expression);                                                                \
    }
#define BINARY(name, expression)                                                                           \
    static void name(float *data, const void *arg, bpt_dtype_t dtype, int64_t first, int64_t n, float c) { \
        const size_t at = (size_t)first * bpt_dtype_size(dtype);                                           \
        (void)c;                                                                                           \
        if (dtype == BPT_F32) {                                                                            \
            BINARY_LOOP(BPT_F32, expression)                                                               \
        } else if (dtype == BPT_BF16) {                                                                    \
            BINARY_LOOP(BPT_BF16, expression)                                                              \
        } else {                                                                                           \
            BINARY_LOOP(BPT_F16, expression)                                                               \
        }                                                                                                  \
    }
BINARY(add, x + a)
BINARY(mul, x *a)
BINARY(mask, vf_if(a != 0, x *c))
BINARY(sign, vf_select(a > 0, x, vf_if(a < 0, -x)))
BPT_INLINE vf slope_of_swish(vf z) {
    const vf s = 1.0f / (1.0f + vf_exp(-z));
    return s * (1.0f + z * (1.0f - s));
}
BINARY(swish_slope, x *slope_of_swish(a))

static void scale(float *data, int64_t n, float c) {
    for (int64_t i = 0; i < n; ++i) data[i] *= c;
}
static void relu(float *data, int64_t n) {
    for (int64_t i = 0; i < n; ++i) data[i] = data[i] <= 0 ? 0 : data[i];  // NaN stays NaN
}
static void absolute(float *data, int64_t n) {
    for (int64_t i = 0; i < n; ++i) data[i] = fabsf(data[i]);
}

static void swish(float *data, int64_t n) {
    for (int64_t i = 0; i < n; i += BPT_LANES) {
        const vf x = vf_read(data, BPT_F32, i, n - i);
        vf_write(data, BPT_F32, i, n - i, x / (1.0f + vf_exp(-x)));
    }
}

static void dropout(const bpt_cpu_steps_t *s, const bpt_pointwise_step_t *step, float *data, int64_t row, int64_t column, int64_t n) {
    enum { PIECE = 1024 };
    uint16_t bits[PIECE + BPT_DROPOUT_SLACK];
    const uint32_t threshold = bpt_dropout_threshold(step->c);
    const float inverse = 1.0f / (1.0f - step->c);
    const uint32_t *key = s->row_keys + 2 * row;
    while (n > 0) {
        const int64_t head = column & 7, m = n < PIECE - 8 ? n : PIECE - 8;
        bpt_dropout_words(bits, column >> 3, (head + m + 7) >> 3, key[0], key[1], step->uid << 8, s->rng);
        bpt_dropout_apply(data, bits + head, m, threshold, inverse);
        data += m, column += m, n -= m;
    }
}

void BPT_KERNEL_NAME(steps)(const bpt_cpu_steps_t *s, float *data, int64_t row, int64_t column, int64_t n) {
    const int64_t first = row * s->columns + column;
    if (s->bias) add(data, s->bias, BPT_F32, column, n, 0);
    for (int i = 0; i < s->attrs->n_steps; ++i) {
        const bpt_pointwise_step_t *step = &s->attrs->step[i];
        const void *arg = s->arg[i];
        const bpt_dtype_t dtype = s->dtype[i];
        switch (step->code) {
        case BPT_POINTWISE_ADD: add(data, arg, dtype, first, n, 0); break;
        case BPT_POINTWISE_MUL: mul(data, arg, dtype, first, n, 0); break;
        case BPT_POINTWISE_ADD_ROW: add(data, arg, dtype, column, n, 0); break;
        case BPT_POINTWISE_MUL_SCALAR: {
            float factor;
            BPT_KERNEL_NAME(to_f32)(&factor, arg, dtype, 1);
            scale(data, n, factor);
            break;
        }
        case BPT_POINTWISE_SCALE: scale(data, n, step->c); break;
        case BPT_POINTWISE_RELU: relu(data, n); break;
        case BPT_POINTWISE_MASK: mask(data, arg, dtype, first, n, step->c); break;
        case BPT_POINTWISE_ABS: absolute(data, n); break;
        case BPT_POINTWISE_SIGN: sign(data, arg, dtype, first, n, 0); break;
        case BPT_POINTWISE_SWISH: swish(data, n); break;
        case BPT_POINTWISE_SWISH_SLOPE: swish_slope(data, arg, dtype, first, n, 0); break;
        case BPT_POINTWISE_DROPOUT:
            if (step->c > 0) dropout(s, step, data, row, column, n);
            break;
        }
    }
}
