// Tiles of matrix products (gemm.h).
#include "backends/cpu/gemm.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/openblas.h"

enum { TILE_ROWS = 512, TILE_COLUMNS = 2048, MIN_ROWS = 128, MIN_COLUMNS = 256, LINES = 16, MAX_K = 1 << 24 };
// What is widened at a time, so that it stays in the cache; and how many rows ahead one is prefetched.
enum { WIDENED_K = 512, WIDENED_COLUMNS = 512, AHEAD = 4 };
static const int64_t small_work = 1 << 20;  // multiply-adds that are not worth waking another thread

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static size_t round_up64(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Long inner dimensions over few outputs (weight gradients: k is the number of rows of the batch) are cut into parts that are summed
// in order. The number of parts depends on the shape alone, because it decides the rounding.
static int64_t count_parts(const bpt_gemm_t *g) {
    if (!g->m || !g->n) return 1;
    const int64_t tiles = divide_up(g->m, 512) * divide_up(g->n, 512);
    const int64_t parts = min64(min64(16 / min64(tiles, 17), 8), g->k / 2048);
    return parts < 2 ? 1 : parts;
}

bool bpt_gemm_is_bf16(const bpt_gemm_t *g) { return g->a_dtype == BPT_BF16 && g->b_dtype == BPT_BF16 && bpt_cpu_multiplies_bf16(); }

bool bpt_gemm_is_split(const bpt_gemm_t *g) { return count_parts(g) > 1; }

typedef struct {
    int64_t rows, columns, down, across;  // size and number of tiles
} grid_t;

// A function of the shape alone, not of the number of threads: the library's kernels for the edges of a tile round differently.
// One thread's rate falls by 4 % with 256 rows instead of 512 and by 2 % with 1024 columns instead of 2048. oneDNN 2 has its fast
// kernels for AMX only where the rows of C follow each other without gaps, so bf16 tiles stay as wide as C while they can.
static grid_t choose_grid(const bpt_gemm_t *g, int64_t parts) {
    const bool whole_rows = bpt_gemm_is_bf16(g) && g->ldc == g->n;
    grid_t t = {.rows = min64(g->m, TILE_ROWS), .columns = min64(g->n, TILE_COLUMNS)};
    const int64_t wanted = g->m * g->n > small_work / (g->k + 1) ? 16 : 1;
    for (;;) {
        t.down = divide_up(g->m, t.rows), t.across = divide_up(g->n, t.columns);
        if (t.down * t.across * parts >= wanted) break;
        const bool columns_first = t.columns > 2 * MIN_COLUMNS && !(whole_rows && t.columns == g->n);
        if (t.rows > MIN_ROWS ? columns_first : t.columns > MIN_COLUMNS) {
            t.columns = (divide_up(t.columns, 2) + 15) / 16 * 16;
        } else if (t.rows > MIN_ROWS) {
            t.rows = (divide_up(t.rows, 2) + 15) / 16 * 16;
        } else {
            break;
        }
    }
    t.rows = min64(t.rows, (divide_up(g->m, t.down) + 15) / 16 * 16);  // as even as can be
    t.down = divide_up(g->m, t.rows);
    return t;
}

// The whole product, how it is cut, and where things are in the scratch.
typedef struct {
    const bpt_gemm_t *g;
    const void *a, *b;
    char *c, *scratch;
    int threads;
    int64_t parts, part_k;
    grid_t grid;
    bool bf16;
    size_t partials_bytes;               // of all threads
    size_t buffer_bytes, operand_bytes;  // of one thread: a tile of C; widened operands or what the library needs
} job_t;

static bpt_gemm_tile_t tile_at(const bpt_gemm_t *g, const grid_t *grid, int64_t index) {
    bpt_gemm_tile_t t = {.row = index / grid->across * grid->rows, .column = index % grid->across * grid->columns};
    t.rows = min64(grid->rows, g->m - t.row), t.columns = min64(grid->columns, g->n - t.column);
    return t;
}

// Room for WIDENED_K inner indices of an operand.
static size_t widened_bytes(bpt_dtype_t dtype, const job_t *j, int64_t outer) {
    return dtype == BPT_F32 ? 0 : round_up64((size_t)(outer * min64(j->part_k, WIDENED_K)) * sizeof(float));
}

static job_t make_job(const bpt_gemm_t *g, int threads) {
    job_t j = {.g = g, .threads = threads, .parts = count_parts(g), .bf16 = bpt_gemm_is_bf16(g)};
    if (!g->m || !g->n) return j;
    j.part_k = divide_up(g->k, j.parts);
    j.grid = choose_grid(g, j.parts);
    if (j.parts > 1) j.partials_bytes = round_up64((size_t)(j.parts * g->m * g->n) * sizeof(float));
    if (g->transient) j.buffer_bytes = round_up64((size_t)(j.parts > 1 ? LINES * g->n : j.grid.rows * j.grid.columns) * sizeof(float));
    if (!j.bf16)
        j.operand_bytes =
            widened_bytes(g->a_dtype, &j, j.grid.rows) + widened_bytes(g->b_dtype, &j, min64(j.grid.columns, WIDENED_COLUMNS));
    return j;
}

// ---- One tile of the product over inner indices [first, first + k) ---------------------------------------------------
typedef struct {
    int64_t first, k, ldc;
    bool accumulate;
    bpt_dtype_t c_dtype;
} slice_t;

static bpt_onednn_product_t product_of(const bpt_gemm_t *g, const bpt_gemm_tile_t *tile, slice_t s) {
    return (bpt_onednn_product_t){.m = tile->rows,
                                  .n = tile->columns,
                                  .k = s.k,
                                  .lda = g->lda,
                                  .ldb = g->ldb,
                                  .ldc = s.ldc,
                                  .transpose_a = g->transpose_a,
                                  .transpose_b = g->transpose_b,
                                  .accumulate = s.accumulate,
                                  .bias = g->biased,
                                  .c_dtype = s.c_dtype};
}

// The slice's part of A and of B for a tile, as it is stored: rows of `columns` elements, the first at element `first`, `ld` apart.
typedef struct {
    int64_t first, rows, columns, ld;
} place_t;

static place_t place_in_a(const bpt_gemm_t *g, const bpt_gemm_tile_t *tile, slice_t s) {
    if (g->transpose_a) return (place_t){s.first * g->lda + tile->row, s.k, tile->rows, g->lda};
    return (place_t){tile->row * g->lda + s.first, tile->rows, s.k, g->lda};
}
static place_t place_in_b(const bpt_gemm_t *g, const bpt_gemm_tile_t *tile, slice_t s) {
    if (g->transpose_b) return (place_t){tile->column * g->ldb + s.first, tile->columns, s.k, g->ldb};
    return (place_t){s.first * g->ldb + tile->column, s.k, tile->columns, g->ldb};
}

// A thread's part of the scratch.
static char *own_scratch(const job_t *j, int thread) {
    return j->scratch + j->partials_bytes + (size_t)thread * (j->buffer_bytes + j->operand_bytes);
}

static void call_blas(const bpt_gemm_t *g, const bpt_onednn_product_t *p, const float *a, const float *b, float *c) {
    const float beta = p->accumulate ? 1 : 0;
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb;
    if (g->m > 1) {
        bpt_openblas.cblas_sgemm(CblasRowMajor, p->transpose_a ? CblasTrans : CblasNoTrans, p->transpose_b ? CblasTrans : CblasNoTrans, m,
                                 n, k, 1, a, lda, b, ldb, beta, c, (int)p->ldc);
    } else {  // the product of a vector reads B once, without packing it
        const int stride = p->transpose_a ? lda : 1;
        if (p->transpose_b)
            bpt_openblas.cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1, b, ldb, a, stride, beta, c, 1);
        else
            bpt_openblas.cblas_sgemv(CblasRowMajor, CblasTrans, k, n, 1, b, ldb, a, stride, beta, c, 1);
    }
}

