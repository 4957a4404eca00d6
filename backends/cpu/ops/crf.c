// crf, crf_grad: a sequence at a time. The logarithms of each row are kept relative to their largest, so that long sequences and large
// scores lose no digits; a row's probabilities are normalised by that row's own sum. The gradient of the transitions is summed by groups of
// sequences, whose number depends on the shape alone.
#include <math.h>
#include <string.h>

#include "backends/cpu/cpu.h"

enum { MOST_GROUPS = 32 };

typedef struct {
    const bpt_host_run_t *run;
    int64_t rows, tags, sequences, groups;
    const float *x, *t;
    const uint32_t *y;
    float *alpha;    // [rows, tags]
    float *partial;  // [groups, (tags + 2) tags]
} crf_t;

static int64_t groups_of(const bpt_op_call_t *call) { return bpt_cpu_min(MOST_GROUPS, bpt_shape_rows(&call->in[3].shape)); }

static bpt_status_t plan_crf(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    *scratch_bytes = (size_t)bpt_shape_count(&call->in[0].shape) * sizeof(float);
    return BPT_OK;
}

static bpt_status_t plan_crf_grad(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    BPT_TRY(plan_crf(call, threads, scratch_bytes));
    *scratch_bytes += (size_t)(groups_of(call) * bpt_shape_count(&call->in[1].shape)) * sizeof(float);
    return BPT_OK;
}

static crf_t crf_of(const bpt_host_run_t *run) {
    crf_t c = {.run = run, .x = run->in[0], .t = run->in[1], .y = run->in[2], .alpha = run->scratch, .groups = groups_of(run->call)};
    c.rows = bpt_shape_rows(&run->call->in[0].shape);
    c.tags = bpt_shape_columns(&run->call->in[0].shape);
    c.sequences = bpt_shape_rows(&run->call->in[3].shape);
    c.partial = c.alpha + c.rows * c.tags;
    return c;
}

// Rows [*first, *last) of a sequence.
static void rows_of(const crf_t *c, int64_t s, int64_t *first, int64_t *last) {
    const uint32_t *range = (const uint32_t *)c->run->in[3] + 2 * s;
    *first = range[0];
    *last = bpt_cpu_min(range[1], c->rows);
    if (*first > *last) *last = *first;
}

// log sum exp of a[i] + b[i stride].
static float sum_logs(const float *a, const float *b, int64_t stride, int64_t n) {
    float largest = a[0] + b[0], sum = 0;
    for (int64_t i = 1; i < n; ++i) largest = fmaxf(largest, a[i] + b[i * stride]);
    if (!isfinite(largest)) return largest;
    for (int64_t i = 0; i < n; ++i) sum += expf(a[i] + b[i * stride] - largest);
    return largest + logf(sum);
}

static float largest_of(const float *a, int64_t n) {
    float largest = a[0];
    for (int64_t i = 1; i < n; ++i)
        if (!(a[i] <= largest)) largest = a[i];  // a NaN wins
    return largest;
}

// Fills alpha of the sequence's rows; returns its nll.
static double forward(const crf_t *c, int64_t first, int64_t last) {
    const int64_t tags = c->tags;
    const float *t = c->t, *start = t + tags * tags, *end = start + tags;
    double nll = 0;
    for (int64_t r = first; r < last; ++r) {
        const float *x = c->x + r * tags;
        float *alpha = c->alpha + r * tags;
        for (int64_t j = 0; j < tags; ++j) alpha[j] = x[j] + (r == first ? start[j] : sum_logs(alpha - tags, t + j, tags, tags));
        const float largest = largest_of(alpha, tags);
        for (int64_t j = 0; j < tags; ++j) alpha[j] -= largest;
        // The same sum as above, so that nothing is left where there is one tag.
        const float of_tag = x[c->y[r]] + (r == first ? start[c->y[r]] : t[c->y[r - 1] * tags + c->y[r]]);
        nll += (double)largest - (double)of_tag;
    }
    return nll + (double)sum_logs(c->alpha + (last - 1) * tags, end, 1, tags) - (double)end[c->y[last - 1]];
}

