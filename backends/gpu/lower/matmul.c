// Products of matrices by tiles, also of the device's units for them. Operands larger than one binding are cut: rows of c, columns of c, or
// the depth with sums added up.
#include "backends/gpu/lower/gemm.h"
#include "backends/gpu/lower/software/software.h"

// ---- By tiles ----------------------------------------------------------------------------------------------------------

static bpt_product_problem_t problem_of(const bpt_gpu_gemm_t *g) {
    return (bpt_product_problem_t){.form = g->transpose_a   ? BPT_PRODUCT_WEIGHTS
                                           : g->transpose_b ? BPT_PRODUCT_FORWARD
                                                            : BPT_PRODUCT_BACKWARD,
                                   .m = g->m,
                                   .n = g->n,
                                   .k = g->k,
                                   .a = g->a.dtype,
                                   .b = g->b.dtype};
}

// Constants and work-groups of the kernel; the same of the one for the device's units, which has the same parameters and bindings and
// begins with the same constants.
static int64_t set_tile(const bpt_lower_t *l, const bpt_gpu_gemm_t *g, bpt_kernel_call_t *k) {
    const bpt_product_problem_t problem = problem_of(g);
    const uint32_t *s = bpt_select_tiles(&l->device->tuning, &problem)->size;
    k->group_size = s[BPT_TILE_ROWS] / s[BPT_TILE_ITEM_ROWS] * (s[BPT_TILE_COLUMNS] / s[BPT_TILE_ITEM_COLUMNS]);
    k->constants[matmul_BM] = s[BPT_TILE_ROWS], k->constants[matmul_BN] = s[BPT_TILE_COLUMNS], k->constants[matmul_BK] = s[BPT_TILE_DEPTH];
    k->constants[matmul_TM] = s[BPT_TILE_ITEM_ROWS], k->constants[matmul_TN] = s[BPT_TILE_ITEM_COLUMNS];
    return bpt_ceil_div(g->m, s[BPT_TILE_ROWS]) * bpt_ceil_div(g->n, s[BPT_TILE_COLUMNS]);
}

_Static_assert(sizeof(matmul_params_t) == sizeof(matmul_matrix_params_t) && (int)matmul_c == (int)matmul_matrix_c &&
                   (int)matmul_HAS_BIAS == (int)matmul_matrix_HAS_BIAS,
               "cl/matmul/matmul.inc and cl/matrix/matmul_matrix.inc differ in what they share");

static bool by_units(const bpt_gpu_gemm_t *g) {
    const bpt_product_problem_t problem = problem_of(g);
    return g->rule->kind == BPT_BLUEPRINT_MATRIX && g->k && g->a.dtype == BPT_F16 && g->b.dtype == BPT_F16 &&
           !bpt_product_is_small(&problem);
}

// Does an operand, whose stored lines are `count` of `ld` elements, consist of whole vectors of eight halves?
static bool by_eights(const bpt_view_t *v, int64_t ld, int64_t count) { return v->offset_bytes % 16 == 0 && ld % 8 == 0 && count % 8 == 0; }

static int64_t set_units(const bpt_lower_t *l, const bpt_gpu_gemm_t *g, int64_t lda, int64_t ldb, bpt_kernel_call_t *k) {
    const bpt_fragments_t *units = &l->device->api->limits.fragments;
    const uint32_t *s = g->rule->size;
    k->group_size = s[BPT_MATRIX_GROUP_ROWS] * s[BPT_MATRIX_GROUP_COLUMNS] * units->subgroup;
    k->constants[matmul_matrix_FRAGMENT_M] = units->rows;
    k->constants[matmul_matrix_FRAGMENT_N] = units->columns;
    k->constants[matmul_matrix_FRAGMENT_K] = units->depth;
    k->constants[matmul_matrix_ROWS] = s[BPT_MATRIX_ROWS];
    k->constants[matmul_matrix_COLUMNS] = s[BPT_MATRIX_COLUMNS];
    k->constants[matmul_matrix_GROUP_ROWS] = s[BPT_MATRIX_GROUP_ROWS];
    k->constants[matmul_matrix_GROUP_COLUMNS] = s[BPT_MATRIX_GROUP_COLUMNS];
    k->constants[matmul_matrix_DEPTH] = s[BPT_MATRIX_DEPTH];
    k->constants[matmul_matrix_EIGHTS_A] = by_eights(&g->a, lda, g->transpose_a ? g->m : g->k);
    k->constants[matmul_matrix_EIGHTS_B] = by_eights(&g->b, ldb, g->transpose_b ? g->k : g->n);
    return bpt_ceil_div(g->m, (int64_t)units->rows * s[BPT_MATRIX_ROWS] * s[BPT_MATRIX_GROUP_ROWS]) *
           bpt_ceil_div(g->n, (int64_t)units->columns * s[BPT_MATRIX_COLUMNS] * s[BPT_MATRIX_GROUP_COLUMNS]);
}

