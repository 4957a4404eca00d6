// Attention by blocks of queries, in registers or by fragments: which calls can, how many keys an item takes, and their dispatches.
#include "backends/gpu/lower/attention_block.h"
#include <stdlib.h>

enum {
    SIXTEEN = 16,                 // items that share rows, each with other keys
    PIECE = 256,                  // columns of a head that a group has: an item has a sixteenth of a row's results in registers;
    PIECE_BACK = 64,              // more would spill backward (RADV, RDNA3)
    MOST_LOCAL = 10240,           // bytes of local memory of a group: 8 waves a SIMD unit of RDNA;
    MOST_FRAGMENT_LOCAL = 32768,  // by fragments, whose operands are there
    MOST_FRAGMENT_HEAD = 128,     // columns of a head
    ALIKE_RANGES = 8,             // sizes are rounded up, so that problems that differ a little share kernels
    ALIKE_ENTRIES = 8,
};

int64_t bpt_lower_attention_entries(const bpt_attention_problem_t *a, int64_t keys, int64_t ranges) {
    const bpt_intervals_t *g = &a->t->graph;
    const int64_t sides = g->causal ? 1 : 2, block_rows = bpt_intervals_block_rows(g);
    const int64_t of_keys = keys + 2 * BPT_ATTENTION_BLOCK + 8;
    const int64_t of_table = block_rows ? 1 + block_rows * sides * (bpt_levels(g->n) + 1) : a->rel_rows + ranges;
    return a->rel_rows ? bpt_round_up(bpt_min(of_keys, of_table), ALIKE_ENTRIES) : 8;
}

