// Tiles of matrix products (gemm.h).
#include "backends/cpu/gemm.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/gemm_operands.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/openblas.h"
#include "backends/cpu/own_product.h"

enum { TILE_ROWS = 512, TILE_COLUMNS = 2048, MIN_ROWS = 128, MIN_COLUMNS = 256, LINES = 16, MAX_K = 1 << 24 };
enum { LAID_OUT_ROWS = 1024 };
enum { FAR = 4096 / sizeof(float) };        // the processor fetches ahead within a page of 4096 bytes only
static const int64_t small_work = 1 << 20;  // multiply-adds that are not worth waking another thread

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static size_t round_up64(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Long inner dimensions over few outputs (weight gradients: k is the number of rows of the batch) are cut into parts that are summed
// in order. The number of parts depends on the shape alone, because it decides the rounding.
static int64_t count_parts(const bpt_gemm_t *g) {
    if (!g->m || !g->n || bpt_gemm_is_few(g)) return 1;
    const int64_t tiles = divide_up(g->m, 512) * divide_up(g->n, 512);
    const int64_t parts = min64(min64(16 / min64(tiles, 17), 8), g->k / 2048);
    return parts < 2 ? 1 : parts;
}

bool bpt_gemm_is_bf16(const bpt_gemm_t *g) {
    return g->a_dtype == BPT_BF16 && g->b_dtype == BPT_BF16 && bpt_cpu_multiplies_bf16() && !bpt_gemm_is_few(g);
}

bool bpt_gemm_is_split(const bpt_gemm_t *g) { return count_parts(g) > 1; }

// Many rows of A read B again and again, so it is copied first to where the library reads it fastest: as f32, not transposed, and the
// columns of a tile together. The copy takes at most half as much memory as an f32 C.
static bool lays_out_b(const bpt_gemm_t *g) {
    return !g->transpose_a && (g->transpose_b || g->b_dtype != BPT_F32) && !bpt_gemm_is_bf16(g) && g->m >= LAID_OUT_ROWS &&
           g->m >= 2 * g->k;
}

// The operands of a weight gradient are read once, down their columns: a part of one whose rows lie far apart is copied before each
// product.
static bool is_copied(const bpt_gemm_t *g, bpt_dtype_t dtype, int64_t ld) { return dtype != BPT_F32 || (g->transpose_a && ld >= FAR); }

// What is copied of B for a tile stays in the cache.
static int64_t most_columns(const bpt_gemm_t *g) {
    return !bpt_gemm_is_bf16(g) && (lays_out_b(g) || is_copied(g, g->b_dtype, g->ldb)) ? BPT_GEMM_COPIED_COLUMNS : TILE_COLUMNS;
}

typedef struct {
    int64_t rows, columns, down, across;  // size and number of tiles
} grid_t;

// A function of the shape alone, not of the number of threads: the library's kernels for the edges of a tile round differently.
// One thread's rate falls by 4 % with 256 rows instead of 512 and by 2 % with 1024 columns instead of 2048. oneDNN 2 has its fast
// kernels for AMX only where the rows of C follow each other without gaps, so bf16 tiles stay as wide as C while they can.
static grid_t choose_grid(const bpt_gemm_t *g, int64_t parts) {
    const bool whole_rows = bpt_gemm_is_bf16(g) && g->ldc == g->n;
    grid_t t = {.rows = min64(g->m, TILE_ROWS), .columns = min64(g->n, most_columns(g))};
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
    int threads, first_number;  // of the team (team.h)
    int64_t parts, part_k;
    grid_t grid;
    bool bf16;
    bool a_copied, b_copied, b_laid_out;
    bool first_in_place;                    // the first part's product goes to C itself
    size_t partials_bytes, laid_out_bytes;  // of all threads
    size_t buffer_bytes, operand_bytes;     // of one thread: a tile of C; copied operands or what the library needs
} job_t;

static bpt_gemm_tile_t tile_at(const bpt_gemm_t *g, const grid_t *grid, int64_t index) {
    bpt_gemm_tile_t t = {.row = index / grid->across * grid->rows, .column = index % grid->across * grid->columns};
    t.rows = min64(grid->rows, g->m - t.row), t.columns = min64(grid->columns, g->n - t.column);
    return t;
}

// Room for BPT_GEMM_COPIED_K inner indices of an operand.
static size_t copied_bytes(bool copied, const job_t *j, int64_t outer) {
    return copied ? round_up64((size_t)(outer * min64(j->part_k, BPT_GEMM_COPIED_K)) * sizeof(float)) : 0;
}

static job_t make_job(const bpt_gemm_t *g, int threads) {
    job_t j = {.g = g, .threads = threads, .parts = count_parts(g), .bf16 = bpt_gemm_is_bf16(g)};
    if (!g->m || !g->n) return j;
    j.part_k = divide_up(g->k, j.parts);
    j.grid = choose_grid(g, j.parts);
    j.first_in_place = j.parts > 1 && !g->transient && !g->accumulate;
    if (j.parts > 1) j.partials_bytes = round_up64((size_t)((j.parts - j.first_in_place) * g->m * g->n) * sizeof(float));
    if (g->transient) j.buffer_bytes = round_up64((size_t)(j.parts > 1 ? LINES * g->n : j.grid.rows * j.grid.columns) * sizeof(float));
    if (j.bf16) return j;
    j.b_laid_out = lays_out_b(g);
    if (j.b_laid_out) j.laid_out_bytes = round_up64((size_t)(g->k * g->n) * sizeof(float));
    j.a_copied = is_copied(g, g->a_dtype, g->lda), j.b_copied = !j.b_laid_out && is_copied(g, g->b_dtype, g->ldb);
    j.operand_bytes = copied_bytes(j.a_copied, &j, j.grid.rows) + copied_bytes(j.b_copied, &j, j.grid.columns);
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

// The slice's part of A and of B for a tile.
static bpt_gemm_place_t place_in_a(const bpt_gemm_t *g, const bpt_gemm_tile_t *tile, slice_t s) {
    if (g->transpose_a) return (bpt_gemm_place_t){s.first * g->lda + tile->row, s.k, tile->rows, g->lda};
    return (bpt_gemm_place_t){tile->row * g->lda + s.first, tile->rows, s.k, g->lda};
}
static bpt_gemm_place_t place_in_b(const bpt_gemm_t *g, const bpt_gemm_tile_t *tile, slice_t s) {
    if (g->transpose_b) return (bpt_gemm_place_t){tile->column * g->ldb + s.first, tile->columns, s.k, g->ldb};
    return (bpt_gemm_place_t){s.first * g->ldb + tile->column, s.k, tile->columns, g->ldb};
}

// B laid out: [k,columns] of each column of tiles, one behind the other.
static float *laid_out_b(const job_t *j, int64_t column) { return (float *)(void *)(j->scratch + j->partials_bytes) + column * j->g->k; }

// A thread's part of the scratch.
static char *own_scratch(const job_t *j, int thread) {
    return j->scratch + j->partials_bytes + j->laid_out_bytes + (size_t)thread * (j->buffer_bytes + j->operand_bytes);
}

static void call_blas(const bpt_gemm_t *g, const bpt_onednn_product_t *p, const float *a, const float *b, float *c) {
    if (bpt_openblas_is_replaced()) {
        bpt_own_product(p, a, b, c);
        return;
    }
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

// The elements of an operand at `place` as f32: where they are, or copied into `room`.
static const float *as_f32(const void *x, bpt_dtype_t dtype, bool copied, bpt_gemm_place_t place, float *room, int64_t *ld) {
    *ld = copied ? place.columns : place.ld;
    if (!copied) return (const float *)x + place.first;
    bpt_gemm_copy(x, dtype, place, room);
    return room;
}

static void multiply_f32(const job_t *j, float *c, const bpt_gemm_tile_t *tile, slice_t s, int thread) {
    const bpt_gemm_t *g = j->g;
    float *a_room = (float *)(void *)(own_scratch(j, thread) + j->buffer_bytes);
    float *b_room = (float *)(void *)((char *)a_room + copied_bytes(j->a_copied, j, j->grid.rows));
    const int64_t most_k = j->a_copied || j->b_copied ? BPT_GEMM_COPIED_K : MAX_K;
    for (int64_t left = s.k; left > 0; left -= s.k, s.first += s.k, s.accumulate = true) {
        s.k = min64(left, most_k);
        bpt_onednn_product_t p = product_of(g, tile, s);
        const float *b, *a = as_f32(j->a, g->a_dtype, j->a_copied, place_in_a(g, tile, s), a_room, &p.lda);
        if (j->b_laid_out)
            b = laid_out_b(j, tile->column) + s.first * tile->columns, p.ldb = tile->columns, p.transpose_b = false;
        else
            b = as_f32(j->b, g->b_dtype, j->b_copied, place_in_b(g, tile, s), b_room, &p.ldb);
        // Weight gradients (transpose_a) are faster by CBLAS where its kernels suit the processor.
        const bool onednn = g->m > 1 && !(g->transpose_a && bpt_openblas_suits_processor());
        if (!onednn || !bpt_onednn_multiply_f32(&p, a, b, c)) call_blas(g, &p, a, b, c);
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
    if (!bpt_onednn_multiply(&p, &data, j->first_number + thread)) fill_nan(c, tile, s);
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
    if (j->parts > 1) s.accumulate = false, s.c_dtype = BPT_F32;
    return s;
}

// How far apart the rows of a tile's product lie.
static int64_t ldc_of(const job_t *j, int64_t part, const bpt_gemm_tile_t *tile) {
    const bool in_c = j->parts > 1 ? part == 0 && j->first_in_place : !j->g->transient;
    return in_c ? j->g->ldc : tile->columns;
}

// Every shape of tile that the grid has: whole ones and those of the right and lower edge.
static bpt_status_t prepare_tiles(job_t *j, int numbers) {
    const grid_t *grid = &j->grid;
    const int64_t corner[4] = {0, grid->across - 1, (grid->down - 1) * grid->across, grid->down * grid->across - 1};
    const int64_t parts[3] = {0, j->parts - 1, 1};  // the first may lie in C, the last may be shorter
    for (int part = 0; part < min64(j->parts, 3); ++part)
        for (int i = 0; i < 4; ++i) {
            if (i && corner[i] == corner[i - 1]) continue;
            const bpt_gemm_tile_t tile = tile_at(j->g, grid, corner[i]);
            const slice_t s = slice_of(j, parts[part], ldc_of(j, parts[part], &tile));
            const bpt_onednn_product_t p = product_of(j->g, &tile, s);
            size_t bytes = 0;
            if (s.k) BPT_TRY(bpt_onednn_prepare(&p, numbers, &bytes));
            if (bytes > j->operand_bytes) j->operand_bytes = bytes;
        }
    return BPT_OK;
}

bpt_status_t bpt_gemm_plan(const bpt_gemm_t *g, int threads, size_t *scratch_bytes) {
    if (max64(g->lda, max64(g->ldb, g->ldc)) > INT_MAX || g->n > INT_MAX)
        return bpt_fail(BPT_ERR_UNSUPPORTED, "a matrix product with rows longer than %d elements", INT_MAX);
    if (bpt_gemm_is_few(g)) {
        *scratch_bytes = bpt_gemm_few_scratch(g, threads);
        return BPT_OK;
    }
    job_t j = make_job(g, threads);
    if (j.bf16 && g->m && g->n) BPT_TRY(prepare_tiles(&j, bpt_team_numbers()));
    *scratch_bytes = j.partials_bytes + j.laid_out_bytes + (size_t)threads * (j.buffer_bytes + j.operand_bytes);
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

// Where a part's product for a tile goes: a matrix of its own, because the library is slower where the rows of C lie far apart.
static float *partial_of(const job_t *j, int64_t part, const bpt_gemm_tile_t *tile) {
    return (float *)(void *)j->scratch + ((part - j->first_in_place) * j->g->m + tile->row) * j->g->n + tile->rows * tile->column;
}

// Columns of some rows of C that lie within tile `t` (+)= the parts, in order.
static void sum_parts_of_tile(const job_t *j, const bpt_gemm_tile_t *rows, const bpt_gemm_tile_t *t) {
    for (int64_t i = 0; i < rows->rows; ++i) {
        float *out = (float *)rows->c + i * rows->ldc + t->column;
        for (int64_t p = j->first_in_place; p < j->parts; ++p) {
            const float *x = partial_of(j, p, t) + (rows->row + i - t->row) * t->columns;
            if (p == 0 && !j->g->accumulate) {
                memcpy(out, x, (size_t)t->columns * sizeof *out);
            } else {
                for (int64_t k = 0; k < t->columns; ++k) out[k] += x[k];
            }
        }
    }
}

static void sum_parts(const job_t *j, const bpt_gemm_tile_t *rows) {
    for (int64_t across = 0; across < j->grid.across; ++across) {
        const bpt_gemm_tile_t t = tile_at(j->g, &j->grid, rows->row / j->grid.rows * j->grid.across + across);
        sum_parts_of_tile(j, rows, &t);
    }
}

static int64_t count_tiles(const job_t *j) { return j->grid.down * j->grid.across; }

// One tile of one part.
static void run_part(const void *context, int64_t i, int thread) {
    const job_t *j = context;
    const int64_t part = i / count_tiles(j);
    bpt_gemm_tile_t tile = tile_at(j->g, &j->grid, i % count_tiles(j));
    if (part == 0 && j->first_in_place)
        place(j, &tile, thread);
    else
        tile.c = partial_of(j, part, &tile);
    multiply(j, tile.c, &tile, slice_of(j, part, ldc_of(j, part, &tile)), thread);
}

static int64_t count_blocks(const job_t *j) { return divide_up(j->g->k, BPT_GEMM_COPIED_K); }

// Some inner indices of a column of tiles.
static void lay_out_block(const void *context, int64_t i, int thread) {
    (void)thread;
    const job_t *j = context;
    const bpt_gemm_t *g = j->g;
    const bpt_gemm_tile_t tile = tile_at(g, &j->grid, i / count_blocks(j));
    const int64_t first = i % count_blocks(j) * BPT_GEMM_COPIED_K;
    const slice_t s = {.first = first, .k = min64(BPT_GEMM_COPIED_K, g->k - first)};
    float *room = laid_out_b(j, tile.column) + first * tile.columns;
    if (g->transpose_b)
        bpt_gemm_transpose(j->b, g->b_dtype, place_in_b(g, &tile, s), room);
    else
        bpt_gemm_copy(j->b, g->b_dtype, place_in_b(g, &tile, s), room);
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
    multiply(j, tile.c, &tile, slice_of(j, 0, ldc_of(j, 0, &tile)), thread);
    if (g->finish) g->finish(g->context, &tile);
}

void bpt_gemm_run(const bpt_gemm_t *g, const void *a, const void *b, void *c, void *scratch, bpt_team_t *team) {
    if (!g->m || !g->n) return;
    if (bpt_gemm_is_few(g)) {
        bpt_gemm_few_run(g, a, b, c, scratch, team);
        return;
    }
    job_t j = make_job(g, bpt_team_threads(team));
    j.a = a, j.b = b, j.c = c, j.scratch = scratch;
    j.first_number = bpt_team_first(team);
    if (j.bf16) {
        const bpt_status_t status = prepare_tiles(&j, 0);  // a look-up: the plan has made them
        (void)status;                                      // what is missing gives NaN
    }
    if (j.b_laid_out) bpt_team_for(team, j.grid.across * count_blocks(&j), lay_out_block, &j);
    if (j.parts > 1) {
        bpt_team_for(team, count_tiles(&j) * j.parts, run_part, &j);
        bpt_team_for(team, grid_of_lines(g).down, run_lines, &j);
    } else {
        bpt_team_for(team, count_tiles(&j), run_tile, &j);
    }
}
