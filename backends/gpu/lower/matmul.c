// Products of matrices by tiles. Operands larger than one binding are cut: rows of c, columns of c, or the depth with sums added up.
#include "backends/gpu/gpu.h"

typedef struct {
    uint32_t bm, bn, bk, tm, tn;
} tile_t;

// Local memory: (bm + bn) * bk * 4 bytes <= 16 KiB; bm / tm * bn / tn work-items.
static tile_t choose_tile(const bpt_lower_t *l, const bpt_gemm_t *g) {
    const bool small = g->m <= 32 || g->n <= 32, few = l->device->api->limits.max_group_size < 64;
    if (few) return (tile_t){16, 16, 16, 4, 4};
    return small ? (tile_t){32, 32, 16, 4, 4} : (tile_t){64, 64, 16, 8, 8};
}

static void emit(bpt_lower_t *l, const bpt_gemm_t *g, int64_t lda, int64_t ldb, int64_t ldc, int64_t column0, bool with_steps) {
    const tile_t tile = choose_tile(l, g);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_matmul);
    matmul_params_t p = {.m = (uint32_t)g->m, .n = (uint32_t)g->n, .k = (uint32_t)g->k, .lda = (uint32_t)lda, .ldb = (uint32_t)ldb, .ldc = (uint32_t)ldc, .column0 = (uint32_t)column0};
    if (with_steps && g->steps) bpt_lower_steps(g->steps, &k.constants[matmul_N_STEPS], &p.c0, &p.uid0);
    k.group_size = tile.bm / tile.tm * (tile.bn / tile.tn);
    k.constants[matmul_TRANSPOSE_A] = g->transpose_a;
    k.constants[matmul_TRANSPOSE_B] = g->transpose_b;
    k.constants[matmul_HAS_ADDEND] = g->acc.present;
    k.constants[matmul_HAS_BIAS] = g->bias.present;
    k.constants[matmul_BM] = tile.bm, k.constants[matmul_BN] = tile.bn, k.constants[matmul_BK] = tile.bk;
    k.constants[matmul_TM] = tile.tm, k.constants[matmul_TN] = tile.tn;
    if (g->k) k.bindings[matmul_a] = g->a, k.bindings[matmul_b] = g->b;
    k.bindings[matmul_addend] = g->acc;
    k.bindings[matmul_bias] = g->bias;
    k.bindings[matmul_extra4] = g->extras[0];
    k.bindings[matmul_extra5] = g->extras[1];
    k.bindings[matmul_row_keys] = g->row_keys;
    k.bindings[matmul_rng] = g->rng;
    k.bindings[matmul_c] = g->c;
    k.flops = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    bpt_lower_emit(l, &k, &p, bpt_ceil_div(g->m, tile.bm) * bpt_ceil_div(g->n, tile.bn));
}

static bool is_row(const bpt_gemm_t *g, int slot) {
    for (int s = 0; g->steps && s < g->steps->n_steps; ++s)
        if (g->steps->step[s].arg == slot && (g->steps->step[s].code == BPT_STEP_ADD_ROW || g->steps->step[s].code == BPT_STEP_MUL_SCALAR)) return true;
    return false;
}

// Rows m0 .. m0 + m - 1 of c.
static bpt_gemm_t take_rows(const bpt_gemm_t *g, int64_t m0, int64_t m) {
    bpt_gemm_t part = *g;
    part.m = m;
    part.a = g->transpose_a ? bpt_lower_part(&g->a, m0, (g->k - 1) * g->m + m) : bpt_lower_part(&g->a, m0 * g->k, m * g->k);
    part.acc = bpt_lower_part(&g->acc, m0 * g->n, m * g->n);
    part.c = bpt_lower_part(&g->c, m0 * g->n, m * g->n);
    part.row_keys = bpt_lower_part(&g->row_keys, 2 * m0, 2 * m);
    for (int e = 0; e < 2; ++e)
        if (!is_row(g, 4 + e)) part.extras[e] = bpt_lower_part(&g->extras[e], m0 * g->n, m * g->n);
    return part;
}

