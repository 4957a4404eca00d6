// attention, attention_grad with one node per work-item (cl/software/items.h), for Mesa's rasterizer (see software.h). Roots and tables go
// as everywhere.
#include "backends/gpu/lower/software/attention.h"

enum {
    MOST_HEAD = 64,        // columns of a head: an item has up to four arrays of them in registers
    PART = 256,            // keys of a span, or queries of a key, that one item takes
    EDGE_BYTES = 4 << 20,  // gradients of scores that are kept at once for the table
    DROPOUT_ROUNDS = 10,   // of the loops of an item, for an edge's random numbers
    SETUP_ROUNDS = 1024,   // and for its node and ranges
};

typedef bpt_attention_problem_t problem_t;
typedef bpt_attention_piece_t piece_t;
typedef bpt_attention_pieces_t pieces_t;

// The sum over the edges of the table's gradient is a product, whose panels want the rule for processors.
static const bpt_blueprint_t *table_rule(const problem_t *a) { return &a->l->device->tuning.form[BPT_PRODUCT_WEIGHTS]; }

static bool is_possible(const problem_t *a) {
    const bpt_gpu_limits_t *limits = &a->l->device->api->limits;
    const bpt_attention_attrs_t *t = a->t;
    if (!bpt_software_reads_texels(a->l) || a->table || t->queries == BPT_QUERIES_ROOTS) return false;
    if (t->head_dim % 4 || t->head_dim > MOST_HEAD || table_rule(a)->kind != BPT_BLUEPRINT_WIDE) return false;
    if (a->rel_rows && a->span_rows) return false;  // spans have rows of the table
    const int64_t edge = t->p > 0 ? 1 + DROPOUT_ROUNDS : 1;
    if (limits->max_loops && bpt_lower_attention_leaf_keys(a) * edge + SETUP_ROUNDS > limits->max_loops) return false;
    // q, kv and the table; out, dout and lse; the results.
    return bpt_software_are_by_fours(a->in, 3) && bpt_software_are_by_fours(a->in + 7, 3) && bpt_software_are_by_fours(a->out, 3);
}

#define ITEM_PARAMS(a, piece, begin, end)                                                                                       \
    BPT_ATTENTION_PARAMS(a),                                                                                                    \
        .calls = (a)->calls, .q_stride4 = (uint32_t)((a)->q_stride / 4), .kv_stride4 = (uint32_t)((a)->kv_stride / 4),          \
        .k_offset4 = (uint32_t)((a)->k_offset / 4), .first_node = (int32_t)(piece)->first, .n_nodes = (uint32_t)(piece)->nodes, \
        .parts = (uint32_t)(piece)->parts, .part_nodes = (int32_t)(piece)->part_keys, .first_unit = (uint32_t)(begin),          \
        .units = (uint32_t)(end), .n_tiles = (uint32_t)bpt_ceil_div((end) - (begin), bpt_software_group((a)->l))
