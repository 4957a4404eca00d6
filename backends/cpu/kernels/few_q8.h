// Products of a few rows with a matrix [n, k] of numbers of 8 bits, packed (few_rows.c, bpt/q8.h). A number is widened in a register: byte
// times scale is exact in f32. So the product has the same bits as that with the matrix in f32; x stays as it is, which costs nothing where
// memory is the limit and spares the error of rounding it to 8 bits.
#ifndef BPT_CPU_FEW_Q8_H
#define BPT_CPU_FEW_Q8_H

#include "backends/cpu/kernels/few.h"
#include "bpt/q8.h"

enum { SCALED_UNITS = 8 };  // whose scales are widened at a time

typedef int8_t vb __attribute__((vector_size(BPT_LANES)));

BPT_INLINE vf vf_from_bytes(const int8_t *p) {
    vb x;
    memcpy(&x, p, sizeof x);
#if defined(__AVX512F__)
    return (vf)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32((__m128i)x));
#else
    return __builtin_convertvector(__builtin_convertvector(x, vi), vf);
#endif
}

// The scales of `units` units from number `unit` on, of each column. A row's scales have room behind them: its bytes.
BPT_INLINE void widen_scales(const uint32_t *b, int64_t ldb, int columns, int64_t unit, int64_t units,
                             float scale[SIDE_COLUMNS][2 * SCALED_UNITS]) {
    for (int j = 0; j < columns; ++j)
        for (int64_t i = 0; i < 2 * units; i += BPT_LANES) {
            float some[BPT_LANES];
            vf_store(some, vf_read(bpt_q8_scales(b + j * ldb), BPT_F16, 2 * unit + i, 2 * units - i));
            memcpy(scale[j] + i, some, (size_t)(2 * units - i < BPT_LANES ? 2 * units - i : BPT_LANES) * sizeof *some);
        }
}

// A block: inner indices of x that begin here, of which there are `left`, 32 at most count.
BPT_INLINE void add_block_q8(const float *x, int64_t ldx, int rows, const int8_t *bytes, int64_t row_bytes, int columns, const float *scale,
                             int64_t left, vf sum[SIDE_ROWS][SIDE_COLUMNS]) {
#pragma GCC unroll 8
    for (int i = 0; i < BPT_Q8_BLOCK; i += BPT_LANES) {
        vf column[SIDE_COLUMNS];
        if (left <= i) break;
        for (int j = 0; j < columns; ++j) column[j] = vf_from_bytes(bytes + j * row_bytes + i) * scale[j * 2 * SCALED_UNITS];
        for (int r = 0; r < rows; ++r) {
            const vf row = vf_read(x, BPT_F32, r * ldx + i, left - i);
            for (int j = 0; j < columns; ++j) sum[r][j] = vf_fma(row, column[j], sum[r][j]);
        }
    }
}

// `rows` times `columns` elements of the product, from (row, column) on.
BPT_INLINE void multiply_rows_q8(const bpt_cpu_few_rows_t *p, int64_t row, int rows, int64_t column, int columns) {
    const int64_t ldx = p->ldx, ldb = p->ldb, k = p->k, units = bpt_q8_units(k), whole = k / BPT_Q8_BLOCK * BPT_Q8_BLOCK;
    const float *x = (const float *)p->x + row * ldx;
    const uint32_t *b = (const uint32_t *)p->b + column * ldb;
    const int8_t *bytes = bpt_q8_bytes(b, k);
    vf sum[SIDE_ROWS][SIDE_COLUMNS] = {0};
    float scale[SIDE_COLUMNS][2 * SCALED_UNITS];
    const char *ahead = (const char *)(b + columns * ldb);
    for (int64_t unit = 0; unit < units; unit += SCALED_UNITS) {
        const int64_t some = units - unit < SCALED_UNITS ? units - unit : SCALED_UNITS;
        widen_scales(b, ldb, columns, unit, some, scale);
        for (int64_t i = 0; i < 2 * some && (2 * unit + i) * BPT_Q8_BLOCK < k; ++i) {
            const int64_t at = (2 * unit + i) * BPT_Q8_BLOCK;
            for (int j = 0; j < columns && row == 0; j += 2, ahead += LINE + LINE / 8) __builtin_prefetch(ahead);
            if (at < whole)
                add_block_q8(x + at, ldx, rows, bytes + at, 4 * ldb, columns, &scale[0][i], BPT_Q8_BLOCK, sum);
            else
                add_block_q8(x + at, ldx, rows, bytes + at, 4 * ldb, columns, &scale[0][i], k - at, sum);
        }
    }
    put_sums(p, sum, row, rows, column, columns);
}

BPT_INLINE void multiply_columns_q8(const bpt_cpu_few_rows_t *p, int64_t column, int columns) {
    int64_t row = 0;
    for (; row + SIDE_ROWS <= p->m; row += SIDE_ROWS) multiply_rows_q8(p, row, SIDE_ROWS, column, columns);
    for (; row < p->m; ++row) multiply_rows_q8(p, row, 1, column, columns);
}

static void multiply_q8(const bpt_cpu_few_rows_t *p) {
    int64_t column = 0;
    for (; column + SIDE_COLUMNS <= p->n; column += SIDE_COLUMNS) multiply_columns_q8(p, column, SIDE_COLUMNS);
    for (; column < p->n; ++column) multiply_columns_q8(p, column, 1);
}

#endif
