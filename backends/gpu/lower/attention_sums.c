// What attention calls of every kind have around their queries and keys: dots of rows before, the parts of one put together behind
// them; and the choice between two ways.
#include "backends/gpu/lower/attention_problem.h"

typedef bpt_attention_problem_t problem_t;
typedef bpt_attention_piece_t piece_t;
typedef bpt_attention_pieces_t pieces_t;

static void emit_merge(const problem_t *a, const piece_t *piece) {
    bpt_lower_t *l = a->l;
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_attention_merge);
    const int64_t count = a->batch * piece->nodes * a->d;
    attention_merge_params_t params = {.n = a->graph[1],
                                       .calls = a->calls,
                                       .leaf_rows = (uint32_t)(a->batch * a->t->graph.n),
                                       .other = (uint32_t)a->other,
                                       .heads = (uint32_t)a->t->heads,
                                       .head_dim = (uint32_t)a->t->head_dim,
                                       .first_node = (int32_t)piece->first,
                                       .n_nodes = (uint32_t)piece->nodes,
                                       .parts = (uint32_t)piece->parts,
                                       .count = (uint32_t)count,
                                       .inverse = 1 / (1 - a->t->p)};
    if (a->out[1].present) params.calls |= CALL_LSE;
    k.bindings[attention_merge_partial] = piece->partial;
    k.bindings[attention_merge_result] = a->out[0];
    k.bindings[attention_merge_lse] = a->out[1];
    bpt_lower_emit_items(l, &k, &params, count);
}

void bpt_lower_attention_merge(const problem_t *a, const pieces_t *queries) {
    for (int i = 0; i < queries->count; ++i)
        if (queries->piece[i].parts > 1) {
            emit_merge(a, &queries->piece[i]);
            bpt_lower_barrier_of_rows(a->l);
        }
    bpt_lower_barrier(a->l);
}

// Adds up the parts of a piece: columns of the rows of `target`, from `offset` on.
static void emit_sum(const problem_t *a, const piece_t *piece, uint32_t calls, int64_t columns, bpt_view_t target, int64_t stride,
                     int64_t offset) {
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_sum);
    const int64_t count = a->batch * piece->nodes * columns;
    attention_sum_params_t params = {.n = a->graph[1],
                                     .calls = calls,
                                     .leaf_rows = (uint32_t)(a->batch * a->t->graph.n),
                                     .other = (uint32_t)a->other,
                                     .first_node = (int32_t)piece->first,
                                     .n_nodes = (uint32_t)piece->nodes,
                                     .parts = (uint32_t)piece->parts,
                                     .columns = (uint32_t)columns,
                                     .stride = (uint32_t)stride,
                                     .offset = (uint32_t)offset,
                                     .count = (uint32_t)count};
    k.bindings[attention_sum_partial] = piece->partial;
    k.bindings[attention_sum_target] = target;
    bpt_lower_emit_items(a->l, &k, &params, count);
}

void bpt_lower_attention_sums(const problem_t *a, const pieces_t *queries, const pieces_t *keys) {
    for (int i = 0; i < queries->count; ++i)
        if (queries->piece[i].parts > 1) {
            emit_sum(a, &queries->piece[i], a->calls, a->d, a->out[0], a->q_stride, 0);
            bpt_lower_barrier_of_rows(a->l);
        }
    for (int i = 0; i < keys->count; ++i)
        if (keys->piece[i].parts > 1) {
            emit_sum(a, &keys->piece[i], 0, 2 * a->d, a->out[a->t->packed ? 0 : 1], a->kv_stride, a->k_offset);
            bpt_lower_barrier_of_rows(a->l);
        }
    bpt_lower_barrier(a->l);
}

bpt_view_t bpt_lower_attention_dots(const problem_t *a) {
    const int64_t count = (int64_t)(a->in[9].bytes / bpt_dtype_size(a->in[9].dtype));
    const bpt_view_t dots = bpt_lower_scratch(a->l, BPT_F32, count);
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_dots);
    attention_dots_params_t params = {.count = (uint32_t)count, .head_dim = (uint32_t)a->t->head_dim};
    k.bindings[attention_dots_y] = a->in[7];
    k.bindings[attention_dots_dy] = a->in[8];
    k.bindings[attention_dots_dots] = dots;
    bpt_lower_emit_items(a->l, &k, &params, count);
    return dots;
}

// While scratch is counted it is not known yet where operands will lie, which `possible` may depend on, so there must be enough for both
// ways.
void bpt_lower_attention_either(const bpt_attention_problem_t *a, bool first, bool possible, bpt_attention_lowering_t way,
                                bpt_attention_lowering_t others) {
    bpt_lower_t *l = a->l;
    const size_t scratch = l->scratch_bytes;
    if (possible) way(a, first);
    if (possible && l->list) return;
    const size_t for_way = l->scratch_bytes;
    l->scratch_bytes = scratch;
    others(a, first);
    if (for_way > l->scratch_bytes) l->scratch_bytes = for_way;
}
