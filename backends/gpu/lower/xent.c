// The head of a model: linear layer and cross-entropy in chunks of rows, so that the logits of a large vocabulary are never whole in
// memory.
#include "backends/gpu/lower/gemm.h"

enum { LOGITS_BYTES = 32 << 20 };  // of one chunk

typedef struct {
    bpt_view_t h, w, b, targets, weights, logits, terms, nll;
    bpt_view_t
        rounded;  // the gradient of the logits in bf16, for a library that multiplies nothing but two of it; absent: f32 is multiplied
    int64_t n, d, v, chunk;
    bool grad;
} head_t;

static head_t head_of(bpt_lower_t *l) {
    head_t x = {.h = bpt_lower_in(l, 0),
                .w = bpt_lower_in(l, 1),
                .b = bpt_lower_in(l, 2),
                .targets = bpt_lower_in(l, 3),
                .weights = bpt_lower_in(l, 4),
                .nll = bpt_lower_out(l, 1),
                .grad = l->call->op == BPT_OP_XENT_GRAD};
    x.n = bpt_rows(&l->call->in[0]), x.d = bpt_columns(&l->call->in[0]), x.v = bpt_rows(&l->call->in[1]);
    const int64_t fit = bpt_lower_window(l, x.n, (size_t)x.v * 4), wanted = LOGITS_BYTES / (x.v ? x.v * 4 : 4);
    x.chunk = bpt_min(fit, wanted < 64 ? 64 : wanted);
    x.logits = bpt_lower_scratch(l, BPT_F32, bpt_min(x.chunk, x.n) * x.v);
    x.terms = bpt_lower_scratch(l, BPT_F32, x.n);
    if (x.grad && x.h.dtype == BPT_BF16 && x.w.dtype == BPT_BF16 && bpt_lower_has_bf16_library(l))
        x.rounded = bpt_lower_scratch(l, BPT_BF16, bpt_min(x.chunk, x.n) * x.v);
    return x;
}

static void multiply_logits(bpt_lower_t *l, const head_t *x, int64_t row, int64_t n) {
    const bpt_gpu_gemm_t g = {.a = bpt_lower_part(&x->h, row * x->d, n * x->d),
                              .b = x->w,
                              .bias = x->b,
                              .c = bpt_lower_part(&x->logits, 0, n * x->v),
                              .m = n,
                              .n = x->v,
                              .k = x->d,
                              .transpose_b = true};
    bpt_lower_gemm(l, &g);
}

static void score_rows(bpt_lower_t *l, const head_t *x, int64_t row, int64_t n) {
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_xent_rows);
    const float smoothing = l->call->attrs.xent.smoothing;
    xent_rows_params_t p = {.columns = (uint32_t)x->v, .target_share = 1 - smoothing};
    if (smoothing > 0) p.share = smoothing / (float)(x->v - 1);
    k.constants[xent_rows_GRAD] = x->grad;
    k.constants[xent_rows_SMOOTH] = smoothing > 0;
    k.bindings[xent_rows_logits] = bpt_lower_part(&x->logits, 0, n * x->v);
    k.bindings[xent_rows_targets] = bpt_lower_part(&x->targets, row, n);
    k.bindings[xent_rows_weights] = bpt_lower_part(&x->weights, row, n);
    if (x->grad) k.bindings[xent_rows_dloss] = bpt_lower_in(l, 5);
    k.bindings[xent_rows_nll] = bpt_lower_part(&x->nll, row, n);
    k.bindings[xent_rows_terms] = bpt_lower_part(&x->terms, row, n);
    bpt_lower_emit(l, &k, &p, n);
}

// With the logits' gradient G of these rows: dh = G W, dW += G^T h, db += column sums of G.
static void add_gradients(bpt_lower_t *l, const head_t *x, int64_t row, int64_t n) {
    const bpt_view_t dh = bpt_lower_out(l, 2), dw = bpt_lower_out(l, 3), db = bpt_lower_out(l, 4),
                     exact = bpt_lower_part(&x->logits, 0, n * x->v), rounded = bpt_lower_part(&x->rounded, 0, n * x->v),
                     g = rounded.present ? rounded : exact;
    if (rounded.present) {
        bpt_lower_convert(l, &exact, &rounded, n * x->v);
        bpt_lower_barrier(l);
    }
    const bpt_gpu_gemm_t rows = {.a = g, .b = x->w, .c = bpt_lower_part(&dh, row * x->d, n * x->d), .m = n, .n = x->d, .k = x->v};
    const bpt_gpu_gemm_t weights = {.a = g,
                                    .b = bpt_lower_part(&x->h, row * x->d, n * x->d),
                                    .acc = row ? dw : (bpt_view_t){0},
                                    .c = dw,
                                    .m = x->v,
                                    .n = x->d,
                                    .k = n,
                                    .transpose_a = true};
    bpt_lower_gemm(l, &rows);
    bpt_lower_gemm(l, &weights);
    if (db.present) bpt_lower_sum_rows(l, &exact, n, x->v, &db, row > 0);
}

static void lower_head(bpt_lower_t *l) {
    const head_t x = head_of(l);
    const bpt_view_t loss = bpt_lower_out(l, 0);
    const size_t scratch = l->scratch_bytes;
    size_t most = scratch;
    int64_t row = 0;
    do {  // once even without rows: the gradients of the weights are then zero
        const int64_t n = bpt_min(x.chunk, x.n - row);
        if (row) bpt_lower_barrier(l);
        multiply_logits(l, &x, row, n);
        bpt_lower_barrier(l);
        score_rows(l, &x, row, n);
        bpt_lower_barrier(l);
        if (x.grad) add_gradients(l, &x, row, n);
        if (l->scratch_bytes > most) most = l->scratch_bytes;
        l->scratch_bytes = scratch;  // the next chunk uses it again
        row += x.chunk;
    } while (row < x.n);
    bpt_lower_barrier(l);
    bpt_lower_sum_all(l, &x.terms, x.n, false, &loss);
    if (l->scratch_bytes < most) l->scratch_bytes = most;
}

void bpt_lower_XENT(bpt_lower_t *l) { lower_head(l); }
void bpt_lower_XENT_GRAD(bpt_lower_t *l) { lower_head(l); }
