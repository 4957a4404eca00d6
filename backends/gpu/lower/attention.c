// attention, attention_grad: the dispatches of a call. The arithmetic is in cl/attention_*.cl. Leaf queries and all keys go by tiles of
// neighbouring nodes, other queries one by one; those in parts leave partial results that a second kernel puts together in order.
#include "backends/gpu/lower/software/attention.h"
#include "backends/gpu/lower/attention_block.h"
#include "backends/gpu/lower/attention_problem.h"
#include "backends/gpu/lower/attention_warp.h"
#include "bpt/rng.h"

typedef bpt_attention_problem_t problem_t;
typedef bpt_attention_piece_t piece_t;
typedef bpt_attention_pieces_t pieces_t;

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- Parameters --------------------------------------------------------------------------------------------------------

#define STRIDES(a)                                                                                                      \
    .head_dim = (uint32_t)(a)->t->head_dim, .q_stride = (uint32_t)(a)->q_stride, .kv_stride = (uint32_t)(a)->kv_stride, \
    .k_offset = (uint32_t)(a)->k_offset
#define CALLS(a, piece) .calls = bpt_lower_attention_calls(a, piece)

// What the kernels for single queries share.
#define COMMON_PARAMS(a, piece)                                                                                                   \
    BPT_ATTENTION_PARAMS(a), STRIDES(a), CALLS(a, piece), .group_heads = (a)->group_heads, .first_node = (int32_t)(piece)->first, \
                                                          .n_nodes = (uint32_t)(piece)->nodes, .parts = (uint32_t)(piece)->parts, \
                                                          .part_keys = (int32_t)(piece)->part_keys

