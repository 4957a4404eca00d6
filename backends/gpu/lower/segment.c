// Sum, mean or largest of ranges of rows, and its gradient: windows of rows times windows of segments.
#include "backends/gpu/lower/lower.h"

// As many rows as one binding holds and one item may loop over, if all belonged to one segment.
static int64_t rows_at_once(const bpt_lower_t *l, int64_t rows, int64_t d) {
    const uint32_t loops = l->device->api->limits.max_loops;
    const int64_t fit = bpt_lower_window(l, rows, (size_t)d * 4);
    return loops ? bpt_min(fit, loops / 2) : fit;
}

void bpt_lower_SEGMENT(bpt_lower_t *l) {
    const bpt_segment_attrs_t *t = &l->call->attrs.segment;
    const int64_t d = bpt_columns(&l->call->in[0]), segments = bpt_rows(&l->call->in[1]);
    const int64_t rows = rows_at_once(l, t->rows, d), window = bpt_lower_window(l, segments, (size_t)d * 4);
    const bpt_view_t x = bpt_lower_in(l, 0), ranges = bpt_lower_in(l, 1), y = bpt_lower_out(l, 0), place = bpt_lower_out(l, 1);
    const bpt_view_t partial = rows < t->rows ? bpt_lower_scratch(l, BPT_F32, segments * d) : (bpt_view_t){0};
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_segment);
    k.constants[segment_LARGEST] = t->kind == BPT_SEGMENT_MAX;
    k.constants[segment_MEAN] = t->kind == BPT_SEGMENT_MEAN;
    k.constants[segment_HAS_PLACE] = place.present;
    int64_t row = 0;
    do {  // once even without rows: the results are then zero
        const int64_t end = bpt_min(row + rows, t->rows);
        k.constants[segment_FIRST] = row == 0;
        k.constants[segment_LAST] = end == t->rows;
        k.bindings[segment_x] = end > row ? bpt_lower_part(&x, row * d, (end - row) * d) : (bpt_view_t){0};
        if (row) bpt_lower_barrier(l);
        for (int64_t s = 0; s < segments && d; s += window) {
            const int64_t n = bpt_min(window, segments - s);
            segment_params_t p = {.count = (uint32_t)(n * d),
                                  .columns = (uint32_t)d,
                                  .first_row = (uint32_t)row,
                                  .end_row = (uint32_t)end,
                                  .all_rows = (uint32_t)t->rows};
            k.bindings[segment_ranges] = bpt_lower_part(&ranges, 2 * s, 2 * n);
            k.bindings[segment_partial] = bpt_lower_part(&partial, s * d, n * d);
            k.bindings[segment_y] = bpt_lower_part(&y, s * d, n * d);
            k.bindings[segment_place] = bpt_lower_part(&place, s * d, n * d);
            bpt_lower_emit_items(l, &k, &p, n * d);
        }
        row += rows;
    } while (row < t->rows);
}

void bpt_lower_SEGMENT_GRAD(bpt_lower_t *l) {
    const bpt_segment_attrs_t *t = &l->call->attrs.segment;
    const int64_t d = bpt_columns(&l->call->in[0]), segments = bpt_rows(&l->call->in[1]);
    const int64_t rows = rows_at_once(l, t->rows, d), window = bpt_lower_window(l, segments, (size_t)d * 4);
    const bpt_view_t dy = bpt_lower_in(l, 0), ranges = bpt_lower_in(l, 1), place = bpt_lower_in(l, 2), dx = bpt_lower_out(l, 0);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_segment_grad);
    k.constants[segment_grad_LARGEST] = t->kind == BPT_SEGMENT_MAX;
    k.constants[segment_grad_MEAN] = t->kind == BPT_SEGMENT_MEAN;
    bpt_lower_fill(l, &dx, t->rows * d, 0);
    bpt_lower_barrier(l);
    for (int64_t row = 0; row < t->rows && d; row += rows) {
        const int64_t end = bpt_min(row + rows, t->rows);
        k.bindings[segment_grad_dx] = bpt_lower_part(&dx, row * d, (end - row) * d);
        for (int64_t s = 0; s < segments; s += window) {
            const int64_t n = bpt_min(window, segments - s);
            segment_grad_params_t p = {.count = (uint32_t)(n * d),
                                       .columns = (uint32_t)d,
                                       .first_row = (uint32_t)row,
                                       .end_row = (uint32_t)end,
                                       .all_rows = (uint32_t)t->rows};
            k.bindings[segment_grad_dy] = bpt_lower_part(&dy, s * d, n * d);
            k.bindings[segment_grad_ranges] = bpt_lower_part(&ranges, 2 * s, 2 * n);
            k.bindings[segment_grad_place] = bpt_lower_part(&place, s * d, n * d);
            bpt_lower_emit_items(l, &k, &p, n * d);
        }
    }
}
