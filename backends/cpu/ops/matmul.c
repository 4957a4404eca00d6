// matmul: products of f32 matrices by CBLAS, of bf16 matrices by oneDNN; every other mix of types is widened to f32 first. The bias
// and the epilogue run on a tile of the product while it is in the cache of the thread that made it.
#include <string.h>

#include "backends/cpu/gemm.h"
#include "backends/cpu/steps.h"

// Where the parts of the scratch are, in bytes; a part that is not needed has size 0.
typedef struct {
    bpt_gemm_t gemm;
    size_t a, b, c, partials, total;  // f32 copies of A, B and of the output; partial sums
    bool wide_a, wide_b, wide_c;
} layout_t;

static size_t reserve(size_t *total, int64_t count) {
    const size_t at = *total;
    *total += ((size_t)count * sizeof(float) + 63) / 64 * 64;
    return at;
}

static layout_t make_layout(const bpt_op_call_t *call) {
    const bpt_matmul_attrs_t *attrs = &call->attrs.matmul;
    const bpt_operand_t *a = &call->in[0], *b = &call->in[1], *out = &call->out[0];
    layout_t l = {.wide_a = a->dtype != BPT_F32, .wide_b = b->dtype != BPT_F32, .wide_c = out->dtype != BPT_F32};
    bpt_gemm_t *g = &l.gemm;
    g->transpose_a = attrs->transpose_a, g->transpose_b = attrs->transpose_b;
    g->m = bpt_shape_rows(&out->shape), g->n = bpt_shape_columns(&out->shape);
    g->k = attrs->transpose_a ? bpt_shape_rows(&a->shape) : bpt_shape_columns(&a->shape);
    g->lda = bpt_shape_columns(&a->shape), g->ldb = bpt_shape_columns(&b->shape), g->ldc = g->n;
    g->accumulate = call->in[2].present;
    if (l.wide_a) l.a = reserve(&l.total, bpt_shape_count(&a->shape));
    if (l.wide_b) l.b = reserve(&l.total, bpt_shape_count(&b->shape));
    if (l.wide_c) l.c = reserve(&l.total, bpt_shape_count(&out->shape));
    l.partials = reserve(&l.total, bpt_gemm_f32_scratch(g));
    return l;
}

bpt_status_t bpt_cpu_plan_MATMUL(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    const layout_t l = make_layout(call);
    *scratch_bytes = l.total;
    return bpt_gemm_check(&l.gemm);
}

typedef struct {
    bpt_cpu_steps_t steps;
    const float *acc;
    float *c;          // the product: the output itself, or its f32 copy
    void *out;
    bpt_dtype_t dtype;
    int64_t n;
} tile_context_t;

static void copy_acc(void *context, const bpt_gemm_tile_t *tile) {
    const tile_context_t *t = context;
    for (int64_t row = tile->row; row < tile->row + tile->rows; ++row) {
        const int64_t at = row * t->n + tile->column;
        memcpy(t->c + at, t->acc + at, (size_t)tile->columns * sizeof *t->c);
    }
}

static void apply_epilogue(void *context, const bpt_gemm_tile_t *tile) {
    const tile_context_t *t = context;
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    const bool steps = t->steps.bias || t->steps.attrs->n_steps;
    for (int64_t row = tile->row; row < tile->row + tile->rows; ++row) {
        const int64_t at = row * t->n + tile->column;
        if (steps) k->steps(&t->steps, t->c + at, row, tile->column, tile->columns);
        k->from_f32((char *)t->out + (size_t)at * bpt_dtype_size(t->dtype), t->dtype, t->c + at, tile->columns);
    }
}

static void widen(float *out, const void *x, bpt_dtype_t dtype, int64_t n, int threads) {
    enum { BLOCK = 16384 };
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    const int64_t blocks = bpt_cpu_blocks(n, BLOCK);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < blocks; ++i)
        k->to_f32(out + i * BLOCK, (const char *)x + (size_t)(i * BLOCK) * bpt_dtype_size(dtype), dtype, bpt_cpu_min(BLOCK, n - i * BLOCK));
}

void bpt_cpu_run_MATMUL(const bpt_host_run_t *run) {
    const bpt_op_call_t *call = run->call;
    const bpt_pointwise_attrs_t *epilogue = &run->attrs->matmul.epilogue;
    layout_t l = make_layout(call);
    char *scratch = run->scratch;
    const float *a = run->in[0], *b = run->in[1];
    float *c = run->out[0];
    if (l.wide_a) {
        widen((float *)(void *)(scratch + l.a), a, call->in[0].dtype, bpt_shape_count(&call->in[0].shape), run->threads);
        a = (const float *)(const void *)(scratch + l.a);
    }
    if (l.wide_b) {
        widen((float *)(void *)(scratch + l.b), b, call->in[1].dtype, bpt_shape_count(&call->in[1].shape), run->threads);
        b = (const float *)(const void *)(scratch + l.b);
    }
    if (l.wide_c) c = (float *)(void *)(scratch + l.c);
    tile_context_t t = {.steps = bpt_cpu_steps_bind(run, epilogue, l.gemm.n), .acc = run->in[2], .c = c, .out = run->out[0],
                        .dtype = call->out[0].dtype, .n = l.gemm.n};
    t.steps.bias = run->in[3];
    l.gemm.context = &t;
    if (l.gemm.accumulate && t.acc != t.c) l.gemm.prepare = copy_acc;
    if (l.wide_c || t.steps.bias || epilogue->n_steps) l.gemm.finish = apply_epilogue;
    bpt_gemm_f32(&l.gemm, a, b, c, (float *)(void *)(scratch + l.partials), run->threads);
}