// The elements at `place` as f32: where they are, or widened into `room`, rows one behind the other (*ld).
static const float *as_f32(const void *x, bpt_dtype_t dtype, place_t place, float *room, int64_t *ld) {
    *ld = dtype == BPT_F32 ? place.ld : place.columns;
    if (dtype == BPT_F32) return (const float *)x + place.first;
    for (int64_t i = 0; i < place.rows; ++i) {
        const uint16_t *row = (const uint16_t *)x + place.first + i * place.ld;
        if (i + AHEAD < place.rows)  // rows lie too far apart for the processor to guess the next one
            for (int64_t c = 0; c < place.columns; c += 32) __builtin_prefetch(row + AHEAD * place.ld + c);
        bpt_cpu_convert_piece(room + i * place.columns, BPT_F32, row, dtype, place.columns);
    }
    return room;
}

static void multiply_f32(const job_t *j, float *c, const bpt_gemm_tile_t *tile, slice_t s, int thread) {
    const bpt_gemm_t *g = j->g;
    float *a_room = (float *)(void *)(own_scratch(j, thread) + j->buffer_bytes);
    float *b_room = (float *)(void *)((char *)a_room + widened_bytes(g->a_dtype, j, j->grid.rows));
    const int64_t most_k = j->operand_bytes ? WIDENED_K : MAX_K, most_columns = g->b_dtype == BPT_F32 ? tile->columns : WIDENED_COLUMNS;
    for (int64_t left = s.k; left > 0; left -= s.k, s.first += s.k, s.accumulate = true) {
        s.k = min64(left, most_k);
        int64_t lda;
        const float *a = as_f32(j->a, g->a_dtype, place_in_a(g, tile, s), a_room, &lda);
        for (int64_t done = 0; done < tile->columns; done += most_columns) {
            bpt_gemm_tile_t part = *tile;
            part.column += done, part.columns = min64(tile->columns - done, most_columns);
            bpt_onednn_product_t p = product_of(g, &part, s);
            p.lda = lda;
            const float *b = as_f32(j->b, g->b_dtype, place_in_b(g, &part, s), b_room, &p.ldb);
            // Weight gradients (transpose_a) are as fast by CBLAS or faster, where it has kernels for this processor.
            const bool onednn = g->m > 1 && !(g->transpose_a && bpt_openblas_knows_processor());
            if (onednn && bpt_onednn_multiply_f32(&p, a, b, c + done)) continue;
            call_blas(g, &p, a, b, c + done);
        }
    }
}

