// Operands of an f32 product, brought to where the library reads them fast.
#ifndef BPT_CPU_GEMM_OPERANDS_H
#define BPT_CPU_GEMM_OPERANDS_H

#include "bpt/dtype.h"

// What is copied at a time, so that it stays in the cache.
enum { BPT_GEMM_COPIED_K = 512, BPT_GEMM_COPIED_COLUMNS = 512 };

// Part of a matrix as it is stored: rows of `columns` elements, the first at element `first`, `ld` apart.
typedef struct {
    int64_t first, rows, columns, ld;
} bpt_gemm_place_t;

// The elements at `place` as f32 in `room`, rows one behind the other.
void bpt_gemm_copy(const void *x, bpt_dtype_t dtype, bpt_gemm_place_t place, float *room);

// The same, transposed: a matrix of as many columns as `place` has rows.
void bpt_gemm_transpose(const void *x, bpt_dtype_t dtype, bpt_gemm_place_t place, float *room);

#endif
