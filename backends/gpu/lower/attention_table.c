// attention over a table, and its gradient: rows by blocks of neighbours where that can be (attention_table_block.c), the others one by
// one; dq from the table, and dk, dv from its transpose (cl/attention/attention_table_grad.cl). Any row may have edges with any of the
// other side, so there are no windows: tensors must fit the device's bindings. The gradient of relative positions is summed up in private
// sums of the groups of a dispatch, which the next one goes on with.
#include "backends/gpu/lower/attention_table_block.h"
#include "backends/gpu/lower/software/attention.h"

typedef bpt_attention_problem_t problem_t;
typedef bpt_attention_piece_t piece_t;
typedef bpt_attention_pieces_t pieces_t;

void bpt_lower_attention_table(const problem_t *a, bool first) {
    (void)first;
    const bpt_attention_table_block_t block = bpt_lower_attention_table_block(a);
    const int64_t most = a->l->device->api->limits.max_loops ? bpt_software_most_keys(a, false) : INT32_MAX;
    pieces_t queries = bpt_lower_attention_table_rows(a, false, block.rows, most);
    bpt_lower_attention_reserve(a, &queries, a->d + 2 * a->t->heads);
    if (block.rows) bpt_lower_attention_emit_table_block(a, &block);
    for (int i = 0; i < queries.count; ++i) {
        bpt_lower_barrier_of_rows(a->l);
        bpt_lower_attention_emit_rows(a, &queries.piece[i]);
    }
    bpt_lower_barrier(a->l);
    bpt_lower_attention_merge(a, &queries);
}

// ---- Gradient ----------------------------------------------------------------------------------------------------------

uint32_t bpt_lower_attention_table_scores(uint32_t scores) { return scores == BPT_ATTENTION_SCORES ? scores / 2 : scores; }

// There is room for the arrays of this kernel where there is for those of attention_dq, but for a single very wide head.
static bool has_room(const problem_t *a) {
    const int64_t most = bpt_lower_attention_most_columns(a, BPT_GPU_attention_table_grad, a->scores);
    if (a->columns <= most) return true;
    bpt_lower_refuse(a->l, "a head has %d columns; the local memory of the device (%u bytes) has room for %lld: use more heads",
                     (int)a->t->head_dim, a->l->device->api->limits.local_bytes, (long long)most);
    return false;
}

// Private sums of drel, each of `area` elements: as many as groups that run at once.
typedef struct {
    bpt_view_t sums;
    int64_t area, groups;  // groups: of rows, each of head_groups
} drel_t;

static drel_t drel_of(const problem_t *a, const pieces_t *queries) {
    const int64_t most_bytes = bpt_min(BPT_ATTENTION_SUM_BYTES, a->l->device->api->limits.max_binding_bytes / 2);
    drel_t r = {.area = a->rel_rows * a->t->head_dim};
    for (int i = 0; i < queries->count; ++i) {
        const int64_t units = bpt_lower_attention_units(a, &queries->piece[i]);
        if (units > r.groups) r.groups = units;
    }
    if (!r.area) return r;
    const int64_t fit = most_bytes / (4 * r.area * a->head_groups);
    r.groups = fit < 1 ? 1 : bpt_min(r.groups, fit);
    r.sums = bpt_lower_scratch(a->l, BPT_F32, r.groups * a->head_groups * r.area);
    bpt_lower_fill(a->l, &r.sums, r.groups * a->head_groups * r.area, 0);
    return r;
}

