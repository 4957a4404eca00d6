// xent, xent_grad: the logits of a chunk of rows at a time, turned in place into their gradient. Rows of weight 0 are left out: the
// others are numbered first, and a chunk whose rows do not lie together is gathered. Where the machine multiplies bf16 and h and W are
// of it, the gradient of the logits is rounded to bf16 for its two products (but not for db).
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/gemm.h"

enum { CHUNK_BYTES = 32 << 20, MIN_CHUNK = 256, MAX_CHUNK = 4096, BLOCK = 32, SMALLEST = 64 };

// Sizes, types of h, W and the gradient of the logits, and where things are in the scratch (bytes).
typedef struct {
    int64_t n, d, v, chunk;
    bpt_dtype_t h_type, w_type, dlogits_type;
    bool gradient;
    float smoothing;
    size_t scored, losses, logits, h, dh, db, products, total;
} layout_t;

static size_t reserve(size_t *total, int64_t count, size_t size) {
    const size_t at = *total;
    *total += ((size_t)count * size + 63) / 64 * 64;
    return at;
}

static layout_t make_layout(const bpt_op_call_t *call) {
    const bpt_operand_t *h = &call->in[0], *w = &call->in[1];
    layout_t l = {.n = bpt_shape_rows(&h->shape), .d = bpt_shape_columns(&h->shape), .v = bpt_shape_rows(&w->shape), .chunk = MAX_CHUNK};
    l.gradient = call->op == BPT_OP_XENT_GRAD;
    l.smoothing = call->attrs.xent.smoothing;
    l.h_type = h->dtype, l.w_type = w->dtype;
    l.dlogits_type = bpt_gemm_is_bf16(&(bpt_gemm_t){.a_dtype = h->dtype, .b_dtype = w->dtype}) ? BPT_BF16 : BPT_F32;
    while (l.chunk > MIN_CHUNK && l.chunk * l.v * (int64_t)sizeof(float) > CHUNK_BYTES) l.chunk /= 2;
    while (l.chunk > SMALLEST && l.chunk / 2 >= l.n) l.chunk /= 2;
    l.scored = reserve(&l.total, l.n, sizeof(int64_t));
    if (l.smoothing > 0) l.losses = reserve(&l.total, l.n, sizeof(float));
    l.logits = reserve(&l.total, l.chunk * l.v, sizeof(float));
    l.h = reserve(&l.total, l.chunk * l.d, bpt_dtype_size(l.h_type));
    if (l.gradient) l.dh = reserve(&l.total, l.chunk * l.d, sizeof(float));
    if (l.gradient && call->in[2].present) l.db = reserve(&l.total, bpt_cpu_blocks(l.chunk, BLOCK) * l.v, sizeof(float));
    l.products = l.total;
    return l;
}

// The three products of `rows` rows: logits = h W^T, dh = dlogits W, dW (+)= dlogits^T h. A bf16 dlogits lies in place of the f32 one,
// so that its rows are twice as far apart as they are long.
static bpt_gemm_t logits_product(const layout_t *l, int64_t rows) {
    return (bpt_gemm_t){.a_dtype = l->h_type,
                        .b_dtype = l->w_type,
                        .transpose_b = true,
                        .m = rows,
                        .n = l->v,
                        .k = l->d,
                        .lda = l->d,
                        .ldb = l->d,
                        .ldc = l->v};
}
static int64_t dlogits_stride(const layout_t *l) { return l->dlogits_type == BPT_F32 ? l->v : 2 * l->v; }
static bpt_gemm_t dh_product(const layout_t *l, int64_t rows) {
    return (bpt_gemm_t){.a_dtype = l->dlogits_type,
                        .b_dtype = l->w_type,
                        .m = rows,
                        .n = l->d,
                        .k = l->v,
                        .lda = dlogits_stride(l),
                        .ldb = l->d,
                        .ldc = l->d};
}
static bpt_gemm_t dw_product(const layout_t *l, int64_t rows, bool first) {
    return (bpt_gemm_t){.a_dtype = l->dlogits_type,
                        .b_dtype = l->h_type,
                        .transpose_a = true,
                        .accumulate = !first,
                        .m = l->v,
                        .n = l->d,
                        .k = rows,
                        .lda = dlogits_stride(l),
                        .ldb = l->d,
                        .ldc = l->d};
}

