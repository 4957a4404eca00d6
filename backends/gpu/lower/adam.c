// The optimiser's update and gradient accumulation, window by window.
#include "backends/gpu/gpu.h"

static bool by_fours(const bpt_lower_t *l, int64_t count) {
    bool fours = bpt_lower_prefers_items(l) && count % 4 == 0;
    for (int slot = 0; slot < 4 && fours; ++slot) {
        const bpt_view_t view = bpt_lower_in(l, slot);
        fours = bpt_lower_is_by_fours(&view);
    }
    return fours;
}

static void adam_by_fours(bpt_lower_t *l, int64_t all, int64_t window) {
    const bpt_adam_attrs_t *t = &l->call->attrs.adam;
    const bpt_view_t value = bpt_lower_in(l, 0), gradient = bpt_lower_in(l, 1), first = bpt_lower_in(l, 2), second = bpt_lower_in(l, 3);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_adam_fours);
    k.constants[adam_fours_DECOUPLED] = t->decoupled;
    k.bindings[adam_fours_hyper] = bpt_lower_in(l, 4);
    k.bindings[adam_fours_square_sum] = bpt_lower_in(l, 5);
    for (int64_t i = 0; i < all; i += window) {
        const int64_t n = bpt_min(window, all - i);
        adam_fours_params_t p = {.count4 = (uint32_t)(n / 4),
                                 .beta1 = t->beta1,
                                 .beta2 = t->beta2,
                                 .eps = t->eps,
                                 .weight_decay = t->weight_decay,
                                 .lr_scale = t->lr_scale};
        k.bindings[adam_fours_value] = k.bindings[adam_fours_old_value] = bpt_lower_part(&value, i, n);
        k.bindings[adam_fours_gradient] = bpt_lower_part(&gradient, i, n);
        k.bindings[adam_fours_first] = k.bindings[adam_fours_old_first] = bpt_lower_part(&first, i, n);
        k.bindings[adam_fours_second] = k.bindings[adam_fours_old_second] = bpt_lower_part(&second, i, n);
        bpt_lower_emit_items(l, &k, &p, n / 4);
    }
}

void bpt_lower_ADAM(bpt_lower_t *l) {
    const bpt_adam_attrs_t *t = &l->call->attrs.adam;
    const int64_t all = bpt_count(&l->call->in[0]), window = bpt_lower_window(l, all, 4);
    if (by_fours(l, all)) {
        adam_by_fours(l, all, window < all ? window / 4 * 4 : window);
        return;
    }
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_adam);
    k.constants[adam_DECOUPLED] = t->decoupled;
    k.bindings[adam_hyper] = bpt_lower_in(l, 4);
    k.bindings[adam_square_sum] = bpt_lower_in(l, 5);
    for (int64_t i = 0; i < all; i += window) {
        const int64_t n = bpt_min(window, all - i);
        adam_params_t p = {.count = (uint32_t)n,
                           .beta1 = t->beta1,
                           .beta2 = t->beta2,
                           .eps = t->eps,
                           .weight_decay = t->weight_decay,
                           .lr_scale = t->lr_scale};
        for (int slot = 0; slot < 4; ++slot) {
            const bpt_view_t view = bpt_lower_in(l, slot);
            k.bindings[adam_value + slot] = bpt_lower_part(&view, i, n);
        }
        bpt_lower_emit_items(l, &k, &p, n);
    }
}

void bpt_lower_ACCUMULATE(bpt_lower_t *l) {
    const int64_t all = bpt_count(&l->call->in[0]), window = bpt_lower_window(l, all, 4);
    const bpt_view_t acc = bpt_lower_in(l, 0), x = bpt_lower_in(l, 1);
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_accumulate);
    k.bindings[accumulate_keep] = bpt_lower_in(l, 2);
    for (int64_t i = 0; i < all; i += window) {
        const int64_t n = bpt_min(window, all - i);
        accumulate_params_t p = {.count = (uint32_t)n};
        k.bindings[accumulate_acc] = bpt_lower_part(&acc, i, n);
        k.bindings[accumulate_x] = bpt_lower_part(&x, i, n);
        bpt_lower_emit_items(l, &k, &p, n);
    }
}