// Bindings and constants that have the same names in both.
#define COMMON_CALL(k, a, kernel)                                 \
    do {                                                          \
        (k).group_size = bpt_lower_attention_group((a)->l);       \
        (k).constants[kernel##_COLUMNS] = (a)->columns;           \
        (k).constants[kernel##_HEADS] = BPT_ATTENTION_MOST_HEADS; \
        (k).constants[kernel##_SCORES] = (a)->scores;             \
        BPT_ATTENTION_INPUTS(k, a, kernel);                       \
    } while (0)

// The same of the kernels for tiles of queries, and of keys, whose level the tile has.
#define TILE_PARAMS(a, tile, piece) \
    BPT_ATTENTION_PARAMS(a), STRIDES(a), CALLS(a, piece), .turn_heads = (tile)->turn_heads, .n_tiles = (uint32_t)(piece)->tiles
#define TILE_CALL(k, a, kernel, tile)                            \
    do {                                                         \
        (k).group_size = (tile)->group_size;                     \
        bpt_lower_attention_tile_constants(tile, (k).constants); \
        BPT_ATTENTION_INPUTS(k, a, kernel);                      \
    } while (0)

// ---- Forward -----------------------------------------------------------------------------------------------------------

static void emit_rows(const problem_t *a, const piece_t *piece) {
    bpt_lower_t *l = a->l;
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_attention_rows);
    attention_rows_params_t params = {COMMON_PARAMS(a, piece), .table_ranges = a->table ? (uint32_t)l->call->in[6].shape.dim[1] : 0};
    if (a->out[1].present) params.calls |= CALL_LSE;
    COMMON_CALL(k, a, attention_rows);
    k.bindings[attention_rows_table] = a->in[6];
    k.bindings[attention_rows_key_codes] = a->in[11];
    k.bindings[attention_rows_result] = a->out[0];
    k.bindings[attention_rows_lse] = a->out[1];
    k.bindings[attention_rows_partial] = piece->partial;
    k.flops = piece->edges * (double)a->d * 6;
    bpt_lower_emit(l, &k, &params, bpt_lower_attention_units(a, piece) * a->head_groups);
}

// Queries by tiles.
static void emit_tiles(const problem_t *a, const bpt_gpu_attention_tile_t *tile, const piece_t *piece) {
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

static bool has_loop_limit(const problem_t *a) { return a->l->device->api->limits.max_loops > 0; }

// The queries of a call, or of its gradient, and the tile of those that go by tiles.
static pieces_t queries_of(const problem_t *a, bool gradient, bpt_gpu_attention_tile_t *tile) {
    const int64_t most = has_loop_limit(a) ? bpt_software_most_keys(a, gradient) : INT32_MAX;
    *tile = (bpt_gpu_attention_tile_t){0};
    if (!a->table && a->t->queries != BPT_QUERIES_ROOTS)
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
                                              : queries_of(a, false, &tile);
    bpt_lower_attention_reserve(a, &queries, a->d + 2 * a->t->heads);
    for (int i = 0; i < queries.count; ++i) {
        if (!queries.piece[i].tiles)
            emit_rows(a, &queries.piece[i]);
        else if (warps->warps)
            bpt_lower_attention_emit_warps(a, warps, &queries.piece[i]);
        else if (block->keys_per_item)
            bpt_lower_attention_emit_block(a, block, &queries.piece[i]);
        else
            emit_tiles(a, &tile, &queries.piece[i]);
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
    if (l->status == BPT_OK) bpt_lower_attention_windows(&a, lower_forward);
}

// ---- Gradient ----------------------------------------------------------------------------------------------------------

typedef struct {
    problem_t a;
    bpt_view_t dots, table_sums;
    int64_t area;  // elements of one private sum of the table
    pieces_t queries, keys;
    pieces_t blocks;                    // the queries that kernels go over: beside those with a gradient those of which keys have one
    bpt_attention_key_sums_t key_sums;  // where blocks of queries have the gradient of keys too
    bpt_attention_warps_t warps;        // of the queries that go by warps,
    bpt_attention_block_t block;        // by blocks without matrix units,
    bpt_gpu_attention_tile_t tile;      // or by tiles
    bpt_gpu_attention_tile_t key_tile;
    int64_t groups[BPT_ATTENTION_MAX_PIECES];  // of the queries' pieces
    int64_t turn[BPT_ATTENTION_MAX_PIECES];    // queries that a group takes in one dispatch
    int64_t first_area[BPT_ATTENTION_MAX_PIECES], areas;
} gradient_t;

enum {
    MAX_TURN = 64,
    MOST_BLOCK_GROUPS = 256,  // with private sums: enough to keep a large GPU busy, times heads
};

// By blocks, a head at a time.
static bool by_blocks(const gradient_t *g) { return g->warps.warps || g->block.keys_per_item; }

static int64_t query_units(const gradient_t *g, int index) {
    const piece_t *piece = &g->blocks.piece[index];
    return piece->tiles ? g->a.batch * piece->tiles * piece->parts : bpt_lower_attention_units(&g->a, piece);
}
// Private sums of the table for a group of queries.
static int64_t head_groups_of(const gradient_t *g, int index) {
    if (g->blocks.piece[index].tiles && by_blocks(g)) return g->a.t->heads;
    return g->blocks.piece[index].tiles ? bpt_ceil_div(g->a.t->heads, g->tile.turn_heads) : g->a.head_groups;
}

// A group takes one query, unless that makes too many private sums of the table. Then a group has several dispatches, turns, that add to
// the same sums, so that none runs for long.
static void share_queries(gradient_t *g) {
    const bpt_gpu_limits_t *limits = &g->a.l->device->api->limits;
    const int64_t share = (int64_t)(limits->memory_bytes / 128);
    const int64_t wanted = share < BPT_ATTENTION_SUM_BYTES ? BPT_ATTENTION_SUM_BYTES : min64(share, 4 * (int64_t)BPT_ATTENTION_SUM_BYTES);
    const int64_t bytes = min64(wanted, (int64_t)(limits->max_binding_bytes / 2));
    int64_t with_rel = 0;
    for (int i = 0; i < g->blocks.count; ++i) with_rel += g->blocks.piece[i].rel;
    g->area = g->a.rel_rows * g->a.t->head_dim;
    for (int i = 0; i < g->blocks.count; ++i) {
        const piece_t *piece = &g->blocks.piece[i];
        const int64_t head_groups = head_groups_of(g, i), units = query_units(g, i);
        const int64_t fits = g->area && with_rel ? bytes / (4 * g->area) / (with_rel * head_groups) : 0;  // groups of heads of a piece
        const int64_t most = by_blocks(g) ? min64(fits, MOST_BLOCK_GROUPS) : fits;
        const bool sums = g->area && piece->rel;
        const int64_t groups = sums && units > most ? (most > 0 ? most : 1) : units;
        const int64_t loops = limits->max_loops;
        const int64_t fit = !loops ? MAX_TURN
                            : piece->tiles && g->block.keys_per_item
                                ? loops / g->block.rounds
                                : bpt_software_most_queries(&g->a, piece, piece->tiles ? &g->tile : NULL);
        g->groups[i] = groups * head_groups;
        g->turn[i] = groups > 0 ? min64(bpt_ceil_div(units, groups), min64(fit, MAX_TURN)) : 1;
        g->first_area[i] = g->areas;
        if (sums) g->areas += g->groups[i];
    }
}

static void emit_dq(const gradient_t *g, int index) {
    const problem_t *a = &g->a;
    const piece_t *piece = &g->blocks.piece[index];
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_dq);
    attention_dq_params_t params = {COMMON_PARAMS(a, piece), .units = (uint32_t)bpt_lower_attention_units(a, piece),
                                    .group_units = (uint32_t)g->turn[index], .rel_rows = (uint32_t)a->rel_rows};
    COMMON_CALL(k, a, attention_dq);
    k.bindings[attention_dq_dy] = a->in[8];
    k.bindings[attention_dq_lse] = a->in[9];
    k.bindings[attention_dq_dots] = g->dots;
    k.bindings[attention_dq_dq] = a->out[0];
    k.bindings[attention_dq_partial] = piece->partial;
    if (g->area && piece->rel)
        k.bindings[attention_dq_drel] = bpt_lower_part(&g->table_sums, g->first_area[index] * g->area, g->groups[index] * g->area);
    const int64_t units = bpt_lower_attention_units(a, piece), step = g->groups[index] / a->head_groups * g->turn[index];
    k.flops = piece->edges * (double)a->d * 10 * (units > step ? (double)step / (double)units : 1);
    for (int64_t first = 0; first < units; first += step) {
        if (first > 0) bpt_lower_barrier(a->l);
        params.first_unit = (uint32_t)first;
        bpt_lower_emit(a->l, &k, &params, g->groups[index]);
    }
}

static void emit_tile_dq(const gradient_t *g, int index) {
    const problem_t *a = &g->a;
    const piece_t *piece = &g->blocks.piece[index];
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_tile_dq);
    const int64_t units = query_units(g, index), step = g->groups[index] / head_groups_of(g, index) * g->turn[index];
    attention_tile_dq_params_t params = {TILE_PARAMS(a, &g->tile, piece),         .units = (uint32_t)units,
                                         .group_units = (uint32_t)g->turn[index], .rel_rows = (uint32_t)a->rel_rows,
                                         .level = (int32_t)piece->level,          .parts = (uint32_t)piece->parts,
                                         .part_nodes = (int32_t)piece->part_keys};
    TILE_CALL(k, a, attention_tile_dq, &g->tile);
    k.bindings[attention_tile_dq_dy] = a->in[8];
    k.bindings[attention_tile_dq_lse] = a->in[9];
    k.bindings[attention_tile_dq_dots] = g->dots;
    k.bindings[attention_tile_dq_dq] = a->out[0];
    k.bindings[attention_tile_dq_partial] = piece->partial;
    if (g->area && piece->rel)
        k.bindings[attention_tile_dq_drel] = bpt_lower_part(&g->table_sums, g->first_area[index] * g->area, g->groups[index] * g->area);
    k.flops = piece->edges * (double)a->d * 10 * (units > step ? (double)step / (double)units : 1);
    for (int64_t first = 0; first < units; first += step) {
        if (first > 0) bpt_lower_barrier(a->l);
        params.first_unit = (uint32_t)first;
        bpt_lower_emit(a->l, &k, &params, g->groups[index]);
    }
}

static void emit_block(const gradient_t *g, int index, int64_t first_head) {
    const piece_t *piece = &g->blocks.piece[index];
    bpt_attention_shares_t shares = {.dots = g->dots, .groups = g->groups[index] / head_groups_of(g, index), .turn = g->turn[index]};
    if (g->area && piece->rel) shares.sums = bpt_lower_part(&g->table_sums, g->first_area[index] * g->area, g->groups[index] * g->area);
    if (g->warps.warps)
        bpt_lower_attention_emit_warps_grad(&g->a, &g->warps, piece, &shares, &g->key_sums, index, first_head);
    else
        bpt_lower_attention_emit_block_grad(&g->a, &g->block, piece, &shares, &g->key_sums, index, first_head);
}

static void emit_dkv(const gradient_t *g, const piece_t *piece) {
    const problem_t *a = &g->a;
    const bpt_gpu_attention_tile_t *tile = &g->key_tile;
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_dkv);
    attention_dkv_params_t params = {TILE_PARAMS(a, tile, piece),          .first_node = (int32_t)piece->first,
                                     .first_level = (int32_t)piece->level, .n_nodes = (uint32_t)piece->nodes,
                                     .parts = (uint32_t)piece->parts,      .part_nodes = (int32_t)piece->part_keys,
                                     .rel_rows = (uint32_t)a->rel_rows};
    TILE_CALL(k, a, attention_dkv, tile);
    k.constants[attention_dkv_PIECES] = tile->most_columns < (uint32_t)a->t->head_dim;
    k.constants[attention_dkv_MATRIX] = tile->matrix;
    k.constants[attention_dkv_TABLE_BLOCKS] = tile->table_blocks;
    k.bindings[attention_dkv_dy] = a->in[8];
    k.bindings[attention_dkv_lse] = a->in[9];
    k.bindings[attention_dkv_dots] = g->dots;
    k.bindings[attention_dkv_dkv] = a->out[a->t->packed ? 0 : 1];
    k.bindings[attention_dkv_partial] = piece->partial;
    k.flops = piece->edges * (double)a->d * 10;
    bpt_lower_emit(a->l, &k, &params, a->batch * piece->tiles * piece->parts * bpt_ceil_div(a->t->heads, tile->turn_heads));
}

// Queries without a gradient, spans whose q is zero and not stored, read keys all the same: blocks that have the gradient of keys go over
// them.
static void set_queries(gradient_t *g) {
    const problem_t *a = &g->a;
    const int64_t part = g->warps.warps ? g->warps.part : g->block.part, ranges = g->warps.warps ? g->warps.ranges : g->block.ranges;
    if (by_blocks(g)) {
        g->queries = bpt_lower_attention_query_tiles(a, BPT_ATTENTION_BLOCK, part, bpt_lower_attention_part(a));
        g->key_sums = bpt_lower_attention_key_sums(a, &g->queries, BPT_ATTENTION_BLOCK, ranges, g->warps.warps ? g->warps.warps : 1,
                                                   g->block.by_fragments ? BPT_ATTENTION_BLOCK : 1);
    } else {
        g->queries = queries_of(a, true, &g->tile);
    }
    const int count = g->queries.count;
    if (a->t->queries == BPT_QUERIES_ALL && a->t->zero_spans) g->queries.count = 1;
    bpt_lower_attention_reserve(a, &g->queries, a->d);
    g->blocks = g->queries;
    for (; g->key_sums.heads && g->blocks.count < count; ++g->blocks.count) g->blocks.piece[g->blocks.count].rel = false;
}

static void set_keys(gradient_t *g) {
    const problem_t *a = &g->a;
    int64_t part = 0;
    if (g->key_sums.heads) {
        g->keys = bpt_lower_attention_summed_keys(a, &g->key_sums);
    } else {
        g->key_tile = bpt_lower_attention_key_tile(a, bpt_lower_attention_part(a), &part);
        if (a->l->status == BPT_OK) g->keys = bpt_lower_attention_keys(a, g->key_tile.rows_per_tile, part);
    }
    bpt_lower_attention_reserve(a, &g->keys, 2 * a->d);
}

static gradient_t gradient_of(const problem_t *a, const bpt_attention_warps_t *warps, const bpt_attention_block_t *block) {
    gradient_t g = {.a = *a, .warps = *warps, .block = *block};
    set_queries(&g);
    set_keys(&g);
    if (a->l->status != BPT_OK) return g;
    g.dots = bpt_lower_attention_dots(a);
    share_queries(&g);
    if (g.areas) g.table_sums = bpt_lower_scratch(a->l, BPT_F32, g.areas * g.area);
    return g;
}

static void emit_blocks(const gradient_t *g, int64_t first_head) {
    for (int i = 0; i < g->blocks.count; ++i) {
        if (!g->blocks.piece[i].tiles)
            emit_dq(g, i);
        else if (by_blocks(g))
            emit_block(g, i, first_head);
        else
            emit_tile_dq(g, i);
        bpt_lower_barrier_of_rows(g->a.l);
    }
}

static void emit_queries_and_keys(const gradient_t *g) {
    emit_blocks(g, 0);
    for (int i = 0; i < g->keys.count; ++i) {
        emit_dkv(g, &g->keys.piece[i]);
        bpt_lower_barrier_of_rows(g->a.l);
    }
}

// Some heads after the other use the same scratch.
static void emit_queries_with_keys(const gradient_t *g) {
    const int64_t heads = g->a.t->heads;
    for (int64_t first = 0; first < heads; first += g->key_sums.heads) {
        emit_blocks(g, first);
        bpt_lower_barrier(g->a.l);
        bpt_lower_attention_emit_key_sums(&g->a, &g->key_sums, &g->keys, first, min64(first + g->key_sums.heads, heads));
        bpt_lower_barrier(g->a.l);
    }
}

static void lower_ways_gradient(const problem_t *a, const bpt_attention_warps_t *warps, const bpt_attention_block_t *block, bool first) {
    bpt_lower_t *l = a->l;
    const gradient_t g = gradient_of(a, warps, block);
    if (l->status != BPT_OK) return;
    bpt_lower_fill(l, &g.table_sums, g.areas * g.area, 0);
    bpt_lower_barrier(l);
    if (g.key_sums.heads)
        emit_queries_with_keys(&g);
    else
        emit_queries_and_keys(&g);
    bpt_lower_barrier(l);
    bpt_lower_attention_sums(a, &g.queries, &g.keys);
    if (!a->out[2].present) return;
    const bpt_view_t drel = a->out[2];
    bpt_lower_sum_rows(l, &g.table_sums, g.areas, g.area, &drel, !first);
}

static void gradient_by_warps(const problem_t *a, bool first) {
    const bpt_attention_warps_t warps = bpt_lower_attention_warps(a, BPT_GPU_attention_warp_grad);
    lower_ways_gradient(a, &warps, &(bpt_attention_block_t){0}, first);
}
static void gradient_by_fragments(const problem_t *a, bool first) {
    const bpt_attention_block_t block = bpt_lower_attention_fragments(a, true);
    lower_ways_gradient(a, &(bpt_attention_warps_t){0}, &block, first);
}
static void gradient_in_registers(const problem_t *a, bool first) {
    const bpt_attention_block_t block = bpt_lower_attention_block(a, true);
    lower_ways_gradient(a, &(bpt_attention_warps_t){0}, &block, first);
}
static void gradient_without_warps(const problem_t *a, bool first) {
    bpt_lower_attention_either(a, first, bpt_lower_attention_fragments(a, true).keys_per_item > 0, gradient_by_fragments,
                               gradient_in_registers);
}

static void lower_rows_gradient(const problem_t *a, bool first) {
    bpt_lower_attention_either(a, first, bpt_lower_attention_warps(a, BPT_GPU_attention_warp_grad).warps > 0, gradient_by_warps,
                               gradient_without_warps);
}

static void lower_gradient(const problem_t *a, bool first) {
    if (bpt_lower_in_software(a->l))
        bpt_software_attention_gradient(a, first, lower_rows_gradient);
    else
        lower_rows_gradient(a, first);
}

void bpt_lower_ATTENTION_GRAD(bpt_lower_t *l) {
    const problem_t a = bpt_lower_attention_problem(l);
    if (l->status == BPT_OK) bpt_lower_attention_windows(&a, a.table ? bpt_lower_attention_table_gradient : lower_gradient);
}
