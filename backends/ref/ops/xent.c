// Linear layer and cross-entropy in one, and its gradient.
#include <math.h>
#include <string.h>

#include "backends/ref/ops/element.h"

// Scratch: the logits of one row.
static bpt_status_t plan_xent(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    *scratch_bytes = (size_t)bpt_ref_rows(&call->in[1]) * sizeof(double);
    return BPT_OK;
}

// Fills logits[V] with the logits of a row; returns log sum exp.
static double row_logits(const bpt_host_run_t *run, int64_t row, double *logits) {
    const int64_t d = bpt_ref_columns(&run->call->in[0]), vocabulary = bpt_ref_rows(&run->call->in[1]);
    double largest = -INFINITY, sum = 0;
    for (int64_t v = 0; v < vocabulary; ++v) {
        double x = run->in[2] ? bpt_ref_in(run, 2, v) : 0;
        for (int64_t c = 0; c < d; ++c) x += bpt_ref_in(run, 0, row * d + c) * bpt_ref_in(run, 1, v * d + c);
        logits[v] = x;
        if (!(x <= largest)) largest = x;  // a NaN wins
    }
    for (int64_t v = 0; v < vocabulary; ++v) sum += exp(logits[v] - largest);
    return largest + log(sum);
}

// How much of class v is wanted in a row with this target.
static double wanted(const bpt_host_run_t *run, int64_t v, uint32_t target) {
    const double smoothing = (double)run->attrs->xent.smoothing;
    return v == target ? 1 - smoothing : smoothing > 0 ? smoothing / (double)(bpt_ref_rows(&run->call->in[1]) - 1) : 0;
}

static void run_xent(const bpt_host_run_t *run) {
    const uint32_t *targets = run->in[3];
    const float *weights = run->in[4];
    const int64_t n = bpt_ref_rows(&run->call->in[0]), vocabulary = bpt_ref_rows(&run->call->in[1]);
    double *logits = run->scratch, loss = 0;
    for (int64_t r = 0; r < n; ++r) {
        double nll = 0, of_row = 0;
        if (weights[r] != 0) {
            const double lse = row_logits(run, r, logits);
            nll = lse - logits[targets[r]];
            of_row = nll;
            if (run->attrs->xent.smoothing > 0) {
                of_row = lse;
                for (int64_t v = 0; v < vocabulary; ++v) of_row -= wanted(run, v, targets[r]) * logits[v];
            }
        }
        loss += (double)weights[r] * of_row;
        bpt_ref_out(run, 1, r, nll);
    }
    bpt_ref_out(run, 0, 0, loss);
}

// Scratch: the logits of one row, then the sums for dW and db.
static bpt_status_t plan_xent_grad(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    const size_t vocabulary = (size_t)bpt_ref_rows(&call->in[1]);
    *scratch_bytes = (2 * vocabulary + (size_t)bpt_shape_count(&call->in[1].shape)) * sizeof(double);
    return BPT_OK;
}

// dlogits = weight dloss (softmax - wanted);  dh = dlogits W,  dW = dlogits^T h,  db = column sums of dlogits.
static void run_xent_grad(const bpt_host_run_t *run) {
    run_xent(run);
    const uint32_t *targets = run->in[3];
    const float *weights = run->in[4];
    const double dloss = bpt_ref_in(run, 5, 0);
    const int64_t n = bpt_ref_rows(&run->call->in[0]), d = bpt_ref_columns(&run->call->in[0]), vocabulary = bpt_ref_rows(&run->call->in[1]);
    double *logits = run->scratch, *dw = logits + vocabulary, *db = dw + vocabulary * d;
    memset(dw, 0, (size_t)(vocabulary * d + vocabulary) * sizeof *dw);
    for (int64_t r = 0; r < n; ++r) {
        const bool scored = weights[r] != 0;
        const double lse = scored ? row_logits(run, r, logits) : 0;
        for (int64_t v = 0; scored && v < vocabulary; ++v) {
            logits[v] = (double)weights[r] * dloss * (exp(logits[v] - lse) - wanted(run, v, targets[r]));
            for (int64_t c = 0; c < d; ++c) dw[v * d + c] += logits[v] * bpt_ref_in(run, 0, r * d + c);
            db[v] += logits[v];
        }
        for (int64_t c = 0; c < d; ++c) {
            double dh = 0;
            for (int64_t v = 0; scored && v < vocabulary; ++v) dh += logits[v] * bpt_ref_in(run, 1, v * d + c);
            bpt_ref_out(run, 2, r * d + c, dh);
        }
    }
    for (int64_t i = 0; i < vocabulary * d; ++i) bpt_ref_out(run, 3, i, dw[i]);
    for (int64_t v = 0; run->out[4] && v < vocabulary; ++v) bpt_ref_out(run, 4, v, db[v]);
}

const bpt_host_op_t bpt_ref_op_XENT = {plan_xent, run_xent};
const bpt_host_op_t bpt_ref_op_XENT_GRAD = {plan_xent_grad, run_xent_grad};