static void fill_nan(void *c, const bpt_gemm_tile_t *tile, slice_t s) {
    for (int64_t i = 0; i < tile->rows; ++i)
        for (int64_t j = 0; j < tile->columns; ++j) {
            if (s.c_dtype == BPT_F32)
                ((float *)c)[i * s.ldc + j] = NAN;
            else
                ((uint16_t *)c)[i * s.ldc + j] = bpt_to_bf16(NAN);
        }
}

static void multiply_bf16(const job_t *j, void *c, const bpt_gemm_tile_t *tile, slice_t s, int thread) {
    const uint16_t *a = (const uint16_t *)j->a + place_in_a(j->g, tile, s).first;
    const uint16_t *b = (const uint16_t *)j->b + place_in_b(j->g, tile, s).first;
    const bpt_onednn_product_t p = product_of(j->g, tile, s);
    const bpt_onednn_data_t data = {.a = a,
                                    .b = b,
                                    .c = c,
                                    .scratch = own_scratch(j, thread) + j->buffer_bytes,
                                    .bias = j->g->biased ? j->g->bias + tile->column : NULL};
    if (!bpt_onednn_multiply(&p, &data, thread)) fill_nan(c, tile, s);
}

static void multiply(const job_t *j, void *c, const bpt_gemm_tile_t *tile, slice_t s, int thread) {
    const size_t size = bpt_dtype_size(s.c_dtype);
    if (s.k == 0) {
        for (int64_t i = 0; i < tile->rows && !s.accumulate; ++i)
            memset((char *)c + (size_t)(i * s.ldc) * size, 0, (size_t)tile->columns * size);
    } else if (j->bf16) {
        multiply_bf16(j, c, tile, s, thread);
    } else {
        multiply_f32(j, c, tile, s, thread);
    }
}

// ---- Preparation -----------------------------------------------------------------------------------------------------
static slice_t slice_of(const job_t *j, int64_t part, int64_t ldc) {
    const bpt_gemm_t *g = j->g;
    const int64_t first = part * j->part_k;
    slice_t s = {.first = first, .k = min64(j->part_k, g->k - first), .ldc = ldc, .accumulate = g->accumulate, .c_dtype = g->c_dtype};
    if (j->parts > 1) s.accumulate = false, s.c_dtype = BPT_F32, s.ldc = g->n;
    return s;
}

// Every shape of tile that the grid has: whole ones and those of the right and lower edge.
static bpt_status_t prepare_tiles(job_t *j) {
    const grid_t *grid = &j->grid;
    const int64_t corner[4] = {0, grid->across - 1, (grid->down - 1) * grid->across, grid->down * grid->across - 1};
    for (int part = 0; part < 2; ++part)  // the last part may be shorter
        for (int i = 0; i < 4; ++i) {
            const bpt_gemm_tile_t tile = tile_at(j->g, grid, corner[i]);
            const slice_t s = slice_of(j, part ? j->parts - 1 : 0, j->g->transient ? tile.columns : j->g->ldc);
            const bpt_onednn_product_t p = product_of(j->g, &tile, s);
            size_t bytes = 0;
            if (s.k) BPT_TRY(bpt_onednn_prepare(&p, j->threads, &bytes));
            if (bytes > j->operand_bytes) j->operand_bytes = bytes;
        }
    return BPT_OK;
}

