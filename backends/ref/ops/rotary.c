// Rotary position embedding.
#include "backends/ref/ops/element.h"

static void run_rotary(const bpt_host_run_t *run) {
    const bpt_rotary_attrs_t *t = &run->attrs->rotary;
    const int64_t rows = bpt_ref_rows(&run->call->in[0]), columns = bpt_ref_columns(&run->call->in[0]), half = t->head_dim / 2;
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
            const int64_t i = r * columns + c, pair = c % t->head_dim;
            if (c >= t->columns) {
                bpt_ref_out(run, 0, i, bpt_ref_in(run, 0, i));
                continue;
            }
            if (pair >= half) continue;  // written with the first of its pair
            const double a = bpt_ref_in(run, 0, i), b = bpt_ref_in(run, 0, i + half), cosine = bpt_ref_in(run, 1, r * t->head_dim + pair);
            const double sine = bpt_ref_in(run, 1, r * t->head_dim + half + pair) * (t->inverse ? -1 : 1);
            bpt_ref_out(run, 0, i, a * cosine - b * sine);
            bpt_ref_out(run, 0, i + half, a * sine + b * cosine);
        }
}

const bpt_host_op_t bpt_ref_op_ROTARY = {NULL, run_rotary};
