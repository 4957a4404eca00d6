// Matrix products C = op(A) op(B) (+ C) on row-major matrices with leading dimensions, cut into tiles that threads take one
// by one; each tile is one single-threaded product of the library, so the bits do not depend on the number of threads, and
// whoever computes a tile also prepares and finishes it while it is in its cache. Knows nothing of ops.
#ifndef BPT_CPU_GEMM_H
#define BPT_CPU_GEMM_H

#include "bpt/dtype.h"
#include "bpt/status.h"

typedef struct {
    int64_t row, rows, column, columns;
} bpt_gemm_tile_t;

typedef struct {
    bool transpose_a, transpose_b;  // A is stored [k,m], B is stored [n,k]
    bool accumulate;                // C += instead of C =
    int64_t m, n, k, lda, ldb, ldc;
    // Called for every tile of C by the thread that works on it; NULL = nothing. `prepare` fills it when accumulate is set.
    void (*prepare)(void *context, const bpt_gemm_tile_t *tile);
    void (*finish)(void *context, const bpt_gemm_tile_t *tile);
    void *context;
} bpt_gemm_t;

// Largest m, n, k and leading dimension that the libraries take (k and m are cut by ourselves).
bpt_status_t bpt_gemm_check(const bpt_gemm_t *g) BPT_MUST_USE;

enum { BPT_GEMM_F32_SCRATCH_LIMIT = 16 * 512 * 512 };  // floats that no product of any shape needs more of

// f32 by CBLAS. `scratch` has bpt_gemm_f32_scratch(g) floats, 64-byte aligned: partial sums of long inner dimensions.
int64_t bpt_gemm_f32_scratch(const bpt_gemm_t *g);
void bpt_gemm_f32(const bpt_gemm_t *g, const float *a, const float *b, float *c, float *scratch, int threads);

#endif
