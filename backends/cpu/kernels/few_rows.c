// Products of a few rows with a matrix that is read as it lies, of any float type or of 8 bits. They are as fast as memory gives the
// matrix, so it is read once for all rows, and fetched ahead: its rows lie too far apart for the processor to guess the next one. An
// element of the product is one chain of sums whose order is that of its own row and column alone: how many rows and columns there are
// changes no bit.
#include "backends/cpu/kernels/few_bf16.h"
#include "backends/cpu/kernels/few_panels.h"
#include "backends/cpu/kernels/few_q8.h"

enum {
    DEPTH = 8,                       // rows of a matrix [k, n] that are added to the product while it is in registers
    WIDE = BPT_LANES == 16 ? 2 : 1,  // vectors of its columns, and rows of x, at a time: what fits in the registers
    PAIR = BPT_LANES == 16 ? 2 : 1,
};

// ---- b is [k, n]: lanes are columns --------------------------------------------------------------------------------------

// A part of b: inner indices first .. first + depth - 1; `wide` vectors of columns from `column` on, of which there are `left`.
typedef struct {
    int64_t first, column, left;
    int depth, wide;
} block_t;

// c (+)= x b of `rows` rows from `row` on.
BPT_INLINE void add_rows(const bpt_cpu_few_rows_t *p, const block_t *t, vf b[DEPTH][WIDE], int64_t row, int rows) {
    const float *x = (const float *)p->x + row * p->ldx + t->first;
    float *c = p->c + row * p->ldc + t->column;
    const bool begins = t->first == 0 && !p->accumulate;
    vf sum[PAIR][WIDE];
    for (int r = 0; r < rows; ++r)
        for (int w = 0; w < t->wide; ++w)
            sum[r][w] = begins ? (vf){0} : vf_read(c + r * p->ldc, BPT_F32, w * BPT_LANES, t->left - w * BPT_LANES);
    for (int i = 0; i < t->depth; ++i)
        for (int r = 0; r < rows; ++r)
            for (int w = 0; w < t->wide; ++w) sum[r][w] = vf_fma(vf_set1(x[r * p->ldx + i]), b[i][w], sum[r][w]);
    for (int r = 0; r < rows; ++r)
        for (int w = 0; w < t->wide; ++w) vf_write(c + r * p->ldc, BPT_F32, w * BPT_LANES, t->left - w * BPT_LANES, sum[r][w]);
}

BPT_INLINE void add_block(const bpt_cpu_few_rows_t *p, bpt_dtype_t dtype, block_t t, lines_t *ahead) {
    const int64_t size = (int64_t)bpt_dtype_size(dtype);
    vf b[DEPTH][WIDE];
    for (int i = 0; i < t.depth; ++i) {
        const int64_t at = (t.first + i) * p->ldb + t.column;
        for (int w = 0; w < t.wide; ++w) b[i][w] = vf_read(p->b, dtype, at + w * BPT_LANES, t.left - w * BPT_LANES);
        for (int c = 0; c < t.wide * BPT_LANES; c += LINE / (int)size) fetch(ahead, (const char *)p->b + (at + DEPTH * p->ldb + c) * size);
    }
    int64_t row = 0;
    for (; row + PAIR <= p->m; row += PAIR) add_rows(p, &t, b, row, PAIR);
    for (; row < p->m; ++row) add_rows(p, &t, b, row, 1);
}

BPT_INLINE void multiply_depth(const bpt_cpu_few_rows_t *p, bpt_dtype_t dtype, int64_t first, int depth) {
    block_t t = {.first = first, .depth = depth, .wide = WIDE, .left = WIDE * BPT_LANES};
    lines_t ahead = lines_of(p, dtype, first + DEPTH, p->n);
    for (; t.column + WIDE * BPT_LANES <= p->n; t.column += WIDE * BPT_LANES) add_block(p, dtype, t, &ahead);
    for (t.wide = 1; t.column < p->n; t.column += BPT_LANES) {
        t.left = p->n - t.column;
        add_block(p, dtype, t, &ahead);
    }
}

