// attention, attention_grad: which nodes a dispatch takes, how they are dealt out to work-groups, scratch. The arithmetic is in
// cl/attention_*.cl. Queries of few keys (and keys of few queries) are a work-group each; those of many are cut into parts, whose partial
// results a second kernel puts together in order, so that no group runs for long and high spans keep the device busy.
#include "backends/gpu/lower/attention.h"

#include "backends/gpu/gpu.h"
#include "bpt/rng.h"

enum {
    PART = 1024,                 // keys of a query, or queries of a key, that one work-group takes
    COLUMNS = 512,               // columns of a group, unless one head has more
    HEADS = 32,                  // heads of a group, at most
    SCORES = 1024,               // scores of a batch of keys
    SCORES_KEYS = 512,           // the same in the gradient of the keys, which has two numbers per edge
    OTHER_LOCAL_BYTES = 3328,    // local memory for ranges and keys of a batch, rounded up
    TABLE_SUM_BYTES = 64 << 20,  // private sums of the table's gradient
};

// As in cl/include/attention.h.
enum { CALL_ROOTS = 1, CALL_LEAVES = 2, CALL_ZERO_SPANS = 4, CALL_REL = 8, CALL_LSE = 16 };

typedef struct {
    bpt_lower_t *l;
    const bpt_attention_attrs_t *t;
    int32_t graph[4];
    bool tree, table;
    int64_t d, other, rel_rows;
    uint32_t calls, columns, group_heads, head_groups;
} problem_t;

// Nodes first .. first + nodes - 1 of every sequence (or its root), each in `parts` parts.
typedef struct {
    int64_t first, nodes;
    int64_t keys;              // most keys (or queries) of a node
    int64_t parts, part_keys;  // of a node
    double edges;              // of all sequences
    bool rel;                  // edges may have rows of the table
    bpt_view_t partial;
} piece_t;

enum { MAX_PIECES = BPT_MAX_LEVELS + 2 };

typedef struct {
    piece_t piece[MAX_PIECES];
    int count;
} pieces_t;

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- The call ----------------------------------------------------------------------------------------------------------

// Local memory of the largest kernel: four arrays of columns and the scores.
static void share_heads(problem_t *a) {
    const int64_t head_dim = a->t->head_dim, most = (a->l->device->api->limits.local_bytes - OTHER_LOCAL_BYTES) / 4 - 2 * SCORES_KEYS;
    a->columns = (uint32_t)(head_dim > COLUMNS ? head_dim : COLUMNS);
    if (4 * (int64_t)a->columns > most) a->columns = (uint32_t)(most / 4);
    if (head_dim > a->columns) {
        bpt_lower_refuse(a->l, "a head has %lld columns; the local memory of the device (%u bytes) has room for %u: use more heads",
                         (long long)head_dim, a->l->device->api->limits.local_bytes, a->columns);
        return;
    }
    const int64_t fit = min64(a->columns / head_dim, HEADS);
    a->head_groups = (uint32_t)bpt_ceil_div(a->t->heads, fit);
    a->group_heads = (uint32_t)bpt_ceil_div(a->t->heads, a->head_groups);
}

// Kernels count elements in 32 bits.
static void check_size(bpt_lower_t *l, const bpt_operand_t *operand, const char *direction, int slot) {
    if (operand->present && bpt_count(operand) > (int64_t)UINT32_MAX)
        bpt_lower_refuse(l, "%s %d has more than 2^32 elements: lower --batch-tokens or --context", direction, slot);
}
static void check_sizes(bpt_lower_t *l) {
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) check_size(l, &l->call->in[i], "input", i);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) check_size(l, &l->call->out[i], "output", i);
}

static problem_t problem_of(bpt_lower_t *l) {
    const bpt_attention_attrs_t *t = &l->call->attrs.attention;
    problem_t a = {.l = l, .t = t, .d = (int64_t)t->heads * t->head_dim};
    a.tree = t->graph.kind == BPT_GRAPH_BPT || t->graph.kind == BPT_GRAPH_SEGTREE;
    a.table = t->graph.kind == BPT_GRAPH_TABLE;
    a.other = a.table ? 0 : bpt_node_count(&t->graph) - t->graph.n;
    a.rel_rows = l->call->in[2].present ? bpt_rows(&l->call->in[2]) : 0;
    a.calls = (t->queries == BPT_QUERIES_ROOTS ? CALL_ROOTS : 0) | (t->queries == BPT_QUERIES_LEAVES ? CALL_LEAVES : 0) |
              (t->zero_spans ? CALL_ZERO_SPANS : 0);
    bpt_gpu_graph_words(&t->graph, a.graph);
    check_sizes(l);
    share_heads(&a);
    return a;
}

