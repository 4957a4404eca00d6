// The gradient of keys and values by blocks of queries (cl/attention/key_sums.h): scratch for what blocks leave, and the dispatches that
// add it up.
#ifndef BPT_GPU_LOWER_ATTENTION_KEY_SUMS_H
#define BPT_GPU_LOWER_ATTENTION_KEY_SUMS_H

#include "backends/gpu/lower/attention_problem.h"

typedef struct {
    int64_t heads;  // that the blocks take before all is added up; 0: this way there is no room, or too much to add
    uint32_t block_rows, ranges;
    bpt_view_t sums, lists;
    struct {
        int64_t list_rows, first_row, first_list;
    } of[BPT_ATTENTION_MAX_PIECES];
} bpt_attention_key_sums_t;

// For queries that go by blocks of so many rows with so many ranges at most. Kernels take `together` heads at a time, where possible, and
// write `rows_together` rows.
bpt_attention_key_sums_t bpt_lower_attention_key_sums(const bpt_attention_problem_t *a, const bpt_attention_pieces_t *queries,
                                                      int64_t block_rows, int64_t ranges, int64_t together, int64_t rows_together);
// What the gradients of blocks by warps and without matrix units have beside each other's own: parameters and bindings of piece number
// `index`, for `heads` heads from first_head on.
#define BPT_ATTENTION_BLOCK_GRAD_PARAMS(a, shares, keys, index, first_head, heads)                                      \
    .group_units = (uint32_t)(shares)->turn, .rel_rows = (uint32_t)(a)->rel_rows, .first_head = (uint32_t)(first_head), \
    .end_head = (uint32_t)((first_head) + (heads)), .first_list = (uint32_t)(keys)->of[index].first_list,               \
    .first_row = (uint32_t)(keys)->of[index].first_row, .list_rows = (uint32_t)(keys)->of[index].list_rows
#define BPT_ATTENTION_BLOCK_GRAD_CALL(k, a, kernel, piece, shares, keys) \
    do {                                                                 \
        BPT_ATTENTION_INPUTS(k, a, kernel);                              \
        (k).bindings[kernel##_dy] = (a)->in[8];                          \
        (k).bindings[kernel##_lse] = (a)->in[9];                         \
        (k).bindings[kernel##_dots] = (shares)->dots;                    \
        (k).bindings[kernel##_dq] = (a)->out[0];                         \
        (k).bindings[kernel##_drel] = (shares)->sums;                    \
        (k).bindings[kernel##_partial] = (piece)->partial;               \
        (k).bindings[kernel##_key_sums] = (keys)->sums;                  \
        (k).bindings[kernel##_key_lists] = (keys)->lists;                \
    } while (0)
// Heads that a dispatch takes from first_head on, and its share of the piece's arithmetic.
static inline int64_t bpt_lower_attention_grad_heads(const bpt_attention_problem_t *a, const bpt_attention_key_sums_t *keys,
                                                     int64_t first_head) {
    return keys->heads ? bpt_min(keys->heads, a->t->heads - first_head) : a->t->heads;
}
static inline double bpt_lower_attention_grad_flops(const bpt_attention_problem_t *a, const bpt_attention_piece_t *piece,
                                                    const bpt_attention_shares_t *shares, const bpt_attention_key_sums_t *keys,
                                                    int64_t heads) {
    const int64_t units = a->batch * piece->tiles * piece->parts, step = shares->groups * shares->turn;
    return piece->edges * (double)(heads * a->t->head_dim) * (keys->heads ? 14 : 10) * (units > step ? (double)step / (double)units : 1);
}
// The keys, in parts of several blocks that read them.
bpt_attention_pieces_t bpt_lower_attention_summed_keys(const bpt_attention_problem_t *a, const bpt_attention_key_sums_t *s);
// Adds up what blocks have left for heads first_head .. end_head - 1.
void bpt_lower_attention_emit_key_sums(const bpt_attention_problem_t *a, const bpt_attention_key_sums_t *s,
                                       const bpt_attention_pieces_t *keys, int64_t first_head, int64_t end_head);

#endif
