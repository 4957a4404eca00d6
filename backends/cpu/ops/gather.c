// gather, gather_grad, scatter. An id beyond the table names no row (ops.h), so bad data never reads or writes outside it.
#include <string.h>

#include "backends/cpu/cpu.h"

enum { ROWS = 32 };

static void gather_rows(const void *context, int64_t block, int thread) {
    (void)thread;
    const bpt_host_run_t *run = context;
    const bpt_operand_t *table = &run->call->in[0], *out = &run->call->out[0];
    const uint32_t *ids = run->in[1];
    const int64_t n = bpt_shape_count(&run->call->in[1].shape), d = bpt_shape_columns(&table->shape), v = bpt_shape_rows(&table->shape);
    const size_t from_bytes = (size_t)d * bpt_dtype_size(table->dtype), to_bytes = (size_t)d * bpt_dtype_size(out->dtype);
    for (int64_t r = block * ROWS; r < bpt_cpu_min((block + 1) * ROWS, n); ++r) {
        char *to = (char *)run->out[0] + (size_t)r * to_bytes;
        if (ids[r] < v)
            bpt_cpu_convert_piece(to, out->dtype, (const char *)run->in[0] + ids[r] * from_bytes, table->dtype, d);
        else
            memset(to, 0, to_bytes);
    }
}

static void run_gather(const bpt_host_run_t *run) {
    bpt_team_for(run->team, bpt_cpu_blocks(bpt_shape_count(&run->call->in[1].shape), ROWS), gather_rows, run);
}

static int64_t slice_width(const bpt_host_run_t *run, int64_t d) { return (bpt_cpu_blocks(d, bpt_team_threads(run->team)) + 15) / 16 * 16; }

static void add_slice(const void *context, int64_t slice, int thread) {
    (void)thread;
    const bpt_host_run_t *run = context;
    const bpt_cpu_kernels_t *k = bpt_cpu_kernels();
    const uint32_t *ids = run->in[1];
    const bpt_dtype_t dtype = run->call->in[0].dtype;
    const size_t size = bpt_dtype_size(dtype);
    const int64_t n = bpt_shape_count(&run->call->in[1].shape);
    const int64_t v = bpt_shape_rows(&run->call->out[0].shape), d = bpt_shape_columns(&run->call->out[0].shape);
    const float *acc = run->in[2];
    float *out = run->out[0];
    const int64_t width = slice_width(run, d), first = slice * width, count = bpt_cpu_min(width, d - first);
    for (int64_t row = 0; row < v && acc != out; ++row) {
        if (acc)
            memcpy(out + row * d + first, acc + row * d + first, (size_t)count * sizeof *out);
        else
            memset(out + row * d + first, 0, (size_t)count * sizeof *out);
    }
    for (int64_t r = 0; r < n; ++r)
        if (ids[r] < v) k->add(out + ids[r] * d + first, (const char *)run->in[0] + (size_t)(r * d + first) * size, dtype, count);
}

// A slice is some columns of the table; it walks all rows, so every sum is made in the order of the rows.
static void run_gather_grad(const bpt_host_run_t *run) {
    const int64_t d = bpt_shape_columns(&run->call->out[0].shape);
    if (d) bpt_team_for(run->team, bpt_cpu_blocks(d, slice_width(run, d)), add_slice, run);
}

static void scatter_rows(const void *context, int64_t block, int thread) {
    (void)thread;
    const bpt_host_run_t *run = context;
    const bpt_operand_t *table = &run->call->in[0], *x = &run->call->in[1];
    const uint32_t *ids = run->in[2];
    const int64_t n = bpt_shape_count(&run->call->in[2].shape), d = bpt_shape_columns(&table->shape), v = bpt_shape_rows(&table->shape);
    const size_t to_bytes = (size_t)d * bpt_dtype_size(table->dtype), from_bytes = (size_t)d * bpt_dtype_size(x->dtype);
    for (int64_t r = block * ROWS; r < bpt_cpu_min((block + 1) * ROWS, n); ++r)
        if (ids[r] < v)
            bpt_cpu_convert_piece((char *)run->in[0] + ids[r] * to_bytes, table->dtype, (const char *)run->in[1] + (size_t)r * from_bytes,
                                  x->dtype, d);
}

static void run_scatter(const bpt_host_run_t *run) {
    bpt_team_for(run->team, bpt_cpu_blocks(bpt_shape_count(&run->call->in[2].shape), ROWS), scatter_rows, run);
}

const bpt_host_op_t bpt_cpu_op_GATHER = {NULL, run_gather};
const bpt_host_op_t bpt_cpu_op_GATHER_GRAD = {NULL, run_gather_grad};
const bpt_host_op_t bpt_cpu_op_SCATTER = {NULL, run_scatter};