// Rows are taken a chunk at a time, then by falling powers of two, the last ones filled up to SMALLEST with rows of zeros: so there are
// few shapes of products, whatever the weights.
static int64_t piece_size(int64_t chunk, int64_t left) {
    while (chunk > SMALLEST && chunk > left) chunk /= 2;
    return chunk;
}

static bpt_status_t plan_xent(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    const layout_t l = make_layout(call);
    size_t most = 0;
    for (int64_t rows = l.chunk; rows >= SMALLEST; rows /= 2) {
        const bpt_gemm_t products[] = {logits_product(&l, rows), dh_product(&l, rows), dw_product(&l, rows, true),
                                       dw_product(&l, rows, false)};
        for (size_t i = 0; i < (l.gradient ? BPT_COUNT(products) : 1); ++i) {
            size_t bytes;
            BPT_TRY(bpt_gemm_plan(&products[i], threads, &bytes));
            if (bytes > most) most = bytes;
        }
    }
    *scratch_bytes = l.total + most;
    return BPT_OK;
}

// The state of one run.
typedef struct {
    const bpt_host_run_t *run;
    layout_t l;
    int64_t *scored;  // numbers of the rows that count
    int64_t n_scored;
    float *losses;  // of each row; the nll itself without smoothing
    float *logits, *dh, *db_parts;
    void *h_rows, *products;
} state_t;

// Some of the scored rows, and their h: `count` rows, made up to `size` with rows of zeros.
typedef struct {
    const int64_t *rows;
    int64_t count, size;
    const void *h;
} piece_t;

static bool is_dense(const piece_t *p) { return p->rows[p->count - 1] - p->rows[0] == p->count - 1; }

// A piece as the bodies of loops see it.
typedef struct {
    const state_t *s;
    const piece_t *p;
    const float *dh;
} work_t;

static size_t h_row_bytes(const state_t *s) { return (size_t)s->l.d * bpt_dtype_size(s->l.h_type); }

static void gather_block(const void *context, int64_t block, int thread) {
    (void)thread;
    const work_t *w = context;
    const piece_t *p = w->p;
    const size_t bytes = h_row_bytes(w->s);
    for (int64_t i = block * BLOCK; i < bpt_cpu_min((block + 1) * BLOCK, p->size); ++i) {
        char *out = (char *)w->s->h_rows + (size_t)i * bytes;
        if (i < p->count)
            memcpy(out, (const char *)w->s->run->in[0] + (size_t)p->rows[i] * bytes, bytes);
        else
            memset(out, 0, bytes);
    }
}

static void gather_h(const state_t *s, piece_t *p) {
    const size_t bytes = h_row_bytes(s);
    const char *h = s->run->in[0];
    p->h = h + (size_t)p->rows[0] * bytes;
    if (is_dense(p) && p->count == p->size) return;
    p->h = s->h_rows;
    bpt_team_for(s->run->team, bpt_cpu_blocks(p->size, BLOCK), gather_block, &(work_t){s, p, NULL});
}

// nll of a block of rows; with a gradient the logits become dlogits, and their column sums the block's part of db, if there is one.
static void run_block(const void *context, int64_t block, int thread) {
    (void)thread;
    const work_t *w = context;
    const state_t *s = w->s;
    const piece_t *p = w->p;
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    const bpt_host_run_t *run = s->run;
    const uint32_t *targets = run->in[3];
    const float *weights = run->in[4], *bias = run->in[2], dloss = s->l.gradient ? *(const float *)run->in[5] : 0;
    const int64_t v = s->l.v;
    float *db = run->out[4] ? s->db_parts + block * v : NULL;
    if (db) memset(db, 0, (size_t)v * sizeof *db);
    for (int64_t i = block * BLOCK; i < bpt_cpu_min((block + 1) * BLOCK, p->size); ++i) {
        float *logits = s->logits + i * v;
        if (i >= p->count) {  // a row that only fills up
            memset(logits, 0, (size_t)v * sizeof *logits);
            continue;
        }
        const int64_t row = p->rows[i];
        const float scale = weights[row] * dloss;
        ((float *)run->out[1])[row] = k->xent_row(logits, bias, v, targets[row], s->l.gradient ? &scale : NULL, s->l.smoothing,
                                                  s->l.smoothing > 0 ? &s->losses[row] : NULL);
        if (db) k->add(db, logits, BPT_F32, v);
        if (s->l.gradient) k->from_f32(logits, s->l.dlogits_type, logits, v);
    }
}

