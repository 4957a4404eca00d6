// Loss of a linear-chain CRF and its gradient: forward-backward in logarithms, in double.
#include <math.h>
#include <string.h>

#include "backends/ref/ops/element.h"

typedef struct {
    const bpt_host_run_t *run;
    int64_t tags;
    double *alpha;      // [R, tags]
    double *beta[2];    // [tags], of this row and of the next
    const uint32_t *y;  // tags of the rows
} crf_t;

static bpt_status_t plan_crf(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    const int64_t tags = bpt_ref_columns(&call->in[0]);
    *scratch_bytes = (size_t)(bpt_shape_count(&call->in[0].shape) + 2 * tags + (tags + 2) * tags) * sizeof(double);
    return BPT_OK;
}

static crf_t crf_of(const bpt_host_run_t *run) {
    const int64_t tags = bpt_ref_columns(&run->call->in[0]);
    double *scratch = run->scratch;
    crf_t c = {.run = run, .tags = tags, .alpha = scratch, .y = run->in[2]};
    c.beta[0] = scratch + bpt_shape_count(&run->call->in[0].shape);
    c.beta[1] = c.beta[0] + tags;
    return c;
}

static double score(const crf_t *c, int64_t row, int64_t tag) { return bpt_ref_in(c->run, 0, row * c->tags + tag); }
static double transition(const crf_t *c, int64_t from, int64_t to) { return bpt_ref_in(c->run, 1, from * c->tags + to); }
static double start(const crf_t *c, int64_t tag) { return transition(c, c->tags, tag); }
static double end(const crf_t *c, int64_t tag) { return transition(c, c->tags + 1, tag); }

static double add_logs(double a, double b) {
    const double largest = a > b ? a : b;
    return isinf(largest) && largest < 0 ? largest : largest + log(exp(a - largest) + exp(b - largest));
}

// Rows [*first, *last) of sequence s.
static void rows_of(const bpt_host_run_t *run, int64_t s, int64_t *first, int64_t *last) {
    const uint32_t *range = (const uint32_t *)run->in[3] + 2 * s;
    const int64_t rows = bpt_ref_rows(&run->call->in[0]);
    *first = range[0];
    *last = range[1] < rows ? range[1] : rows;
    if (*first >= *last) *first = *last = 0;
}

// alpha of the rows of a sequence; returns log Z.
static double forward(const crf_t *c, int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r)
        for (int64_t j = 0; j < c->tags; ++j) {
            double sum = r == first ? start(c, j) : -INFINITY;
            for (int64_t i = 0; r > first && i < c->tags; ++i) sum = add_logs(sum, c->alpha[(r - 1) * c->tags + i] + transition(c, i, j));
            c->alpha[r * c->tags + j] = sum + score(c, r, j);
        }
    double z = -INFINITY;
    for (int64_t j = 0; j < c->tags; ++j) z = add_logs(z, c->alpha[(last - 1) * c->tags + j] + end(c, j));
    return z;
}

static double score_of_tags(const crf_t *c, int64_t first, int64_t last) {
    double sum = start(c, c->y[first]) + end(c, c->y[last - 1]);
    for (int64_t r = first; r < last; ++r) {
        sum += score(c, r, c->y[r]);
        if (r > first) sum += transition(c, c->y[r - 1], c->y[r]);
    }
    return sum;
}

static void run_crf(const bpt_host_run_t *run) {
    const crf_t c = crf_of(run);
    const float *weights = run->in[4];
    double loss = 0;
    for (int64_t s = 0; s < bpt_ref_rows(&run->call->in[3]); ++s) {
        int64_t first, last;
        rows_of(run, s, &first, &last);
        const double nll = first < last ? forward(&c, first, last) - score_of_tags(&c, first, last) : 0;
        bpt_ref_out(run, 1, s, nll);
        loss += (double)weights[s] * nll;
    }
    bpt_ref_out(run, 0, 0, loss);
}

// The gradient of a sequence, times `scale`; adds to dt.
static void backward(crf_t *c, int64_t first, int64_t last, double scale, double *dt) {
    const int64_t tags = c->tags;
    const double z = forward(c, first, last);
    for (int64_t r = last - 1; r >= first; --r) {
        double *beta = c->beta[0], *next = c->beta[1];
        for (int64_t i = 0; i < tags; ++i) {
            beta[i] = r + 1 == last ? end(c, i) : -INFINITY;
            for (int64_t j = 0; r + 1 < last && j < tags; ++j) {
                const double edge = transition(c, i, j) + score(c, r + 1, j) + next[j];
                const bool right = c->y[r] == i && c->y[r + 1] == j;
                beta[i] = add_logs(beta[i], edge);
                dt[i * tags + j] += scale * (exp(c->alpha[r * tags + i] + edge - z) - right);
            }
            const double dx = scale * (exp(c->alpha[r * tags + i] + beta[i] - z) - (c->y[r] == i));
            bpt_ref_out(c->run, 2, r * tags + i, dx);
            if (r == first) dt[tags * tags + i] += dx;
            if (r + 1 == last) dt[(tags + 1) * tags + i] += dx;
        }
        c->beta[0] = next, c->beta[1] = beta;
    }
}

static void run_crf_grad(const bpt_host_run_t *run) {
    run_crf(run);
    crf_t c = crf_of(run);
    const int64_t count = bpt_shape_count(&run->call->in[0].shape), matrix = (c.tags + 2) * c.tags;
    const float *weights = run->in[4];
    double *dt = c.beta[1] + c.tags;
    memset(dt, 0, (size_t)matrix * sizeof *dt);
    for (int64_t i = 0; i < count; ++i) bpt_ref_out(run, 2, i, 0);
    for (int64_t s = 0; s < bpt_ref_rows(&run->call->in[3]); ++s) {
        int64_t first, last;
        rows_of(run, s, &first, &last);
        if (first < last) backward(&c, first, last, (double)weights[s] * bpt_ref_in(run, 5, 0), dt);
    }
    for (int64_t i = 0; i < matrix; ++i) bpt_ref_out(run, 3, i, dt[i]);
}

const bpt_host_op_t bpt_ref_op_CRF = {plan_crf, run_crf};
const bpt_host_op_t bpt_ref_op_CRF_GRAD = {plan_crf, run_crf_grad};
