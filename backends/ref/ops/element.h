// What all ops of the reference backend share: elements of any float type read and written as double, and dropout factors.
#ifndef BPT_REF_ELEMENT_H
#define BPT_REF_ELEMENT_H

#include "backends/ref/ref.h"
#include "bpt/rng.h"

static inline double bpt_ref_load(const void *data, bpt_dtype_t dtype, int64_t i) {
    switch (dtype) {
    case BPT_F32: return ((const float *)data)[i];
    case BPT_BF16: return bpt_from_bf16(((const uint16_t *)data)[i]);
    case BPT_F16: return bpt_from_f16(((const uint16_t *)data)[i]);
    case BPT_U32: break;
    }
    return ((const uint32_t *)data)[i];
}

static inline void bpt_ref_store(void *data, bpt_dtype_t dtype, int64_t i, double x) {
    switch (dtype) {
    case BPT_F32: ((float *)data)[i] = (float)x; break;
    case BPT_BF16: ((uint16_t *)data)[i] = bpt_to_bf16((float)x); break;
    case BPT_F16: ((uint16_t *)data)[i] = bpt_to_f16((float)x); break;
    case BPT_U32: ((uint32_t *)data)[i] = (uint32_t)x; break;
    }
}

static inline double bpt_ref_in(const bpt_host_run_t *run, int slot, int64_t i) {
    return bpt_ref_load(run->in[slot], run->call->in[slot].dtype, i);
}
static inline void bpt_ref_out(const bpt_host_run_t *run, int slot, int64_t i, double x) {
    bpt_ref_store(run->out[slot], run->call->out[slot].dtype, i, x);
}
static inline int64_t bpt_ref_rows(const bpt_operand_t *operand) { return bpt_shape_rows(&operand->shape); }
static inline int64_t bpt_ref_columns(const bpt_operand_t *operand) { return bpt_shape_columns(&operand->shape); }

// 0 where the element of a row is dropped, else 1/(1-p). `row_key`: the row's two words of row_keys.
static inline double bpt_ref_dropout(float p, uint32_t element, const uint32_t row_key[2], uint32_t stream, const uint32_t rng[2]) {
    const bool dropped = bpt_dropout_bits(element, row_key[0], row_key[1], stream, rng) < bpt_dropout_threshold(p);
    return dropped ? 0 : 1 / (1 - (double)p);
}

// The same for an op's row and column; 1 without dropout.
static inline double bpt_ref_dropout_at(const bpt_host_run_t *run, float p, uint32_t uid, int64_t row, int64_t column) {
    if (p <= 0) return 1;
    const uint32_t *row_keys = run->in[BPT_IN_ROW_KEYS];
    return bpt_ref_dropout(p, (uint32_t)column, row_keys + 2 * row, uid << 8, run->in[BPT_IN_RNG]);
}

// What gradients are multiplied by: the inverse loss scale, and less where their norm passes the bound (adam.c).
double bpt_ref_gradient_scale(const float *hyper, double square_sum);

// Applies the steps of a pointwise chain to the value at (row, column) of a tensor of `columns` columns (pointwise.c).
double bpt_ref_steps(const bpt_host_run_t *run, const bpt_pointwise_attrs_t *steps, double x, int64_t row, int64_t column, int64_t columns);

#endif
