// Attention with a work-group for each query and some heads (cl/attention/attention_rows.cl, attention_dq.cl): roots, tables, and what no
// block or tile can do.
#include "backends/gpu/lower/attention_problem.h"
#include "backends/gpu/lower/software/software.h"

typedef bpt_attention_problem_t problem_t;
typedef bpt_attention_piece_t piece_t;

uint32_t bpt_lower_attention_group(const bpt_lower_t *l) {
    return bpt_lower_in_software(l) ? bpt_software_group(l) : bpt_lower_kernel(l, BPT_GPU_attention_rows).group_size;
}

// What the kernels for single queries share.
#define COMMON_PARAMS(a, piece)                                                                                                       \
    BPT_ATTENTION_PARAMS(a), BPT_ATTENTION_STRIDES(a, piece), .group_heads = (a)->group_heads, .first_node = (int32_t)(piece)->first, \
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

void bpt_lower_attention_emit_rows(const problem_t *a, const piece_t *piece) {
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

void bpt_lower_attention_emit_dq(const problem_t *a, const piece_t *piece, const bpt_attention_shares_t *shares) {
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_dq);
    attention_dq_params_t params = {COMMON_PARAMS(a, piece), .units = (uint32_t)bpt_lower_attention_units(a, piece),
                                    .group_units = (uint32_t)shares->turn, .rel_rows = (uint32_t)a->rel_rows};
    COMMON_CALL(k, a, attention_dq);
    k.bindings[attention_dq_dy] = a->in[8];
    k.bindings[attention_dq_lse] = a->in[9];
    k.bindings[attention_dq_dots] = shares->dots;
    k.bindings[attention_dq_dq] = a->out[0];
    k.bindings[attention_dq_partial] = piece->partial;
    k.bindings[attention_dq_drel] = shares->sums;
    const int64_t units = bpt_lower_attention_units(a, piece), step = shares->groups * shares->turn;
    k.flops = piece->edges * (double)a->d * 10 * (units > step ? (double)step / (double)units : 1);
    for (int64_t first = 0; first < units; first += step) {
        if (first > 0) bpt_lower_barrier(a->l);
        params.first_unit = (uint32_t)first;
        bpt_lower_emit(a->l, &k, &params, shares->groups * a->head_groups);
    }
}
