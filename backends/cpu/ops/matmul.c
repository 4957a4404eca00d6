// matmul: products by the tiles of gemm.h. Bias and epilogue run on a tile of the product in the cache of the thread that made it.
#include <string.h>

#include "backends/cpu/gemm.h"
#include "backends/cpu/steps.h"

static bpt_gemm_t make_product(const bpt_op_call_t *call) {
    const bpt_matmul_attrs_t *attrs = &call->attrs.matmul;
    const bpt_operand_t *a = &call->in[0], *b = &call->in[1], *out = &call->out[0];
    bpt_gemm_t g = {.a_dtype = a->dtype, .b_dtype = b->dtype, .transpose_a = attrs->transpose_a, .transpose_b = attrs->transpose_b};
    g.m = bpt_shape_rows(&out->shape), g.n = bpt_shape_columns(&out->shape);
    g.k = attrs->transpose_a ? bpt_shape_rows(&a->shape) : bpt_shape_columns(&a->shape);
    g.lda = bpt_shape_columns(&a->shape), g.ldb = bpt_shape_columns(&b->shape), g.ldc = g.n;
    g.accumulate = call->in[2].present;
    // Half of the memory of an f32 tile, which would not stay in the cache. (Without a product the library adds no bias.)
    const bool direct_bf16 = g.k && bpt_gemm_is_bf16(&g) && out->dtype == BPT_BF16 && !g.accumulate && !bpt_gemm_is_split(&g) &&
                             bpt_pointwise_commutes_with_rounding(&attrs->epilogue);
    g.c_dtype = direct_bf16 ? BPT_BF16 : BPT_F32;
    g.transient = out->dtype != BPT_F32 && !direct_bf16;
    g.biased = direct_bf16 && call->in[3].present;
    return g;
}

static bpt_status_t plan_matmul(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    const bpt_gemm_t g = make_product(call);
    return bpt_gemm_plan(&g, threads, scratch_bytes);
}

typedef struct {
    bpt_cpu_steps_t steps;
    const float *acc;
    char *out;
    bpt_dtype_t dtype;
    int64_t n;
    bool has_steps, transient;
} tile_context_t;

static void copy_acc(void *context, const bpt_gemm_tile_t *tile) {
    const tile_context_t *t = context;
    for (int64_t i = 0; i < tile->rows; ++i)
        memcpy((float *)tile->c + i * tile->ldc, t->acc + (tile->row + i) * t->n + tile->column, (size_t)tile->columns * sizeof *t->acc);
}

static void apply_epilogue(void *context, const bpt_gemm_tile_t *tile) {
    const tile_context_t *t = context;
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    for (int64_t i = 0; i < tile->rows; ++i) {
        const int64_t row = tile->row + i;
        float *c = (float *)tile->c + i * tile->ldc;
        if (t->has_steps) k->steps(&t->steps, c, row, tile->column, tile->columns);
        if (t->transient) k->from_f32(t->out + (size_t)(row * t->n + tile->column) * bpt_dtype_size(t->dtype), t->dtype, c, tile->columns);
    }
}

// The same on a tile that is rounded, in place.
static void apply_rounded(void *context, const bpt_gemm_tile_t *tile) {
    const tile_context_t *t = context;
    for (int64_t i = 0; i < tile->rows; ++i) {
        uint16_t *c = (uint16_t *)tile->c + i * tile->ldc;
        bpt_cpu_steps_run(&t->steps, c, t->dtype, c, t->dtype, tile->row + i, tile->column, tile->columns);
    }
}

static void run_matmul(const bpt_host_run_t *run) {
    const bpt_op_call_t *call = run->call;
    const bpt_pointwise_attrs_t *epilogue = &run->attrs->matmul.epilogue;
    bpt_gemm_t g = make_product(call);
    tile_context_t t = {.steps = bpt_cpu_steps_bind(run, epilogue, g.n),
                        .acc = run->in[2],
                        .out = run->out[0],
                        .dtype = call->out[0].dtype,
                        .n = g.n,
                        .transient = g.transient};
    g.bias = run->in[3];
    if (!g.biased) t.steps.bias = run->in[3];
    t.has_steps = t.steps.bias || epilogue->n_steps;
    g.context = &t;
    if (g.accumulate && (g.transient || run->in[2] != run->out[0])) g.prepare = copy_acc;
    if (t.has_steps || g.transient) g.finish = g.c_dtype == BPT_F32 ? apply_epilogue : apply_rounded;
    bpt_gemm_run(&g, run->in[0], run->in[1], run->out[0], run->scratch, run->team);
}

const bpt_host_op_t bpt_cpu_op_MATMUL = {plan_matmul, run_matmul};
