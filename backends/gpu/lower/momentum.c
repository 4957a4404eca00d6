// What Muon does beside its products, window by window.
#include "backends/gpu/lower/lower.h"

void bpt_lower_MOMENTUM(bpt_lower_t *l) {
    const bpt_momentum_attrs_t *t = &l->call->attrs.momentum;
    const int64_t all = bpt_count(&l->call->in[0]), window = bpt_lower_window(l, all, 4);
    const bpt_view_t gradient = bpt_lower_in(l, 0), first = bpt_lower_in(l, 1);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_momentum);
    k.constants[momentum_NESTEROV] = t->nesterov;
    k.bindings[momentum_hyper] = bpt_lower_in(l, 2);
    k.bindings[momentum_square_sum] = bpt_lower_in(l, 3);
    for (int64_t i = 0; i < all; i += window) {
        const int64_t n = bpt_min(window, all - i);
        momentum_params_t p = {.count = (uint32_t)n, .momentum = t->momentum};
        k.bindings[momentum_gradient] = bpt_lower_part(&gradient, i, n);
        k.bindings[momentum_first] = bpt_lower_part(&first, i, n);
        bpt_lower_emit_items(l, &k, &p, n);
    }
}

void bpt_lower_NORMALIZE(bpt_lower_t *l) {
    const int64_t all = bpt_count(&l->call->in[0]), window = bpt_lower_window(l, all, 4);
    const bpt_view_t x = bpt_lower_in(l, 0), y = bpt_lower_out(l, 0);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_unit_norm);
    k.bindings[unit_norm_square_sum] = bpt_lower_in(l, 1);
    for (int64_t i = 0; i < all; i += window) {
        const int64_t n = bpt_min(window, all - i);
        unit_norm_params_t p = {.count = (uint32_t)n, .eps = l->call->attrs.normalize.eps};
        k.bindings[unit_norm_x] = bpt_lower_part(&x, i, n);
        k.bindings[unit_norm_y] = bpt_lower_part(&y, i, n);
        bpt_lower_emit_items(l, &k, &p, n);
    }
}

void bpt_lower_DESCEND(bpt_lower_t *l) {
    const bpt_descend_attrs_t *t = &l->call->attrs.descend;
    const int64_t all = bpt_count(&l->call->in[0]), window = bpt_lower_window(l, all, 4);
    const bpt_view_t value = bpt_lower_in(l, 0), direction = bpt_lower_in(l, 1);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_descend);
    k.bindings[descend_hyper] = bpt_lower_in(l, 2);
    k.bindings[descend_square_sum] = bpt_lower_in(l, 3);
    for (int64_t i = 0; i < all; i += window) {
        const int64_t n = bpt_min(window, all - i);
        descend_params_t p = {.count = (uint32_t)n, .weight_decay = t->weight_decay, .lr_scale = t->lr_scale};
        k.bindings[descend_value] = bpt_lower_part(&value, i, n);
        k.bindings[descend_direction] = bpt_lower_part(&direction, i, n);
        bpt_lower_emit_items(l, &k, &p, n);
    }
}
