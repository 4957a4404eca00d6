// Which rows of a table go by blocks. The host does not see the tables, only bounds of their rows (bpt_table_side_t), so it leaves to rows
// what these say to share nothing; a block's own ranges decide the rest (cl/attention/table_rows.h).
#include "backends/gpu/lower/attention_table_block.h"

typedef bpt_attention_problem_t problem_t;
typedef bpt_attention_table_block_t block_t;

enum {
    SIXTEEN = 16,        // items that share rows, each with other keys
    MOST_SLOTS = 8,      // of a row: each may make 16 runs
    SIDE_COLUMNS = 64,   // of a head that a group sums up, backward: its items have both sums in registers
    PIECE = 256,         // the same forward
    MOST_LOCAL = 10240,  // bytes of local memory of a group, as attention_block
    LEAST_SHARED = 4,    // rows of a side that may read the same row of the other one; with fewer there is nothing to share
    HEAVY = 4,    // times as many edges make rows that go one by one: a block of them would take as long as all of them after another
    BESIDE = 32,  // nodes that the other rows of a block read beside those of one, about
};

typedef struct {
    const bpt_table_side_t *own, *other;  // bounds
    int64_t rows, others, slots;
} side_t;

static side_t side_of(const problem_t *a, bool of_key) {
    const bpt_operand_t *in = a->l->call->in;
    const bpt_table_bounds_t *bounds = &a->t->bounds;
    return (side_t){.own = of_key ? &bounds->keys : &bounds->queries,
                    .other = of_key ? &bounds->queries : &bounds->keys,
                    .rows = bpt_rows(&in[of_key ? 1 : 0]),
                    .others = bpt_rows(&in[of_key ? 0 : 1]),
                    .slots = in[of_key ? 10 : 6].shape.dim[1]};
}

// The most edges of a row; 0: not known.
static int64_t most_edges(const bpt_table_side_t *side, int64_t rows) {
    const int64_t few = side->light > 0 ? side->light_edges : 0, many = side->light < rows ? side->edges : 0;
    if ((side->light > 0 && few == 0) || (side->light < rows && many == 0)) return 0;
    return few > many ? few : many;
}

// Rows from the first on that may share what they read.
static int64_t sharing_rows(const side_t *s) {
    const int64_t shared = most_edges(s->other, s->others);
    const bool heavy_end = s->own->light > 0 && s->own->light < s->rows && s->own->light_edges > 0 &&
                           (s->own->edges == 0 || s->own->edges > HEAVY * s->own->light_edges);
    const int64_t rows = heavy_end ? s->own->light : s->rows;
    return rows < BPT_ATTENTION_BLOCK || (shared > 0 && shared < LEAST_SHARED) ? 0 : rows;
}

static bool can(const problem_t *a, const side_t *s) {
    return bpt_lower_attention_blocks_chosen(a) && a->rel_rows == 0 && s->slots <= MOST_SLOTS &&
           a->l->device->api->limits.max_group_size >= BPT_ATTENTION_BLOCK_ITEMS;
}

