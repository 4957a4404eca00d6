// Scratch of attention_key_sum, and its dispatches. The rows that blocks leave are several for each key, so heads go one after the other
// where memory is small, and where too many blocks read a key (dense graphs) another kernel gathers by blocks of keys.
#include "backends/gpu/lower/attention_key_sums.h"

typedef bpt_attention_key_sums_t key_sums_t;

enum {
    MEMORY_PARTS = 32,  // of the device's memory, one is for the rows of some heads
    KEY_ROWS = 32,      // that are added up for a key, on average
    PART_BLOCKS = 32,   // that read a key, and are added up by one item
};

// Elements of a row: dk and dv of some heads.
static int64_t row_size(const bpt_attention_problem_t *a, int64_t heads) { return 2 * heads * bpt_round_up(a->t->head_dim, 4); }

// Heads whose rows there is room for, as even as possible.
static int64_t heads_of(const bpt_attention_problem_t *a, int64_t rows, int64_t together) {
    const bpt_gpu_limits_t *limits = &a->l->device->api->limits;
    const uint64_t share = limits->memory_bytes / MEMORY_PARTS, half = limits->max_binding_bytes / 2;
    const int64_t bytes = (int64_t)(share < half ? share : half), heads = a->t->heads;
    const int64_t most = bpt_min(rows > 0 ? bytes / (rows * row_size(a, 1) * (int64_t)sizeof(float)) : heads, heads);
    if (most == 0) return 0;
    const int64_t even = bpt_ceil_div(heads, bpt_ceil_div(heads, most)), whole = bpt_round_up(even, together);
    return whole <= most ? whole : most < together ? even : most / together * together;
}

key_sums_t bpt_lower_attention_key_sums(const bpt_attention_problem_t *a, const bpt_attention_pieces_t *queries, int64_t block_rows,
                                        int64_t ranges, int64_t together, int64_t rows_together) {
    key_sums_t s = {.block_rows = (uint32_t)block_rows, .ranges = (uint32_t)ranges};
    const int64_t keys = a->batch * (a->t->graph.n + (a->t->zero_spans ? 0 : a->other));
    int64_t rows = 0, lists = 0;
    for (int i = 0; i < queries->count; ++i) {
        const bpt_attention_piece_t *piece = &queries->piece[i];
        if (!piece->tiles) return s;
        s.of[i].list_rows = bpt_round_up(piece->level ? piece->keys : bpt_intervals_block_nodes(&a->t->graph, block_rows), rows_together);
        s.of[i].first_row = rows;
        s.of[i].first_list = lists;
        rows += a->batch * piece->tiles * s.of[i].list_rows;
        lists += a->batch * piece->tiles;
    }
    if (rows > KEY_ROWS * keys || rows > INT32_MAX) return s;
    s.heads = heads_of(a, rows, together);
    if (!s.heads) return s;
    s.sums = bpt_lower_scratch(a->l, BPT_F32, rows * row_size(a, s.heads));
    s.lists = bpt_lower_scratch(a->l, BPT_U32, lists * 2 * (ranges + 1));
    return s;
}

bpt_attention_pieces_t bpt_lower_attention_summed_keys(const bpt_attention_problem_t *a, const key_sums_t *s) {
    return bpt_lower_attention_keys(a, 1, PART_BLOCKS * s->block_rows);
}

static void emit_piece(const bpt_attention_problem_t *a, const key_sums_t *s, const bpt_attention_piece_t *piece, int64_t first_head,
                       int64_t end_head) {
    const int64_t heads = end_head - first_head;
    const int64_t count = bpt_lower_attention_units(a, piece) * heads * bpt_ceil_div(a->t->head_dim, 4);
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_key_sum);
    attention_key_sum_params_t params = {.graph = a->graph[0],
                                         .n = a->graph[1],
                                         .reach = a->graph[2],
                                         .rel_levels = a->graph[3],
                                         .leaf_rows = (uint32_t)(a->batch * a->t->graph.n),
                                         .other = (uint32_t)a->other,
                                         .d = (uint32_t)a->d,
                                         .first_head = (uint32_t)first_head,
                                         .heads = (uint32_t)heads,
                                         .head_dim = (uint32_t)a->t->head_dim,
                                         .kv_stride = (uint32_t)a->kv_stride,
                                         .k_offset = (uint32_t)a->k_offset,
                                         .first_node = (int32_t)piece->first,
                                         .n_nodes = (uint32_t)piece->nodes,
                                         .parts = (uint32_t)piece->parts,
                                         .part_blocks = PART_BLOCKS,
                                         .ranges = s->ranges,
                                         .end_level = a->tree && a->t->queries == BPT_QUERIES_ALL ? bpt_tree_levels(&a->t->graph) : 1,
                                         .count = (uint32_t)count};
    k.constants[attention_key_sum_ROWS_PER_TILE] = s->block_rows;
    k.bindings[attention_key_sum_lengths] = a->in[3];
    k.bindings[attention_key_sum_key_sums] = s->sums;
    k.bindings[attention_key_sum_key_lists] = s->lists;
    k.bindings[attention_key_sum_dkv] = a->out[a->t->packed ? 0 : 1];
    k.bindings[attention_key_sum_partial] = piece->partial;
    bpt_lower_emit_items(a->l, &k, &params, count);
}

void bpt_lower_attention_emit_key_sums(const bpt_attention_problem_t *a, const key_sums_t *s, const bpt_attention_pieces_t *keys,
                                       int64_t first_head, int64_t end_head) {
    for (int i = 0; i < keys->count; ++i) {
        emit_piece(a, s, &keys->piece[i], first_head, end_head);
        bpt_lower_barrier_of_rows(a->l);
    }
}
