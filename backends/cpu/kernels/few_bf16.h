// Products of a few rows, bf16 times bf16, by instructions that add two products to each lane (few_rows.c). Inner indices come in pairs, in
// order.
#ifndef BPT_CPU_FEW_BF16_H
#define BPT_CPU_FEW_BF16_H

#include "backends/cpu/kernels/few.h"

#if defined(__AVX512BF16__)

enum {
    BF16_DEPTH = 16,    // rows of a matrix [k, n] that are added to the product while it is in registers
    BF16_COLUMNS = 32,  // of it, two vectors of the product
    BF16_PAIR = 2,      // rows of x at a time
};

BPT_INLINE __mmask32 first_of_32(int64_t n) { return n >= 32 ? 0xFFFFFFFFu : (1u << n) - 1; }
BPT_INLINE __m512i load_bf16(const void *p, int64_t at, int64_t n) {  // 32, or the first n and zeros
    return _mm512_maskz_loadu_epi16(first_of_32(n), (const uint16_t *)p + at);
}
BPT_INLINE vf add_pairs(vf sum, __m512i a, __m512i b) { return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b); }

// ---- b is [k, n] ---------------------------------------------------------------------------------------------------------

// c (+)= x b of `rows` rows of x from `row` on: inner indices first .. first + depth - 1, of which b has pairs, and 32 columns at most.
BPT_INLINE void add_rows_bf16(const bpt_cpu_few_rows_t *p, __m512i b[BF16_DEPTH / 2][2], int64_t first, int depth, int64_t column,
                              int64_t left, int64_t row, int rows) {
    const uint16_t *x = (const uint16_t *)p->x + row * p->ldx + first;
    float *c = p->c + row * p->ldc + column;
    const bool begins = first == 0 && !p->accumulate;
    const int vectors = left > BPT_LANES ? 2 : 1;
    vf sum[BF16_PAIR][2] = {0};
    for (int r = 0; r < rows && !begins; ++r)
        for (int w = 0; w < vectors; ++w) sum[r][w] = vf_read(c + r * p->ldc, BPT_F32, w * BPT_LANES, left - w * BPT_LANES);
    for (int i = 0; i < depth; i += 2)
        for (int r = 0; r < rows; ++r) {
            uint16_t two[2] = {0};
            memcpy(two, x + r * p->ldx + i, (i + 1 < depth ? 2 : 1) * sizeof *two);
            int32_t pair;
            memcpy(&pair, two, sizeof pair);
            for (int w = 0; w < 2; ++w) sum[r][w] = add_pairs(sum[r][w], b[i / 2][w], _mm512_set1_epi32(pair));
        }
    for (int r = 0; r < rows; ++r)
        for (int w = 0; w < vectors; ++w) vf_write(c + r * p->ldc, BPT_F32, w * BPT_LANES, left - w * BPT_LANES, sum[r][w]);
}

BPT_INLINE void add_block_bf16(const bpt_cpu_few_rows_t *p, int64_t first, int depth, int64_t column, int64_t left, lines_t *ahead) {
    const uint16_t *at = (const uint16_t *)p->b + first * p->ldb + column;
    __m512i b[BF16_DEPTH / 2][2], low, high;
    for (int i = 0; i < 32; ++i) {
        ((uint16_t *)&low)[i] = (uint16_t)(i / 2 + i % 2 * 32);
        ((uint16_t *)&high)[i] = (uint16_t)(16 + i / 2 + i % 2 * 32);
    }
    for (int i = 0; i < depth; i += 2) {
        const __m512i even = load_bf16(at, i * p->ldb, left);
        const __m512i odd = i + 1 < depth ? load_bf16(at, (i + 1) * p->ldb, left) : _mm512_setzero_si512();
        b[i / 2][0] = _mm512_permutex2var_epi16(even, low, odd), b[i / 2][1] = _mm512_permutex2var_epi16(even, high, odd);
        for (int j = i; j < i + 2 && j < depth; ++j) fetch(ahead, (const char *)(at + (BF16_DEPTH + j) * p->ldb));
    }
    int64_t row = 0;
    for (; row + BF16_PAIR <= p->m; row += BF16_PAIR) add_rows_bf16(p, b, first, depth, column, left, row, BF16_PAIR);
    for (; row < p->m; ++row) add_rows_bf16(p, b, first, depth, column, left, row, 1);
}

