// Rotary position embedding, window by window of rows.
#include "backends/gpu/lower/lower.h"

void bpt_lower_ROTARY(bpt_lower_t *l) {
    const bpt_rotary_attrs_t *t = &l->call->attrs.rotary;
    const int64_t rows = bpt_rows(&l->call->in[0]), columns = bpt_columns(&l->call->in[0]), items = columns - t->columns / 2;
    const int64_t window = bpt_lower_window(l, rows, (size_t)columns * 4);
    const bpt_view_t x = bpt_lower_in(l, 0), angles = bpt_lower_in(l, 1), y = bpt_lower_out(l, 0);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_rotary);
    for (int64_t row = 0; row < rows && columns; row += window) {
        const int64_t n = bpt_min(window, rows - row);
        rotary_params_t p = {.count = (uint32_t)(n * items),
                             .columns = (uint32_t)columns,
                             .turned = (uint32_t)t->columns,
                             .head_dim = (uint32_t)t->head_dim,
                             .sign = t->inverse ? -1.0f : 1.0f};
        k.bindings[rotary_x] = bpt_lower_part(&x, row * columns, n * columns);
        k.bindings[rotary_angles] = bpt_lower_part(&angles, row * t->head_dim, n * t->head_dim);
        k.bindings[rotary_y] = bpt_lower_part(&y, row * columns, n * columns);
        bpt_lower_emit_items(l, &k, &p, n * items);
    }
}
