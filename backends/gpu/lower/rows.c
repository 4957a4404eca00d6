// Addition to a range of rows, window by window.
#include "backends/gpu/lower/lower.h"

void bpt_lower_ADD_ROWS(bpt_lower_t *l) {
    const bpt_rows_attrs_t *t = &l->call->attrs.rows;
    const int64_t d = bpt_columns(&l->call->out[0]), all = t->rows * d, begin = t->row * d, end = begin + bpt_count(&l->call->in[1]);
    const int64_t window = bpt_lower_window(l, all, 4);
    const bpt_view_t a = bpt_lower_in(l, 0), b = bpt_lower_in(l, 1), y = bpt_lower_out(l, 0);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_add_rows);
    k.constants[add_rows_HAS_A] = a.present;
    for (int64_t i = 0; i < all; i += window) {
        const int64_t n = bpt_min(window, all - i);
        const int64_t first = begin > i ? begin : i, last = bpt_min(end, i + n);  // what b covers here
        add_rows_params_t p = {.count = (uint32_t)n};
        k.bindings[add_rows_a] = bpt_lower_part(&a, i, n);
        k.bindings[add_rows_b] = (bpt_view_t){0};
        if (first < last) {
            p.begin = (uint32_t)(first - i), p.end = (uint32_t)(last - i);
            k.bindings[add_rows_b] = bpt_lower_part(&b, first - begin, last - first);
        }
        k.bindings[add_rows_y] = bpt_lower_part(&y, i, n);
        bpt_lower_emit_items(l, &k, &p, n);
    }
}
