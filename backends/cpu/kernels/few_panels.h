// Products of more rows than few_rows.c's other kernels are made for, but fewer than a library is: a panel of b, some columns by some inner
// indices, is laid out as f32 in the fastest cache with its columns as lanes, and all rows of x are multiplied by it from there. That costs
// a copy of b for each product, which a dozen rows pay for, and widens numbers of 16 and 8 bits on the way.
// An element is one chain of sums in the order of its inner indices: how many rows and columns there are changes no bit.
#ifndef BPT_CPU_FEW_PANELS_H
#define BPT_CPU_FEW_PANELS_H

#include "backends/cpu/kernels/few.h"
#include "backends/cpu/kernels/few_q8.h"

enum {
    PANEL_VECTORS = 2,                         // of columns
    PANEL_ROWS = BPT_LANES == 16 ? 12 : 6,     // of x, whose sums are in registers; a multiple of three
    PANEL_DEPTH = 128,                         // inner indices, a multiple of what a scale of numbers of 8 bits is for
    PANEL_COLUMNS = PANEL_VECTORS * BPT_LANES  // 8 to 32
};

// Inner indices first .. first + depth - 1 and columns column .. column + PANEL_COLUMNS - 1 of b, of which there are `left`.
typedef struct {
    float at[PANEL_DEPTH * PANEL_COLUMNS] __attribute__((aligned(LINE)));
    int64_t first, depth, column, left;
} panel_t;

// ---- Laying out ----------------------------------------------------------------------------------------------------------

// Inner indices i .. i + BPT_LANES - 1 of a row of a matrix [n, k]; scale: of numbers of 8 bits, those of the panel's inner indices.
BPT_INLINE vf read_row(const bpt_cpu_few_rows_t *p, bpt_dtype_t dtype, int64_t row, int64_t i, int64_t left, const float *scale) {
    if (dtype != BPT_U32) return vf_read(p->b, dtype, row * p->ldb + i, left);
    const vf bytes = vf_from_bytes(bpt_q8_bytes((const uint32_t *)p->b + row * p->ldb, p->k) + i);
    return bytes * scale[i % PANEL_DEPTH / BPT_Q8_BLOCK];
}

BPT_INLINE void read_scales(const bpt_cpu_few_rows_t *p, int64_t row, const panel_t *t, float scale[BPT_LANES]) {
    const uint16_t *scales = bpt_q8_scales((const uint32_t *)p->b + row * p->ldb);
    const int64_t blocks = (t->depth + BPT_Q8_BLOCK - 1) / BPT_Q8_BLOCK;
    vf_store(scale, vf_read(scales, BPT_F16, t->first / BPT_Q8_BLOCK, blocks));
}

// Inner indices from `i` on, of which there are `left`, of `rows` columns of a vector of them, from a matrix [n, k].
BPT_INLINE void turn_block(const bpt_cpu_few_rows_t *p, bpt_dtype_t dtype, panel_t *t, int vector, int rows, int64_t i, int64_t left,
                           float scale[BPT_LANES][BPT_LANES]) {
    const int64_t first_row = t->column + vector * BPT_LANES;
    float *to = t->at + i * PANEL_COLUMNS + vector * BPT_LANES;
    vf x[BPT_LANES] = {0};
    for (int r = 0; r < rows; ++r) x[r] = read_row(p, dtype, first_row + r, t->first + i, left, scale[r]);
    vf_transpose(x);
    for (int r = 0; r < BPT_LANES; ++r) vf_store(to + r * PANEL_COLUMNS, x[r]);
}

BPT_INLINE void turn_columns(const bpt_cpu_few_rows_t *p, bpt_dtype_t dtype, panel_t *t, int vector) {
    const int64_t left = t->left - vector * BPT_LANES;
    const int rows = left > BPT_LANES ? BPT_LANES : left > 0 ? (int)left : 0;
    float scale[BPT_LANES][BPT_LANES];
    int64_t i = 0;
    for (int r = 0; r < rows && dtype == BPT_U32; ++r) read_scales(p, t->column + vector * BPT_LANES + r, t, scale[r]);
    for (; i + BPT_LANES <= t->depth && rows == BPT_LANES; i += BPT_LANES) turn_block(p, dtype, t, vector, BPT_LANES, i, BPT_LANES, scale);
    for (; i < t->depth; i += BPT_LANES) turn_block(p, dtype, t, vector, rows, i, t->depth - i, scale);
}