// ---- Loops -------------------------------------------------------------------------------------------------------------
// Where a driver stops a work-item after so many rounds of all its loops, a group takes no more keys than fit; elsewhere any number.

enum { UNIT_ROUNDS = 800, BATCH_ROUNDS = 48, DROPOUT_ROUNDS = 10 };  // of a query, of a batch of keys, of random numbers

// Rounds of the busiest item per key (or query), at most. `dots`: products of a column pair per score; `sums`: it sums up the table too.
static int64_t key_rounds(const problem_t *a, int64_t scores, int dots, bool sums) {
    const int64_t heads = a->group_heads, head_dim = a->t->head_dim, size = bpt_lower_kernel(a->l, BPT_GPU_attention_rows).group_size;
    const int64_t batch = min64(64, scores / heads), team = min64(size, head_dim);
    const int64_t dot = dots * (bpt_ceil_div(head_dim, 4) + 4) + DROPOUT_ROUNDS + 1;
    const int64_t table = sums && a->rel_rows ? 1 + bpt_ceil_div(head_dim, team) * (heads + 1) : 0;
    const int64_t rounds = bpt_ceil_div(batch * heads, size) * dot + bpt_ceil_div(heads, size) * 2 * batch +
                           bpt_ceil_div(heads * head_dim, size) * (batch + 1) + batch * table + BATCH_ROUNDS;
    return bpt_ceil_div(rounds, batch);
}

// Keys of a group, at most.
static int64_t most_keys(const problem_t *a, int64_t rounds) {
    const int64_t loops = a->l->device->api->limits.max_loops;
    if (loops == 0) return INT32_MAX;
    return loops > UNIT_ROUNDS + 64 * rounds ? (loops - UNIT_ROUNDS) / rounds : 64;
}

// ---- Pieces ------------------------------------------------------------------------------------------------------------

// Nodes of up to `keys` keys each, in parts of `most` keys.
static void add_piece(pieces_t *p, piece_t piece, int64_t most) {
    if (piece.nodes <= 0) return;
    piece.parts = piece.keys > most ? bpt_ceil_div(piece.keys, most) : 1;
    piece.part_keys = most;
    p->piece[p->count++] = piece;
}

static double leaf_edges(const problem_t *a) {
    int64_t all, contextual;
    bpt_intervals_count(&a->t->graph, a->t->graph.n, &all, &contextual);
    return (double)(contextual + a->t->graph.n) * (double)a->t->batch;
}

// Keys of a leaf, and queries of a leaf that are leaves, at most.
static int64_t leaf_keys(const problem_t *a) {
    const bpt_intervals_t *g = &a->t->graph;
    if (g->kind == BPT_GRAPH_DENSE) return g->n;
    if (g->kind == BPT_GRAPH_WINDOW) return min64(g->n, 2 * (int64_t)g->window + 1);
    return min64(g->n, 3 + 2 * (int64_t)bpt_levels(g->n) * (g->kind == BPT_GRAPH_SEGTREE ? 2 : (int64_t)g->k + 1));
}

// Levels from 1 up with at most a part of keys a node are one piece, each higher level is one. keys[j]: of a node of level j.
static void add_levels(const problem_t *a, const int64_t keys[BPT_MAX_LEVELS], int64_t most, double level_edges, bool rel, pieces_t *p) {
    const int64_t n = a->t->graph.n;
    const int levels = bpt_levels(n);
    int light = 1;
    while (light < levels && keys[light] <= most) ++light;
    add_piece(
        p,
        (piece_t){
            .first = n, .nodes = bpt_level_offset(n, light) - n, .keys = keys[light - 1], .edges = level_edges * (light - 1), .rel = rel},
        most);
    for (int j = light; j < levels; ++j)
        add_piece(
            p, (piece_t){.first = bpt_level_offset(n, j), .nodes = bpt_level_size(n, j), .keys = keys[j], .edges = level_edges, .rel = rel},
            most);
}

static pieces_t table_pieces(const problem_t *a, int64_t most) {
    const int64_t queries = bpt_rows(&a->l->call->in[0]), keys = bpt_rows(&a->l->call->in[1]), slots = a->l->call->in[6].shape.dim[1];
    pieces_t p = {.count = 0};
    add_piece(&p, (piece_t){.nodes = queries, .keys = keys, .edges = (double)queries * (double)keys, .rel = true}, most);
    if (slots > BPT_GPU_MAX_RANGES && keys > most)
        bpt_lower_refuse(a->l, "a table of %lld slots a query and %lld keys needs longer loops than the device allows", (long long)slots,
                         (long long)keys);
    return p;
}