static void emit(const problem_t *a, bool of_key, const bpt_view_t *dots, const drel_t *drel, const piece_t *piece) {
    const bpt_attention_attrs_t *t = a->t;
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_table_grad);
    attention_table_grad_params_t params = {.heads = (uint32_t)t->heads,
                                            .head_dim = (uint32_t)t->head_dim,
                                            .group_heads = a->group_heads,
                                            .ranges = (uint32_t)a->l->call->in[of_key ? 10 : 6].shape.dim[1],
                                            .first_row = (uint32_t)piece->first,
                                            .parts = (uint32_t)piece->parts,
                                            .part_rows = (int32_t)piece->part_keys,
                                            .scale = t->scale,
                                            .inverse = 1 / (1 - t->p),
                                            .threshold = t->p > 0 ? bpt_lower_threshold(t->p) : 0,
                                            .uid = t->uid,
                                            .query_ranges = (uint32_t)a->l->call->in[6].shape.dim[1],
                                            .rel_rows = (uint32_t)a->rel_rows};
    k.group_size = bpt_lower_attention_group(a->l);
    k.constants[attention_table_grad_COLUMNS] = a->columns;
    k.constants[attention_table_grad_SCORES] = bpt_lower_attention_table_scores(a->scores);
    k.constants[attention_table_grad_KEYS] = of_key;
    k.constants[attention_table_grad_RELATIVE] = a->rel_rows > 0;
    k.bindings[attention_table_grad_q] = a->in[0];
    k.bindings[attention_table_grad_kv] = a->in[1];
    k.bindings[attention_table_grad_dy] = a->in[8];
    k.bindings[attention_table_grad_lse] = a->in[9];
    k.bindings[attention_table_grad_dots] = *dots;
    k.bindings[attention_table_grad_row_keys] = a->in[4];
    k.bindings[attention_table_grad_rng] = a->in[5];
    k.bindings[attention_table_grad_key_codes] = a->in[11];
    k.bindings[attention_table_grad_table] = a->in[of_key ? 10 : 6];
    k.bindings[attention_table_grad_result] = a->out[of_key ? 1 : 0];
    k.bindings[attention_table_grad_partial] = piece->partial;
    k.bindings[attention_table_grad_rel] = a->in[2];
    if (a->rel_rows && of_key) k.bindings[attention_table_grad_query_table] = a->in[6];
    if (!of_key) k.bindings[attention_table_grad_drel] = drel->sums;
    const int64_t units = bpt_lower_attention_units(a, piece), step = drel->area && !of_key ? drel->groups : units;
    for (int64_t first = 0; first < units; first += step) {
        const int64_t count = bpt_min(step, units - first);
        params.first_unit = (uint32_t)first;
        k.flops = piece->edges * (double)a->d * 10 * (double)count / (double)units;
        bpt_lower_emit(a->l, &k, &params, count * a->head_groups);
        bpt_lower_barrier(a->l);
    }
}

void bpt_lower_attention_table_gradient(const problem_t *a, bool first) {
    if (bpt_rows(&a->l->call->in[0]) == 0 || bpt_rows(&a->l->call->in[1]) == 0) {  // no edge
        for (int i = 0; i < 3; ++i)
            if (a->out[i].present) bpt_lower_fill(a->l, &a->out[i], bpt_count(&a->l->call->out[i]), 0);
        return;
    }
    const int64_t most = a->l->device->api->limits.max_loops ? bpt_software_most_table_edges(a) : INT32_MAX;
    const bpt_attention_table_block_t of_queries = bpt_lower_attention_table_side(a, false),
                                      of_keys = bpt_lower_attention_table_side(a, true);
    pieces_t queries = bpt_lower_attention_table_rows(a, false, of_queries.rows, most);
    pieces_t keys = bpt_lower_attention_table_rows(a, true, of_keys.rows, most);
    if (a->l->status != BPT_OK || !has_room(a)) return;
    const bpt_view_t dots = bpt_lower_attention_dots(a);
    bpt_lower_attention_reserve(a, &queries, a->d);
    bpt_lower_attention_reserve(a, &keys, 2 * a->d);
    const drel_t drel = drel_of(a, &queries);
    bpt_lower_barrier(a->l);
    if (of_queries.rows) bpt_lower_attention_emit_table_side(a, false, &of_queries, &dots);
    if (of_keys.rows) bpt_lower_attention_emit_table_side(a, true, &of_keys, &dots);
    bpt_lower_barrier_of_rows(a->l);
    for (int i = 0; i < queries.count; ++i) emit(a, false, &dots, &drel, &queries.piece[i]);
    for (int i = 0; i < keys.count; ++i) emit(a, true, &dots, &drel, &keys.piece[i]);
    bpt_lower_attention_sums(a, &queries, &keys);
    if (a->out[2].present) bpt_lower_sum_rows(a->l, &drel.sums, drel.groups * a->head_groups, drel.area, &a->out[2], !first);
}
