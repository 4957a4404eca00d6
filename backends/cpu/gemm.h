// Matrix products C = op(A) op(B) (+ C) on row-major matrices with leading dimensions, cut into tiles that threads take one
// by one; each tile is one single-threaded product of a library (oneDNN; f32 also CBLAS), so the bits do not depend on the
// number of threads, and whoever computes a tile also prepares and finishes it while it is in its cache. Knows nothing of ops.
// Two bf16 matrices are multiplied as they are where the machine has instructions for that; otherwise what is not f32 is widened
// to f32 tile by tile in cache: exact, as fast as f32, and with half of its memory. Products of few rows go to kernels of our own.
#ifndef BPT_CPU_GEMM_H
#define BPT_CPU_GEMM_H

#include "backends/host/team.h"
#include "bpt/dtype.h"
#include "bpt/status.h"

// Rows and columns of C that are being worked on, and element (row, column) in memory, of the type that C has; rows are ldc elements apart.
typedef struct {
    int64_t row, rows, column, columns;
    void *c;
    int64_t ldc;
} bpt_gemm_tile_t;

typedef struct {
    bpt_dtype_t a_dtype, b_dtype;   // f32, bf16 or f16
    bool transpose_a, transpose_b;  // A is stored [k,m], B is stored [n,k]
    bool accumulate;                // C += instead of C =
    int64_t m, n, k, lda, ldb;
    // Where C goes: into memory with rows ldc apart, as f32 or (bpt_gemm_is_bf16, neither accumulate nor split) rounded to bf16; or
    // nowhere (transient): an f32 tile exists in its thread's buffer until `finish` has taken it away.
    bpt_dtype_t c_dtype;
    bool transient;
    int64_t ldc;
    bool biased;        // bf16 in memory and k > 0 only: bias [n] is added to each row before it is rounded
    const float *bias;  // only when it runs
    // Called for every tile of C by the thread that works on it; NULL = nothing. `prepare` fills it when accumulate is set.
    void (*prepare)(void *context, const bpt_gemm_tile_t *tile);
    void (*finish)(void *context, const bpt_gemm_tile_t *tile);
    void *context;
} bpt_gemm_t;

// Says whether the product can be made (BPT_ERR_UNSUPPORTED, BPT_ERR_NO_MEMORY) and how much scratch it needs; readies the library.
bpt_status_t bpt_gemm_plan(const bpt_gemm_t *g, int threads, size_t *scratch_bytes) BPT_MUST_USE;
// `scratch` is aligned to 64 bytes. Tiles that the library could not compute are NaN.
void bpt_gemm_run(const bpt_gemm_t *g, const void *a, const void *b, void *c, void *scratch, bpt_team_t *team);

// True when the operands are multiplied as bf16.
bool bpt_gemm_is_bf16(const bpt_gemm_t *g);

// True when k is cut into parts that are summed: then C must be f32 or transient.
bool bpt_gemm_is_split(const bpt_gemm_t *g);

// ---- Products of few rows, such as a token of each text that is written (gemm_few.c): C = A op(B) (+ C), B as it lies. The bits of a row of
// C do not depend on the number of threads, nor on the other rows; on how many they are only as far as that decides the way: up to 8, or more.
bool bpt_gemm_is_few(const bpt_gemm_t *g);
size_t bpt_gemm_few_scratch(const bpt_gemm_t *g, int threads);
void bpt_gemm_few_run(const bpt_gemm_t *g, const void *a, const void *b, float *c, char *scratch, bpt_team_t *team);

#endif
