// Layer normalisation and its gradient with a row per work-item, by float4s (see software.h).
#include <stddef.h>

#include "backends/gpu/lower/software/software.h"

enum { GROUP_ROWS = 8 };  // more rows, a power of two apart, would fall on each other in a processor's caches

_Static_assert((int)layernorm_THRESHOLD == (int)layernorm_item_THRESHOLD && (int)layernorm_stats == (int)layernorm_item_stats &&
                   (int)layernorm_grad_THRESHOLD == (int)layernorm_item_grad_THRESHOLD &&
                   (int)layernorm_grad_dx == (int)layernorm_item_grad_dx &&
                   offsetof(layernorm_params_t, uid) == offsetof(layernorm_item_params_t, uid) &&
                   offsetof(layernorm_grad_params_t, uid) == offsetof(layernorm_item_grad_params_t, uid),
               "a layernorm kernel and its twin with a row per work-item differ in what they share");

// Only whole rows by float4s of f32, without a second result or gradient of 16 bits.
static bool is_possible(const bpt_lower_t *l, const bpt_view_t *low) {
    bpt_view_t in[BPT_IN_ROW_KEYS], out[BPT_MAX_OUTPUTS];
    for (int i = 0; i < BPT_IN_ROW_KEYS; ++i) in[i] = bpt_lower_in(l, i);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) out[i] = bpt_lower_out(l, i);
    return bpt_software_reads_texels(l) && !low->present && bpt_columns(&l->call->in[0]) % 4 == 0 &&
           bpt_software_are_by_fours(in, BPT_IN_ROW_KEYS) && bpt_software_are_by_fours(out, BPT_MAX_OUTPUTS);
}

static void emit(bpt_lower_t *l, const bpt_kernel_call_t *k, bpt_gpu_kernel_t kernel, void *params, int64_t rows) {
    bpt_kernel_call_t items = *k;
    items.kernel = kernel;
    items.group_size = GROUP_ROWS;
    bpt_lower_emit_items(l, &items, params, rows);
}

bool bpt_software_layernorm(bpt_lower_t *l, const bpt_kernel_call_t *k, const layernorm_params_t *params, int64_t rows) {
    layernorm_item_params_t p = {
        .columns = params->columns, .eps = params->eps, .keep = params->keep, .uid = params->uid, .rows = (uint32_t)rows};
    if (!is_possible(l, &k->bindings[layernorm_low])) return false;
    emit(l, k, BPT_GPU_layernorm_item, &p, rows);
    return true;
}

bool bpt_software_layernorm_grad(bpt_lower_t *l, const bpt_kernel_call_t *k, const layernorm_grad_params_t *params, int64_t rows) {
    layernorm_item_grad_params_t p = {.columns = params->columns, .keep = params->keep, .uid = params->uid, .rows = (uint32_t)rows};
    if (!is_possible(l, &k->bindings[layernorm_grad_dlow])) return false;
    emit(l, k, BPT_GPU_layernorm_item_grad, &p, rows);
    return true;
}