static int by_begin(const void *left, const void *right) {
    const bpt_slot_t *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

// Nodes that a block of leaves in the middle of a sequence reads.
static int64_t nodes_of_block(const bpt_attention_problem_t *a) {
    const bpt_intervals_t *g = &a->t->graph;
    static _Thread_local bpt_slot_t slot[BPT_ATTENTION_BLOCK * BPT_MAX_SLOTS];
    const int64_t first = g->n / 2 / BPT_ATTENTION_BLOCK * BPT_ATTENTION_BLOCK;
    int64_t nodes = 0, end = 0;
    int slots = 0;
    for (int64_t i = first; i < first + BPT_ATTENTION_BLOCK && i < g->n; ++i) slots += bpt_intervals_keys(g, g->n, i, slot + slots);
    qsort(slot, (size_t)slots, sizeof slot[0], by_begin);
    for (int i = 0; i < slots; ++i) {
        if (slot[i].end <= end) continue;
        nodes += slot[i].end - (slot[i].begin > end ? slot[i].begin : end);
        end = slot[i].end;
    }
    return nodes;
}

static bpt_gpu_kernel_t kernel_of(const bpt_attention_block_t *b, bool back) {
    return b->by_fragments ? (back ? BPT_GPU_attention_fragment_grad : BPT_GPU_attention_fragment)
                           : (back ? BPT_GPU_attention_block_grad : BPT_GPU_attention_block);
}

// The kernels have the same parameters and bindings, and most of their constants.
#define SAME(name)                                                                          \
    _Static_assert((int)attention_block_##name == (int)attention_block_grad_##name &&       \
                       (int)attention_block_##name == (int)attention_fragment_##name &&     \
                       (int)attention_block_##name == (int)attention_fragment_grad_##name && \
                       (int)attention_block_##name == (int)attention_fragment_table_##name && \
                       (int)attention_block_##name == (int)attention_fragment_side_##name && \
                       (int)attention_block_##name == (int)attention_fragment_keys_##name,  \
                   "the kernels of blocks differ in what they share")
SAME(ROWS_PER_TILE);
SAME(RANGES);
SAME(MOST_COLUMNS);
SAME(KEYS_PER_ITEM);
SAME(ENTRIES);
#undef SAME
_Static_assert(sizeof(attention_block_params_t) == sizeof(attention_fragment_params_t) &&
                   sizeof(attention_block_grad_params_t) == sizeof(attention_fragment_grad_params_t) &&
                   (int)attention_block_partial == (int)attention_fragment_partial &&
                   (int)attention_block_grad_key_lists == (int)attention_fragment_grad_key_lists &&
                   (int)attention_fragment_SUBGROUPS == (int)attention_fragment_grad_SUBGROUPS &&
                   (int)attention_fragment_SUBGROUPS == (int)attention_fragment_table_SUBGROUPS &&
                   (int)attention_fragment_SUBGROUPS == (int)attention_fragment_side_SUBGROUPS &&
                   (int)attention_fragment_SUBGROUPS == (int)attention_fragment_keys_SUBGROUPS,
               "the kernels of blocks differ in what they share");

static void set_constants(const bpt_attention_problem_t *a, const bpt_attention_block_t *b, uint32_t *constants) {
    const bpt_fragments_t *units = &a->l->device->api->limits.fragments;
    constants[attention_block_ROWS_PER_TILE] = BPT_ATTENTION_BLOCK;
    constants[attention_block_RANGES] = b->ranges;
    constants[attention_block_MOST_COLUMNS] = b->most_columns;
    constants[attention_block_KEYS_PER_ITEM] = b->keys_per_item;
    constants[attention_block_ENTRIES] = b->entries;
    if (!b->by_fragments) {
        _Static_assert((int)attention_block_HEAD_REST == (int)attention_block_grad_HEAD_REST, "the kernels differ in what they share");
        constants[attention_block_HEAD_REST] = (uint32_t)a->t->head_dim % 4;
        return;
    }
    constants[attention_fragment_FRAGMENT_M] = units->rows;
    constants[attention_fragment_FRAGMENT_N] = units->columns;
    constants[attention_fragment_FRAGMENT_K] = units->depth;
    constants[attention_fragment_SUBGROUPS] = BPT_ATTENTION_BLOCK_ITEMS / units->subgroup;
}

static bool fits(const bpt_attention_problem_t *a, const bpt_attention_block_t *b, bpt_gpu_kernel_t kernel) {
    const bpt_gpu_limits_t *limits = &a->l->device->api->limits;
    uint32_t constants[BPT_GPU_MAX_CONSTANTS] = {0};
    set_constants(a, b, constants);
    return b->entries <= BPT_ATTENTION_CODED_ENTRIES &&
           bpt_gpu_kernels[kernel].local_bytes(BPT_ATTENTION_BLOCK_ITEMS, constants) <=
               (uint64_t)bpt_min(limits->local_bytes, b->by_fragments ? MOST_FRAGMENT_LOCAL : MOST_LOCAL);
}

// What drivers in software count: list, edges, dropout, products with keys and entries, sums over keys and entries.
static int64_t rounds_of(const bpt_attention_problem_t *a, const bpt_attention_block_t *b) {
    const int64_t nodes = bpt_intervals_block_nodes(&a->t->graph, BPT_ATTENTION_BLOCK), step = SIXTEEN * (int64_t)b->keys_per_item;
    const int64_t longest = nodes > b->part ? nodes : b->part, of_edges = 4 * (int64_t)b->keys_per_item * (a->t->p > 0 ? 16 : 4);
    return bpt_ceil_div(longest, step) * (4 * step + of_edges + 6 * (int64_t)b->entries + a->t->head_dim + 8 * (int64_t)b->ranges) +
           SIXTEEN * (int64_t)b->ranges;
}

static bool divides_block(uint32_t side) { return side && BPT_ATTENTION_BLOCK % side == 0; }

static bool can_by_fragments(const bpt_attention_problem_t *a) {
    const bpt_fragments_t *units = &a->l->device->api->limits.fragments;
    return a->l->device->tuning.other[BPT_PROBLEM_ATTENTION_FRAGMENTS].kind == BPT_BLUEPRINT_FRAGMENTS && divides_block(units->rows) &&
           divides_block(units->columns) && divides_block(units->depth) && BPT_ATTENTION_BLOCK_ITEMS % units->subgroup == 0 &&
           a->in[0].dtype == BPT_F16 && bpt_lower_attention_by_eights(a) && a->t->head_dim % BPT_ATTENTION_BLOCK == 0 &&
           a->t->head_dim <= MOST_FRAGMENT_HEAD;
}

// As few steps as there can be, and in these as few keys that nobody reads.
static bpt_attention_block_t block_of(const bpt_attention_problem_t *a, bool by_fragments, bool back) {
    const bpt_problem_t problem = by_fragments ? BPT_PROBLEM_ATTENTION_FRAGMENTS : BPT_PROBLEM_ATTENTION_BLOCKS;
    const int64_t most = a->l->device->tuning.other[problem].size[back ? BPT_BLOCK_KEYS_BACK : BPT_BLOCK_KEYS];
    const int64_t nodes = nodes_of_block(a), steps = bpt_ceil_div(nodes, SIXTEEN * most);
    bpt_attention_block_t b = {.by_fragments = by_fragments,
                               .ranges = (uint32_t)bpt_round_up(bpt_intervals_most_keys(&a->t->graph), ALIKE_RANGES),
                               .most_columns = by_fragments
                                                   ? (uint32_t)a->t->head_dim
                                                   : (uint32_t)bpt_min(bpt_round_up(a->t->head_dim, 64), back ? PIECE_BACK : PIECE)};
    for (b.keys_per_item = (uint32_t)bpt_ceil_div(nodes, SIXTEEN * steps); b.keys_per_item > 0; --b.keys_per_item) {
        const int64_t step = SIXTEEN * (int64_t)b.keys_per_item;
        b.entries = (uint32_t)bpt_lower_attention_entries(a, step, b.ranges);
        b.part = bpt_lower_attention_part(a) / step * step;
        b.rounds = rounds_of(a, &b);
        const int64_t most_rounds = a->l->device->api->limits.max_loops;
        if (fits(a, &b, kernel_of(&b, back)) && (!most_rounds || b.rounds < most_rounds)) break;
    }
    return b;
}

static bool has_blocks(const bpt_attention_problem_t *a) {
    return !a->table && a->t->queries != BPT_QUERIES_ROOTS && bpt_intervals_is_steady(&a->t->graph) &&
           a->l->device->api->limits.max_group_size >= BPT_ATTENTION_BLOCK_ITEMS;
}

bpt_attention_block_t bpt_lower_attention_block(const bpt_attention_problem_t *a, bool back) {
    return has_blocks(a) && bpt_lower_attention_blocks_chosen(a) ? block_of(a, false, back) : (bpt_attention_block_t){0};
}

bpt_attention_block_t bpt_lower_attention_fragments(const bpt_attention_problem_t *a, bool back) {
    return has_blocks(a) && can_by_fragments(a) ? block_of(a, true, back) : (bpt_attention_block_t){0};
}

bpt_attention_block_t bpt_lower_attention_side_fragments(const bpt_attention_problem_t *a, bpt_gpu_kernel_t kernel, uint32_t ranges,
                                                         uint32_t most_keys) {
    if (!can_by_fragments(a)) return (bpt_attention_block_t){0};
    const uint32_t *size = a->l->device->tuning.other[BPT_PROBLEM_ATTENTION_FRAGMENTS].size;
    const uint32_t keys = size[kernel == BPT_GPU_attention_fragment_table ? BPT_BLOCK_KEYS : BPT_BLOCK_KEYS_BACK];
    bpt_attention_block_t b = {
        .by_fragments = true, .ranges = ranges, .most_columns = (uint32_t)a->t->head_dim, .entries = ALIKE_ENTRIES};
    for (b.keys_per_item = keys < most_keys ? keys : most_keys; b.keys_per_item > 0; --b.keys_per_item)
        if (fits(a, &b, kernel)) return b;
    return (bpt_attention_block_t){0};
}

void bpt_lower_attention_set_block(const bpt_attention_problem_t *a, const bpt_attention_block_t *b, bpt_kernel_call_t *k) {
    k->group_size = BPT_ATTENTION_BLOCK_ITEMS;
    set_constants(a, b, k->constants);
}

// Groups for a head.
static int64_t pieces_of(const bpt_attention_problem_t *a, const bpt_attention_block_t *b) {
    return bpt_ceil_div(a->t->head_dim, b->most_columns);
}

void bpt_lower_attention_emit_block(const bpt_attention_problem_t *a, const bpt_attention_block_t *b, const bpt_attention_piece_t *piece) {
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, kernel_of(b, false));
    attention_block_params_t params = {BPT_ATTENTION_PARAMS(a), BPT_ATTENTION_BLOCK_PARAMS(a, piece)};
    if (a->out[1].present) params.calls |= CALL_LSE;
    bpt_lower_attention_set_block(a, b, &k);
    BPT_ATTENTION_INPUTS(k, a, attention_block);
    k.bindings[attention_block_result] = a->out[0];
    k.bindings[attention_block_lse] = a->out[1];
    k.bindings[attention_block_partial] = piece->partial;
    k.flops = piece->edges * (double)a->d * 6;
    bpt_lower_emit(a->l, &k, &params, a->batch * piece->tiles * piece->parts * a->t->heads * pieces_of(a, b));
}

