// Products on devices that are processors. Blocks of the operands are copied into panels that lie in memory as the kernel reads them:
// rows of a matrix that are a power of two apart would fall on each other in the caches. A copy of what lies there by rows already may cost
// more than it saves (reads_directly).
#include <math.h>

#include "backends/gpu/lower/software/software.h"

// Blocks of the operands, so that the copies stay in the caches and scratch stays small. The bits of a result depend on DEPTH.
enum { ROWS = 1024, COLUMNS = 2048, DEPTH = 2048, DIRECT_ROWS = 4096 };
enum { FOURS_IN_SOFTWARE = 2 };  // of the depth in a round, where sums go to memory and back every round
enum { FEW = 32 };               // with fewer rows or columns a copy costs as much as it saves

typedef struct {
    bpt_lower_t *l;
    const bpt_gpu_gemm_t *g;
    bpt_epilogue_t e;
    int64_t lda, ldb, ldc;
    uint32_t rows, columns, group, lanes;  // of the rule
    uint32_t fours;                        // of the depth, which is filled up to them
    bool masks;                            // c is masked with e.mask
    bool direct;                           // a is read where it is
    bpt_view_t a, b;                       // panels
} wide_t;

static int64_t panel_columns(const wide_t *w) { return (int64_t)w->lanes * w->group * w->columns; }

// Steps that are passes of their own take c whole.
static bool pays(const bpt_gpu_gemm_t *g, int64_t ldc) {
    const bool steps = g->steps && g->steps->n_steps;
    return (!steps || ldc == g->n) && g->k && g->m >= FEW && g->n >= FEW && g->n % 4 == 0 && ldc % 4 == 0 &&
           bpt_software_is_by_fours(&g->acc) && bpt_software_is_by_fours(&g->bias) && bpt_software_is_by_fours(&g->c);
}

static int64_t filled(const wide_t *w, int64_t depth) { return bpt_ceil_div(depth, 4 * w->fours) * 4 * w->fours; }

// A driver in software stores item by item, but reads the texels of a left operand's rows as fast where they are. All rows of a block must
// be bound at once.
static bool reads_directly(const wide_t *w) {
    const bpt_gpu_gemm_t *g = w->g;
    const int64_t most = (int64_t)(w->l->device->api->limits.max_binding_bytes / sizeof(float)) / DIRECT_ROWS;
    return bpt_software_reads_texels(w->l) && !g->transpose_a && w->lda % 4 == 0 && w->lda < most && w->ldc < most &&
           g->k % (4 * w->fours) == 0 && bpt_software_is_by_fours(&g->a);
}

// Lines line0 .. of op(a) or b, elements k0 .. k0 + depth - 1 of each.
static void pack(const wide_t *w, const bpt_view_t *x, bool along, int64_t ld, int64_t line0, int64_t lines, int64_t k0, int64_t depth,
                 uint32_t width, bool fours, const bpt_view_t *panels) {
    const int64_t full = filled(w, depth);
    bpt_kernel_call_t k = bpt_lower_kernel(w->l, BPT_GPU_pack);
    pack_params_t p = {.lines = (uint32_t)lines, .depth = (uint32_t)depth, .k4 = (uint32_t)(full / 4), .ld = (uint32_t)ld};
    k.constants[pack_WIDTH] = width;
    k.constants[pack_ALONG] = along;
    k.constants[pack_FOURS] = fours;
    k.bindings[pack_x] =
        along ? bpt_lower_part(x, line0 * ld + k0, (lines - 1) * ld + depth) : bpt_lower_part(x, k0 * ld + line0, (depth - 1) * ld + lines);
    k.bindings[pack_y] = bpt_lower_part(panels, 0, bpt_ceil_div(lines, width) * width * full);
    k.bytes = 8.0 * (double)lines * (double)depth;
    bpt_lower_emit(w->l, &k, &p, bpt_ceil_div(lines, width) * bpt_ceil_div(full / 4 * (width / 4), k.group_size));
}