BPT_INLINE void multiply(const bpt_cpu_few_rows_t *p, bpt_dtype_t dtype) {
    int64_t first = 0;
    for (; first + DEPTH <= p->k; first += DEPTH) multiply_depth(p, dtype, first, DEPTH);
    for (; first < p->k; ++first) multiply_depth(p, dtype, first, 1);
}

// ---- b is [n, k]: lanes are inner indices --------------------------------------------------------------------------------

// Inner indices i .. of `rows` rows of x and `columns` columns of b, of which there are `left`, a vector at most count.
BPT_INLINE void add_products(const float *x, int64_t ldx, int rows, const void *b, int64_t ldb, bpt_dtype_t dtype, int columns, int64_t i,
                             int64_t left, vf sum[SIDE_ROWS][SIDE_COLUMNS]) {
    vf column[SIDE_COLUMNS];
    for (int j = 0; j < columns; ++j) column[j] = vf_read(b, dtype, j * ldb + i, left);
    for (int r = 0; r < rows; ++r) {
        const vf row = vf_read(x, BPT_F32, r * ldx + i, left);
        for (int j = 0; j < columns; ++j) sum[r][j] = vf_fma(row, column[j], sum[r][j]);
    }
}

// `rows` times `columns` elements of the product, from (row, column) on.
BPT_INLINE void multiply_rows(const bpt_cpu_few_rows_t *p, bpt_dtype_t dtype, int64_t row, int rows, int64_t column, int columns) {
    const int64_t ldx = p->ldx, ldb = p->ldb, k = p->k;
    const float *x = (const float *)p->x + row * ldx;
    const void *b = (const char *)p->b + (size_t)(column * ldb) * bpt_dtype_size(dtype);
    vf sum[SIDE_ROWS][SIDE_COLUMNS] = {0};
    lines_t ahead = lines_of(p, dtype, column + columns, k);
    int64_t i = 0;
    for (; i + BPT_LANES <= k; i += BPT_LANES) {
        for (int j = 0; j < columns * BPT_LANES && row == 0; j += LINE / (int)bpt_dtype_size(dtype)) fetch_next(&ahead);
        add_products(x, ldx, rows, b, ldb, dtype, columns, i, BPT_LANES, sum);
    }
    if (i < k) add_products(x, ldx, rows, b, ldb, dtype, columns, i, k - i, sum);
    put_sums(p, sum, row, rows, column, columns);
}

BPT_INLINE void multiply_columns(const bpt_cpu_few_rows_t *p, bpt_dtype_t dtype, int64_t column, int columns) {
    int64_t row = 0;
    for (; row + SIDE_ROWS <= p->m; row += SIDE_ROWS) multiply_rows(p, dtype, row, SIDE_ROWS, column, columns);
    for (; row < p->m; ++row) multiply_rows(p, dtype, row, 1, column, columns);
}

BPT_INLINE void multiply_transposed(const bpt_cpu_few_rows_t *p, bpt_dtype_t dtype) {
    int64_t column = 0;
    for (; column + SIDE_COLUMNS <= p->n; column += SIDE_COLUMNS) multiply_columns(p, dtype, column, SIDE_COLUMNS);
    for (; column < p->n; ++column) multiply_columns(p, dtype, column, 1);
}

BPT_INLINE void run(const bpt_cpu_few_rows_t *p, bpt_dtype_t dtype) {
    if (p->panels)
        multiply_by_panels(p, dtype);
    else if (p->transposed)
        multiply_transposed(p, dtype);
    else
        multiply(p, dtype);
}

void BPT_KERNEL_NAME(few_rows)(const bpt_cpu_few_rows_t *p) {
    if (p->dtype == BPT_U32 && p->panels)
        multiply_by_panels(p, BPT_U32);
    else if (p->dtype == BPT_U32)
        multiply_q8(p);
    else if (p->x_dtype == BPT_BF16)
        multiply_bf16(p);
    else if (p->dtype == BPT_F32)
        run(p, BPT_F32);
    else if (p->dtype == BPT_BF16)
        run(p, BPT_BF16);
    else
        run(p, BPT_F16);
}
