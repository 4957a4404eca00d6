// Attention on CUDA's matrix units: which calls can, and their dispatches (cl/attention/attention_warp.cl).
#include "backends/gpu/lower/attention_warp.h"

enum {
    WARP = 32,
    MOST_LOCAL = 32768,  // bytes of local memory, so that a multiprocessor has several groups
    MOST_HEAD = 128,     // columns of a head: an item has a quarter of a row's results in registers
    SHORT_STEP = 64,     // keys of a step where one of the blueprint's would have more than
    FEW_ENTRIES = 80,    // rows of the table of positions
    NO_ENTRIES = 8,      // where there is no such table
};

static const bpt_blueprint_t *blueprint_of(const bpt_attention_problem_t *a) {
    return &a->l->device->tuning.other[BPT_PROBLEM_ATTENTION_WARPS];
}

static bool heads_fit(const bpt_attention_problem_t *a, const bpt_view_t *result) {
    return blueprint_of(a)->kind == BPT_BLUEPRINT_WARPS && a->t->head_dim % 8 == 0 && a->t->head_dim <= MOST_HEAD &&
           bpt_lower_attention_by_eights(a) && result->offset_bytes % 16 == 0;
}
static bool is_possible(const bpt_attention_problem_t *a) {
    return !a->table && a->t->queries != BPT_QUERIES_ROOTS && bpt_intervals_is_steady(&a->t->graph) && heads_fit(a, &a->out[0]);
}

static void set_constants(const bpt_attention_warps_t *w, uint32_t *constants) {
#define SET(name, value)                                                                 \
    _Static_assert((int)attention_warp_##name == (int)attention_warp_grad_##name &&      \
                       (int)attention_warp_##name == (int)attention_warp_table_##name && \
                       (int)attention_warp_##name == (int)attention_warp_side_##name &&  \
                       (int)attention_warp_##name == (int)attention_warp_keys_##name,    \
                   "the kernels of warps differ in what they share");                    \
    constants[attention_warp_##name] = value
    SET(ROWS_PER_TILE, BPT_ATTENTION_BLOCK);
    SET(RANGES, w->ranges);
    SET(MOST_COLUMNS, w->most_columns);
    SET(KEYS_PER_STEP, w->keys_per_step);
    SET(ENTRIES, w->entries);
#undef SET
}

static bool fits(const bpt_attention_problem_t *a, const bpt_attention_warps_t *w, bpt_gpu_kernel_t kernel) {
    const bpt_gpu_limits_t *limits = &a->l->device->api->limits;
    uint32_t constants[BPT_GPU_MAX_CONSTANTS] = {0};
    set_constants(w, constants);
    return w->entries <= BPT_ATTENTION_CODED_ENTRIES && w->warps * WARP <= limits->max_group_size &&
           bpt_gpu_kernels[kernel].local_bytes(w->warps * WARP, constants) <= (uint64_t)bpt_min(limits->local_bytes, MOST_LOCAL);
}

// As many warps as fit, then a step as long as one with few entries may be.
bpt_attention_warps_t bpt_lower_attention_warps(const bpt_attention_problem_t *a, bpt_gpu_kernel_t kernel) {
    if (!is_possible(a)) return (bpt_attention_warps_t){0};
    const uint32_t *size = blueprint_of(a)->size;
    const int64_t ranges = bpt_round_up(bpt_intervals_most_keys(&a->t->graph), 8);
    bpt_attention_warps_t w = {.ranges = (uint32_t)ranges, .most_columns = (uint32_t)bpt_round_up(a->t->head_dim, 32)};
    for (w.warps = size[BPT_WARPS_GROUP]; w.warps > 0; w.warps /= 2)
        for (uint32_t step = size[BPT_WARPS_KEYS]; step >= SHORT_STEP; step /= 2) {
            w.keys_per_step = step;
            w.entries = (uint32_t)bpt_lower_attention_entries(a, step, ranges);
            w.part = bpt_lower_attention_part(a) / step * step;
            const bool few = w.entries <= FEW_ENTRIES || step == SHORT_STEP;
            if (few && (w.warps == 1 || w.warps <= (uint32_t)a->t->heads) && fits(a, &w, kernel)) return w;
        }
    return (bpt_attention_warps_t){0};
}

// Rows of either side, which have no entries.
static bpt_attention_warps_t of_side(const bpt_attention_problem_t *a, const bpt_view_t *result, bpt_gpu_kernel_t kernel, uint32_t ranges) {
    if (!heads_fit(a, result)) return (bpt_attention_warps_t){0};
    bpt_attention_warps_t w = {.ranges = ranges,
                               .most_columns = (uint32_t)bpt_round_up(a->t->head_dim, 32),
                               .keys_per_step = SHORT_STEP,
                               .entries = NO_ENTRIES};
    for (w.warps = blueprint_of(a)->size[BPT_WARPS_GROUP]; w.warps > 0; w.warps /= 2)
        if ((w.warps == 1 || w.warps <= (uint32_t)a->t->heads) && fits(a, &w, kernel)) return w;
    return (bpt_attention_warps_t){0};
}

bpt_attention_warps_t bpt_lower_attention_table_warps(const bpt_attention_problem_t *a, const bpt_view_t *result, bpt_gpu_kernel_t kernel,
                                                      uint32_t slots) {
    return of_side(a, result, kernel, BPT_ATTENTION_BLOCK * slots);
}

bpt_attention_warps_t bpt_lower_attention_key_warps(const bpt_attention_problem_t *a, uint32_t ranges) {
    return of_side(a, &a->out[a->t->packed ? 0 : 1], BPT_GPU_attention_warp_keys, ranges);
}

void bpt_lower_attention_set_warps(const bpt_attention_warps_t *w, bpt_kernel_call_t *k) {
    k->group_size = w->warps * WARP;
    set_constants(w, k->constants);
}

void bpt_lower_attention_emit_warps(const bpt_attention_problem_t *a, const bpt_attention_warps_t *w, const bpt_attention_piece_t *piece) {
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_warp);
    attention_warp_params_t params = {BPT_ATTENTION_PARAMS(a), BPT_ATTENTION_BLOCK_PARAMS(a, piece)};
    if (a->out[1].present) params.calls |= CALL_LSE;
    bpt_lower_attention_set_warps(w, &k);
    BPT_ATTENTION_INPUTS(k, a, attention_warp);
    k.bindings[attention_warp_result] = a->out[0];
    k.bindings[attention_warp_lse] = a->out[1];
    k.bindings[attention_warp_partial] = piece->partial;
    k.flops = piece->edges * (double)a->d * 6;
    bpt_lower_emit(a->l, &k, &params, a->batch * piece->tiles * piece->parts * bpt_ceil_div(a->t->heads, w->warps));
}

