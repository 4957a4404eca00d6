// Matrix products by oneDNN: those in bf16, and f32 where it is faster than CBLAS. Loaded when first asked for: version 3 (libdnnl.so.3)
// or 2 (libdnnl.so.2). The environment variable BPT_ONEDNN_LIBRARY names another file, or "none". Nothing of its headers is needed to
// build.
#ifndef BPT_CPU_ONEDNN_H
#define BPT_CPU_ONEDNN_H

#include "backends/host/team.h"
#include "bpt/dtype.h"
#include "bpt/status.h"

// C[m,n] = op(A) op(B) (+ C) (+ bias, f32, in each row) for one thread; as in bpt_gemm_t.
typedef struct {
    int64_t m, n, k, lda, ldb, ldc;
    bool transpose_a, transpose_b, accumulate, bias;
    bpt_dtype_t c_dtype;
} bpt_onednn_product_t;

// A product of square operands without gaps, by bits: A transposed, B transposed, sums added to what is there, a bias, a result in bf16.
static inline bpt_onednn_product_t bpt_onednn_square(int64_t size, int kind) {
    return (bpt_onednn_product_t){.m = size,
                                  .n = size,
                                  .k = size,
                                  .lda = size,
                                  .ldb = size,
                                  .ldc = size,
                                  .transpose_a = kind & 1,
                                  .transpose_b = kind & 2,
                                  .accumulate = kind & 4,
                                  .bias = kind & 8,
                                  .c_dtype = kind & 16 ? BPT_BF16 : BPT_F32};
}

const char *bpt_onednn_reason(void);   // why there is none, "" when there is
const char *bpt_onednn_version(void);  // "2.6.3", "" when there is none

// It is not used from here on, as if it were not there. Before any device is open.
void bpt_onednn_refuse(const char *what);
// Computes one product of each kind, and refuses a library that cannot or gives another result. bf16: products in bf16 too.
void bpt_onednn_try(bool bf16);

// Makes the kernel for this shape, for threads with numbers below `numbers` (team.h); *scratch_bytes = what one thread needs.
bpt_status_t bpt_onednn_prepare(const bpt_onednn_product_t *p, int numbers, size_t *scratch_bytes) BPT_MUST_USE;
// Where the operands of a product are; bias [n] only for one that has it.
typedef struct {
    const void *a, *b;
    void *c, *scratch;
    const float *bias;
} bpt_onednn_data_t;
// Runs a prepared product as the thread with number `thread` of those of all teams; false when it was not prepared or the library failed.
bool bpt_onednn_multiply(const bpt_onednn_product_t *p, const bpt_onednn_data_t *data, int thread);
#if defined(__x86_64__)
#define BPT_ONEDNN_MULTIPLIES_F32 1
#else
#define BPT_ONEDNN_MULTIPLIES_F32 0
#endif
// An f32 product without bias in the calling thread, with neither lock nor preparation. False: not done, because there is
// no oneDNN, the processor is not of the x86 family (for others its f32 kernels are slow), or the library has failed.
bool bpt_onednn_multiply_f32(const bpt_onednn_product_t *p, const float *a, const float *b, float *c);
// Where address space is limited: has the library make its f32 kernels, and what it keeps for each thread, while there is room for them.
// Later, without room, it ends the process.
void bpt_onednn_make_f32_kernels(bpt_team_t *team);
// Forgets all kernels, when no device is open any more.
void bpt_onednn_clear(void);

#endif