static void run_forward(const void *context, int64_t s, int thread) {
    (void)thread;
    const crf_t *c = context;
    int64_t first, last;
    rows_of(c, s, &first, &last);
    ((float *)c->run->out[1])[s] = first < last ? (float)forward(c, first, last) : 0;
}

static void sum_loss(const crf_t *c) {
    const float *nll = c->run->out[1], *weights = c->run->in[4];
    double loss = 0;
    for (int64_t s = 0; s < c->sequences; ++s) loss += (double)weights[s] * (double)nll[s];
    *(float *)c->run->out[0] = (float)loss;
}

static void run_crf(const bpt_host_run_t *run) {
    const crf_t c = crf_of(run);
    bpt_team_for(run->team, c.sequences, run_forward, &c);
    sum_loss(&c);
}

// The gradient of a sequence, times `scale`; adds to dt.
static void backward(const crf_t *c, int64_t first, int64_t last, float scale, float *dt) {
    const int64_t tags = c->tags;
    const float *t = c->t, *end = t + (tags + 1) * tags;
    float beta[BPT_CRF_MOST_TAGS], next[BPT_CRF_MOST_TAGS];  // next: score and beta of the row behind
    for (int64_t r = last - 1; r >= first; --r) {
        const float *alpha = c->alpha + r * tags, *x = c->x + r * tags;
        float *dx = (float *)c->run->out[2] + r * tags;
        for (int64_t i = 0; i < tags; ++i) beta[i] = r + 1 == last ? end[i] : sum_logs(next, t + i * tags, 1, tags);
        const float z = sum_logs(alpha, beta, 1, tags);
        for (int64_t i = 0; i < tags; ++i) {
            dx[i] = scale * (expf(alpha[i] + beta[i] - z) - (c->y[r] == i ? 1.0f : 0.0f));
            if (r == first) dt[tags * tags + i] += dx[i];
            if (r + 1 == last) dt[(tags + 1) * tags + i] += dx[i];
            for (int64_t j = 0; r + 1 < last && j < tags; ++j) {
                const bool right = c->y[r] == i && c->y[r + 1] == j;
                dt[i * tags + j] += scale * (expf(alpha[i] + t[i * tags + j] + next[j] - z) - (right ? 1.0f : 0.0f));
            }
        }
        const float largest = largest_of(beta, tags);
        for (int64_t i = 0; i < tags; ++i) next[i] = x[i] + (beta[i] - largest);
    }
}

static void run_backward(const void *context, int64_t group, int thread) {
    (void)thread;
    const crf_t *c = context;
    const int64_t matrix = (c->tags + 2) * c->tags;
    const float *weights = c->run->in[4], dloss = *(const float *)c->run->in[5];
    float *dt = c->partial + group * matrix;
    memset(dt, 0, (size_t)matrix * sizeof *dt);
    for (int64_t s = group; s < c->sequences; s += c->groups) {
        int64_t first, last;
        rows_of(c, s, &first, &last);
        if (first < last) backward(c, first, last, weights[s] * dloss, dt);
    }
}

static void run_crf_grad(const bpt_host_run_t *run) {
    const crf_t c = crf_of(run);
    const int64_t matrix = (c.tags + 2) * c.tags;
    memset(run->out[2], 0, (size_t)(c.rows * c.tags) * sizeof(float));
    bpt_team_for(run->team, c.sequences, run_forward, &c);
    sum_loss(&c);
    bpt_team_for(run->team, c.groups, run_backward, &c);
    bpt_cpu_sum_partials(c.partial, c.groups, matrix, matrix, run->out[3]);
}

const bpt_host_op_t bpt_cpu_op_CRF = {plan_crf, run_crf};
const bpt_host_op_t bpt_cpu_op_CRF_GRAD = {plan_crf_grad, run_crf_grad};
