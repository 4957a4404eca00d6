// The gradient of keys by blocks of them (cl/attention/attention_block_keys.cl), where blocks of queries cannot leave it behind
// (attention_key_sums.c): in large dense graphs, of roots, and of graphs whose queries go one by one.
#include "backends/gpu/lower/attention_block_keys.h"
#include "backends/gpu/lower/attention_block.h"
#include "backends/gpu/lower/attention_warp.h"

typedef bpt_attention_problem_t problem_t;
typedef bpt_attention_block_keys_t block_t;

enum {
    SIXTEEN = 16,                          // items that share rows, each with other queries
    COLUMNS = 64,                          // of a head that a group sums up: its items have the sums of keys and of values in registers
    MOST_KEYS_STEP = 3,                    // queries of an item in a step, where the blueprint is not that of blocks
    ALIKE_RANGES = 8,                      // sizes are rounded up, so that problems that differ a little share kernels
    POSITION_ROUNDS = BPT_MAX_LEVELS + 5,  // of finding a node's level and index, or what reads it by a range
    RANDOM_ROUNDS = 11,                    // of an edge's random numbers
};

static void set_constants(const problem_t *a, const block_t *b, uint32_t *constants) {
    constants[attention_block_keys_ROWS_PER_TILE] = BPT_ATTENTION_BLOCK;
    constants[attention_block_keys_RANGES] = b->ranges;
    constants[attention_block_keys_MOST_COLUMNS] = COLUMNS;
    constants[attention_block_keys_KEYS_PER_ITEM] = b->queries_per_item;
    constants[attention_block_keys_HEAD_REST] = (uint32_t)a->t->head_dim % 4;
}

// What drivers in software count of an item's loops: of a block before its first step, and of a step.
static int64_t begin_rounds(const block_t *b) {
    return bpt_ceil_div(b->ranges, BPT_ATTENTION_BLOCK_ITEMS) * BPT_ATTENTION_BLOCK * POSITION_ROUNDS + 8 * (int64_t)b->ranges;
}
static int64_t step_rounds(const problem_t *a, const block_t *b) {
    const int64_t step = SIXTEEN * (int64_t)b->queries_per_item, edges = 4 * (int64_t)b->queries_per_item;
    const int64_t each = 4 + POSITION_ROUNDS + (a->t->p > 0 ? RANDOM_ROUNDS : 0);
    return 4 * step + edges * each + (int64_t)(b->queries_per_item + 2) * a->t->head_dim + 8 * (int64_t)b->ranges + 4 * POSITION_ROUNDS;
}

static bool fits(const problem_t *a, const block_t *b) {
    uint32_t constants[BPT_GPU_MAX_CONSTANTS] = {0};
    set_constants(a, b, constants);
    const int64_t loops = a->l->device->api->limits.max_loops;
    return bpt_gpu_kernels[BPT_GPU_attention_block_keys].local_bytes(BPT_ATTENTION_BLOCK_ITEMS, constants) <=
               a->l->device->api->limits.local_bytes &&
           (!loops || begin_rounds(b) + step_rounds(a, b) < loops);
}

block_t bpt_lower_attention_block_keys(const problem_t *a) {
    const bpt_gpu_limits_t *limits = &a->l->device->api->limits;
    const bpt_blueprint_t *blueprint = &a->l->device->tuning.other[BPT_PROBLEM_ATTENTION_BLOCKS];
    block_t b = {.ranges = (uint32_t)bpt_round_up(bpt_intervals_most_consumers(&a->t->graph), ALIKE_RANGES)};
    b.queries_per_item = bpt_lower_attention_blocks_chosen(a) ? blueprint->size[BPT_BLOCK_KEYS_BACK] : MOST_KEYS_STEP;
    while (b.queries_per_item > 0 && !fits(a, &b)) --b.queries_per_item;
    if (!b.queries_per_item || limits->max_group_size < BPT_ATTENTION_BLOCK_ITEMS) {
        bpt_lower_refuse(a->l,
                         "the gradient of attention needs work-groups of %d and 8 KiB of local memory; the device has %u and %u bytes",
                         (int)BPT_ATTENTION_BLOCK_ITEMS, limits->max_group_size, limits->local_bytes);
        return (block_t){0};
    }
    const int64_t step = SIXTEEN * (int64_t)b.queries_per_item;
    b.part = bpt_ceil_div(bpt_lower_attention_part(a), step) * step;
    if (limits->max_loops) b.part = bpt_min(b.part, (limits->max_loops - begin_rounds(&b)) / step_rounds(a, &b) * step);
    return b;
}

