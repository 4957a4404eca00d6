// Sum, mean or largest of ranges of rows, and its gradient.
#include <math.h>

#include "backends/ref/ops/element.h"

// The rows of a segment, [*begin, *end): those below R.
static void rows_of(const bpt_host_run_t *run, int64_t segment, int64_t *begin, int64_t *end) {
    const uint32_t *range = (const uint32_t *)run->in[1] + 2 * segment;
    const int64_t rows = run->attrs->segment.rows;
    *begin = range[0];
    *end = range[1] < rows ? range[1] : rows;
    if (*begin >= *end) *begin = *end = 0;
}

static void run_segment(const bpt_host_run_t *run) {
    const int64_t segments = bpt_ref_rows(&run->call->in[1]), d = bpt_ref_columns(&run->call->in[0]);
    uint32_t *places = run->out[1];
    for (int64_t s = 0; s < segments; ++s)
        for (int64_t c = 0; c < d; ++c) {
            int64_t begin, end;
            rows_of(run, s, &begin, &end);
            double sum = 0, largest = 0;
            uint32_t place = BPT_NO_ROW;
            for (int64_t r = begin; r < end; ++r) {
                const double x = bpt_ref_in(run, 0, r * d + c);
                sum += x;
                if (place == BPT_NO_ROW || (!(x <= largest) && !isnan(largest))) largest = x, place = (uint32_t)r;  // a NaN wins
            }
            switch (run->attrs->segment.kind) {
            case BPT_SEGMENT_SUM: bpt_ref_out(run, 0, s * d + c, sum); break;
            case BPT_SEGMENT_MEAN: bpt_ref_out(run, 0, s * d + c, end > begin ? sum / (double)(end - begin) : 0); break;
            case BPT_SEGMENT_MAX: bpt_ref_out(run, 0, s * d + c, largest); break;
            }
            if (places) places[s * d + c] = place;
        }
}

static void run_segment_grad(const bpt_host_run_t *run) {
    const int64_t segments = bpt_ref_rows(&run->call->in[1]), d = bpt_ref_columns(&run->call->in[0]), rows = run->attrs->segment.rows;
    const uint32_t *places = run->in[2];
    for (int64_t i = 0; i < rows * d; ++i) bpt_ref_out(run, 0, i, 0);
    for (int64_t s = 0; s < segments; ++s)
        for (int64_t c = 0; c < d; ++c) {
            int64_t begin, end;
            rows_of(run, s, &begin, &end);
            const double dy = bpt_ref_in(run, 0, s * d + c);
            for (int64_t r = begin; r < end; ++r) switch (run->attrs->segment.kind) {
                case BPT_SEGMENT_SUM: bpt_ref_out(run, 0, r * d + c, dy); break;
                case BPT_SEGMENT_MEAN: bpt_ref_out(run, 0, r * d + c, dy / (double)(end - begin)); break;
                case BPT_SEGMENT_MAX:
                    if (places[s * d + c] == (uint32_t)r) bpt_ref_out(run, 0, r * d + c, dy);
                    break;
                }
        }
}

const bpt_host_op_t bpt_ref_op_SEGMENT = {NULL, run_segment};
const bpt_host_op_t bpt_ref_op_SEGMENT_GRAD = {NULL, run_segment_grad};