// From a matrix [k, n].
BPT_INLINE void copy_columns(const bpt_cpu_few_rows_t *p, bpt_dtype_t dtype, panel_t *t, int vector) {
    const int64_t left = t->left - vector * BPT_LANES, column = t->column + vector * BPT_LANES;
    for (int64_t i = 0; i < t->depth; ++i) {
        const vf x = left > 0 ? vf_read(p->b, dtype, (t->first + i) * p->ldb + column, left) : (vf){0};
        vf_store(t->at + i * PANEL_COLUMNS + vector * BPT_LANES, x);
    }
}

BPT_INLINE void lay_out(const bpt_cpu_few_rows_t *p, bpt_dtype_t dtype, panel_t *t) {
    for (int v = 0; v < PANEL_VECTORS; ++v) {
        if (p->transposed)
            turn_columns(p, dtype, t, v);
        else
            copy_columns(p, dtype, t, v);
    }
}

// ---- Multiplying ---------------------------------------------------------------------------------------------------------

// c (+)= x times the panel, of `rows` rows from `row` on.
BPT_INLINE void multiply_panel_rows(const bpt_cpu_few_rows_t *p, const panel_t *t, int64_t row, int rows) {
    const float *x = (const float *)p->x + row * p->ldx + t->first;
    float *c = p->c + row * p->ldc + t->column;
    const bool begins = t->first == 0 && !p->accumulate;
    vf sum[PANEL_ROWS][PANEL_VECTORS];
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < PANEL_VECTORS; ++v) {
            const int64_t left = t->left - v * BPT_LANES;
            sum[r][v] = begins || left <= 0 ? (vf){0} : vf_read(c + r * p->ldc, BPT_F32, v * BPT_LANES, left);
        }
    for (int64_t i = 0; i < t->depth; ++i) {
        vf b[PANEL_VECTORS];
        for (int v = 0; v < PANEL_VECTORS; ++v) b[v] = vf_load(t->at + i * PANEL_COLUMNS + v * BPT_LANES);
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < PANEL_VECTORS; ++v) sum[r][v] = vf_fma(vf_set1(x[r * p->ldx + i]), b[v], sum[r][v]);
    }
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < PANEL_VECTORS && t->left > v * BPT_LANES; ++v)
            vf_write(c + r * p->ldc, BPT_F32, v * BPT_LANES, t->left - v * BPT_LANES, sum[r][v]);
}

static void multiply_panel(const bpt_cpu_few_rows_t *p, const panel_t *t) {
    int64_t row = 0;
    for (; row + PANEL_ROWS <= p->m; row += PANEL_ROWS) multiply_panel_rows(p, t, row, PANEL_ROWS);
    for (; row + 2 * PANEL_ROWS / 3 <= p->m; row += 2 * PANEL_ROWS / 3) multiply_panel_rows(p, t, row, 2 * PANEL_ROWS / 3);
    for (; row + PANEL_ROWS / 3 <= p->m; row += PANEL_ROWS / 3) multiply_panel_rows(p, t, row, PANEL_ROWS / 3);
    for (; row < p->m; ++row) multiply_panel_rows(p, t, row, 1);
}

BPT_INLINE void multiply_by_panels(const bpt_cpu_few_rows_t *p, bpt_dtype_t dtype) {
    panel_t t;
    for (t.column = 0; t.column < p->n; t.column += PANEL_COLUMNS)
        for (t.first = 0; t.first < p->k; t.first += PANEL_DEPTH) {
            t.left = p->n - t.column;
            t.depth = p->k - t.first < PANEL_DEPTH ? p->k - t.first : PANEL_DEPTH;
            lay_out(p, dtype, &t);
            multiply_panel(p, &t);
        }
}

#endif