#define ITEM_CALL(k, a, piece, kernel)                                  \
    do {                                                                \
        (k).group_size = bpt_software_group((a)->l);                    \
        (k).constants[kernel##_HEAD4] = (uint32_t)(a)->t->head_dim / 4; \
        (k).constants[kernel##_REL] = (a)->rel_rows && (piece)->rel;    \
        (k).constants[kernel##_DROPOUT] = (a)->t->p > 0;                \
        BPT_ATTENTION_INPUTS(k, a, kernel);                             \
    } while (0)

// Leaves whole, spans of many leaves in parts.
static pieces_t queries_of(const problem_t *a) {
    pieces_t p = bpt_lower_attention_queries(a, PART);
    p.piece[0].parts = 1;
    p.piece[0].part_keys = p.piece[0].keys;
    return p;
}

// ---- Forward -----------------------------------------------------------------------------------------------------------

static void emit_rows(const problem_t *a, const piece_t *piece) {
    const int64_t units = bpt_lower_attention_units(a, piece);
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_item);
    attention_item_params_t params = {ITEM_PARAMS(a, piece, 0, units)};
    if (a->out[1].present) params.calls |= CALL_LSE;
    ITEM_CALL(k, a, piece, attention_item);
    k.bindings[attention_item_result] = a->out[0];
    k.bindings[attention_item_lse] = a->out[1];
    k.bindings[attention_item_partial] = piece->partial;
    k.flops = piece->edges * (double)a->d * 6;
    bpt_lower_emit(a->l, &k, &params, params.n_tiles * a->t->heads);
}

static void lower_items(const problem_t *a, bool first) {
    (void)first;
    pieces_t queries = queries_of(a);
    bpt_lower_attention_reserve(a, &queries, a->d + 2 * a->t->heads);
    for (int i = 0; i < queries.count; ++i) {
        emit_rows(a, &queries.piece[i]);
        bpt_lower_barrier(a->l);
    }
    bpt_lower_attention_merge(a, &queries);
}

// ---- Gradient ----------------------------------------------------------------------------------------------------------

// Of the units first .. end - 1 of a piece; edges: as many for the table, where the piece has rows of it.
static void emit_dq(const problem_t *a, const piece_t *piece, const bpt_view_t *dots, const bpt_view_t *edges, int64_t first, int64_t end) {
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_item_dq);
    attention_item_dq_params_t params = {ITEM_PARAMS(a, piece, first, end), .rel_rows = (uint32_t)a->rel_rows};
    ITEM_CALL(k, a, piece, attention_item_dq);
    k.bindings[attention_item_dq_dy] = a->in[8];
    k.bindings[attention_item_dq_lse] = a->in[9];
    k.bindings[attention_item_dq_dots] = *dots;
    k.bindings[attention_item_dq_dq] = a->out[0];
    k.bindings[attention_item_dq_edges] = *edges;
    k.constants[attention_item_dq_EDGES] = edges->present;
    k.bindings[attention_item_dq_partial] = piece->partial;
    k.flops = piece->edges * (double)a->d * 10 * (double)(end - first) / (double)bpt_lower_attention_units(a, piece);
    bpt_lower_emit(a->l, &k, &params, params.n_tiles * a->t->heads);
}

// drel += edges, transposed, times the queries, head by head.
static void add_table(const problem_t *a, const bpt_view_t *edges, int64_t first, int64_t count, bool add) {
    bpt_lower_t *l = a->l;
    const int64_t head_dim = a->t->head_dim, stride = a->q_stride;
    const size_t scratch = l->scratch_bytes;
    size_t most = scratch;
    for (int64_t head = 0; head < a->t->heads; ++head) {
        bpt_gpu_gemm_t g = {.a = bpt_lower_part(edges, head * count * a->rel_rows, count * a->rel_rows),
                            .b = bpt_lower_part(&a->in[0], first * stride + head * head_dim, (count - 1) * stride + head_dim),
                            .c = a->out[2],
                            .m = a->rel_rows,
                            .n = head_dim,
                            .k = count,
                            .transpose_a = true,
                            .rule = table_rule(a)};
        if (add || head) g.acc = a->out[2];
        l->scratch_bytes = scratch;  // the product before is done with it
        bpt_software_multiply(l, &g, a->rel_rows, stride, head_dim);
        bpt_lower_barrier(l);
        if (l->scratch_bytes > most) most = l->scratch_bytes;
    }
    l->scratch_bytes = most;
}

// Leaves: dq, and the table's gradient, some leaves at a time.
static void lower_leaves(const problem_t *a, const piece_t *piece, const bpt_view_t *dots, bool first) {
    bpt_lower_t *l = a->l;
    const bool table = a->rel_rows && a->out[2].present;
    const int64_t group = bpt_software_group(l), units = bpt_lower_attention_units(a, piece), each = a->t->heads * a->rel_rows;
    const int64_t fit = table ? bpt_min(EDGE_BYTES / (4 * each), bpt_lower_window(l, units, 4 * (size_t)each)) / group * group : units;
    const int64_t window = bpt_min(fit > group ? fit : group, units);
    const bpt_view_t room = table ? bpt_lower_scratch(l, BPT_F32, window * each) : (bpt_view_t){0};
    if (table && units == 0 && first) bpt_lower_fill(l, &a->out[2], a->rel_rows * a->t->head_dim, 0);
    for (int64_t i = 0; i < units; i += window) {
        const int64_t count = bpt_min(window, units - i);
        const bpt_view_t edges = bpt_lower_part(&room, 0, count * each);
        if (table) {
            bpt_lower_fill(l, &edges, count * each, 0);
            bpt_lower_barrier(l);
        }
        emit_dq(a, piece, dots, &edges, i, i + count);
        bpt_lower_barrier(l);
        if (table) add_table(a, &edges, i, count, !first || i > 0);
    }
}

// Queries of a key, about: what is more goes to its last part.
static int64_t readers(const problem_t *a, int level) {
    const bpt_intervals_t *g = &a->t->graph;
    const int64_t sides = g->causal ? 1 : 2;
    if (!a->tree) return bpt_min(g->n, sides * a->reach + 1);
    return bpt_min(g->n, (sides * (a->reach + 1)) << level) + (level == 0 ? bpt_levels(g->n) : 1);
}

static void add_piece(pieces_t *p, int64_t first, int64_t nodes, int64_t keys, double edges) {
    piece_t piece = {.first = first, .nodes = nodes, .keys = keys, .edges = edges, .rel = true};
    piece.parts = bpt_ceil_div(keys, PART);
    piece.part_keys = bpt_ceil_div(keys, piece.parts);
    if (nodes > 0) p->piece[p->count++] = piece;
}

// The stored keys: levels of few readers together, each higher one by itself.
static pieces_t keys_of(const problem_t *a) {
    const int64_t n = a->t->graph.n;
    const bpt_intervals_t *g = &a->t->graph;
    const int levels = a->tree ? bpt_tree_levels(g) : 1;
    const double edges = (double)readers(a, 0) * (double)n * (double)a->batch;  // of a level, about
    pieces_t p = {.count = 0};
    add_piece(&p, 0, n, readers(a, 0), edges);
    if (a->t->zero_spans) return p;
    if (!a->tree) {
        add_piece(&p, n, a->other, 1, 0);
        return p;
    }
    int light = 1;
    while (light < levels && readers(a, light) <= PART) ++light;
    add_piece(&p, n, bpt_tree_level_offset(g, light) - n, PART, edges * (light - 1));
    for (int j = light; j < levels; ++j) add_piece(&p, bpt_tree_level_offset(g, j), bpt_tree_level_size(g, j), readers(a, j), edges);
    return p;
}

static void emit_dkv(const problem_t *a, const piece_t *piece, const bpt_view_t *dots) {
    const int64_t units = bpt_lower_attention_units(a, piece);
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_item_dkv);
    attention_item_dkv_params_t params = {ITEM_PARAMS(a, piece, 0, units)};
    ITEM_CALL(k, a, piece, attention_item_dkv);
    k.bindings[attention_item_dkv_dy] = a->in[8];
    k.bindings[attention_item_dkv_lse] = a->in[9];
    k.bindings[attention_item_dkv_dots] = *dots;
    k.bindings[attention_item_dkv_dkv] = a->out[a->t->packed ? 0 : 1];
    k.bindings[attention_item_dkv_partial] = piece->partial;
    k.flops = piece->edges * (double)a->d * 10;
    bpt_lower_emit(a->l, &k, &params, params.n_tiles * a->t->heads);
}

