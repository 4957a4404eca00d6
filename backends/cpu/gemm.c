// f32 products by CBLAS, one thread a tile (gemm.h).
#include <cblas.h>
#include <limits.h>
#include <string.h>

#include "backends/cpu/gemm.h"

enum { TILE_ROWS = 512, TILE_COLUMNS = 2048, MIN_ROWS = 128, MIN_COLUMNS = 256, MAX_K = 1 << 24 };
static const int64_t small_work = 1 << 20;  // multiply-adds that are not worth waking another thread

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

bpt_status_t bpt_gemm_check(const bpt_gemm_t *g) {
    if (g->lda > INT_MAX || g->ldb > INT_MAX || g->ldc > INT_MAX)
        return bpt_fail(BPT_ERR_UNSUPPORTED, "a matrix product with rows longer than %d elements", INT_MAX);
    return BPT_OK;
}

// Long inner dimensions over few outputs (weight gradients: k is the number of rows of the batch) are cut into parts that are summed
// in order. The number of parts depends on the shape alone, because it decides the rounding.
static int64_t count_parts(const bpt_gemm_t *g) {
    if (!g->m || !g->n) return 1;
    const int64_t tiles = divide_up(g->m, 512) * divide_up(g->n, 512);  // BPT_GEMM_F32_SCRATCH_LIMIT follows from these numbers
    const int64_t parts = min64(min64(16 / min64(tiles, 17), 8), g->k / 2048);
    return parts < 2 ? 1 : parts;
}

int64_t bpt_gemm_f32_scratch(const bpt_gemm_t *g) {
    const int64_t parts = count_parts(g);
    return parts < 2 ? 0 : parts * g->m * g->n;
}

typedef struct {
    int64_t rows, columns, down, across;  // size and number of tiles
} grid_t;

// A function of the shape alone, not of the number of threads: the library's kernels for the edges of a tile round differently.
// One thread's rate falls by 4 % with 256 rows instead of 512 and by 2 % with 1024 columns instead of 2048.
static grid_t choose_grid(const bpt_gemm_t *g, int64_t parts) {
    grid_t t = {.rows = min64(g->m, TILE_ROWS), .columns = min64(g->n, TILE_COLUMNS)};
    const int64_t wanted = g->m * g->n > small_work / (g->k + 1) ? 16 : 1;
    for (;;) {
        t.down = divide_up(g->m, t.rows), t.across = divide_up(g->n, t.columns);
        if (t.down * t.across * parts >= wanted) break;
        if (t.columns > 2 * MIN_COLUMNS || (t.rows <= MIN_ROWS && t.columns > MIN_COLUMNS)) {
            t.columns = (divide_up(t.columns, 2) + 15) / 16 * 16;
        } else if (t.rows > MIN_ROWS) {
            t.rows = (divide_up(t.rows, 2) + 15) / 16 * 16;
        } else {
            break;
        }
    }
    t.rows = min64(t.rows, (divide_up(g->m, t.down) + 15) / 16 * 16);  // as even as can be
    return t;
}

