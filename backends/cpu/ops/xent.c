// xent, xent_grad: the logits of a chunk of rows at a time, turned in place into their gradient. Rows of weight 0 are left out: the
// others are numbered first, and a chunk whose rows do not lie together is gathered.
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/gemm.h"

enum { CHUNK_BYTES = 32 << 20, MIN_CHUNK = 256, MAX_CHUNK = 4096, ROWS = 16, STRIP = 256 };

// Sizes, and where things are in the scratch (bytes).
typedef struct {
    int64_t n, d, v, chunk;
    size_t scored, logits, h, dh, w, partials, total;
} layout_t;

static size_t reserve(size_t *total, int64_t count, size_t size) {
    const size_t at = *total;
    *total += ((size_t)count * size + 63) / 64 * 64;
    return at;
}

static layout_t make_layout(const bpt_op_call_t *call) {
    layout_t l = {.n = bpt_shape_rows(&call->in[0].shape), .d = bpt_shape_columns(&call->in[0].shape), .v = bpt_shape_rows(&call->in[1].shape)};
    l.chunk = CHUNK_BYTES / (int64_t)sizeof(float) / (l.v ? l.v : 1) / 64 * 64;
    l.chunk = l.chunk < MIN_CHUNK ? MIN_CHUNK : l.chunk > MAX_CHUNK ? MAX_CHUNK : l.chunk;
    l.chunk = bpt_cpu_min(l.chunk, l.n);
    l.scored = reserve(&l.total, l.n, sizeof(int64_t));
    l.logits = reserve(&l.total, l.chunk * l.v, sizeof(float));
    l.h = reserve(&l.total, l.chunk * l.d, sizeof(float));
    if (call->op == BPT_OP_XENT_GRAD) l.dh = reserve(&l.total, l.chunk * l.d, sizeof(float));
    if (call->in[1].dtype != BPT_F32) l.w = reserve(&l.total, l.v * l.d, sizeof(float));
    l.partials = reserve(&l.total, BPT_GEMM_F32_SCRATCH_BYTES, 1);
    return l;
}

bpt_status_t bpt_cpu_plan_XENT(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    const layout_t l = make_layout(call);
    const bpt_gemm_t g = {.m = l.chunk, .n = l.v, .k = l.d, .lda = l.d, .ldb = l.d, .ldc = l.v};
    BPT_TRY(bpt_gemm_plan(&g, threads, scratch_bytes));
    *scratch_bytes = l.total;
    return BPT_OK;
}

bpt_status_t bpt_cpu_plan_XENT_GRAD(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    return bpt_cpu_plan_XENT(call, threads, scratch_bytes);
}

// The state of one run.
typedef struct {
    const bpt_host_run_t *run;
    layout_t l;
    int64_t *scored;  // numbers of the rows that count
    int64_t n_scored;
    float *logits, *h_wide, *dh_wide;
    void *partials;
    const float *w;
} state_t;

static void *part(const state_t *s, size_t at) { return (char *)s->run->scratch + at; }

static void widen_rows(float *out, const void *x, bpt_dtype_t dtype, const int64_t *rows, int64_t count, int64_t d, int threads) {
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < count; ++i)
        k->to_f32(out + i * d, (const char *)x + (size_t)((rows ? rows[i] : i) * d) * bpt_dtype_size(dtype), dtype, d);
}

static bool is_dense(const int64_t *rows, int64_t count) { return rows[count - 1] - rows[0] == count - 1; }

// Logits, nll and, with a gradient, dlogits of a chunk.
static void run_rows(const state_t *s, const int64_t *rows, int64_t count, const float *h) {
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    const bpt_host_run_t *run = s->run;
    const uint32_t *targets = run->in[3];
    const float *weights = run->in[4], *bias = run->in[2];
    const bool gradient = run->call->op == BPT_OP_XENT_GRAD;
    const float dloss = gradient ? *(const float *)run->in[5] : 0;
    float *nll = run->out[1];
    const int64_t v = s->l.v, d = s->l.d;
    const bpt_gemm_t g = {.transpose_b = true, .m = count, .n = v, .k = d, .lda = d, .ldb = d, .ldc = v};
    bpt_gemm_run(&g, h, s->w, s->logits, s->partials, run->threads);
#pragma omp parallel for num_threads(run->threads) schedule(dynamic, ROWS)
    for (int64_t i = 0; i < count; ++i) {
        const float scale = weights[rows[i]] * dloss;
        nll[rows[i]] = k->xent_row(s->logits + i * v, bias, v, targets[rows[i]], gradient ? &scale : NULL);
    }
}

