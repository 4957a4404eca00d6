// Products of matrices with an optional addend, bias and epilogue.
#include <string.h>

#include "backends/ref/ops/element.h"
#include "bpt/q8.h"

static int64_t depth(const bpt_op_call_t *call) {
    return call->attrs.matmul.transpose_a ? bpt_ref_rows(&call->in[0]) : bpt_ref_columns(&call->in[0]);
}

// Scratch: op(B) as double [K,N], then one row of sums.
static bpt_status_t plan_matmul(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    *scratch_bytes = (size_t)((depth(call) + 1) * bpt_ref_columns(&call->out[0])) * sizeof(double);
    return BPT_OK;
}

// Element (i, c) of op(B), [k, n].
static double element_of_b(const bpt_host_run_t *run, int64_t i, int64_t c, int64_t k, int64_t n) {
    const bpt_matmul_attrs_t *t = &run->attrs->matmul;
    if (!t->packed_b) return bpt_ref_in(run, 1, t->transpose_b ? c * k + i : i * n + c);
    const uint32_t *row = (const uint32_t *)run->in[1] + c * bpt_q8_words(k);
    return (double)bpt_from_f16(bpt_q8_scales(row)[i / BPT_Q8_BLOCK]) * bpt_q8_bytes(row, k)[i];
}

static void run_matmul(const bpt_host_run_t *run) {
    const bpt_matmul_attrs_t *t = &run->attrs->matmul;
    const int64_t m = bpt_ref_rows(&run->call->out[0]), n = bpt_ref_columns(&run->call->out[0]);
    const int64_t k = depth(run->call);
    double *b = run->scratch, *sum = b + k * n;
    for (int64_t i = 0; i < k; ++i)
        for (int64_t c = 0; c < n; ++c) b[i * n + c] = element_of_b(run, i, c, k, n);
    for (int64_t r = 0; r < m; ++r) {
        memset(sum, 0, (size_t)n * sizeof *sum);
        for (int64_t i = 0; i < k; ++i) {
            const double a = bpt_ref_in(run, 0, t->transpose_a ? i * m + r : r * k + i);
            for (int64_t c = 0; c < n; ++c) sum[c] += a * b[i * n + c];
        }
        for (int64_t c = 0; c < n; ++c) {
            double x = sum[c];
            if (run->in[2]) x += bpt_ref_in(run, 2, r * n + c);
            if (run->in[3]) x += bpt_ref_in(run, 3, c);
            bpt_ref_out(run, 0, r * n + c, bpt_ref_steps(run, &t->epilogue, x, r, c, n));
        }
    }
}

const bpt_host_op_t bpt_ref_op_MATMUL = {plan_matmul, run_matmul};
