// Conversion, constant and copy.
#include <string.h>

#include "backends/ref/ops/element.h"

static void run_cast(const bpt_host_run_t *run) {
    const int64_t count = bpt_shape_count(&run->call->in[0].shape);
    for (int64_t i = 0; i < count; ++i) bpt_ref_out(run, 0, i, bpt_ref_in(run, 0, i));
}

static void run_fill(const bpt_host_run_t *run) {
    const int64_t count = bpt_shape_count(&run->call->out[0].shape);
    for (int64_t i = 0; i < count; ++i) bpt_ref_out(run, 0, i, (double)run->attrs->fill.value);
}

static void run_copy(const bpt_host_run_t *run) {
    const bpt_operand_t *from = &run->call->in[0];
    const size_t bytes = (size_t)bpt_shape_count(&from->shape) * bpt_dtype_size(from->dtype);
    if (bytes) memcpy(run->out[0], run->in[0], bytes);
}

const bpt_host_op_t bpt_ref_op_CAST = {NULL, run_cast};
const bpt_host_op_t bpt_ref_op_FILL = {NULL, run_fill};
const bpt_host_op_t bpt_ref_op_COPY = {NULL, run_copy};