bpt_epilogue_t bpt_lower_epilogue(const bpt_gpu_gemm_t *g) {
    bpt_epilogue_t e = {0};
    if (!g->steps || !g->steps->n_steps) return e;
    const bpt_pointwise_step_t *first = &g->steps->step[0];
    e.rest = *g->steps;
    e.relu = first->code == BPT_POINTWISE_RELU;
    e.masked = first->code == BPT_POINTWISE_MASK && !g->acc.present && !g->bias.present;
    if (e.masked) e.mask = g->extras[first->arg - 4], e.scale = first->c;
    if (!e.relu && !e.masked) return e;
    e.rest.n_steps--;
    for (int i = 0; i < e.rest.n_steps; ++i) e.rest.step[i] = g->steps->step[i + 1];
    return e;
}

void bpt_lower_steps_alone(bpt_lower_t *l, const bpt_gpu_gemm_t *g, const bpt_pointwise_attrs_t *steps, const bpt_view_t *x,
                           const bpt_view_t *y, int64_t ldc) {
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_pointwise);
    pointwise_params_t p = {.count = (uint32_t)(g->m * ldc), .columns = (uint32_t)ldc};
    bpt_lower_steps(steps, &k.constants[pointwise_N_STEPS], &p.c0, &p.uid0);
    k.bindings[pointwise_x] = *x;
    k.bindings[pointwise_y] = *y;
    k.bindings[pointwise_extra4] = g->extras[0];
    k.bindings[pointwise_extra5] = g->extras[1];
    k.bindings[pointwise_row_keys] = g->row_keys;
    k.bindings[pointwise_rng] = g->rng;
    bpt_lower_barrier(l);
    bpt_lower_emit_items(l, &k, &p, g->m * ldc);
}

// A product of few tiles and a long depth, as gradients of weights are, would leave a large GPU idle. Its depth is split into parts, until
// there are ENOUGH_GROUPS or a part has LEAST_DEPTH. A large GPU holds about eight groups on each of its 132 units; a small one loses
// next to nothing by the split.
enum { ENOUGH_GROUPS = 1024, LEAST_DEPTH = 256 };

typedef struct {
    int64_t parts, depth;  // the depth of a part
    bpt_view_t sums;       // f32 [parts, m, n]; not present where there is one part
} split_t;

// `block`: the depth of a part is a multiple of it. Without buffers, in the dry run, an addend always counts as in place: that may count
// scratch too much, never too little.
static split_t split_depth(bpt_lower_t *l, const bpt_gpu_gemm_t *g, int64_t ldc, int64_t tiles, uint32_t block) {
    const bool steps = g->steps && g->steps->n_steps, elsewhere = g->acc.present && !bpt_lower_same_place(&g->acc, &g->c);
    split_t split = {.parts = 1, .depth = g->k};
    if (bpt_lower_in_software(l) || g->c.dtype != BPT_F32 || g->bias.present || steps || elsewhere || ldc != g->n) return split;
    int64_t parts = bpt_min(bpt_ceil_div(ENOUGH_GROUPS, tiles), g->k / LEAST_DEPTH);
    if (parts > 1) parts = bpt_lower_window(l, parts, (size_t)(g->m * g->n) * sizeof(float));
    if (parts < 2) return split;
    split.depth = bpt_ceil_div(bpt_ceil_div(g->k, parts), block) * block;
    split.parts = bpt_ceil_div(g->k, split.depth);
    if (split.parts > 1) split.sums = bpt_lower_scratch(l, BPT_F32, split.parts * g->m * g->n);
    return split;
}

