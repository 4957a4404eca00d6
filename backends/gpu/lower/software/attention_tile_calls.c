// Attention by tiles of neighbouring nodes: the dispatches of the kernels that include cl/software/tiles.h.
#include "backends/gpu/lower/software/attention_tile.h"

typedef bpt_attention_problem_t problem_t;
typedef bpt_attention_piece_t piece_t;

// What the kernels share.
#define TILE_PARAMS(a, tile, piece) \
    BPT_ATTENTION_PARAMS(a), BPT_ATTENTION_STRIDES(a, piece), .turn_heads = (tile)->turn_heads, .n_tiles = (uint32_t)(piece)->tiles
#define TILE_CALL(k, a, kernel, tile)                            \
    do {                                                         \
        (k).group_size = (tile)->group_size;                     \
        bpt_lower_attention_tile_constants(tile, (k).constants); \
        BPT_ATTENTION_INPUTS(k, a, kernel);                      \
    } while (0)

void bpt_lower_attention_emit_tiles(const problem_t *a, const bpt_gpu_attention_tile_t *tile, const piece_t *piece) {
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_tile);
    attention_tile_params_t params = {TILE_PARAMS(a, tile, piece), .level = (int32_t)piece->level, .parts = (uint32_t)piece->parts,
                                      .part_nodes = (int32_t)piece->part_keys};
    if (a->out[1].present) params.calls |= CALL_LSE;
    TILE_CALL(k, a, attention_tile, tile);
    k.bindings[attention_tile_result] = a->out[0];
    k.bindings[attention_tile_lse] = a->out[1];
    k.bindings[attention_tile_partial] = piece->partial;
    k.flops = piece->edges * (double)a->d * 6;
    bpt_lower_emit(a->l, &k, &params, a->batch * piece->tiles * piece->parts * bpt_ceil_div(a->t->heads, tile->turn_heads));
}

void bpt_lower_attention_emit_tile_dq(const problem_t *a, const bpt_gpu_attention_tile_t *tile, const piece_t *piece,
                                      const bpt_attention_shares_t *shares) {
    const int64_t units = a->batch * piece->tiles * piece->parts, step = shares->groups * shares->turn;
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_tile_dq);
    attention_tile_dq_params_t params = {TILE_PARAMS(a, tile, piece),
                                         .units = (uint32_t)units,
                                         .group_units = (uint32_t)shares->turn,
                                         .rel_rows = (uint32_t)a->rel_rows,
                                         .level = (int32_t)piece->level,
                                         .parts = (uint32_t)piece->parts,
                                         .part_nodes = (int32_t)piece->part_keys};
    TILE_CALL(k, a, attention_tile_dq, tile);
    k.bindings[attention_tile_dq_dy] = a->in[8];
    k.bindings[attention_tile_dq_lse] = a->in[9];
    k.bindings[attention_tile_dq_dots] = shares->dots;
    k.bindings[attention_tile_dq_dq] = a->out[0];
    k.bindings[attention_tile_dq_partial] = piece->partial;
    k.bindings[attention_tile_dq_drel] = shares->sums;
    k.flops = piece->edges * (double)a->d * 10 * (units > step ? (double)step / (double)units : 1);
    for (int64_t first = 0; first < units; first += step) {
        if (first > 0) bpt_lower_barrier(a->l);
        params.first_unit = (uint32_t)first;
        bpt_lower_emit(a->l, &k, &params, shares->groups * bpt_ceil_div(a->t->heads, tile->turn_heads));
    }
}

void bpt_lower_attention_emit_dkv(const problem_t *a, const bpt_gpu_attention_tile_t *tile, const piece_t *piece, const bpt_view_t *dots) {
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_dkv);
    attention_dkv_params_t params = {TILE_PARAMS(a, tile, piece),          .first_node = (int32_t)piece->first,
                                     .first_level = (int32_t)piece->level, .n_nodes = (uint32_t)piece->nodes,
                                     .parts = (uint32_t)piece->parts,      .part_nodes = (int32_t)piece->part_keys,
                                     .rel_rows = (uint32_t)a->rel_rows};
    TILE_CALL(k, a, attention_dkv, tile);
    k.constants[attention_dkv_PIECES] = tile->most_columns < (uint32_t)a->t->head_dim;
    k.bindings[attention_dkv_dy] = a->in[8];
    k.bindings[attention_dkv_lse] = a->in[9];
    k.bindings[attention_dkv_dots] = *dots;
    k.bindings[attention_dkv_dkv] = a->out[a->t->packed ? 0 : 1];
    k.bindings[attention_dkv_partial] = piece->partial;
    k.flops = piece->edges * (double)a->d * 10;
    bpt_lower_emit(a->l, &k, &params, a->batch * piece->tiles * piece->parts * bpt_ceil_div(a->t->heads, tile->turn_heads));
}