// The queries of the call, for a kernel whose groups take `most` keys. Spans read leaves, without a row of the table unless they read
// themselves too.
static pieces_t query_pieces(const problem_t *a, int64_t most) {
    const bpt_attention_attrs_t *t = a->t;
    const int64_t n = t->graph.n, part = min64(PART, most);
    const double leaves = (double)n * (double)t->batch;
    pieces_t p = {.count = 0};
    if (a->table) return table_pieces(a, most);
    if (t->queries == BPT_QUERIES_ROOTS) {
        add_piece(&p, (piece_t){.nodes = 1, .keys = n, .edges = leaves, .rel = true}, part);  // the root may be a leaf
        return p;
    }
    add_piece(&p, (piece_t){.nodes = n, .keys = leaf_keys(a), .edges = leaf_edges(a), .rel = true}, most);
    if (t->queries == BPT_QUERIES_LEAVES) return p;
    int64_t keys[BPT_MAX_LEVELS];
    for (int j = 0; j < BPT_MAX_LEVELS; ++j) keys[j] = min64(n, (int64_t)1 << j) + (t->graph.span_self && j > 0);
    if (a->tree)
        add_levels(a, keys, part, leaves, t->graph.kind == BPT_GRAPH_SEGTREE && t->graph.span_self, &p);
    else
        add_piece(&p, (piece_t){.first = n, .nodes = a->other, .keys = n, .edges = leaves}, part);
    return p;
}

// The stored keys. A span is read by at most k + 1 nodes' worth of leaves on either side, and one more where a node may be left over.
static pieces_t key_pieces(const problem_t *a, int64_t most) {
    const bpt_attention_attrs_t *t = a->t;
    const int64_t n = t->graph.n, width = t->graph.kind == BPT_GRAPH_BPT ? 2 * (min64(t->graph.k, n) + 3) : 8;
    const bool roots = t->queries == BPT_QUERIES_ROOTS;
    const int levels = a->tree ? bpt_levels(n) : 1;
    const double edges = roots ? (double)n * (double)t->batch : leaf_edges(a) / levels * 2;  // of a level
    int64_t keys[BPT_MAX_LEVELS];
    for (int j = 0; j < BPT_MAX_LEVELS; ++j) keys[j] = roots ? 1 : min64(n, width << j) + 1;
    keys[0] = roots ? 1 : (a->tree ? min64(n, width) : leaf_keys(a)) + levels;
    pieces_t p = {.count = 0};
    add_piece(&p, (piece_t){.nodes = n, .keys = keys[0], .edges = edges, .rel = true}, most);
    if (t->zero_spans) return p;
    if (a->tree)
        add_levels(a, keys, min64(PART, most), edges, true, &p);
    else
        add_piece(&p, (piece_t){.first = n, .nodes = a->other, .keys = 1}, most);
    return p;
}

static int64_t units_of(const problem_t *a, const piece_t *piece) { return a->t->batch * piece->nodes * piece->parts; }

// Scratch for the partial results of all pieces with several parts.
static void reserve_partials(const problem_t *a, pieces_t *p, int64_t columns) {
    for (int i = 0; i < p->count; ++i)
        if (p->piece[i].parts > 1) p->piece[i].partial = bpt_lower_scratch(a->l, BPT_F32, units_of(a, &p->piece[i]) * columns);
}

// ---- Parameters --------------------------------------------------------------------------------------------------------

// What all three large kernels share.
#define COMMON_PARAMS(a, piece)                                                                                                     \
    .graph = (a)->graph[0], .n = (a)->graph[1], .reach = (a)->graph[2], .rel_levels = (a)->graph[3],                                \
    .calls = (a)->calls | ((a)->rel_rows && (piece)->rel ? CALL_REL : 0), .leaf_rows = (uint32_t)((a)->t->batch * (a)->t->graph.n), \
    .other = (uint32_t)(a)->other, .heads = (uint32_t)(a)->t->heads, .head_dim = (uint32_t)(a)->t->head_dim,                        \
    .group_heads = (a)->group_heads, .q_stride = (uint32_t)((a)->t->packed ? 3 * (a)->d : (a)->d),                                  \
    .kv_stride = (uint32_t)((a)->t->packed ? 3 * (a)->d : 2 * (a)->d), .k_offset = (uint32_t)((a)->t->packed ? (a)->d : 0),         \
    .first_node = (int32_t)(piece)->first, .n_nodes = (uint32_t)(piece)->nodes, .parts = (uint32_t)(piece)->parts,                  \
    .part_keys = (int32_t)(piece)->part_keys, .scale = (a)->t->scale, .inverse = 1 / (1 - (a)->t->p),                               \
    .threshold = (a)->t->p > 0 ? bpt_lower_threshold((a)->t->p) : 0, .uid = (a)->t->uid