BPT_INLINE void multiply_depth_bf16(const bpt_cpu_few_rows_t *p, int64_t first, int depth) {
    lines_t ahead = lines_of(p, BPT_BF16, first + BF16_DEPTH, p->n);
    int64_t column = 0;
    for (; column + BF16_COLUMNS <= p->n; column += BF16_COLUMNS) add_block_bf16(p, first, depth, column, BF16_COLUMNS, &ahead);
    if (column < p->n) add_block_bf16(p, first, depth, column, p->n - column, &ahead);
}

// ---- b is [n, k] ---------------------------------------------------------------------------------------------------------

BPT_INLINE void add_products_bf16(const uint16_t *x, int64_t ldx, int rows, const uint16_t *b, int64_t ldb, int columns, int64_t left,
                                  vf sum[SIDE_ROWS][SIDE_COLUMNS]) {
    __m512i column[SIDE_COLUMNS];
    for (int j = 0; j < columns; ++j) column[j] = load_bf16(b, j * ldb, left);
    for (int r = 0; r < rows; ++r) {
        const __m512i row = load_bf16(x, r * ldx, left);
        for (int j = 0; j < columns; ++j) sum[r][j] = add_pairs(sum[r][j], row, column[j]);
    }
}

// `rows` times `columns` elements of the product, from (row, column) on.
BPT_INLINE void multiply_rows_bf16(const bpt_cpu_few_rows_t *p, int64_t row, int rows, int64_t column, int columns) {
    const int64_t ldx = p->ldx, ldb = p->ldb, k = p->k;
    const uint16_t *x = (const uint16_t *)p->x + row * ldx, *b = (const uint16_t *)p->b + column * ldb;
    vf sum[SIDE_ROWS][SIDE_COLUMNS] = {0};
    lines_t ahead = lines_of(p, BPT_BF16, column + columns, k);
    int64_t i = 0;
    for (; i + 32 <= k; i += 32) {
        for (int j = 0; j < columns && row == 0; ++j) fetch_next(&ahead);
        add_products_bf16(x + i, ldx, rows, b + i, ldb, columns, 32, sum);
    }
    if (i < k) add_products_bf16(x + i, ldx, rows, b + i, ldb, columns, k - i, sum);
    put_sums(p, sum, row, rows, column, columns);
}

BPT_INLINE void multiply_columns_bf16(const bpt_cpu_few_rows_t *p, int64_t column, int columns) {
    int64_t row = 0;
    for (; row + SIDE_ROWS <= p->m; row += SIDE_ROWS) multiply_rows_bf16(p, row, SIDE_ROWS, column, columns);
    for (; row < p->m; ++row) multiply_rows_bf16(p, row, 1, column, columns);
}

static void multiply_bf16(const bpt_cpu_few_rows_t *p) {
    if (p->transposed) {
        int64_t column = 0;
        for (; column + SIDE_COLUMNS <= p->n; column += SIDE_COLUMNS) multiply_columns_bf16(p, column, SIDE_COLUMNS);
        for (; column < p->n; ++column) multiply_columns_bf16(p, column, 1);
    } else {
        int64_t first = 0;
        for (; first + BF16_DEPTH <= p->k; first += BF16_DEPTH) multiply_depth_bf16(p, first, BF16_DEPTH);
        for (; first + 2 <= p->k; first += 2) multiply_depth_bf16(p, first, 2);
        if (first < p->k) multiply_depth_bf16(p, first, 1);
    }
}

#else
static inline void multiply_bf16(const bpt_cpu_few_rows_t *p) { (void)p; }  // the table says that there is none
#endif

#endif