// The product of one panel of rows: `lda` as stored. b is cut where it is too large.
static void multiply_panel(bpt_lower_t *l, const bpt_gemm_t *g, int64_t lda) {
    const int64_t ldb = g->transpose_b ? g->k : g->n, size = (int64_t)bpt_dtype_size(g->b.dtype);
    const int64_t rows = g->transpose_b ? g->n : g->k, window = bpt_lower_window(l, rows, (size_t)(ldb * size));
    if (window >= rows) {
        emit(l, g, lda, ldb, g->n, 0, true);
        return;
    }
    for (int64_t first = 0; first < rows; first += window) {
        const int64_t n = bpt_min(window, rows - first);
        bpt_gemm_t part = *g;
        part.b = bpt_lower_part(&g->b, first * ldb, n * ldb);
        if (g->transpose_b) {  // columns of c
            part.n = n;
            part.bias = bpt_lower_part(&g->bias, first, n);
            const int64_t reach = (g->m - 1) * g->n + n;
            part.acc = bpt_lower_part(&g->acc, first, reach);
            part.c = bpt_lower_part(&g->c, first, reach);
            for (int e = 0; e < 2; ++e) part.extras[e] = bpt_lower_part(&g->extras[e], first, is_row(g, 4 + e) ? g->n - first : reach);
            emit(l, &part, lda, ldb, g->n, first, true);
            continue;
        }
        const bool last = first + n == rows;  // a part of the depth
        if (g->c.dtype != BPT_F32) bpt_lower_refuse(l, "the right operand does not fit into one binding and the result is not f32");
        part.k = n;
        part.a = g->transpose_a ? bpt_lower_part(&g->a, first * lda, (n - 1) * lda + g->m) : bpt_lower_part(&g->a, first, (g->m - 1) * lda + n);
        if (first) {
            part.acc = g->c;
            bpt_lower_barrier(l);
        }
        if (!last) part.bias = (bpt_view_t){0};
        emit(l, &part, lda, ldb, g->n, 0, last);
    }
}

void bpt_lower_gemm(bpt_lower_t *l, const bpt_gemm_t *g) {
    if (g->m == 0 || g->n == 0) return;
    const int64_t lda = g->transpose_a ? g->m : g->k, window_c = bpt_lower_window(l, g->m, (size_t)g->n * 4);
    const int64_t window_a = g->transpose_a ? g->m : bpt_lower_window(l, g->m, (size_t)(g->k * (int64_t)bpt_dtype_size(g->a.dtype)));
    const int64_t window = bpt_min(window_a, window_c), depth = g->transpose_a ? bpt_lower_window(l, g->k, (size_t)g->m * bpt_dtype_size(g->a.dtype)) : g->k;
    if (g->transpose_a && depth < g->k) {  // a by parts of the depth
        for (int64_t first = 0; first < g->k; first += depth) {
            const int64_t n = bpt_min(depth, g->k - first);
            bpt_gemm_t part = *g;
            if (g->c.dtype != BPT_F32 || (g->steps && g->steps->n_steps)) bpt_lower_refuse(l, "the left operand does not fit into one binding");
            part.k = n;
            part.a = bpt_lower_part(&g->a, first * g->m, n * g->m);
            part.b = g->transpose_b ? g->b : bpt_lower_part(&g->b, first * g->n, n * g->n);
            if (g->transpose_b) bpt_lower_refuse(l, "both operands are transposed and do not fit into one binding");
            if (first) part.acc = g->c, part.bias = (bpt_view_t){0}, bpt_lower_barrier(l);
            bpt_lower_gemm(l, &part);
        }
        return;
    }
    for (int64_t m0 = 0; m0 < g->m; m0 += window) {
        const bpt_gemm_t part = take_rows(g, m0, bpt_min(window, g->m - m0));
        multiply_panel(l, &part, lda);
    }
}

void bpt_lower_MATMUL(bpt_lower_t *l) {
    const bpt_matmul_attrs_t *t = &l->call->attrs.matmul;
    const bpt_operand_t *a = &l->call->in[0];
    bpt_gemm_t g = {.a = bpt_lower_in(l, 0), .b = bpt_lower_in(l, 1), .acc = bpt_lower_in(l, 2), .bias = bpt_lower_in(l, 3), .extras = {bpt_lower_in(l, 4), bpt_lower_in(l, 5)},
                    .row_keys = bpt_lower_in(l, BPT_IN_ROW_KEYS), .rng = bpt_lower_in(l, BPT_IN_RNG), .c = bpt_lower_out(l, 0), .steps = &t->epilogue,
                    .transpose_a = t->transpose_a, .transpose_b = t->transpose_b};
    g.m = t->transpose_a ? bpt_columns(a) : bpt_rows(a);
    g.k = t->transpose_a ? bpt_rows(a) : bpt_columns(a);
    g.n = bpt_columns(&l->call->out[0]);
    bpt_lower_gemm(l, &g);
}
