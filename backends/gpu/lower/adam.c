// The optimiser's update and gradient accumulation, window by window.
#include "backends/gpu/lower/lower.h"
#include "backends/gpu/lower/software/software.h"

void bpt_lower_ADAM(bpt_lower_t *l) {
    const bpt_adam_attrs_t *t = &l->call->attrs.adam;
    const int64_t all = bpt_count(&l->call->in[0]), fit = bpt_lower_window(l, all, 4), window = fit > 4 ? fit / 4 * 4 : fit;
    const bpt_view_t views[4] = {bpt_lower_in(l, 0), bpt_lower_in(l, 1), bpt_lower_in(l, 2), bpt_lower_in(l, 3)};
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
        for (int slot = 0; slot < 4; ++slot) k.bindings[adam_value + slot] = bpt_lower_part(&views[slot], i, n);
        if (bpt_lower_in_software(l) && bpt_software_adam(l, &k, &p)) continue;
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