static void emit(bpt_lower_t *l, const bpt_gpu_gemm_t *g, int64_t lda, int64_t ldb, int64_t ldc, int64_t column0) {
    const bool steps = g->steps && g->steps->n_steps;
    if (bpt_lower_library(l, g, lda, ldb, ldc)) return;
    if (g->rule->kind == BPT_BLUEPRINT_WIDE && bpt_software_gemm(l, g, lda, ldb, ldc)) return;
    const bool units = by_units(g);
    bpt_kernel_call_t k = bpt_lower_kernel(l, units ? BPT_GPU_matmul_matrix : BPT_GPU_matmul);
    const int64_t tiles = units ? set_units(l, g, lda, ldb, &k) : set_tile(l, g, &k);
    const split_t split = split_depth(l, g, ldc, tiles, k.constants[units ? (int)matmul_matrix_DEPTH : (int)matmul_BK]);
    const bpt_view_t none = {0}, *addend = split.sums.present ? &none : &g->acc;
    matmul_params_t p = {.m = (uint32_t)g->m,
                         .n = (uint32_t)g->n,
                         .k = (uint32_t)g->k,
                         .lda = (uint32_t)lda,
                         .ldb = (uint32_t)ldb,
                         .ldc = (uint32_t)ldc,
                         .column0 = (uint32_t)column0,
                         .part_depth = (uint32_t)split.depth};
    if (steps) bpt_lower_steps(g->steps, &k.constants[matmul_N_STEPS], &p.c0, &p.uid0);
    k.constants[matmul_TRANSPOSE_A] = g->transpose_a;
    k.constants[matmul_TRANSPOSE_B] = g->transpose_b;
    k.constants[matmul_HAS_ADDEND] = addend->present;
    k.constants[matmul_HAS_BIAS] = g->bias.present;
    if (g->k) k.bindings[matmul_a] = g->a, k.bindings[matmul_b] = g->b;
    k.bindings[matmul_addend] = *addend;
    k.bindings[matmul_bias] = g->bias;
    k.bindings[matmul_extra4] = g->extras[0];
    k.bindings[matmul_extra5] = g->extras[1];
    k.bindings[matmul_row_keys] = g->row_keys;
    k.bindings[matmul_rng] = g->rng;
    k.bindings[matmul_c] = split.sums.present ? split.sums : g->c;
    k.flops = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    bpt_lower_emit(l, &k, &p, tiles * split.parts);
    if (!split.sums.present) return;
    bpt_lower_barrier(l);
    bpt_lower_sum_rows(l, &split.sums, split.parts, g->m * g->n, &g->c, g->acc.present);
}

// ---- In parts --------------------------------------------------------------------------------------------------------

// What the steps read through slot 4 + e.
static bpt_pointwise_operand_t extra_of(const bpt_gpu_gemm_t *g, int e) {
    return g->steps ? bpt_lower_operand(g->steps, 4 + e) : BPT_OPERAND_NONE;
}

// Rows m0 .. m0 + m - 1 of c.
static bpt_gpu_gemm_t take_rows(const bpt_gpu_gemm_t *g, int64_t m0, int64_t m) {
    bpt_gpu_gemm_t part = *g;
    part.m = m;
    part.a = g->transpose_a ? bpt_lower_part(&g->a, m0, (g->k - 1) * g->m + m) : bpt_lower_part(&g->a, m0 * g->k, m * g->k);
    part.acc = bpt_lower_part(&g->acc, m0 * g->n, m * g->n);
    part.c = bpt_lower_part(&g->c, m0 * g->n, m * g->n);
    part.row_keys = bpt_lower_part(&g->row_keys, 2 * m0, 2 * m);
    for (int e = 0; e < 2; ++e)
        if (extra_of(g, e) == BPT_OPERAND_ELEMENTS) part.extras[e] = bpt_lower_part(&g->extras[e], m0 * g->n, m * g->n);
    return part;
}

// The depth of one dispatch: the parts of a and b that lie along it fit into a binding, and no item loops longer than the device allows.
static int64_t longest_depth(const bpt_lower_t *l, const bpt_gpu_gemm_t *g, int64_t lda, int64_t ldb) {
    int64_t depth = g->k;
    if (g->transpose_a) depth = bpt_min(depth, bpt_lower_window(l, g->k, (size_t)lda * bpt_dtype_size(g->a.dtype)));
    if (!g->transpose_b) depth = bpt_min(depth, bpt_lower_window(l, g->k, (size_t)ldb * bpt_dtype_size(g->b.dtype)));
    const uint32_t loops = l->device->api->limits.max_loops;
    return loops ? bpt_min(depth, loops / 4) : depth;  // rounds of all loops: about three per element of depth, and a few at the end
}