void bpt_lower_attention_emit_block_grad(const bpt_attention_problem_t *a, const bpt_attention_block_t *b,
                                         const bpt_attention_piece_t *piece, const bpt_attention_shares_t *shares,
                                         const bpt_attention_key_sums_t *keys, int index, int64_t first_head) {
    const int64_t units = a->batch * piece->tiles * piece->parts, step = shares->groups * shares->turn;
    const int64_t heads = bpt_lower_attention_grad_heads(a, keys, first_head);
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, kernel_of(b, true));
    attention_block_grad_params_t params = {BPT_ATTENTION_PARAMS(a), BPT_ATTENTION_BLOCK_PARAMS(a, piece),
                                            BPT_ATTENTION_BLOCK_GRAD_PARAMS(a, shares, keys, index, first_head, heads)};
    bpt_lower_attention_set_block(a, b, &k);
    BPT_ATTENTION_BLOCK_GRAD_CALL(k, a, attention_block_grad, piece, shares, keys);
    k.constants[b->by_fragments ? attention_fragment_grad_KEY_SUMS : attention_block_grad_KEY_SUMS] = keys->heads > 0;
    k.flops = bpt_lower_attention_grad_flops(a, piece, shares, keys, heads);
    for (int64_t first = 0; first < units; first += step) {
        if (first > 0) bpt_lower_barrier(a->l);
        params.first_unit = (uint32_t)first;
        bpt_lower_emit(a->l, &k, &params, shares->groups * heads * pieces_of(a, b));
    }
}