static void run_gradients(const state_t *s, const int64_t *rows, int64_t count, const float *h, bool first) {
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    const bpt_host_run_t *run = s->run;
    const int64_t v = s->l.v, d = s->l.d;
    const bpt_dtype_t dtype = run->call->out[2].dtype;
    float *db = run->out[4];
    const bool direct = dtype == BPT_F32 && is_dense(rows, count);
    float *dh = direct ? (float *)run->out[2] + rows[0] * d : s->dh_wide;
    const bpt_gemm_t to_h = {.m = count, .n = d, .k = v, .lda = v, .ldb = d, .ldc = d};
    bpt_gemm_run(&to_h, s->logits, s->w, dh, s->partials, run->threads);
    const bpt_gemm_t to_w = {.transpose_a = true, .accumulate = !first, .m = v, .n = d, .k = count, .lda = v, .ldb = d, .ldc = d};
    bpt_gemm_run(&to_w, s->logits, h, run->out[3], s->partials, run->threads);
    if (!direct) {
#pragma omp parallel for num_threads(run->threads) schedule(static)
        for (int64_t i = 0; i < count; ++i)
            k->from_f32((char *)run->out[2] + (size_t)(rows[i] * d) * bpt_dtype_size(dtype), dtype, dh + i * d, d);
    }
    if (!db) return;
    const int64_t strips = bpt_cpu_blocks(v, STRIP);
#pragma omp parallel for num_threads(run->threads) schedule(static)
    for (int64_t i = 0; i < strips; ++i)
        k->column_sum(db + i * STRIP, s->logits + i * STRIP, BPT_F32, count, bpt_cpu_min(STRIP, v - i * STRIP), v);
}

static void run_xent(const bpt_host_run_t *run) {
    const bpt_op_call_t *call = run->call;
    const bool gradient = call->op == BPT_OP_XENT_GRAD;
    state_t s = {.run = run, .l = make_layout(call)};
    const layout_t *l = &s.l;
    const float *weights = run->in[4];
    float *nll = run->out[1];
    s.scored = part(&s, l->scored), s.logits = part(&s, l->logits), s.h_wide = part(&s, l->h), s.dh_wide = part(&s, l->dh);
    s.partials = part(&s, l->partials), s.w = run->in[1];
    for (int64_t r = 0; r < l->n; ++r) {
        if (weights[r] != 0)
            s.scored[s.n_scored++] = r;
        else
            nll[r] = 0;
    }
    const size_t h_size = bpt_dtype_size(call->in[0].dtype);
    if (call->in[1].dtype != BPT_F32) {
        widen_rows(part(&s, l->w), run->in[1], call->in[1].dtype, NULL, l->v, l->d, run->threads);
        s.w = part(&s, l->w);
    }
    if (gradient) {
        if (s.n_scored < l->n) memset(run->out[2], 0, (size_t)(l->n * l->d) * bpt_dtype_size(call->out[2].dtype));
        if (!s.n_scored) memset(run->out[3], 0, (size_t)(l->v * l->d) * sizeof(float));
        if (run->out[4]) memset(run->out[4], 0, (size_t)l->v * sizeof(float));
    }
    for (int64_t i = 0; i < s.n_scored; i += l->chunk) {
        const int64_t *rows = s.scored + i, count = bpt_cpu_min(l->chunk, s.n_scored - i);
        const float *h = (const float *)(const void *)((const char *)run->in[0] + (size_t)(rows[0] * l->d) * h_size);
        if (call->in[0].dtype != BPT_F32 || !is_dense(rows, count)) {
            widen_rows(s.h_wide, run->in[0], call->in[0].dtype, rows, count, l->d, run->threads);
            h = s.h_wide;
        }
        run_rows(&s, rows, count, h);
        if (gradient) run_gradients(&s, rows, count, h, i == 0);
    }
    double loss = 0;
    for (int64_t i = 0; i < s.n_scored; ++i) loss += (double)weights[s.scored[i]] * (double)nll[s.scored[i]];
    *(float *)run->out[0] = (float)loss;
}

void bpt_cpu_run_XENT(const bpt_host_run_t *run) { run_xent(run); }
void bpt_cpu_run_XENT_GRAD(const bpt_host_run_t *run) { run_xent(run); }
