// attention: the dispatches of a call. The arithmetic is in cl/attention_*.cl. Leaves and spans go by blocks of neighbouring queries, on
// processors by tiles of them, other queries one by one; those in parts leave partial results that a second kernel puts together in order.
#include "backends/gpu/lower/software/attention.h"
#include "backends/gpu/lower/attention_block.h"
#include "backends/gpu/lower/attention_problem.h"
#include "backends/gpu/lower/attention_warp.h"
#include "backends/gpu/lower/software/attention_tile.h"
#include "bpt/rng.h"

typedef bpt_attention_problem_t problem_t;
typedef bpt_attention_piece_t piece_t;
typedef bpt_attention_pieces_t pieces_t;

pieces_t bpt_lower_attention_rows_or_tiles(const problem_t *a, bool gradient, bpt_gpu_attention_tile_t *tile) {
    const int64_t most = a->l->device->api->limits.max_loops ? bpt_software_most_keys(a, gradient) : INT32_MAX;
    *tile = (bpt_gpu_attention_tile_t){0};
    if (bpt_lower_attention_tiles_chosen(a) && a->t->queries != BPT_QUERIES_ROOTS)
        *tile = bpt_lower_attention_tile(a, gradient ? BPT_GPU_attention_tile_dq : BPT_GPU_attention_tile);
    return tile->rows_per_tile
               ? bpt_lower_attention_query_tiles(a, tile->rows_per_tile, tile->part, bpt_min(bpt_lower_attention_part(a), most))
               : bpt_lower_attention_queries(a, most);
}

static void lower_queries(const problem_t *a, const bpt_attention_warps_t *warps, const bpt_attention_block_t *block) {
    const int64_t most = bpt_lower_attention_part(a);
    bpt_gpu_attention_tile_t tile;
    pieces_t queries = warps->warps           ? bpt_lower_attention_query_tiles(a, BPT_ATTENTION_BLOCK, warps->part, most)
                       : block->keys_per_item ? bpt_lower_attention_query_tiles(a, BPT_ATTENTION_BLOCK, block->part, most)
                                              : bpt_lower_attention_rows_or_tiles(a, false, &tile);
    bpt_lower_attention_reserve(a, &queries, a->d + 2 * a->t->heads);
    for (int i = 0; i < queries.count; ++i) {
        if (!queries.piece[i].tiles)
            bpt_lower_attention_emit_rows(a, &queries.piece[i]);
        else if (warps->warps)
            bpt_lower_attention_emit_warps(a, warps, &queries.piece[i]);
        else if (block->keys_per_item)
            bpt_lower_attention_emit_block(a, block, &queries.piece[i]);
        else
            bpt_lower_attention_emit_tiles(a, &tile, &queries.piece[i]);
        bpt_lower_barrier_of_rows(a->l);
    }
    bpt_lower_barrier(a->l);
    bpt_lower_attention_merge(a, &queries);
}

static void rows_by_warps(const problem_t *a, bool first) {
    (void)first;
    const bpt_attention_warps_t warps = bpt_lower_attention_warps(a, BPT_GPU_attention_warp);
    lower_queries(a, &warps, &(bpt_attention_block_t){0});
}
static void rows_by_fragments(const problem_t *a, bool first) {
    (void)first;
    const bpt_attention_block_t block = bpt_lower_attention_fragments(a, false);
    lower_queries(a, &(bpt_attention_warps_t){0}, &block);
}
static void rows_in_registers(const problem_t *a, bool first) {
    (void)first;
    const bpt_attention_block_t block = bpt_lower_attention_block(a, false);
    lower_queries(a, &(bpt_attention_warps_t){0}, &block);
}
static void rows_without_warps(const problem_t *a, bool first) {
    bpt_lower_attention_either(a, first, bpt_lower_attention_fragments(a, false).keys_per_item > 0, rows_by_fragments, rows_in_registers);
}

static void lower_rows(const problem_t *a, bool first) {
    bpt_lower_attention_either(a, first, bpt_lower_attention_warps(a, BPT_GPU_attention_warp).warps > 0, rows_by_warps, rows_without_warps);
}

static void lower_forward(const problem_t *a, bool first) {
    if (bpt_lower_in_software(a->l))
        bpt_software_attention(a, first, lower_rows);
    else
        lower_rows(a, first);
}

void bpt_lower_ATTENTION(bpt_lower_t *l) {
    const problem_t a = bpt_lower_attention_problem(l);
    if (l->status == BPT_OK) bpt_lower_attention_windows(&a, a.table ? bpt_lower_attention_table : lower_forward);
}