bpt_status_t bpt_gemm_plan(const bpt_gemm_t *g, int threads, size_t *scratch_bytes) {
    if (max64(g->lda, max64(g->ldb, g->ldc)) > INT_MAX || g->n > INT_MAX)
        return bpt_fail(BPT_ERR_UNSUPPORTED, "a matrix product with rows longer than %d elements", INT_MAX);
    job_t j = make_job(g, threads);
    if (j.bf16 && g->m && g->n) {
        bpt_onednn_lock();
        const bpt_status_t status = prepare_tiles(&j);
        bpt_onednn_unlock();
        BPT_TRY(status);
    }
    *scratch_bytes = j.partials_bytes + (size_t)threads * (j.buffer_bytes + j.operand_bytes);
    return BPT_OK;
}

// ---- Running ---------------------------------------------------------------------------------------------------------
static void place(const job_t *j, bpt_gemm_tile_t *tile, int thread) {
    if (j->g->transient) {
        tile->c = own_scratch(j, thread);
        tile->ldc = tile->columns;
    } else {
        const size_t at = (size_t)(tile->row * j->g->ldc + tile->column);
        tile->c = j->c + at * bpt_dtype_size(j->g->c_dtype);
        tile->ldc = j->g->ldc;
    }
}

// c (+)= the parts, in order.
static void sum_parts(const job_t *j, const bpt_gemm_tile_t *tile) {
    const bpt_gemm_t *g = j->g;
    const float *partials = (const float *)(const void *)j->scratch;
    for (int64_t i = 0; i < tile->rows; ++i) {
        float *out = (float *)tile->c + i * tile->ldc;
        for (int64_t p = 0; p < j->parts; ++p) {
            const float *x = partials + (p * g->m + tile->row + i) * g->n + tile->column;
            if (p == 0 && !g->accumulate) {
                memcpy(out, x, (size_t)tile->columns * sizeof *out);
            } else {
                for (int64_t k = 0; k < tile->columns; ++k) out[k] += x[k];
            }
        }
    }
}

static int64_t count_tiles(const job_t *j) { return j->grid.down * j->grid.across; }

// One tile of one part.
static void run_part(const void *context, int64_t i, int thread) {
    const job_t *j = context;
    const int64_t part = i / count_tiles(j), n = j->g->n;
    const bpt_gemm_tile_t tile = tile_at(j->g, &j->grid, i % count_tiles(j));
    float *partials = (float *)(void *)j->scratch;
    multiply(j, partials + (part * j->g->m + tile.row) * n + tile.column, &tile, slice_of(j, part, n), thread);
}

static grid_t grid_of_lines(const bpt_gemm_t *g) {
    return (grid_t){.rows = LINES, .columns = g->n, .down = divide_up(g->m, LINES), .across = 1};
}

static void run_lines(const void *context, int64_t i, int thread) {
    const job_t *j = context;
    const bpt_gemm_t *g = j->g;
    const grid_t lines = grid_of_lines(g);
    bpt_gemm_tile_t tile = tile_at(g, &lines, i);
    place(j, &tile, thread);
    if (g->prepare) g->prepare(g->context, &tile);
    sum_parts(j, &tile);
    if (g->finish) g->finish(g->context, &tile);
}

static void run_tile(const void *context, int64_t i, int thread) {
    const job_t *j = context;
    const bpt_gemm_t *g = j->g;
    bpt_gemm_tile_t tile = tile_at(g, &j->grid, i);
    place(j, &tile, thread);
    if (g->prepare) g->prepare(g->context, &tile);
    multiply(j, tile.c, &tile, slice_of(j, 0, tile.ldc), thread);
    if (g->finish) g->finish(g->context, &tile);
}

void bpt_gemm_run(const bpt_gemm_t *g, const void *a, const void *b, void *c, void *scratch, bpt_team_t *team) {
    if (!g->m || !g->n) return;
    job_t j = make_job(g, bpt_team_threads(team));
    j.a = a, j.b = b, j.c = c, j.scratch = scratch;
    if (j.bf16) {
        bpt_onednn_lock();
        const bpt_status_t status = prepare_tiles(&j);  // a look-up: the plan has made them
        (void)status;                                   // what is missing gives NaN
    }
    if (j.parts > 1) {
        bpt_team_for(team, count_tiles(&j) * j.parts, run_part, &j);
        bpt_team_for(team, grid_of_lines(g).down, run_lines, &j);
    } else {
        bpt_team_for(team, count_tiles(&j), run_tile, &j);
    }
    if (j.bf16) bpt_onednn_unlock();
}
