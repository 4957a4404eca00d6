// Products of matrices with an optional addend, bias and epilogue.
#include <string.h>

#include "backends/ref/ops/element.h"

// Scratch: op(B) as double [K,N], then one row of sums.
static bpt_status_t plan_matmul(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    *scratch_bytes = ((size_t)bpt_shape_count(&call->in[1].shape) + (size_t)bpt_ref_columns(&call->out[0])) * sizeof(double);
    return BPT_OK;
}

static void run_matmul(const bpt_host_run_t *run) {
    const bpt_matmul_attrs_t *t = &run->attrs->matmul;
    const int64_t m = bpt_ref_rows(&run->call->out[0]), n = bpt_ref_columns(&run->call->out[0]);
    const int64_t k = t->transpose_a ? bpt_ref_rows(&run->call->in[0]) : bpt_ref_columns(&run->call->in[0]);
    double *b = run->scratch, *sum = b + k * n;
    for (int64_t i = 0; i < k; ++i)
        for (int64_t c = 0; c < n; ++c) b[i * n + c] = bpt_ref_in(run, 1, t->transpose_b ? c * k + i : i * n + c);
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