// Bindings and constants that have the same names in all three.
#define COMMON_CALL(k, a, kernel, scores)                          \
    do {                                                           \
        (k).constants[kernel##_COLUMNS] = (a)->columns;            \
        (k).constants[kernel##_HEADS] = HEADS;                     \
        (k).constants[kernel##_SCORES] = scores;                   \
        (k).bindings[kernel##_q] = bpt_lower_in((a)->l, 0);        \
        (k).bindings[kernel##_kv] = bpt_lower_in((a)->l, 1);       \
        (k).bindings[kernel##_rel] = bpt_lower_in((a)->l, 2);      \
        (k).bindings[kernel##_lengths] = bpt_lower_in((a)->l, 3);  \
        (k).bindings[kernel##_row_keys] = bpt_lower_in((a)->l, 4); \
        (k).bindings[kernel##_rng] = bpt_lower_in((a)->l, 5);      \
    } while (0)

// ---- Forward -----------------------------------------------------------------------------------------------------------

static void emit_rows(const problem_t *a, const piece_t *piece) {
    bpt_lower_t *l = a->l;
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_attention_rows);
    attention_rows_params_t params = {COMMON_PARAMS(a, piece), .table_ranges = a->table ? (uint32_t)l->call->in[6].shape.dim[1] : 0};
    if (l->call->out[1].present) params.calls |= CALL_LSE;
    COMMON_CALL(k, a, attention_rows, SCORES);
    k.bindings[attention_rows_table] = bpt_lower_in(l, 6);
    k.bindings[attention_rows_result] = bpt_lower_out(l, 0);
    k.bindings[attention_rows_lse] = bpt_lower_out(l, 1);
    k.bindings[attention_rows_partial] = piece->partial;
    k.flops = piece->edges * (double)a->d * 6;
    bpt_lower_emit(l, &k, &params, units_of(a, piece) * a->head_groups);
}

static void emit_merge(const problem_t *a, const piece_t *piece) {
    bpt_lower_t *l = a->l;
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_attention_merge);
    const int64_t count = a->t->batch * piece->nodes * a->d;
    attention_merge_params_t params = {.n = a->graph[1],
                                       .calls = a->calls,
                                       .leaf_rows = (uint32_t)(a->t->batch * a->t->graph.n),
                                       .other = (uint32_t)a->other,
                                       .heads = (uint32_t)a->t->heads,
                                       .head_dim = (uint32_t)a->t->head_dim,
                                       .first_node = (int32_t)piece->first,
                                       .n_nodes = (uint32_t)piece->nodes,
                                       .parts = (uint32_t)piece->parts,
                                       .count = (uint32_t)count,
                                       .inverse = 1 / (1 - a->t->p)};
    if (l->call->out[1].present) params.calls |= CALL_LSE;
    k.bindings[attention_merge_partial] = piece->partial;
    k.bindings[attention_merge_result] = bpt_lower_out(l, 0);
    k.bindings[attention_merge_lse] = bpt_lower_out(l, 1);
    bpt_lower_emit_items(l, &k, &params, count);
}

void bpt_lower_ATTENTION(bpt_lower_t *l) {
    const problem_t a = problem_of(l);
    if (l->status != BPT_OK) return;
    pieces_t queries = query_pieces(&a, most_keys(&a, key_rounds(&a, SCORES, 2, false)));
    reserve_partials(&a, &queries, a.d + 2 * a.t->heads);
    // Pieces write other rows of one binding; a driver (and its validation) sees the binding only, hence a barrier after each.
    for (int i = 0; i < queries.count; ++i) {
        emit_rows(&a, &queries.piece[i]);
        bpt_lower_barrier(l);
    }
    for (int i = 0; i < queries.count; ++i)
        if (queries.piece[i].parts > 1) {
            emit_merge(&a, &queries.piece[i]);
            bpt_lower_barrier(l);
        }
}

// ---- Gradient ----------------------------------------------------------------------------------------------------------

typedef struct {
    problem_t a;
    bpt_view_t dots, table_sums;
    int64_t area;  // elements of one private sum of the table
    pieces_t queries, keys;
    int64_t groups[MAX_PIECES];  // of the queries' pieces
    int64_t turn[MAX_PIECES];    // queries that a group takes in one dispatch
    int64_t first_area[MAX_PIECES], areas;
} gradient_t;

enum { MAX_TURN = 64 };

// A group takes one query, unless that makes too many private sums of the table. Then a group has several dispatches, turns, that add to
// the same sums, so that none runs for long.
static void share_queries(gradient_t *g, int64_t rounds) {
    const bpt_gpu_limits_t *limits = &g->a.l->device->api->limits;
    const int64_t bytes = min64(TABLE_SUM_BYTES, (int64_t)(limits->max_binding_bytes / 2));
    int64_t with_rel = 0;
    for (int i = 0; i < g->queries.count; ++i) with_rel += g->queries.piece[i].rel;
    g->area = g->a.rel_rows * g->a.t->head_dim;
    const int64_t most = g->area && with_rel ? bytes / (4 * g->area) / (with_rel * g->a.head_groups) : 0;  // groups of heads of a piece
    for (int i = 0; i < g->queries.count; ++i) {
        const piece_t *piece = &g->queries.piece[i];
        const int64_t units = units_of(&g->a, piece), unit_rounds = UNIT_ROUNDS + min64(piece->keys, piece->part_keys) * rounds;
        const bool sums = g->area && piece->rel;
        const int64_t groups = sums && units > most ? (most > 0 ? most : 1) : units;
        const int64_t fit = limits->max_loops > unit_rounds ? limits->max_loops / unit_rounds : limits->max_loops ? 1 : MAX_TURN;
        g->groups[i] = groups * g->a.head_groups;
        g->turn[i] = groups > 0 ? min64(bpt_ceil_div(units, groups), min64(fit, MAX_TURN)) : 1;
        g->first_area[i] = g->areas;
        if (sums) g->areas += g->groups[i];
    }
}

static void clear_table_sums(const gradient_t *g) {
    const int64_t count = g->areas * g->area, window = bpt_lower_window(g->a.l, count, sizeof(float));
    bpt_kernel_call_t k = bpt_lower_kernel(g->a.l, BPT_GPU_fill);
    for (int64_t i = 0; i < count; i += window) {
        fill_params_t params = {.count = (uint32_t)min64(window, count - i)};
        k.bindings[fill_result] = bpt_lower_part(&g->table_sums, i, min64(window, count - i));
        bpt_lower_emit_items(g->a.l, &k, &params, min64(window, count - i));
    }
}

static void emit_dots(const gradient_t *g) {
    bpt_lower_t *l = g->a.l;
    bpt_kernel_call_t k = bpt_lower_kernel(l, BPT_GPU_attention_dots);
    const int64_t count = bpt_count(&l->call->in[9]);
    attention_dots_params_t params = {.count = (uint32_t)count, .head_dim = (uint32_t)g->a.t->head_dim};
    k.bindings[attention_dots_y] = bpt_lower_in(l, 7);
    k.bindings[attention_dots_dy] = bpt_lower_in(l, 8);
    k.bindings[attention_dots_dots] = g->dots;
    bpt_lower_emit_items(l, &k, &params, count);
}

static void emit_dq(const gradient_t *g, int index) {
    const problem_t *a = &g->a;
    const piece_t *piece = &g->queries.piece[index];
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_dq);
    attention_dq_params_t params = {COMMON_PARAMS(a, piece), .units = (uint32_t)units_of(a, piece), .group_units = (uint32_t)g->turn[index],
                                    .rel_rows = (uint32_t)a->rel_rows};
    COMMON_CALL(k, a, attention_dq, SCORES);
    k.bindings[attention_dq_dy] = bpt_lower_in(a->l, 8);
    k.bindings[attention_dq_lse] = bpt_lower_in(a->l, 9);
    k.bindings[attention_dq_dots] = g->dots;
    k.bindings[attention_dq_dq] = bpt_lower_out(a->l, 0);
    k.bindings[attention_dq_partial] = piece->partial;
    if (g->area && piece->rel)
        k.bindings[attention_dq_drel] = bpt_lower_part(&g->table_sums, g->first_area[index] * g->area, g->groups[index] * g->area);
    const int64_t units = units_of(a, piece), step = g->groups[index] / a->head_groups * g->turn[index];
    k.flops = piece->edges * (double)a->d * 10 * (units > step ? (double)step / (double)units : 1);
    for (int64_t first = 0; first < units; first += step) {
        if (first > 0) bpt_lower_barrier(a->l);
        params.first_unit = (uint32_t)first;
        bpt_lower_emit(a->l, &k, &params, g->groups[index]);
    }
}

static void emit_dkv(const gradient_t *g, const piece_t *piece) {
    const problem_t *a = &g->a;
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_dkv);
    attention_dkv_params_t params = {COMMON_PARAMS(a, piece)};
    COMMON_CALL(k, a, attention_dkv, SCORES_KEYS);
    k.bindings[attention_dkv_dy] = bpt_lower_in(a->l, 8);
    k.bindings[attention_dkv_lse] = bpt_lower_in(a->l, 9);
    k.bindings[attention_dkv_dots] = g->dots;
    k.bindings[attention_dkv_dkv] = bpt_lower_out(a->l, a->t->packed ? 0 : 1);
    k.bindings[attention_dkv_partial] = piece->partial;
    k.flops = piece->edges * (double)a->d * 10;
    bpt_lower_emit(a->l, &k, &params, units_of(a, piece) * a->head_groups);
}

// Adds up the parts of a piece: columns of the rows of `target`, from `offset` on.
static void emit_sum(const problem_t *a, const piece_t *piece, uint32_t calls, int64_t columns, bpt_view_t target, int64_t stride,
                     int64_t offset) {
    bpt_kernel_call_t k = bpt_lower_kernel(a->l, BPT_GPU_attention_sum);
    const int64_t count = a->t->batch * piece->nodes * columns;
    attention_sum_params_t params = {.n = a->graph[1],
                                     .calls = calls,
                                     .leaf_rows = (uint32_t)(a->t->batch * a->t->graph.n),
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

static gradient_t gradient_of(bpt_lower_t *l) {
    gradient_t g = {.a = problem_of(l)};
    if (l->status != BPT_OK) return g;
    const int64_t query_rounds = key_rounds(&g.a, SCORES, 3, true), rounds = key_rounds(&g.a, SCORES_KEYS, 3, false);
    g.queries = query_pieces(&g.a, most_keys(&g.a, query_rounds));
    if (g.a.t->queries == BPT_QUERIES_ALL && g.a.t->zero_spans) g.queries.count = 1;  // other queries are not stored: no gradient
    g.keys = key_pieces(&g.a, most_keys(&g.a, rounds));
    g.dots = bpt_lower_scratch(l, BPT_F32, bpt_count(&l->call->in[9]));
    reserve_partials(&g.a, &g.queries, g.a.d);
    reserve_partials(&g.a, &g.keys, 2 * g.a.d);
    share_queries(&g, query_rounds);
    if (g.areas) g.table_sums = bpt_lower_scratch(l, BPT_F32, g.areas * g.area);
    return g;
}

void bpt_lower_ATTENTION_GRAD(bpt_lower_t *l) {
    gradient_t g = gradient_of(l);
    if (l->status != BPT_OK) return;
    const problem_t *a = &g.a;
    emit_dots(&g);
    clear_table_sums(&g);
    bpt_lower_barrier(l);
    for (int i = 0; i < g.queries.count; ++i) {
        emit_dq(&g, i);
        bpt_lower_barrier(l);
    }
    for (int i = 0; i < g.keys.count; ++i) {
        emit_dkv(&g, &g.keys.piece[i]);
        bpt_lower_barrier(l);
    }
    for (int i = 0; i < g.queries.count; ++i)
        if (g.queries.piece[i].parts > 1) {
            emit_sum(a, &g.queries.piece[i], a->calls, a->d, bpt_lower_out(l, 0), a->t->packed ? 3 * a->d : a->d, 0);
            bpt_lower_barrier(l);
        }
    for (int i = 0; i < g.keys.count; ++i)
        if (g.keys.piece[i].parts > 1) {
            emit_sum(a, &g.keys.piece[i], 0, 2 * a->d, bpt_lower_out(l, a->t->packed ? 0 : 1), a->t->packed ? 3 * a->d : 2 * a->d,
                     a->t->packed ? a->d : 0);
            bpt_lower_barrier(l);
        }
    if (!l->call->out[2].present) return;
    const bpt_view_t drel = bpt_lower_out(l, 2);
    bpt_lower_sum_rows(l, &g.table_sums, g.areas, g.area, &drel, false);
}