static void lower_items_gradient(const problem_t *a, bool first) {
    bpt_lower_t *l = a->l;
    const bpt_view_t none = {0};
    pieces_t queries = queries_of(a), keys = keys_of(a);
    if (a->t->queries == BPT_QUERIES_ALL && a->t->zero_spans) queries.count = 1;  // other queries are not stored: no gradient
    const bpt_view_t dots = bpt_lower_attention_dots(a);
    bpt_lower_attention_reserve(a, &queries, a->d);
    bpt_lower_attention_reserve(a, &keys, 2 * a->d);
    bpt_lower_barrier(l);
    lower_leaves(a, &queries.piece[0], &dots, first);
    for (int i = 1; i < queries.count; ++i) {
        emit_dq(a, &queries.piece[i], &dots, &none, 0, bpt_lower_attention_units(a, &queries.piece[i]));
        bpt_lower_barrier(l);
    }
    for (int i = 0; i < keys.count; ++i) {
        emit_dkv(a, &keys.piece[i], &dots);
        bpt_lower_barrier(l);
    }
    bpt_lower_attention_sums(a, &queries, &keys);
}

// ---- Either way --------------------------------------------------------------------------------------------------------

void bpt_software_attention(const problem_t *a, bool first, bpt_attention_lowering_t others) {
    bpt_lower_attention_either(a, first, is_possible(a), lower_items, others);
}

void bpt_software_attention_gradient(const problem_t *a, bool first, bpt_attention_lowering_t others) {
    bpt_lower_attention_either(a, first, is_possible(a), lower_items_gradient, others);
}
