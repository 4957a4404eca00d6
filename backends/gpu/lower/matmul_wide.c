// Products on devices that are processors. Blocks of both operands are copied into panels that lie in memory as the kernel reads them:
// rows of a matrix that are a power of two apart would fall on each other in the caches.
#include "backends/gpu/gpu.h"

// Blocks of the operands, so that the copies stay in the caches and scratch stays small. The bits of a result depend on DEPTH.
enum { ROWS = 1024, COLUMNS = 2048, DEPTH = 2048 };
enum { FEW = 32 };  // with fewer rows or columns a copy costs as much as it saves

typedef struct {
    bpt_lower_t *l;
    const bpt_gemm_t *g;
    int64_t lda, ldb, ldc;
    uint32_t rows, columns, group, lanes;  // of the rule
    bpt_view_t a, b;                       // panels
} wide_t;

static int64_t panel_columns(const wide_t *w) { return (int64_t)w->lanes * w->group * w->columns; }

bool bpt_lower_is_wide(const bpt_gemm_t *g, int64_t ldc) {
    return g->rule->kind == BPT_PRODUCT_WIDE && g->k && g->m >= FEW && g->n >= FEW && g->n % 4 == 0 && ldc % 4 == 0 && bpt_lower_is_by_fours(&g->acc) &&
           bpt_lower_is_by_fours(&g->bias) && bpt_lower_is_by_fours(&g->c);
}

// Lines line0 .. of op(a) or b, elements k0 .. k0 + depth - 1 of each.
static void pack(const wide_t *w, const bpt_view_t *x, bool along, int64_t ld, int64_t line0, int64_t lines, int64_t k0, int64_t depth,
                 uint32_t width, bool fours, const bpt_view_t *panels) {
    const int64_t filled = bpt_ceil_div(depth, 4) * 4;
    bpt_kernel_call_t k = bpt_lower_kernel(w->l, BPT_GPU_pack);
    pack_params_t p = {.lines = (uint32_t)lines, .depth = (uint32_t)depth, .ld = (uint32_t)ld};
    k.constants[pack_WIDTH] = width;
    k.constants[pack_ALONG] = along;
    k.constants[pack_FOURS] = fours;
    k.bindings[pack_x] =
        along ? bpt_lower_part(x, line0 * ld + k0, (lines - 1) * ld + depth) : bpt_lower_part(x, k0 * ld + line0, (depth - 1) * ld + lines);
    k.bindings[pack_y] = bpt_lower_part(panels, 0, bpt_ceil_div(lines, width) * width * filled);
    k.bytes = 8.0 * (double)lines * (double)depth;
    bpt_lower_emit(w->l, &k, &p, bpt_ceil_div(lines, width) * bpt_ceil_div(filled / 4 * (width / 4), k.group_size));
}

// c of these rows and columns: the panels' product, added to `acc` where there is one.
static void multiply(const wide_t *w, int64_t m0, int64_t m, int64_t n0, int64_t n, int64_t depth, const bpt_view_t *acc,
                     const bpt_view_t *bias) {
    const int64_t first = m0 * w->ldc + n0, count = (m - 1) * w->ldc + n;
    bpt_kernel_call_t k = bpt_lower_kernel(w->l, BPT_GPU_matmul_wide);
    matmul_wide_params_t p = {
        .m = (uint32_t)m, .n4 = (uint32_t)(n / 4), .k4 = (uint32_t)bpt_ceil_div(depth, 4), .ldc4 = (uint32_t)(w->ldc / 4)};
    k.group_size = w->group;
    k.constants[matmul_wide_HAS_ADDEND] = acc->present;
    k.constants[matmul_wide_HAS_BIAS] = bias->present;
    k.constants[matmul_wide_ROWS] = w->rows;
    k.constants[matmul_wide_COLUMNS] = w->columns;
    k.constants[matmul_wide_LANES] = w->lanes;
    k.bindings[matmul_wide_a] = w->a;
    k.bindings[matmul_wide_b] = w->b;
    k.bindings[matmul_wide_addend] = bpt_lower_part(acc, first, count);
    k.bindings[matmul_wide_bias] = bpt_lower_part(bias, n0, n);
    k.bindings[matmul_wide_c] = bpt_lower_part(&w->g->c, first, count);
    k.flops = 2.0 * (double)m * (double)n * (double)depth;
    bpt_lower_emit(w->l, &k, &p, bpt_ceil_div(m, w->rows) * bpt_ceil_div(n, panel_columns(w)));
}

// All rows of some columns.
static void multiply_columns(const wide_t *w, int64_t n0, int64_t n) {
    const bpt_gemm_t *g = w->g;
    const bpt_view_t none = {0};
    for (int64_t k0 = 0; k0 < g->k; k0 += DEPTH) {
        const int64_t depth = bpt_min(DEPTH, g->k - k0);
        if (n0 || k0) bpt_lower_barrier(w->l);
        pack(w, &g->b, g->transpose_b, w->ldb, n0, n, k0, depth, (uint32_t)panel_columns(w), false, &w->b);
        for (int64_t m0 = 0; m0 < g->m; m0 += ROWS) {
            const int64_t m = bpt_min(ROWS, g->m - m0);
            if (m0) bpt_lower_barrier(w->l);
            pack(w, &g->a, !g->transpose_a, w->lda, m0, m, k0, depth, w->rows, true, &w->a);
            bpt_lower_barrier(w->l);
            multiply(w, m0, m, n0, n, depth, k0 ? &g->c : &g->acc, k0 + depth < g->k ? &none : &g->bias);
        }
    }
}

static bpt_view_t panels(bpt_lower_t *l, int64_t lines, int64_t width, int64_t depth) {
    return bpt_lower_scratch(l, BPT_F32, bpt_ceil_div(lines, width) * width * bpt_ceil_div(depth, 4) * 4);
}

void bpt_lower_wide(bpt_lower_t *l, const bpt_gemm_t *g, int64_t lda, int64_t ldb, int64_t ldc) {
    const uint32_t *size = g->rule->size;
    wide_t w = {.l = l, .g = g, .lda = lda, .ldb = ldb, .ldc = ldc};
    w.rows = size[BPT_WIDE_ROWS], w.columns = size[BPT_WIDE_COLUMNS], w.group = size[BPT_WIDE_GROUP], w.lanes = size[BPT_WIDE_LANES];
    w.a = panels(l, bpt_min(g->m, ROWS), w.rows, bpt_min(g->k, DEPTH));
    w.b = panels(l, bpt_min(g->n, COLUMNS), panel_columns(&w), bpt_min(g->k, DEPTH));
    for (int64_t n0 = 0; n0 < g->n; n0 += COLUMNS) multiply_columns(&w, n0, bpt_min(COLUMNS, g->n - n0));
}
