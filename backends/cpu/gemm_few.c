// Products of few rows (gemm.h), by kernels of our own. Libraries are made for many rows: they copy or widen the matrix, which here costs
// more than the product.
#include "backends/cpu/gemm.h"

#include "backends/cpu/cpu.h"

enum {
    MOST_ROWS = 16,         // of a tile; with more of them a library is faster,
    MOST_PANEL_ROWS = 128,  // but for f32 times f32, which goes by panels of the matrix up to here
    MOST_COLUMNS = 2048,    // of a tile
    TILE_ELEMENTS = 8192,   // of C: what the kernel adds to stays in the fastest cache
    PART_BYTES = 64 << 10,  // of the matrix: what is worth a tile of its own
    TILES = 2,              // of a thread, so that one that is held up loses half of its part at most
    LINE = 64,              // columns of tiles are a multiple
};

static bool is_f32(const bpt_gemm_t *g) { return g->a_dtype == BPT_F32 && g->b_dtype == BPT_F32; }
static bool is_q8(const bpt_gemm_t *g) { return g->b_dtype == BPT_U32; }  // which no library multiplies

bool bpt_gemm_is_few(const bpt_gemm_t *g) {
    const bool few = g->m <= (is_f32(g) ? MOST_PANEL_ROWS : MOST_ROWS) || is_q8(g);
    return few && !g->transpose_a && g->m > 0 && g->n > 0 && g->k > 0;
}

// A property of the whole product, not of a tile, because it decides the rounding.
static bool goes_by_panels(const bpt_gemm_t *g) { return g->m >= BPT_CPU_FEWEST_PANEL_ROWS && (is_q8(g) || is_f32(g)); }

static int64_t most_rows(const bpt_gemm_t *g) { return goes_by_panels(g) ? MOST_PANEL_ROWS : MOST_ROWS; }
static int64_t tile_rows(const bpt_gemm_t *g) { return bpt_cpu_min(g->m, most_rows(g)); }

static int64_t round_up(int64_t n, int64_t unit) { return bpt_cpu_blocks(n, unit) * unit; }

// The kernel's sums know nothing of tiles, so their width may follow the number of threads.
static int64_t tile_columns(const bpt_gemm_t *g, int threads) {
    const int64_t bytes = (g->transpose_b ? g->n : g->k) * g->ldb * (int64_t)bpt_dtype_size(g->b_dtype);
    const int64_t wanted = bpt_cpu_min(TILES * (int64_t)threads, bpt_cpu_blocks(bytes, PART_BYTES));
    const int64_t most = bpt_cpu_min(MOST_COLUMNS, TILE_ELEMENTS / tile_rows(g) / LINE * LINE);
    return bpt_cpu_min(bpt_cpu_min(round_up(bpt_cpu_blocks(g->n, wanted), LINE), most), g->n);
}

static bool takes_a(const bpt_gemm_t *g) {
    return g->a_dtype == BPT_F32 || (g->a_dtype == BPT_BF16 && g->b_dtype == BPT_BF16 && bpt_cpu_kernels()->multiplies_bf16);
}

// Scratch: room for A as f32, then a tile of each thread.
static size_t widened_bytes(const bpt_gemm_t *g) { return g->a_dtype == BPT_F32 ? 0 : (size_t)round_up(g->m * g->k, LINE) * sizeof(float); }
static size_t tile_bytes(const bpt_gemm_t *g, int threads) {
    return g->transient ? (size_t)round_up(tile_rows(g) * tile_columns(g, threads), LINE) * sizeof(float) : 0;
}

size_t bpt_gemm_few_scratch(const bpt_gemm_t *g, int threads) { return widened_bytes(g) + (size_t)threads * tile_bytes(g, threads); }

typedef struct {
    const bpt_gemm_t *g;
    const char *x;
    bpt_dtype_t x_dtype;
    int64_t ldx, columns, across;  // of a tile; tiles side by side
    const char *b;
    float *c;
    char *tiles;
    size_t tile_bytes;
} job_t;

static void run_tile(const void *context, int64_t i, int thread) {
    const job_t *j = context;
    const bpt_gemm_t *g = j->g;
    bpt_gemm_tile_t tile = {.row = i / j->across * most_rows(g), .column = i % j->across * j->columns, .ldc = g->ldc};
    tile.rows = bpt_cpu_min(most_rows(g), g->m - tile.row), tile.columns = bpt_cpu_min(j->columns, g->n - tile.column);
    tile.c = j->c + tile.row * g->ldc + tile.column;
    if (g->transient) tile.c = j->tiles + (size_t)thread * j->tile_bytes, tile.ldc = tile.columns;
    if (g->prepare) g->prepare(g->context, &tile);
    const size_t at = (size_t)(tile.column * (g->transpose_b ? g->ldb : 1)) * bpt_dtype_size(g->b_dtype);
    bpt_cpu_kernels()->few_rows(&(bpt_cpu_few_rows_t){.x = j->x + (size_t)(tile.row * j->ldx) * bpt_dtype_size(j->x_dtype),
                                                      .b = j->b + at,
                                                      .c = tile.c,
                                                      .m = tile.rows,
                                                      .n = tile.columns,
                                                      .k = g->k,
                                                      .ldx = j->ldx,
                                                      .ldb = g->ldb,
                                                      .ldc = tile.ldc,
                                                      .x_dtype = j->x_dtype,
                                                      .dtype = g->b_dtype,
                                                      .transposed = g->transpose_b,
                                                      .accumulate = g->accumulate,
                                                      .panels = goes_by_panels(g)});
    if (g->finish) g->finish(g->context, &tile);
}

static void widen(const bpt_gemm_t *g, const void *a, float *x) {
    for (int64_t row = 0; row < g->m; ++row)
        bpt_cpu_convert_piece(x + row * g->k, BPT_F32, (const char *)a + (size_t)(row * g->lda) * bpt_dtype_size(g->a_dtype), g->a_dtype,
                              g->k);
}

void bpt_gemm_few_run(const bpt_gemm_t *g, const void *a, const void *b, float *c, char *scratch, bpt_team_t *team) {
    const int threads = bpt_team_threads(team);
    job_t j = {.g = g, .x = a, .x_dtype = g->a_dtype, .ldx = g->lda, .columns = tile_columns(g, threads), .b = b, .c = c};
    j.tiles = scratch + widened_bytes(g), j.tile_bytes = tile_bytes(g, threads);
    if (!takes_a(g)) {
        widen(g, a, (float *)(void *)scratch);
        j.x = scratch, j.x_dtype = BPT_F32, j.ldx = g->k;
    }
    j.across = bpt_cpu_blocks(g->n, j.columns);
    bpt_team_for(team, bpt_cpu_blocks(g->m, most_rows(g)) * j.across, run_tile, &j);
}
