// Addition to a range of rows.
#include "backends/ref/ops/element.h"

static void run_add_rows(const bpt_host_run_t *run) {
    const bpt_rows_attrs_t *t = &run->attrs->rows;
    const int64_t d = bpt_ref_columns(&run->call->out[0]), end = t->row + bpt_ref_rows(&run->call->in[1]);
    for (int64_t r = 0; r < t->rows; ++r)
        for (int64_t c = 0; c < d; ++c) {
            double x = run->in[0] ? bpt_ref_in(run, 0, r * d + c) : 0;
            if (r >= t->row && r < end) x += bpt_ref_in(run, 1, (r - t->row) * d + c);
            bpt_ref_out(run, 0, r * d + c, x);
        }
}

const bpt_host_op_t bpt_ref_op_ADD_ROWS = {NULL, run_add_rows};
