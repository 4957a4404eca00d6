// Products of matrices, as other lowerings ask for them and as the ways to compute one share them (matmul.c, matmul_library.c,
// software/matmul.c). Knows no API.
#ifndef BPT_GPU_LOWER_GEMM_H
#define BPT_GPU_LOWER_GEMM_H

#include "backends/gpu/lower/lower.h"

// c = steps(op(a) op(b) + acc + bias) on views; m, n, k as in bpt/ops.h. Steps may be NULL; extras[0..1] are their slots 4 and 5.
typedef struct {
    bpt_view_t a, b, acc, bias, extras[2], row_keys, rng, c;  // c and acc may be the same place
    int64_t m, n, k;
    bool transpose_a, transpose_b;
    const bpt_pointwise_attrs_t *steps;
    const bpt_blueprint_t *rule;  // filled in by bpt_lower_gemm
} bpt_gpu_gemm_t;
void bpt_lower_gemm(bpt_lower_t *l, const bpt_gpu_gemm_t *g);
static inline bool bpt_lower_same_place(const bpt_view_t *a, const bpt_view_t *b) {
    return a->buffer == b->buffer && a->offset_bytes == b->offset_bytes;
}
// What a product can take in of its steps: a relu that comes first, or the gradient of a relu, where the product is neither added to nor
// has a bias: `scale` times it where `mask`, with elements like c's, is not 0.
typedef struct {
    bool relu, masked;
    bpt_view_t mask;
    float scale;
    bpt_pointwise_attrs_t rest;  // the steps behind it
} bpt_epilogue_t;
bpt_epilogue_t bpt_lower_epilogue(const bpt_gpu_gemm_t *g);
// A part of a product by the driver's library (lower/matmul_library.c), with the steps of g, which may be NULL. False: nothing was emitted.
bool bpt_lower_library(bpt_lower_t *l, const bpt_gpu_gemm_t *g, int64_t lda, int64_t ldb, int64_t ldc);
// Whether the gradients of a product of two bf16 matrices are the library's, once their other operand is bf16 too.
bool bpt_lower_has_bf16_library(const bpt_lower_t *l);
// A chain of steps, or an added bias where `bias` is present, by itself: y = steps(x) on m rows of ldc columns, extras as of g.
void bpt_lower_steps_alone(bpt_lower_t *l, const bpt_gpu_gemm_t *g, const bpt_pointwise_attrs_t *steps, const bpt_view_t *x,
                           const bpt_view_t *y, int64_t ldc);

#endif