static void run_rows(const state_t *s, const piece_t *p) {
    const bpt_host_run_t *run = s->run;
    const bpt_gemm_t g = logits_product(&s->l, p->size);
    bpt_gemm_run(&g, p->h, run->in[1], s->logits, s->products, run->team);
    const int64_t blocks = bpt_cpu_blocks(p->size, BLOCK), v = s->l.v;
    float *db = run->out[4];
    bpt_team_for(run->team, blocks, run_block, &(work_t){s, p, NULL});
    for (int64_t b = 0; db && b < blocks; ++b) bpt_cpu_kernels()->add(db, s->db_parts + b * v, BPT_F32, v);
}

static void write_dh(const void *context, int64_t block, int thread) {
    (void)thread;
    const work_t *w = context;
    const bpt_host_run_t *run = w->s->run;
    const bpt_dtype_t dtype = run->call->out[2].dtype;
    const int64_t d = w->s->l.d;
    for (int64_t i = block * BLOCK; i < bpt_cpu_min((block + 1) * BLOCK, w->p->count); ++i)
        bpt_cpu_convert_piece((char *)run->out[2] + (size_t)(w->p->rows[i] * d) * bpt_dtype_size(dtype), dtype, w->dh + i * d, BPT_F32, d);
}

static void run_gradients(const state_t *s, const piece_t *p, bool first) {
    const bpt_host_run_t *run = s->run;
    const bpt_dtype_t dtype = run->call->out[2].dtype;
    const int64_t d = s->l.d;
    const bpt_gemm_t to_h = dh_product(&s->l, p->size), to_w = dw_product(&s->l, p->size, first);
    const bool direct = dtype == BPT_F32 && is_dense(p) && p->count == p->size;
    float *dh = direct ? (float *)run->out[2] + p->rows[0] * d : s->dh;
    bpt_gemm_run(&to_h, s->logits, run->in[1], dh, s->products, run->team);
    bpt_gemm_run(&to_w, s->logits, p->h, run->out[3], s->products, run->team);
    if (!direct) bpt_team_for(run->team, bpt_cpu_blocks(p->count, BLOCK), write_dh, &(work_t){s, p, dh});
}

// Numbers the scored rows, and gives everything that they may leave unwritten its value.
static void begin(state_t *s) {
    const bpt_op_call_t *call = s->run->call;
    const layout_t *l = &s->l;
    const float *weights = s->run->in[4];
    float *nll = s->run->out[1];
    void *const *out = s->run->out;
    for (int64_t r = 0; r < l->n; ++r) {
        if (weights[r] != 0)
            s->scored[s->n_scored++] = r;
        else
            nll[r] = 0;
    }
    if (!l->gradient) return;
    if (s->n_scored < l->n) memset(out[2], 0, (size_t)(l->n * l->d) * bpt_dtype_size(call->out[2].dtype));
    if (!s->n_scored) memset(out[3], 0, (size_t)(l->v * l->d) * sizeof(float));
    if (out[4]) memset(out[4], 0, (size_t)l->v * sizeof(float));
}

static void run_xent(const bpt_host_run_t *run) {
    state_t s = {.run = run, .l = make_layout(run->call)};
    const layout_t *l = &s.l;
    char *scratch = run->scratch;
    s.scored = (int64_t *)(void *)(scratch + l->scored);
    s.losses = l->smoothing > 0 ? (float *)(void *)(scratch + l->losses) : run->out[1];
    s.logits = (float *)(void *)(scratch + l->logits), s.dh = (float *)(void *)(scratch + l->dh),
    s.db_parts = (float *)(void *)(scratch + l->db);
    s.h_rows = scratch + l->h, s.products = scratch + l->products;
    begin(&s);
    for (int64_t i = 0; i < s.n_scored;) {
        const int64_t left = s.n_scored - i, size = piece_size(l->chunk, left);
        piece_t p = {.rows = s.scored + i, .count = bpt_cpu_min(size, left), .size = size};
        gather_h(&s, &p);
        run_rows(&s, &p);
        if (l->gradient) run_gradients(&s, &p, i == 0);
        i += p.count;
    }
    double loss = 0;
    for (int64_t i = 0; i < s.n_scored; ++i) loss += (double)((const float *)run->in[4])[s.scored[i]] * (double)s.losses[s.scored[i]];
    *(float *)run->out[0] = (float)loss;
}

const bpt_host_op_t bpt_cpu_op_XENT = {plan_xent, run_xent};
const bpt_host_op_t bpt_cpu_op_XENT_GRAD = {plan_xent, run_xent};