// c of these rows and columns, and of this part of the depth: the product of the panels, or of a itself and b's panels.
static void multiply(const wide_t *w, int64_t m0, int64_t m, int64_t n0, int64_t n, int64_t k0, int64_t depth) {
    const bool last = k0 + depth >= w->g->k;
    const bpt_view_t none = {0}, *extra = k0 ? &w->g->c : w->masks ? &w->e.mask : &w->g->acc, *bias = last ? &w->g->bias : &none;
    const int64_t first = m0 * w->ldc + n0, count = (m - 1) * w->ldc + n;
    bpt_kernel_call_t k = bpt_lower_kernel(w->l, BPT_GPU_matmul_wide);
    const uint32_t k4 = (uint32_t)(filled(w, depth) / 4), lda4 = (uint32_t)(w->lda / 4);
    matmul_wide_params_t p = {.m = (uint32_t)m, .n4 = (uint32_t)(n / 4), .k4 = k4, .ldc4 = (uint32_t)(w->ldc / 4)};
    p.a_rows = w->direct ? (uint32_t)m : (uint32_t)bpt_ceil_div(m, w->rows) * w->rows;
    p.a_panel = w->rows * (w->direct ? lda4 : k4);
    p.a_row = w->direct ? lda4 : 1;
    p.a_four = w->direct ? 1 : w->rows;
    k.group_size = w->group;
    p.masked = extra == &w->e.mask;
    p.scale = w->e.scale;
    p.low = last && w->e.relu ? 0 : -INFINITY;
    k.constants[matmul_wide_HAS_EXTRA] = extra->present;
    k.constants[matmul_wide_HAS_BIAS] = bias->present;
    k.constants[matmul_wide_ROWS] = w->rows;
    k.constants[matmul_wide_COLUMNS] = w->columns;
    k.constants[matmul_wide_SIMD_WIDTH] = w->lanes;
    k.constants[matmul_wide_FOURS] = w->fours;
    k.constants[matmul_wide_PACKED] = !bpt_software_reads_texels(w->l);
    k.bindings[matmul_wide_a] = w->direct ? bpt_lower_part(&w->g->a, m0 * w->lda + k0, (m - 1) * w->lda + depth) : w->a;
    k.bindings[matmul_wide_b] = w->b;
    k.bindings[matmul_wide_extra] = bpt_lower_part(extra, first, count);
    k.bindings[matmul_wide_bias] = bpt_lower_part(bias, n0, n);
    k.bindings[matmul_wide_c] = bpt_lower_part(&w->g->c, first, count);
    k.flops = 2.0 * (double)m * (double)n * (double)depth;
    bpt_lower_emit(w->l, &k, &p, bpt_ceil_div(m, w->rows) * bpt_ceil_div(n, panel_columns(w)));
}

// All rows of some columns.
static void multiply_columns(const wide_t *w, int64_t n0, int64_t n) {
    const bpt_gpu_gemm_t *g = w->g;
    const int64_t rows = w->direct ? DIRECT_ROWS : ROWS;
    for (int64_t k0 = 0; k0 < g->k; k0 += DEPTH) {
        const int64_t depth = bpt_min(DEPTH, g->k - k0);
        if (n0 || k0) bpt_lower_barrier(w->l);
        pack(w, &g->b, g->transpose_b, w->ldb, n0, n, k0, depth, (uint32_t)panel_columns(w), false, &w->b);
        for (int64_t m0 = 0; m0 < g->m; m0 += rows) {
            const int64_t m = bpt_min(rows, g->m - m0);
            if (m0 && !w->direct) bpt_lower_barrier(w->l);
            if (!w->direct) pack(w, &g->a, !g->transpose_a, w->lda, m0, m, k0, depth, w->rows, true, &w->a);
            if (!m0 || !w->direct) bpt_lower_barrier(w->l);
            multiply(w, m0, m, n0, n, k0, depth);
        }
    }
}

static bpt_view_t panels(const wide_t *w, int64_t lines, int64_t width) {
    return bpt_lower_scratch(w->l, BPT_F32, bpt_ceil_div(lines, width) * width * filled(w, bpt_min(w->g->k, DEPTH)));
}

void bpt_software_multiply(bpt_lower_t *l, const bpt_gpu_gemm_t *g, int64_t lda, int64_t ldb, int64_t ldc) {
    const uint32_t *size = g->rule->size;
    wide_t w = {.l = l, .g = g, .lda = lda, .ldb = ldb, .ldc = ldc};
    w.rows = size[BPT_WIDE_ROWS], w.columns = size[BPT_WIDE_COLUMNS], w.group = size[BPT_WIDE_GROUP], w.lanes = size[BPT_WIDE_LANES];
    w.fours = bpt_software_reads_texels(l) ? FOURS_IN_SOFTWARE : 1;
    w.direct = reads_directly(&w);
    w.e = bpt_lower_epilogue(g);
    w.masks = w.e.masked && g->k <= DEPTH && bpt_software_is_by_fours(&w.e.mask);
    if (w.e.masked && !w.masks) w.e.rest = *g->steps;
    if (!w.direct) w.a = panels(&w, bpt_min(g->m, ROWS), w.rows);
    w.b = panels(&w, bpt_min(g->n, COLUMNS), panel_columns(&w));
    for (int64_t n0 = 0; n0 < g->n; n0 += COLUMNS) multiply_columns(&w, n0, bpt_min(COLUMNS, g->n - n0));
    if (w.e.rest.n_steps) bpt_lower_steps_alone(l, g, &w.e.rest, &g->c, &g->c, ldc);
}

bool bpt_software_gemm(bpt_lower_t *l, const bpt_gpu_gemm_t *g, int64_t lda, int64_t ldb, int64_t ldc) {
    if (!pays(g, ldc)) return false;
    bpt_software_multiply(l, g, lda, ldb, ldc);
    return true;
}
