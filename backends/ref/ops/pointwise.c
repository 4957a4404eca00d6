// Chains of elementwise steps.
#include <math.h>

#include "backends/ref/ops/element.h"

double bpt_ref_steps(const bpt_host_run_t *run, const bpt_pointwise_attrs_t *steps, double x, int64_t row, int64_t column,
                     int64_t columns) {
    const int64_t i = row * columns + column;
    for (int s = 0; s < steps->n_steps; ++s) {
        const bpt_pointwise_step_t *step = &steps->step[s];
        switch (step->code) {
        case BPT_POINTWISE_ADD: x += bpt_ref_in(run, step->arg, i); break;
        case BPT_POINTWISE_MUL: x *= bpt_ref_in(run, step->arg, i); break;
        case BPT_POINTWISE_ADD_ROW: x += bpt_ref_in(run, step->arg, column); break;
        case BPT_POINTWISE_MUL_SCALAR: x *= bpt_ref_in(run, step->arg, 0); break;
        case BPT_POINTWISE_SCALE: x *= (double)step->c; break;
        case BPT_POINTWISE_RELU: x = x < 0 ? 0 : x; break;  // a NaN stays a NaN
        case BPT_POINTWISE_MASK: x = bpt_ref_in(run, step->arg, i) != 0 ? x * (double)step->c : 0; break;
        case BPT_POINTWISE_ABS: x = fabs(x); break;
        case BPT_POINTWISE_SIGN: {
            const double sign = bpt_ref_in(run, step->arg, i);
            x = sign > 0 ? x : sign < 0 ? -x : 0;
            break;
        }
        case BPT_POINTWISE_SWISH: x /= 1 + exp(-x); break;
        case BPT_POINTWISE_SWISH_SLOPE: {
            const double z = bpt_ref_in(run, step->arg, i), sigmoid = 1 / (1 + exp(-z));
            x *= sigmoid * (1 + z * (1 - sigmoid));
            break;
        }
        case BPT_POINTWISE_DROPOUT: x *= bpt_ref_dropout_at(run, step->c, step->uid, row, column); break;
        }
    }
    return x;
}

static void run_pointwise(const bpt_host_run_t *run) {
    const bpt_operand_t *x = &run->call->in[0];
    const int64_t rows = bpt_ref_rows(x), columns = bpt_ref_columns(x);
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
            const double value = bpt_ref_in(run, 0, r * columns + c);
            bpt_ref_out(run, 0, r * columns + c, bpt_ref_steps(run, &run->attrs->pointwise, value, r, c, columns));
        }
}

const bpt_host_op_t bpt_ref_op_POINTWISE = {NULL, run_pointwise};