// c = or += the product over inner indices [first, first + k), for one tile.
static void multiply(const bpt_gemm_t *g, const float *a, const float *b, float *c, int64_t ldc, const bpt_gemm_tile_t *tile, int64_t first,
                     int64_t k, bool accumulate) {
    if (k == 0 && !accumulate)
        for (int64_t i = 0; i < tile->rows; ++i) memset(c + i * ldc, 0, (size_t)tile->columns * sizeof *c);
    while (k > 0) {
        const int64_t step = min64(k, MAX_K);
        const float *a0 = g->transpose_a ? a + first * g->lda + tile->row : a + tile->row * g->lda + first;
        const float *b0 = g->transpose_b ? b + tile->column * g->ldb + first : b + first * g->ldb + tile->column;
        const float beta = accumulate ? 1 : 0;
        const int rows = (int)tile->rows, columns = (int)tile->columns, inner = (int)step, lda = (int)g->lda, ldb = (int)g->ldb;
        if (g->m == 1) {  // the product of a vector reads B once, without packing it
            const int stride = g->transpose_a ? lda : 1;
            if (g->transpose_b)
                cblas_sgemv(CblasRowMajor, CblasNoTrans, columns, inner, 1, b0, ldb, a0, stride, beta, c, 1);
            else
                cblas_sgemv(CblasRowMajor, CblasTrans, inner, columns, 1, b0, ldb, a0, stride, beta, c, 1);
        } else {
            cblas_sgemm(CblasRowMajor, g->transpose_a ? CblasTrans : CblasNoTrans, g->transpose_b ? CblasTrans : CblasNoTrans, rows,
                        columns, inner, 1, a0, lda, b0, ldb, beta, c, (int)ldc);
        }
        accumulate = true, first += step, k -= step;
    }
}

static bpt_gemm_tile_t tile_at(const bpt_gemm_t *g, const grid_t *grid, int64_t index) {
    bpt_gemm_tile_t t = {.row = index / grid->across * grid->rows, .column = index % grid->across * grid->columns};
    t.rows = min64(grid->rows, g->m - t.row), t.columns = min64(grid->columns, g->n - t.column);
    return t;
}

// c (+)= the parts, in order.
static void sum_parts(const bpt_gemm_t *g, const float *parts, int64_t count, float *c, const bpt_gemm_tile_t *tile) {
    for (int64_t i = tile->row; i < tile->row + tile->rows; ++i) {
        float *out = c + i * g->ldc + tile->column;
        for (int64_t p = 0; p < count; ++p) {
            const float *x = parts + (p * g->m + i) * g->n + tile->column;
            if (p == 0 && !g->accumulate) {
                memcpy(out, x, (size_t)tile->columns * sizeof *out);
            } else {
                for (int64_t j = 0; j < tile->columns; ++j) out[j] += x[j];
            }
        }
    }
}

static void run_parts(const bpt_gemm_t *g, const float *a, const float *b, float *c, float *scratch, int64_t parts, int threads) {
    const grid_t grid = choose_grid(g, parts);
    const int64_t tiles = grid.down * grid.across, step = divide_up(g->k, parts);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t i = 0; i < tiles * parts; ++i) {
        const int64_t p = i / tiles, first = p * step;
        const bpt_gemm_tile_t tile = tile_at(g, &grid, i % tiles);
        multiply(g, a, b, scratch + (p * g->m + tile.row) * g->n + tile.column, g->n, &tile, first, min64(step, g->k - first), false);
    }
    const grid_t lines = {.rows = 16, .columns = g->n, .down = divide_up(g->m, 16), .across = 1};
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < lines.down; ++i) {
        const bpt_gemm_tile_t tile = tile_at(g, &lines, i);
        if (g->prepare) g->prepare(g->context, &tile);
        sum_parts(g, scratch, parts, c, &tile);
        if (g->finish) g->finish(g->context, &tile);
    }
}

void bpt_gemm_f32(const bpt_gemm_t *g, const float *a, const float *b, float *c, float *scratch, int threads) {
    if (!g->m || !g->n) return;
    const int64_t parts = count_parts(g);
    if (parts > 1) {
        run_parts(g, a, b, c, scratch, parts, threads);
        return;
    }
    const grid_t grid = choose_grid(g, 1);
    const int64_t tiles = grid.down * grid.across;
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (tiles > 1)
    for (int64_t i = 0; i < tiles; ++i) {
        const bpt_gemm_tile_t tile = tile_at(g, &grid, i);
        if (g->prepare) g->prepare(g->context, &tile);
        multiply(g, a, b, c + tile.row * g->ldc + tile.column, g->ldc, &tile, 0, g->k, g->accumulate);
        if (g->finish) g->finish(g->context, &tile);
    }
}