void bpt_lower_attention_emit_warps_grad(const bpt_attention_problem_t *a, const bpt_attention_warps_t *w,
                                         const bpt_attention_piece_t *piece, const bpt_attention_shares_t *shares,
                                         const bpt_attention_key_sums_t *keys, int index, int64_t first_head) {
    const int64_t units = a->batch * piece->tiles * piece->parts, step = shares->groups * shares->turn;
    const int64_t heads = bpt_lower_attention_grad_heads(a, keys, first_head);
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_warp_grad);
    attention_warp_grad_params_t params = {BPT_ATTENTION_PARAMS(a), BPT_ATTENTION_BLOCK_PARAMS(a, piece),
                                           BPT_ATTENTION_BLOCK_GRAD_PARAMS(a, shares, keys, index, first_head, heads)};
    bpt_lower_attention_set_warps(w, &k);
    BPT_ATTENTION_BLOCK_GRAD_CALL(k, a, attention_warp_grad, piece, shares, keys);
    k.constants[attention_warp_grad_KEY_SUMS] = keys->heads > 0;
    k.flops = bpt_lower_attention_grad_flops(a, piece, shares, keys, heads);
    for (int64_t first = 0; first < units; first += step) {
        if (first > 0) bpt_lower_barrier(a->l);
        params.first_unit = (uint32_t)first;
        bpt_lower_emit(a->l, &k, &params, shares->groups * bpt_ceil_div(heads, w->warps));
    }
}
