// attention_grad of a graph that a rule makes: the dispatches of a call. Queries go by blocks, by tiles or one by one, as forward; the
// gradient of keys comes from what blocks leave of it, or from blocks or tiles of keys.
#include "backends/gpu/lower/attention_block.h"
#include "backends/gpu/lower/attention_block_keys.h"
#include "backends/gpu/lower/attention_warp.h"
#include "backends/gpu/lower/software/attention.h"
#include "backends/gpu/lower/software/attention_tile.h"

typedef bpt_attention_problem_t problem_t;
typedef bpt_attention_piece_t piece_t;
typedef bpt_attention_pieces_t pieces_t;

typedef struct {
    problem_t a;
    bpt_view_t dots, table_sums;
    int64_t area;  // elements of one private sum of the table
    pieces_t queries, keys;
    pieces_t blocks;                       // the queries that kernels go over: beside those with a gradient those of which keys have one
    bpt_attention_key_sums_t key_sums;     // where blocks of queries have the gradient of keys too
    bpt_attention_warps_t warps;           // of the queries that go by warps,
    bpt_attention_block_t block;           // by blocks without matrix units,
    bpt_gpu_attention_tile_t tile;         // or by tiles
    bpt_gpu_attention_tile_t key_tile;     // of keys by tiles,
    bpt_attention_block_keys_t key_block;  // or by blocks
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
    const int64_t wanted = share < BPT_ATTENTION_SUM_BYTES ? BPT_ATTENTION_SUM_BYTES : bpt_min(share, 4 * (int64_t)BPT_ATTENTION_SUM_BYTES);
    const int64_t bytes = bpt_min(wanted, (int64_t)(limits->max_binding_bytes / 2));
    int64_t with_rel = 0;
    for (int i = 0; i < g->blocks.count; ++i) with_rel += g->blocks.piece[i].rel;
    g->area = g->a.rel_rows * g->a.t->head_dim;
    for (int i = 0; i < g->blocks.count; ++i) {
        const piece_t *piece = &g->blocks.piece[i];
        const int64_t head_groups = head_groups_of(g, i), units = query_units(g, i);
        const int64_t fits = g->area && with_rel ? bytes / (4 * g->area) / (with_rel * head_groups) : 0;  // groups of heads of a piece
        const int64_t most = by_blocks(g) ? bpt_min(fits, MOST_BLOCK_GROUPS) : fits;
        const bool sums = g->area && piece->rel;
        const int64_t groups = sums && units > most ? (most > 0 ? most : 1) : units;
        const int64_t loops = limits->max_loops;
        const int64_t fit = !loops ? MAX_TURN
                            : piece->tiles && g->block.keys_per_item
                                ? loops / g->block.rounds
                                : bpt_software_most_queries(&g->a, piece, piece->tiles ? &g->tile : NULL);
        g->groups[i] = groups * head_groups;
        g->turn[i] = groups > 0 ? bpt_min(bpt_ceil_div(units, groups), bpt_min(fit, MAX_TURN)) : 1;
        g->first_area[i] = g->areas;
        if (sums) g->areas += g->groups[i];
    }
}

// What piece number `index` has of the private sums.
static bpt_attention_shares_t shares_of(const gradient_t *g, int index) {
    bpt_attention_shares_t shares = {.dots = g->dots, .groups = g->groups[index] / head_groups_of(g, index), .turn = g->turn[index]};
    if (g->area && g->blocks.piece[index].rel)
        shares.sums = bpt_lower_part(&g->table_sums, g->first_area[index] * g->area, g->groups[index] * g->area);
    return shares;
}

static void emit_block(const gradient_t *g, int index, int64_t first_head) {
    const piece_t *piece = &g->blocks.piece[index];
    const bpt_attention_shares_t shares = shares_of(g, index);
    if (!piece->tiles)
        bpt_lower_attention_emit_dq(&g->a, piece, &shares);
    else if (!by_blocks(g))
        bpt_lower_attention_emit_tile_dq(&g->a, &g->tile, piece, &shares);
    else if (g->warps.warps)
        bpt_lower_attention_emit_warps_grad(&g->a, &g->warps, piece, &shares, &g->key_sums, index, first_head);
    else
        bpt_lower_attention_emit_block_grad(&g->a, &g->block, piece, &shares, &g->key_sums, index, first_head);
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
        g->queries = bpt_lower_attention_rows_or_tiles(a, true, &g->tile);
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
    } else if (!bpt_lower_attention_tiles_chosen(a)) {
        g->key_block = bpt_lower_attention_block_keys(a);
        if (a->l->status == BPT_OK) g->keys = bpt_lower_attention_keys(a, BPT_ATTENTION_BLOCK, g->key_block.part);
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
        emit_block(g, i, first_head);
        bpt_lower_barrier_of_rows(g->a.l);
    }
}

static void emit_queries_and_keys(const gradient_t *g) {
    emit_blocks(g, 0);
    for (int i = 0; i < g->keys.count; ++i) {
        if (bpt_lower_attention_tiles_chosen(&g->a))
            bpt_lower_attention_emit_dkv(&g->a, &g->key_tile, &g->keys.piece[i], &g->dots);
        else
            bpt_lower_attention_emit_block_keys(&g->a, &g->key_block, &g->keys.piece[i], &g->dots);
        bpt_lower_barrier_of_rows(g->a.l);
    }
}

// Some heads after the other use the same scratch.
static void emit_queries_with_keys(const gradient_t *g) {
    const int64_t heads = g->a.t->heads;
    for (int64_t first = 0; first < heads; first += g->key_sums.heads) {
        emit_blocks(g, first);
        bpt_lower_barrier(g->a.l);
        bpt_lower_attention_emit_key_sums(&g->a, &g->key_sums, &g->keys, first, bpt_min(first + g->key_sums.heads, heads));
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
