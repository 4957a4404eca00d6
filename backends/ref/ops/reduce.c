// Sums over columns and of squares.
#include "backends/ref/ops/element.h"

static void run_column_sum(const bpt_host_run_t *run) {
    const int64_t rows = bpt_ref_rows(&run->call->in[0]), columns = bpt_ref_columns(&run->call->in[0]);
    for (int64_t c = 0; c < columns; ++c) {
        double sum = 0;
        for (int64_t r = 0; r < rows; ++r) sum += bpt_ref_in(run, 0, r * columns + c);
        bpt_ref_out(run, 0, c, sum);
    }
}

static void run_square_sum(const bpt_host_run_t *run) {
    const int64_t count = bpt_shape_count(&run->call->in[0].shape);
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += bpt_ref_in(run, 0, i) * bpt_ref_in(run, 0, i);
    bpt_ref_out(run, 0, 0, sum);
}

const bpt_host_op_t bpt_ref_op_COLUMN_SUM = {NULL, run_column_sum};
const bpt_host_op_t bpt_ref_op_SQUARE_SUM = {NULL, run_square_sum};