// c of these rows and columns. A long product is summed up part by part, in c itself or, when c is not f32, in scratch.
static void multiply_depth(bpt_lower_t *l, const bpt_gpu_gemm_t *g, int64_t lda, int64_t ldb, int64_t ldc, int64_t column0) {
    const int64_t depth = longest_depth(l, g, lda, ldb);
    if (depth >= g->k) {
        emit(l, g, lda, ldb, ldc, column0);
        return;
    }
    const bpt_view_t sum = g->c.dtype == BPT_F32 ? g->c : bpt_lower_scratch(l, BPT_F32, (g->m - 1) * ldc + g->n);
    for (int64_t first = 0; first < g->k; first += depth) {
        const bool last = first + depth >= g->k;
        bpt_gpu_gemm_t part = *g;
        part.k = bpt_min(depth, g->k - first);
        part.a = g->transpose_a ? bpt_lower_part(&g->a, first * lda, (part.k - 1) * lda + g->m)
                                : bpt_lower_part(&g->a, first, (g->m - 1) * lda + part.k);
        part.b = g->transpose_b ? bpt_lower_part(&g->b, first, (g->n - 1) * ldb + part.k)
                                : bpt_lower_part(&g->b, first * ldb, (part.k - 1) * ldb + g->n);
        if (first) {
            part.acc = sum;
            bpt_lower_barrier(l);
        }
        if (!last) part.bias = (bpt_view_t){0}, part.c = sum, part.steps = NULL;
        emit(l, &part, lda, ldb, ldc, column0);
    }
}

// Columns first .. first + n - 1 of a panel.
static bpt_gpu_gemm_t take_columns(const bpt_gpu_gemm_t *g, int64_t ldb, int64_t first, int64_t n) {
    const int64_t reach = (g->m - 1) * g->n + n;
    bpt_gpu_gemm_t part = *g;
    part.n = n;
    part.b = bpt_lower_part(&g->b, first * ldb, n * ldb);
    part.bias = bpt_lower_part(&g->bias, first, n);
    part.acc = bpt_lower_part(&g->acc, first, reach);
    part.c = bpt_lower_part(&g->c, first, reach);
    for (int e = 0; e < 2; ++e)
        if (extra_of(g, e) == BPT_OPERAND_ELEMENTS || extra_of(g, e) == BPT_OPERAND_ROW)
            part.extras[e] = bpt_lower_part(&g->extras[e], first, extra_of(g, e) == BPT_OPERAND_ROW ? n : reach);
    return part;
}

void bpt_lower_gemm(bpt_lower_t *l, const bpt_gpu_gemm_t *wanted) {
    bpt_gpu_gemm_t ruled = *wanted;
    const bpt_gpu_gemm_t *g = &ruled;
    if (g->m == 0 || g->n == 0) return;
    const bpt_product_problem_t problem = problem_of(g);
    ruled.rule = bpt_select_product(&l->device->tuning, &problem);
    const int64_t lda = g->transpose_a ? g->m : g->k, ldb = g->transpose_b ? g->k : g->n;
    const int64_t window_a = g->transpose_a ? g->m : bpt_lower_window(l, g->m, (size_t)lda * bpt_dtype_size(g->a.dtype));
    const int64_t rows = bpt_min(window_a, bpt_lower_window(l, g->m, (size_t)g->n * 4));
    const int64_t columns = g->transpose_b ? bpt_lower_window(l, g->n, (size_t)ldb * bpt_dtype_size(g->b.dtype)) : g->n;
    for (int64_t m0 = 0; m0 < g->m; m0 += rows) {
        const bpt_gpu_gemm_t panel = take_rows(g, m0, bpt_min(rows, g->m - m0));
        for (int64_t n0 = 0; n0 < g->n; n0 += columns) {
            const bpt_gpu_gemm_t part = columns < g->n ? take_columns(&panel, ldb, n0, bpt_min(columns, g->n - n0)) : panel;
            multiply_depth(l, &part, lda, ldb, g->n, n0);
        }
    }
}

void bpt_lower_MATMUL(bpt_lower_t *l) {
    const bpt_matmul_attrs_t *t = &l->call->attrs.matmul;
    const bpt_operand_t *a = &l->call->in[0];
    if (t->packed_b) {
        bpt_lower_refuse(l, "no kernel multiplies numbers of 8 bits");
        return;
    }
    bpt_gpu_gemm_t g = {.a = bpt_lower_in(l, 0),
                        .b = bpt_lower_in(l, 1),
                        .acc = bpt_lower_in(l, 2),
                        .bias = bpt_lower_in(l, 3),
                        .extras = {bpt_lower_in(l, 4), bpt_lower_in(l, 5)},
                        .row_keys = bpt_lower_in(l, BPT_IN_ROW_KEYS),
                        .rng = bpt_lower_in(l, BPT_IN_RNG),
                        .c = bpt_lower_out(l, 0),
                        .steps = &t->epilogue,
                        .transpose_a = t->transpose_a,
                        .transpose_b = t->transpose_b};
    g.m = t->transpose_a ? bpt_columns(a) : bpt_rows(a);
    g.k = t->transpose_a ? bpt_rows(a) : bpt_columns(a);
    g.n = bpt_columns(&l->call->out[0]);
    bpt_lower_gemm(l, &g);
}