#define SAME(name)                                                                            \
    _Static_assert((int)attention_block_keys_##name == (int)attention_warp_keys_##name &&     \
                       (int)attention_block_keys_##name == (int)attention_fragment_keys_##name, \
                   "the kernels of keys differ in what they share")
SAME(q);
SAME(dy);
SAME(partial);
#undef SAME
_Static_assert(sizeof(attention_block_keys_params_t) == sizeof(attention_warp_keys_params_t) &&
                   sizeof(attention_block_keys_params_t) == sizeof(attention_fragment_keys_params_t),
               "the kernels of keys differ in what they share");

// Of the queries that have a gradient, those that are not stored are zero: kernels on matrix units read all of them.
static bool has_units(const problem_t *a) {
    return a->rel_rows == 0 && (a->t->queries == BPT_QUERIES_LEAVES || (a->t->queries == BPT_QUERIES_ALL && !a->t->zero_spans));
}

// On matrix units where operands lie for it: pieces, parts and scratch are the same. Returns the groups of a block.
static int64_t choose_kernel(const problem_t *a, const block_t *b, bpt_kernel_call_t *k) {
    const int64_t heads = a->t->heads;
    const bool units = has_units(a);
    const bpt_attention_warps_t warps = units ? bpt_lower_attention_key_warps(a, b->ranges) : (bpt_attention_warps_t){0};
    const bpt_attention_block_t fragments =
        units ? bpt_lower_attention_side_fragments(a, BPT_GPU_attention_fragment_keys, b->ranges, b->queries_per_item)
              : (bpt_attention_block_t){0};
    if (warps.warps) {
        *k = bpt_lower_kernel(a->l, BPT_GPU_attention_warp_keys);
        bpt_lower_attention_set_warps(&warps, k);
        return bpt_ceil_div(heads, warps.warps);
    }
    if (fragments.keys_per_item) {
        *k = bpt_lower_kernel(a->l, BPT_GPU_attention_fragment_keys);
        bpt_lower_attention_set_block(a, &fragments, k);
        return heads;
    }
    *k = bpt_lower_kernel(a->l, BPT_GPU_attention_block_keys);
    k->group_size = BPT_ATTENTION_BLOCK_ITEMS;
    set_constants(a, b, k->constants);
    return heads * bpt_ceil_div(a->t->head_dim, COLUMNS);
}

void bpt_lower_attention_emit_block_keys(const problem_t *a, const block_t *b, const bpt_attention_piece_t *piece, const bpt_view_t *dots) {
    bpt_kernel_call_t k;
    const int64_t of_block = choose_kernel(a, b, &k);
    attention_block_keys_params_t params = {BPT_ATTENTION_PARAMS(a), BPT_ATTENTION_BLOCK_PARAMS(a, piece),
                                            .first_node = (int32_t)piece->first, .n_nodes = (uint32_t)piece->nodes};
    BPT_ATTENTION_INPUTS(k, a, attention_block_keys);
    k.bindings[attention_block_keys_dy] = a->in[8];
    k.bindings[attention_block_keys_lse] = a->in[9];
    k.bindings[attention_block_keys_dots] = *dots;
    k.bindings[attention_block_keys_result] = a->out[a->t->packed ? 0 : 1];
    k.bindings[attention_block_keys_partial] = piece->partial;
    k.flops = piece->edges * (double)a->d * 10;
    bpt_lower_emit(a->l, &k, &params, a->batch * piece->tiles * piece->parts * of_block);
}
