// Conversion, constant and copy, window by window.
#include "backends/gpu/lower/lower.h"

void bpt_lower_convert(bpt_lower_t *l, const bpt_view_t *from, const bpt_view_t *to, int64_t all) {
    const int64_t window = bpt_lower_window(l, all, 4);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_pointwise);
    for (int64_t i = 0; i < all; i += window) {
        const int64_t n = bpt_min(window, all - i);
        pointwise_params_t p = {.count = (uint32_t)n, .columns = (uint32_t)n};
        k.bindings[pointwise_x] = bpt_lower_part(from, i, n);
        k.bindings[pointwise_y] = bpt_lower_part(to, i, n);
        bpt_lower_emit_items(l, &k, &p, n);
    }
}

void bpt_lower_copy(bpt_lower_t *l, const bpt_view_t *from, const bpt_view_t *to, int64_t all) {
    if (bpt_dtype_size(from->dtype) != 4) {  // a conversion to the same type: pairs of elements may straddle words
        bpt_lower_convert(l, from, to, all);
        return;
    }
    const int64_t window = bpt_lower_window(l, all, 4);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_copy);
    for (int64_t i = 0; i < all; i += window) {
        const int64_t n = bpt_min(window, all - i);
        copy_params_t p = {.count = (uint32_t)n};
        k.bindings[copy_x] = bpt_lower_part(from, i, n);
        k.bindings[copy_y] = bpt_lower_part(to, i, n);
        bpt_lower_emit_items(l, &k, &p, n);
    }
}

void bpt_lower_CAST(bpt_lower_t *l) {
    const bpt_view_t from = bpt_lower_in(l, 0), to = bpt_lower_out(l, 0);
    bpt_lower_convert(l, &from, &to, bpt_count(&l->call->in[0]));
}

void bpt_lower_COPY(bpt_lower_t *l) {
    const bpt_view_t from = bpt_lower_in(l, 0), to = bpt_lower_out(l, 0);
    bpt_lower_copy(l, &from, &to, bpt_count(&l->call->in[0]));
}

void bpt_lower_fill(bpt_lower_t *l, const bpt_view_t *to, int64_t count, float value) {
    const int64_t window = bpt_lower_window(l, count, 4);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_fill);
    for (int64_t i = 0; i < count; i += window) {
        const int64_t n = bpt_min(window, count - i);
        fill_params_t p = {.count = (uint32_t)n, .value = value};
        k.bindings[fill_result] = bpt_lower_part(to, i, n);
        bpt_lower_emit_items(l, &k, &p, n);
    }
}

void bpt_lower_FILL(bpt_lower_t *l) {
    const bpt_view_t to = bpt_lower_out(l, 0);
    bpt_lower_fill(l, &to, bpt_count(&l->call->out[0]), l->call->attrs.fill.value);
}
