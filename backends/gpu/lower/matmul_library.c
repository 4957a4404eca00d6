// Products by the driver's library: what it fuses goes into the product, passes of our own kernels do the rest. Knows no library.
#include "backends/gpu/lower/gemm.h"

typedef struct {
    bpt_gpu_product_t product;
    bpt_pointwise_attrs_t rest;  // steps of the passes
    bpt_view_t mask;             // of a masked product: elements like c's
    bool adds_bias;              // a pass adds the bias
    bool apart;                  // the product goes into f32 scratch, so that only the last pass rounds to c's type
} plan_t;

// How the work is divided between the product and the passes.
typedef struct {
    enum { MASK_AND_BIAS, BIAS_AND_RELU, NOTHING } inside;  // of the product
    enum { IN_PLACE, IN_SCRATCH } result;
} way_t;
// As much inside as possible goes before no scratch.
static const way_t ways[] = {{MASK_AND_BIAS, IN_PLACE},   {MASK_AND_BIAS, IN_SCRATCH}, {BIAS_AND_RELU, IN_PLACE},
                             {BIAS_AND_RELU, IN_SCRATCH}, {NOTHING, IN_PLACE},         {NOTHING, IN_SCRATCH}};

static plan_t plan_of(const bpt_gpu_gemm_t *g, const bpt_epilogue_t *e, int64_t lda, int64_t ldb, int64_t ldc, way_t way) {
    const bool masked = way.inside == MASK_AND_BIAS, fused = way.inside != NOTHING, apart = way.result == IN_SCRATCH;
    plan_t plan = {.product = {.operands = g->a.dtype,
                               .result = apart ? BPT_F32 : g->c.dtype,
                               .m = (uint32_t)g->m,
                               .n = (uint32_t)g->n,
                               .k = (uint32_t)g->k,
                               .lda = (uint32_t)lda,
                               .ldb = (uint32_t)ldb,
                               .ldc = (uint32_t)ldc,
                               .transpose_a = g->transpose_a,
                               .transpose_b = g->transpose_b,
                               .add = g->acc.present,
                               .has_bias = fused && g->bias.present,
                               .tf32 = g->rule->size[BPT_LIBRARY_TF32] && g->a.dtype == BPT_F32},
                   .adds_bias = !fused && g->bias.present,
                   .apart = apart};
    if (g->steps) plan.rest = *g->steps;
    plan.product.relu = fused && e->relu;
    if (masked) {
        plan.mask = e->mask;
        plan.product.masked = true;
        plan.product.ldmask = (uint32_t)bpt_ceil_div(g->n, 128) * 128;
        plan.product.scale = e->scale;
    }
    if (plan.product.relu || masked) plan.rest = e->rest;
    return plan;
}

// Passes take c whole: where it is a panel of wider rows there may be none. What is added is f32.
static bool is_possible(const bpt_lower_t *l, const bpt_gpu_gemm_t *g, int64_t ldc, const plan_t *plan) {
    const bool copies = g->acc.present && !bpt_lower_same_place(&g->acc, &g->c), f32 = plan->product.result == BPT_F32;
    if (ldc != g->n && (plan->apart || plan->product.masked || copies || plan->adds_bias || plan->rest.n_steps)) return false;
    if (!f32 && (g->acc.present || plan->adds_bias || !bpt_pointwise_commutes_with_rounding(&plan->rest))) return false;
    return l->device->api->driver->product_can(l->device->api, &plan->product);
}

static bool find_plan(const bpt_lower_t *l, const bpt_gpu_gemm_t *g, int64_t lda, int64_t ldb, int64_t ldc, plan_t *plan) {
    const bpt_epilogue_t e = bpt_lower_epilogue(g);
    const bool masks = l->device->library_masks && e.masked;
    for (size_t i = 0; i < BPT_COUNT(ways); ++i) {
        if (ways[i].inside == MASK_AND_BIAS && !masks) continue;
        if (ways[i].result == IN_SCRATCH && g->c.dtype == BPT_F32) continue;
        *plan = plan_of(g, &e, lda, ldb, ldc, ways[i]);
        if (is_possible(l, g, ldc, plan)) return true;
    }
    return false;
}

// The mask of a product as bits.
static bpt_view_t emit_mask(bpt_lower_t *l, const bpt_gpu_gemm_t *g, const plan_t *plan) {
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_mask_bits);
    const int64_t words = plan->product.ldmask / 32;
    mask_bits_params_t p = {.count = (uint32_t)(g->m * words), .columns = (uint32_t)g->n, .words = (uint32_t)words};
    const bpt_view_t bits = bpt_lower_scratch(l, BPT_U32, g->m * words);
    k.group_size = bpt_min(256, l->device->api->limits.max_group_size) / 8 * 8;
    k.bindings[mask_bits_x] = plan->mask;
    k.bindings[mask_bits_bits] = bits;
    bpt_lower_emit(l, &k, &p, bpt_ceil_div(g->m * words, k.group_size / 8));
    bpt_lower_barrier(l);
    return bits;
}

static void emit(bpt_lower_t *l, const bpt_gpu_gemm_t *g, int64_t ldc, plan_t *plan) {
    const bpt_view_t target = plan->apart ? bpt_lower_scratch(l, BPT_F32, g->m * g->n) : g->c;
    const bpt_view_t bias = plan->product.has_bias ? g->bias : (bpt_view_t){0};
    if (g->acc.present && !bpt_lower_same_place(&g->acc, &target)) {
        bpt_lower_copy(l, &g->acc, &target, g->m * g->n);
        bpt_lower_barrier(l);
    }
    const bpt_view_t bits = plan->product.masked ? emit_mask(l, g, plan) : (bpt_view_t){0};
    bpt_lower_product(l, &g->a, &g->b, &bias, &bits, &target, &plan->product);
    if (plan->adds_bias) {
        const bpt_pointwise_attrs_t add = {.n_steps = 1, .step = {{.code = BPT_POINTWISE_ADD_ROW, .arg = 4}}};
        bpt_gpu_gemm_t pass = *g;
        pass.extras[0] = g->bias;
        bpt_lower_steps_alone(l, &pass, &add, &target, &target, ldc);
    }
    if (plan->apart || plan->rest.n_steps) bpt_lower_steps_alone(l, g, &plan->rest, &target, &g->c, ldc);
}

bool bpt_lower_library(bpt_lower_t *l, const bpt_gpu_gemm_t *g, int64_t lda, int64_t ldb, int64_t ldc) {
    plan_t plan;
    if (g->rule->kind != BPT_BLUEPRINT_LIBRARY || !g->k || g->a.dtype != g->b.dtype) return false;
    if (!find_plan(l, g, lda, ldb, ldc, &plan)) return false;
    emit(l, g, ldc, &plan);
    return true;
}

bool bpt_lower_has_bf16_library(const bpt_lower_t *l) {
    const bpt_blueprint_t *rules = l->device->tuning.form;
    const bpt_gpu_product_t product = {.operands = BPT_BF16, .result = BPT_F32};
    return rules[BPT_PRODUCT_BACKWARD].kind == BPT_BLUEPRINT_LIBRARY && rules[BPT_PRODUCT_WEIGHTS].kind == BPT_BLUEPRINT_LIBRARY &&
           l->device->api->driver->product_can(l->device->api, &product);
}
