// What the products of few rows share: what they fetch ahead, and the products with a matrix [n, k], whose lanes are summed.
#ifndef BPT_CPU_FEW_H
#define BPT_CPU_FEW_H

#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/vec.h"

enum {
    LINE = 64,
    SHORT_ROW = 1024,  // bytes
    // Rows of x and columns of a matrix [n, k] whose products are made side by side: so many that their lanes are summed together.
    SIDE_COLUMNS = 4,
    SIDE_ROWS = BPT_LANES / SIDE_COLUMNS,
};

// Lines of b that are fetched ahead of the products: in the order in which they lie, row by row, which the processor's own fetching can
// follow where rows are short; or from each of a block's rows in turn.
typedef struct {
    const char *at, *end;  // of the row
    int64_t row_bytes, ld_bytes;
} lines_t;

BPT_INLINE lines_t lines_of(const bpt_cpu_few_rows_t *p, bpt_dtype_t dtype, int64_t row, int64_t columns) {
    const int64_t size = (int64_t)bpt_dtype_size(dtype);
    const char *at = (const char *)p->b + row * p->ldb * size;
    return (lines_t){at, at + columns * size, columns * size, p->ldb * size};
}

// The next line.
BPT_INLINE void fetch_next(lines_t *l) {
    __builtin_prefetch(l->at);
    l->at += LINE;
    if (l->at >= l->end) l->end += l->ld_bytes, l->at = l->end - l->row_bytes;
}

// The next line where rows are short, else the one at `other`.
BPT_INLINE void fetch(lines_t *l, const char *other) {
    if (l->row_bytes <= SHORT_ROW)
        fetch_next(l);
    else
        __builtin_prefetch(other);
}

// c (+)= the sums of the lanes.
BPT_INLINE void put_sums(const bpt_cpu_few_rows_t *p, vf sum[SIDE_ROWS][SIDE_COLUMNS], int64_t row, int rows, int64_t column, int columns) {
    vf lanes[BPT_LANES] = {0};  // a copy, so that the sums stay in registers as they are made
    for (int r = 0; r < rows; ++r)
        for (int j = 0; j < columns; ++j) lanes[r * SIDE_COLUMNS + j] = sum[r][j];
    const vf all = vf_sums(lanes);
    for (int r = 0; r < rows; ++r)
        for (int j = 0; j < columns; ++j) {
            float *c = p->c + (row + r) * p->ldc + column + j;
            *c = (p->accumulate ? *c : 0) + all[r * SIDE_COLUMNS + j];
        }
}

#endif