// The kernels have the same parameters and number their constants, inputs and outputs alike.
#define SAME(a, b) _Static_assert((int)(a) == (int)(b), "the kernels of tables differ in what they share")
#define SAME_IN_BLOCKS(name) SAME(attention_block_table_##name, attention_block_side_##name)
#define SAME_IN_ALL(name)                                                \
    SAME_IN_BLOCKS(name);                                                \
    SAME(attention_block_table_##name, attention_warp_table_##name);     \
    SAME(attention_block_table_##name, attention_warp_side_##name);      \
    SAME(attention_block_table_##name, attention_fragment_table_##name); \
    SAME(attention_block_table_##name, attention_fragment_side_##name)
SAME_IN_BLOCKS(ROWS_PER_TILE);
SAME_IN_BLOCKS(RANGES);
SAME_IN_BLOCKS(MOST_COLUMNS);
SAME_IN_BLOCKS(KEYS_PER_ITEM);
SAME_IN_BLOCKS(HEAD_REST);
SAME_IN_ALL(q);
SAME_IN_ALL(kv);
SAME_IN_ALL(table);
SAME_IN_ALL(key_codes);
SAME_IN_ALL(row_keys);
SAME_IN_ALL(rng);
SAME(attention_block_table_result, attention_warp_table_result);
SAME(attention_block_table_lse, attention_warp_table_lse);
SAME(attention_block_table_result, attention_fragment_table_result);
SAME(attention_block_table_lse, attention_fragment_table_lse);
#define SAME_IN_SIDES(name)                                        \
    SAME(attention_block_side_##name, attention_warp_side_##name); \
    SAME(attention_block_side_##name, attention_fragment_side_##name)
SAME_IN_SIDES(dy);
SAME_IN_SIDES(lse);
SAME_IN_SIDES(dots);
SAME_IN_SIDES(result);
SAME(sizeof(attention_block_table_params_t), sizeof(attention_block_side_params_t));
SAME(sizeof(attention_block_table_params_t), sizeof(attention_warp_table_params_t));
SAME(sizeof(attention_block_table_params_t), sizeof(attention_warp_side_params_t));
SAME(sizeof(attention_block_table_params_t), sizeof(attention_fragment_table_params_t));
SAME(sizeof(attention_block_table_params_t), sizeof(attention_fragment_side_params_t));
#undef SAME_IN_SIDES
#undef SAME_IN_ALL
#undef SAME_IN_BLOCKS
#undef SAME

static void set_constants(const problem_t *a, const block_t *b, bool back, uint32_t *constants) {
    constants[attention_block_table_ROWS_PER_TILE] = BPT_ATTENTION_BLOCK;
    constants[attention_block_table_RANGES] = BPT_ATTENTION_BLOCK * b->slots;
    constants[attention_block_table_MOST_COLUMNS] = (uint32_t)bpt_min(bpt_round_up(a->t->head_dim, 64), back ? SIDE_COLUMNS : PIECE);
    constants[attention_block_table_KEYS_PER_ITEM] = b->keys_per_item;
    constants[attention_block_table_HEAD_REST] = (uint32_t)a->t->head_dim % 4;
}

// What drivers in software count: runs, list, edges, dropout, products, sums.
static int64_t rounds_of(const problem_t *a, const side_t *s, const block_t *b) {
    const int64_t step = SIXTEEN * (int64_t)b->keys_per_item, edges = most_edges(s->own, s->rows), pairs = BPT_ATTENTION_BLOCK * s->slots;
    const int64_t longest = s->others * s->slots, list = edges > 0 ? bpt_min(BPT_ATTENTION_BLOCK * edges, longest) : longest;
    const int64_t each = 4 * step + 4 * (int64_t)b->keys_per_item * (a->t->p > 0 ? 16 : 4) + a->t->head_dim + 4 * pairs;
    return bpt_ceil_div(list, step) * each + (bpt_ceil_div(pairs, BPT_ATTENTION_BLOCK_ITEMS) + 2) * pairs;
}

static bool fits(const problem_t *a, const side_t *s, const block_t *b, bool back) {
    const bpt_gpu_limits_t *limits = &a->l->device->api->limits;
    uint32_t constants[BPT_GPU_MAX_CONSTANTS] = {0};
    set_constants(a, b, back, constants);
    if (back) constants[attention_block_side_KEYS] = 1;
    return bpt_gpu_kernels[back ? BPT_GPU_attention_block_side : BPT_GPU_attention_block_table].local_bytes(
               BPT_ATTENTION_BLOCK_ITEMS, constants) <= (uint64_t)bpt_min(limits->local_bytes, MOST_LOCAL) &&
           (!limits->max_loops || rounds_of(a, s, b) < limits->max_loops);
}

static bpt_gpu_kernel_t kernel_by(const block_t *b, bool back) {
    return b->warps.warps               ? (back ? BPT_GPU_attention_warp_side : BPT_GPU_attention_warp_table)
           : b->fragments.keys_per_item ? (back ? BPT_GPU_attention_fragment_side : BPT_GPU_attention_fragment_table)
                                        : (back ? BPT_GPU_attention_block_side : BPT_GPU_attention_block_table);
}

// On matrix units where operands lie for it: which rows go by blocks does not depend on that, so that scratch is the same.
static void choose_units(const problem_t *a, bool of_key, bool back, block_t *b) {
    b->warps = bpt_lower_attention_table_warps(a, &a->out[of_key ? 1 : 0], back ? BPT_GPU_attention_warp_side : BPT_GPU_attention_warp_table,
                                               b->slots);
    b->fragments = bpt_lower_attention_side_fragments(a, back ? BPT_GPU_attention_fragment_side : BPT_GPU_attention_fragment_table,
                                                      BPT_ATTENTION_BLOCK * b->slots, b->keys_per_item);
}

// As few steps as there can be for rows in a text that no other one is beside, and in these as few keys that nobody reads.
static block_t block_of(const problem_t *a, const side_t *s, bool back) {
    block_t b = {.rows = sharing_rows(s), .slots = (uint32_t)s->slots};
    if (!b.rows || !can(a, s)) return (block_t){0};
    const int64_t most = a->l->device->tuning.other[BPT_PROBLEM_ATTENTION_BLOCKS].size[back ? BPT_BLOCK_KEYS_BACK : BPT_BLOCK_KEYS];
    const int64_t edges = b.rows < s->rows ? s->own->light_edges : most_edges(s->own, s->rows);
    const int64_t nodes = edges > 0 ? edges + BESIDE : SIXTEEN * most, steps = bpt_ceil_div(nodes, SIXTEEN * most);
    for (b.keys_per_item = (uint32_t)bpt_ceil_div(nodes, SIXTEEN * steps); b.keys_per_item > 0; --b.keys_per_item)
        if (fits(a, s, &b, back)) return b;
    return (block_t){0};
}

// Without the transposed table and lse, as in decoding, the bits of a row must not depend on which rows are beside it (bpt/ops.h).
block_t bpt_lower_attention_table_block(const problem_t *a) {
    const side_t s = side_of(a, false);
    const bool in_batches = a->in[10].present || a->out[1].present;
    block_t b = in_batches ? block_of(a, &s, false) : (block_t){0};
    if (b.rows) choose_units(a, false, false, &b);
    return b;
}
block_t bpt_lower_attention_table_side(const problem_t *a, bool of_key) {
    const side_t s = side_of(a, of_key);
    block_t b = block_of(a, &s, true);
    if (b.rows) choose_units(a, of_key, true, &b);
    return b;
}

static bpt_kernel_call_t kernel_of(const problem_t *a, const block_t *b, bool of_key, bool back) {
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, kernel_by(b, back));
    k.group_size = BPT_ATTENTION_BLOCK_ITEMS;
    if (b->warps.warps)
        bpt_lower_attention_set_warps(&b->warps, &k);
    else if (b->fragments.keys_per_item)
        bpt_lower_attention_set_block(a, &b->fragments, &k);
    else
        set_constants(a, b, back, k.constants);
    k.bindings[attention_block_table_q] = a->in[0];
    k.bindings[attention_block_table_kv] = a->in[1];
    k.bindings[attention_block_table_table] = a->in[of_key ? 10 : 6];
    k.bindings[attention_block_table_key_codes] = a->in[11];
    k.bindings[attention_block_table_row_keys] = a->in[4];
    k.bindings[attention_block_table_rng] = a->in[5];
    return k;
}

// The rows as one sequence of leaves.
#define TABLE_PARAMS(a, b)                                                                \
    BPT_ATTENTION_PARAMS(a), .calls = (a)->calls, .head_dim = (uint32_t)(a)->t->head_dim, \
                             .n_tiles = (uint32_t)bpt_ceil_div((b)->rows, BPT_ATTENTION_BLOCK), .parts = 1, .slots = (b)->slots

// Multiplications and additions for an edge and a column.
static double flops(const problem_t *a, const side_t *s, const block_t *b, int each) {
    const int64_t edges = b->rows < s->rows ? s->own->light_edges : most_edges(s->own, s->rows);
    return (double)b->rows * (double)(edges > 0 ? bpt_min(edges, s->others) : s->others) * (double)a->d * each;
}

// A group has some heads, a head, or so many columns of one.
static int64_t groups_of(const problem_t *a, const block_t *b, int64_t columns) {
    const int64_t heads = a->t->heads, pieces = b->fragments.keys_per_item ? 1 : bpt_ceil_div(a->t->head_dim, columns);
    return bpt_ceil_div(b->rows, BPT_ATTENTION_BLOCK) * (b->warps.warps ? bpt_ceil_div(heads, b->warps.warps) : heads * pieces);
}

void bpt_lower_attention_emit_table_block(const problem_t *a, const block_t *b) {
    const side_t s = side_of(a, false);
    bpt_kernel_call_t k = kernel_of(a, b, false, false);
    attention_block_table_params_t params = {TABLE_PARAMS(a, b)};
    params.n = (int32_t)b->rows;
    params.leaf_rows = (uint32_t)b->rows;
    if (a->out[1].present) params.calls |= CALL_LSE;
    k.bindings[attention_block_table_result] = a->out[0];
    k.bindings[attention_block_table_lse] = a->out[1];
    k.flops = flops(a, &s, b, 6);
    bpt_lower_emit(a->l, &k, &params, groups_of(a, b, PIECE));
}

void bpt_lower_attention_emit_table_side(const problem_t *a, bool of_key, const block_t *b, const bpt_view_t *dots) {
    const side_t s = side_of(a, of_key);
    bpt_kernel_call_t k = kernel_of(a, b, of_key, true);
    attention_block_side_params_t params = {TABLE_PARAMS(a, b)};
    params.n = (int32_t)b->rows;
    params.leaf_rows = (uint32_t)b->rows;
    k.constants[b->warps.warps               ? attention_warp_side_OF_KEYS
                : b->fragments.keys_per_item ? attention_fragment_side_KEYS
                                             : attention_block_side_KEYS] = of_key;
    k.bindings[attention_block_side_dy] = a->in[8];
    k.bindings[attention_block_side_lse] = a->in[9];
    k.bindings[attention_block_side_dots] = *dots;
    k.bindings[attention_block_side_result] = a->out[of_key ? 1 : 0];
    k.flops = flops(a, &s, b, of_key ? 8 : 6);
    bpt_lower_emit(a->l, &k, &params, groups_of(a, b, SIDE_COLUMNS));
}
