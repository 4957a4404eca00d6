// Rows of a table by number: read, gradient, write.
#include "backends/ref/ops/element.h"

static bool names_row(uint32_t id, const bpt_operand_t *table) { return id < bpt_ref_rows(table); }

static void run_gather(const bpt_host_run_t *run) {
    const uint32_t *ids = run->in[1];
    const int64_t n = bpt_shape_count(&run->call->in[1].shape), d = bpt_ref_columns(&run->call->in[0]);
    for (int64_t r = 0; r < n; ++r) {
        const bool there = names_row(ids[r], &run->call->in[0]);
        for (int64_t c = 0; c < d; ++c) bpt_ref_out(run, 0, r * d + c, there ? bpt_ref_in(run, 0, ids[r] * d + c) : 0);
    }
}

// Scratch: the sums as double.
static bpt_status_t plan_gather_grad(const bpt_op_call_t *call, int threads, size_t *scratch_bytes) {
    (void)threads;
    *scratch_bytes = (size_t)bpt_shape_count(&call->out[0].shape) * sizeof(double);
    return BPT_OK;
}

static void run_gather_grad(const bpt_host_run_t *run) {
    const uint32_t *ids = run->in[1];
    const int64_t n = bpt_shape_count(&run->call->in[1].shape), d = bpt_ref_columns(&run->call->out[0]);
    const int64_t count = bpt_shape_count(&run->call->out[0].shape);
    double *sum = run->scratch;
    for (int64_t i = 0; i < count; ++i) sum[i] = run->in[2] ? bpt_ref_in(run, 2, i) : 0;
    for (int64_t r = 0; r < n; ++r) {
        if (!names_row(ids[r], &run->call->out[0])) continue;
        for (int64_t c = 0; c < d; ++c) sum[ids[r] * d + c] += bpt_ref_in(run, 0, r * d + c);
    }
    for (int64_t i = 0; i < count; ++i) bpt_ref_out(run, 0, i, sum[i]);
}

static void run_scatter(const bpt_host_run_t *run) {
    const uint32_t *ids = run->in[2];
    const int64_t n = bpt_shape_count(&run->call->in[2].shape), d = bpt_ref_columns(&run->call->in[0]);
    for (int64_t r = 0; r < n; ++r) {
        if (!names_row(ids[r], &run->call->in[0])) continue;
        for (int64_t c = 0; c < d; ++c) bpt_ref_store(run->in[0], run->call->in[0].dtype, ids[r] * d + c, bpt_ref_in(run, 1, r * d + c));
    }
}

const bpt_host_op_t bpt_ref_op_GATHER = {NULL, run_gather};
const bpt_host_op_t bpt_ref_op_GATHER_GRAD = {plan_gather_grad, run_gather_grad};
const bpt_host_op_t bpt_ref_op_SCATTER = {NULL, run_scatter};
