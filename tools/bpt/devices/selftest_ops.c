// Single ops against the reference backend (see selftest_ops.h). A case builds a graph of one op, of a loss behind it and of the
// gradients; both devices compute the same graph from the same values, and every result knows the op that made it.
#include "tools/bpt/devices/selftest_ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/lists.h"
#include "bpt/program.h"
#include "bpt/rng.h"

enum { ROWS = 24, FF = 20, VOCAB = 13, BATCH = 2, LEAVES = 12, MAX_VALUES = 16 };

typedef enum {
    FILL_REAL,        // [-1, 1)
    FILL_POSITIVE,    // [0.25, 1.25)
    FILL_IDS,         // u32 below `limit`, and some that name no row
    FILL_TARGETS,     // u32 below `limit`
    FILL_RANGES,      // of rows: ROWS in equal parts, `limit` rows each
    FILL_LENGTHS,     // LEAVES, LEAVES - 5
    FILL_NODE_CODES,  // row keys of the nodes of `graph`
    FILL_TABLE,       // of build_table: what ROWS queries read
    FILL_BACK,        // its transpose
    FILL_LINKS,       // of a tree over `limit` leaves, each node over one leaf and the next node
    FILL_TREES,       // that tree
    FILL_HYPER,       // of Adam
} fill_t;

typedef struct {
    bpt_graph_t *g;
    bpt_dtype_t type;  // what ops.h calls F
    bpt_intervals_t graph;
    int32_t d, heads;
    struct {
        bpt_value_t value;
        fill_t fill;
        uint32_t limit;
    } in[MAX_VALUES];
    struct {
        bpt_value_t value;
        const char *op;
    } out[MAX_VALUES];
    int n_in, n_out;
} net_t;

// ---- Building
static bpt_value_t input(net_t *n, bpt_dtype_t dtype, bpt_shape_t shape, fill_t fill, uint32_t limit) {
    const bpt_value_t value = bpt_input(n->g, "operand", dtype, shape);
    n->in[n->n_in].value = value;
    n->in[n->n_in].fill = fill;
    n->in[n->n_in++].limit = limit;
    return value;
}
static bpt_value_t matrix(net_t *n, bpt_dtype_t dtype, int64_t rows, int64_t columns) {
    return input(n, dtype, bpt_shape2(rows, columns), FILL_REAL, 0);
}
static bpt_value_t vector(net_t *n, int64_t count) { return input(n, BPT_F32, bpt_shape1(count), FILL_REAL, 0); }

static bpt_random_t random_source(net_t *n, int64_t rows) {
    const bpt_value_t keys = input(n, BPT_U32, bpt_shape2(rows, 2), FILL_TARGETS, 1u << 20);
    return (bpt_random_t){keys, input(n, BPT_U32, bpt_shape1(2), FILL_TARGETS, UINT32_MAX)};
}

static void result(net_t *n, const char *op, bpt_value_t value) {
    bpt_graph_keep(n->g, value);
    n->out[n->n_out].value = value;
    n->out[n->n_out++].op = op;
}

// A loss over the rows of h.
static bpt_xent_t loss_of(net_t *n, bpt_value_t h, bpt_value_t w, bpt_value_t bias, float smoothing) {
    const bpt_value_info_t *info = bpt_graph_status(n->g) == BPT_OK ? bpt_graph_value(n->g, h) : NULL;
    if (!info) return (bpt_xent_t){BPT_NO_VALUE, BPT_NO_VALUE};
    const int64_t rows = bpt_shape_rows(&info->shape);
    const bpt_value_t targets = input(n, BPT_U32, bpt_shape1(rows), FILL_TARGETS, VOCAB),
                      weights = input(n, BPT_F32, bpt_shape1(rows), FILL_POSITIVE, 0);
    return bpt_xent(n->g, h, w, bias, targets, weights, smoothing);
}

static void differentiate(net_t *n, const char *op, bpt_value_t h, const bpt_value_t *wrt, int n_wrt) {
    bpt_value_t grads[4];
    const bpt_value_t loss = loss_of(n, h, matrix(n, n->type, VOCAB, n->d), BPT_NO_VALUE, 0).loss;
    if (bpt_graph_gradients(n->g, loss, wrt, n_wrt, grads) != BPT_OK) return;  // the graph remembers it
    for (int i = 0; i < n_wrt; ++i) result(n, op, grads[i]);
}

// ---- Cases
// Where a gradient is wanted, its op computes the loss as well (ALONE: the forward op runs).
enum { PLAIN, SMOOTHED, ALONE };

static void build_xent(net_t *n, int variant) {
    const bpt_value_t wrt[] = {matrix(n, n->type, ROWS, n->d), matrix(n, n->type, VOCAB, n->d), vector(n, VOCAB)};
    const bpt_xent_t x = loss_of(n, wrt[0], wrt[1], wrt[2], variant == SMOOTHED ? 0.1f : 0);
    bpt_value_t grads[3];
    result(n, "xent", x.loss);
    result(n, "xent", x.nll);
    if (variant == ALONE) return;
    if (bpt_graph_gradients(n->g, x.loss, wrt, 3, grads) != BPT_OK) return;
    for (int i = 0; i < 3; ++i) result(n, "xent_grad", grads[i]);
}

static void build_pointwise(net_t *n, int variant) {
    (void)variant;
    const bpt_value_t wrt[] = {matrix(n, n->type, ROWS, n->d), matrix(n, n->type, ROWS, n->d)}, row = vector(n, n->d),
                      scalar = vector(n, 1);
    const bpt_value_t sum = bpt_add(n->g, bpt_mul(n->g, wrt[0], wrt[1]), bpt_scale(n->g, wrt[0], 0.5f));
    const bpt_value_t moved = bpt_mul_scalar(n->g, bpt_add_row(n->g, sum, row), scalar);
    const bpt_value_t kept = bpt_dropout(n->g, bpt_relu(n->g, moved), 0.25f, random_source(n, ROWS));
    const bpt_value_t y = bpt_add(n->g, bpt_swish(n->g, kept), bpt_abs(n->g, sum));
    result(n, "pointwise", sum);
    result(n, "pointwise", y);
    differentiate(n, "pointwise", y, wrt, 2);
}

static void build_matmul(net_t *n, int variant) {
    (void)variant;
    const bpt_value_t wrt[] = {matrix(n, n->type, ROWS, FF), matrix(n, n->type, n->d, FF)}, bias = vector(n, n->d);
    const bpt_value_t y = bpt_linear(n->g, wrt[0], wrt[1], bias);
    result(n, "matmul", y);
    differentiate(n, "matmul", y, wrt, 2);
}

static void build_layernorm(net_t *n, int variant) {
    (void)variant;
    const bpt_value_t wrt[] = {matrix(n, n->type, ROWS, n->d), matrix(n, BPT_F32, ROWS, n->d), vector(n, n->d), vector(n, n->d)};
    bpt_value_t low;
    const bpt_value_t y = bpt_layernorm(n->g, wrt[0], wrt[1], wrt[2], wrt[3], 0.25f, random_source(n, ROWS), n->type, &low);
    result(n, "layernorm", y);
    differentiate(n, "layernorm_grad", low, wrt, 4);
}

static void build_rmsnorm(net_t *n, int variant) {
    (void)variant;
    const bpt_value_t wrt[] = {matrix(n, n->type, ROWS, n->d), matrix(n, BPT_F32, ROWS, n->d), vector(n, n->d)};
    bpt_value_t low;
    const bpt_value_t y = bpt_rmsnorm(n->g, wrt[0], wrt[1], wrt[2], 0.25f, random_source(n, ROWS), n->type, &low);
    result(n, "rmsnorm", y);
    differentiate(n, "rmsnorm_grad", low, wrt, 3);
}

static void build_gather(net_t *n, int variant) {
    (void)variant;
    const bpt_value_t table = matrix(n, n->type, VOCAB, n->d), ids = input(n, BPT_U32, bpt_shape1(ROWS), FILL_IDS, VOCAB);
    const bpt_value_t y = bpt_gather(n->g, table, ids);
    result(n, "gather", y);
    differentiate(n, "gather_grad", y, &table, 1);
}

static void build_scatter(net_t *n, int variant) {
    (void)variant;
    const bpt_value_t table = matrix(n, n->type, VOCAB, n->d), ids = input(n, BPT_U32, bpt_shape1(1), FILL_TARGETS, VOCAB);
    bpt_scatter(n->g, table, matrix(n, n->type, 1, n->d), ids);
    result(n, "scatter", table);
}

static void build_rows(net_t *n, int variant) {
    (void)variant;
    const bpt_value_t x = matrix(n, n->type, ROWS, n->d);
    result(n, "add_rows", bpt_add_rows(n->g, x, matrix(n, n->type, 7, n->d), 3, ROWS));
    result(n, "column_sum", bpt_column_sum(n->g, x));
    result(n, "square_sum", bpt_square_sum(n->g, vector(n, ROWS * n->d)));
}

static void build_rotary(net_t *n, int variant) {
    (void)variant;
    const int32_t head_dim = n->d < 8 ? 2 : 4;
    const bpt_value_t x = matrix(n, n->type, ROWS, n->d);
    const bpt_value_t y = bpt_rotary(n->g, x, matrix(n, BPT_F32, ROWS, head_dim), head_dim, head_dim * (n->d / head_dim / 2 + 1));
    result(n, "rotary", y);
    differentiate(n, "rotary", y, &x, 1);
}

static void build_segment(net_t *n, int variant) {
    enum { SEGMENTS = 4 };
    const bpt_value_t x = matrix(n, n->type, ROWS, n->d), ranges = input(n, BPT_U32, bpt_shape2(SEGMENTS, 2), FILL_RANGES, ROWS / SEGMENTS);
    const bpt_value_t y = bpt_segment(n->g, (bpt_segment_kind_t)variant, x, ranges);
    result(n, "segment", y);
    differentiate(n, "segment_grad", y, &x, 1);
}

static void build_crf(net_t *n, int variant) {
    enum { SEQUENCES = 4, TAGS = 7 };
    const bpt_value_t wrt[] = {matrix(n, BPT_F32, ROWS, TAGS), matrix(n, BPT_F32, TAGS + 2, TAGS)};
    const bpt_value_t tags = input(n, BPT_U32, bpt_shape1(ROWS), FILL_TARGETS, TAGS);
    const bpt_value_t ranges = input(n, BPT_U32, bpt_shape2(SEQUENCES, 2), FILL_RANGES, ROWS / SEQUENCES);
    const bpt_crf_t out = bpt_crf(n->g, wrt[0], wrt[1], tags, ranges, input(n, BPT_F32, bpt_shape1(SEQUENCES), FILL_POSITIVE, 0));
    bpt_value_t grads[2];
    result(n, "crf", out.nll);
    if (variant == ALONE) return;
    if (bpt_graph_gradients(n->g, out.loss, wrt, 2, grads) != BPT_OK) return;  // the graph remembers it
    for (int i = 0; i < 2; ++i) result(n, "crf_grad", grads[i]);
}

static void build_tree(net_t *n, int variant) {
    enum { N_LEAVES = 14 };
    const int32_t head_dim = n->d / n->heads;
    const bool tables = variant == 0 && head_dim % 2 == 0;
    const bpt_tree_values_attrs_t attrs = {.heads = n->heads, .head_dim = head_dim, .counts_leaf = variant == 0};
    bpt_value_t wrt[] = {matrix(n, n->type, ROWS, 2 * n->d), matrix(n, BPT_F32, N_LEAVES, n->heads), BPT_NO_VALUE, BPT_NO_VALUE};
    if (tables) wrt[2] = matrix(n, BPT_F32, 4, head_dim / 2), wrt[3] = matrix(n, BPT_F32, 5, head_dim / 2);
    const bpt_tree_values_inputs_t in = {.kv = wrt[0],
                                         .weight = wrt[1],
                                         .vertical = wrt[2],
                                         .horizontal = wrt[3],
                                         .links = input(n, BPT_U32, bpt_shape2(ROWS, 3), FILL_LINKS, N_LEAVES),
                                         .trees = input(n, BPT_U32, bpt_shape2(1, 4), FILL_TREES, N_LEAVES)};
    const bpt_value_t y = bpt_tree_values(n->g, &attrs, &in);
    result(n, "tree_values", y);
    differentiate(n, "tree_values_grad", bpt_linear(n->g, y, matrix(n, n->type, n->d, 2 * n->d), BPT_NO_VALUE), wrt, tables ? 4 : 2);
}

static void build_cast(net_t *n, int variant) {
    (void)variant;
    const bpt_value_t x = matrix(n, BPT_F32, ROWS, n->d);
    result(n, "copy", bpt_copy(n->g, x));
    result(n, "fill", bpt_fill(n->g, n->type, bpt_shape1(ROWS), 0.5f));
    if (n->type != BPT_F32) result(n, "cast", bpt_cast(n->g, x, n->type));
}

static void build_adam(net_t *n, int variant) {
    const bpt_adam_attrs_t attrs = {
        .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-8f, .weight_decay = 0.1f, .lr_scale = 1, .decoupled = variant != 0};
    const bpt_value_t p = vector(n, ROWS * n->d), g = vector(n, ROWS * n->d), m = vector(n, ROWS * n->d),
                      v = input(n, BPT_F32, bpt_shape1(ROWS * n->d), FILL_POSITIVE, 0), acc = vector(n, ROWS), keep = vector(n, 1);
    bpt_adam(n->g, p, g, m, v, input(n, BPT_F32, bpt_shape1(8), FILL_HYPER, 0), bpt_square_sum(n->g, g), &attrs);
    bpt_accumulate(n->g, acc, vector(n, ROWS), keep);
    result(n, "adam", p);
    result(n, "adam", m);
    result(n, "adam", v);
    result(n, "accumulate", acc);
}

// A matrix that is updated as a whole: momentum, its norm, and the step.
static void build_momentum(net_t *n, int variant) {
    const bpt_momentum_attrs_t momentum = {.momentum = 0.9f, .nesterov = variant != 0};
    const bpt_descend_attrs_t descend = {.lr_scale = 2, .weight_decay = 0.1f};
    const bpt_value_t p = vector(n, ROWS * n->d), g = vector(n, ROWS * n->d), m = vector(n, ROWS * n->d);
    const bpt_value_t hyper = input(n, BPT_F32, bpt_shape1(8), FILL_HYPER, 0), squares = bpt_square_sum(n->g, vector(n, ROWS));
    bpt_momentum(n->g, g, m, hyper, squares, &momentum);
    const bpt_value_t u = bpt_normalize(n->g, g, bpt_square_sum(n->g, g), 1e-7f, n->type);
    bpt_descend(n->g, p, u, hyper, squares, &descend);
    result(n, "momentum", g);
    result(n, "momentum", m);
    result(n, "normalize", u);
    result(n, "descend", p);
}

static const bpt_intervals_t graphs[] = {
    {.kind = BPT_INTERVALS_BPT, .causal = true, .k = 2, .rel_levels = 3, .n = LEAVES},
    {.kind = BPT_INTERVALS_BPT, .k = 1, .rel_levels = 4, .n = LEAVES},
    {.kind = BPT_INTERVALS_BPT, .reference_rule = true, .k = 2, .rel_levels = 2, .n = LEAVES},
    {.kind = BPT_INTERVALS_SEGTREE, .causal = true, .k = 1, .rel_levels = 4, .n = LEAVES},
    {.kind = BPT_INTERVALS_SEGTREE, .span_self = true, .k = 1, .rel_levels = 4, .n = LEAVES},
    {.kind = BPT_INTERVALS_DENSE, .causal = true, .rel_levels = 5, .n = LEAVES},
    {.kind = BPT_INTERVALS_WINDOW, .window = 3, .rel_levels = 3, .n = LEAVES},
    {.kind = BPT_INTERVALS_SPARSE, .causal = true, .stride = 6, .tail = 2, .n = LEAVES},
};

static void build_attention(net_t *n, int variant) {
    n->graph = graphs[variant];
    const int64_t rows = BATCH * bpt_node_count(&n->graph);
    const bpt_attention_attrs_t attrs = {
        .graph = n->graph, .batch = BATCH, .heads = n->heads, .head_dim = n->d / n->heads, .packed = true, .scale = 0.35f, .p = 0.25f};
    const int64_t rel_rows = bpt_rel_rows(&n->graph);
    const bpt_value_t wrt[] = {matrix(n, n->type, rows, 3 * n->d), rel_rows ? matrix(n, n->type, rel_rows, n->d / n->heads) : BPT_NO_VALUE};
    const bpt_attention_inputs_t in = {.q = wrt[0],
                                       .kv = wrt[0],
                                       .rel = wrt[1],
                                       .lengths = input(n, BPT_U32, bpt_shape1(BATCH), FILL_LENGTHS, 0),
                                       .row_keys = input(n, BPT_U32, bpt_shape2(rows, 2), FILL_NODE_CODES, 0),
                                       .rng = input(n, BPT_U32, bpt_shape1(2), FILL_TARGETS, UINT32_MAX),
                                       .table = BPT_NO_VALUE};
    const bpt_value_t y = bpt_attention(n->g, &attrs, &in);
    result(n, "attention", y);
    differentiate(n, "attention_grad", y, wrt, rel_rows ? 2 : 1);
}

// A table of two slots: a packed batch of ragged sequences reads its keys, and one of them again, as other rows than the queries.
enum { TABLE_KEYS = 17, TABLE_SLOTS = 2, TABLE_BACK = 3 };

static bpt_status_t make_table(uint32_t table[ROWS * TABLE_SLOTS * 4], uint32_t back[TABLE_KEYS * TABLE_BACK * 2]) {
    static const uint32_t start[] = {0, 9, 10}, length[] = {9, 1, 13}, key_start[] = {0, 6, 8}, key_length[] = {6, 2, 7};
    const bpt_row_space_t queries = {ROWS, 3, start, length}, keys = {TABLE_KEYS, 3, key_start, key_length};
    const bpt_lists_t lists = {ROWS, TABLE_KEYS, TABLE_SLOTS, TABLE_BACK, table, back};
    BPT_TRY(bpt_lists_all(&queries, &keys, &lists));
    for (uint32_t q = 0; q < 9; ++q) table[(q * TABLE_SLOTS + 1) * 4] = 5, table[(q * TABLE_SLOTS + 1) * 4 + 1] = 7;
    return bpt_lists_transposed(&lists);
}

static void build_table(net_t *n, int variant) {
    (void)variant;
    const bpt_attention_attrs_t attrs = {.graph = {.kind = BPT_INTERVALS_TABLE, .n = ROWS},
                                         .batch = 1,
                                         .heads = n->heads,
                                         .head_dim = n->d / n->heads,
                                         .scale = 0.35f,
                                         .p = 0.25f};
    const bpt_value_t wrt[] = {matrix(n, n->type, ROWS, n->d), matrix(n, n->type, TABLE_KEYS, 2 * n->d)};
    const bpt_random_t random = random_source(n, ROWS);
    const bpt_attention_inputs_t in = {.q = wrt[0],
                                       .kv = wrt[1],
                                       .rel = BPT_NO_VALUE,
                                       .lengths = BPT_NO_VALUE,
                                       .row_keys = random.row_keys,
                                       .rng = random.rng,
                                       .table = input(n, BPT_U32, (bpt_shape_t){3, {ROWS, TABLE_SLOTS, 4}}, FILL_TABLE, 1),
                                       .back = input(n, BPT_U32, (bpt_shape_t){3, {TABLE_KEYS, TABLE_BACK, 2}}, FILL_BACK, 1),
                                       .key_codes = input(n, BPT_U32, bpt_shape1(TABLE_KEYS), FILL_TARGETS, 1u << 20)};
    const bpt_value_t y = bpt_attention(n->g, &attrs, &in);
    result(n, "attention", y);
    differentiate(n, "attention_grad", y, wrt, 2);
}

static const struct {
    const char *name;
    void (*build)(net_t *n, int variant);
    int variant;
    bool quick;  // few kernels, which every model needs
} cases[] = {
    {"cast, fill, copy", build_cast, 0, false},
    {"pointwise", build_pointwise, 0, true},
    {"matmul", build_matmul, 0, true},
    {"xent", build_xent, PLAIN, false},
    {"xent with smoothing", build_xent, SMOOTHED, false},
    {"xent without gradient", build_xent, ALONE, false},
    {"layernorm", build_layernorm, 0, true},
    {"rmsnorm", build_rmsnorm, 0, false},
    {"gather", build_gather, 0, true},
    {"scatter", build_scatter, 0, false},
    {"rows and sums", build_rows, 0, false},
    {"rotary", build_rotary, 0, false},
    {"sums of segments", build_segment, BPT_SEGMENT_SUM, false},
    {"means of segments", build_segment, BPT_SEGMENT_MEAN, false},
    {"largest of segments", build_segment, BPT_SEGMENT_MAX, false},
    {"crf", build_crf, PLAIN, false},
    {"crf without gradient", build_crf, ALONE, false},
    {"values of trees", build_tree, 0, false},
    {"values of trees without embeddings", build_tree, 1, false},
    {"attention, bpt, causal", build_attention, 0, true},
    {"attention, bpt", build_attention, 1, false},
    {"attention, bpt, reference rule", build_attention, 2, false},
    {"attention, segtree, causal", build_attention, 3, false},
    {"attention, segtree, spans read themselves", build_attention, 4, false},
    {"attention, dense, causal", build_attention, 5, false},
    {"attention, window", build_attention, 6, false},
    {"attention, sparse", build_attention, 7, false},
    {"attention, table", build_table, 0, false},
    {"adam", build_adam, 0, false},
    {"adamw", build_adam, 1, false},
    {"momentum", build_momentum, 0, false},
    {"nesterov's momentum", build_momentum, 1, false},
};

int cli_selftest_ops_count(void) { return (int)BPT_COUNT(cases); }

bool cli_selftest_op_is_quick(int index) { return cases[index].quick; }

// ---- Computing
static float real_at(fill_t fill, uint64_t random, int64_t i) {
    static const float hyper[8] = {0.01f, 0.1f, 0.02f, 0.5f, 1};
    const float unit = (float)(random >> 40) * 0x1p-24f;
    return fill == FILL_HYPER ? hyper[i % 8] : fill == FILL_POSITIVE ? 0.25f + unit : 2 * unit - 1;
}

// Links of ROWS - leaves nodes in post-order: the last one is over all leaves, the one before over all but the first, and so on.
static uint32_t link_of(int64_t row, int64_t which, uint32_t leaves) {
    const uint32_t nodes = ROWS - leaves, r = (uint32_t)row;
    if (r < leaves) return which ? 0 : r + 1 < nodes ? leaves + nodes - 1 - r : leaves;
    if (which == 0) return r + 1 < ROWS ? r + 1 : BPT_NO_ROW;
    return which == 1 ? ROWS - 1 - r : leaves;
}

static uint32_t word_at(const net_t *n, int slot, uint64_t random, int64_t i) {
    const uint32_t limit = n->in[slot].limit;
    const int64_t row = i / 2, leaves = BATCH * (int64_t)LEAVES, spans = bpt_node_count(&n->graph) - LEAVES;
    switch (n->in[slot].fill) {
    case FILL_RANGES: return (uint32_t)(i + 1) / 2 * limit;
    case FILL_LENGTHS: return i ? LEAVES - 5 : LEAVES;
    case FILL_NODE_CODES:
        if (i % 2) return (uint32_t)(row < leaves ? row / LEAVES : (row - leaves) / spans);
        return bpt_intervals_node_code(&n->graph, row < leaves ? row % LEAVES : LEAVES + (row - leaves) % spans);
    case FILL_LINKS: return link_of(i / 3, i % 3, limit);
    case FILL_TREES: return i == 0 ? 0 : i == 3 ? ROWS : limit;
    case FILL_IDS: return random % 5 == 0 ? BPT_NO_ROW : random % 5 == 1 ? limit : (uint32_t)(random >> 32) % limit;
    default: return (uint32_t)(random >> 32) % limit;
    }
}

static bpt_status_t write_input(const net_t *n, int slot, bpt_program_t *program) {
    const bpt_value_info_t *info = bpt_graph_value(n->g, n->in[slot].value);
    const int64_t count = bpt_shape_count(&info->shape);
    uint32_t *data;
    BPT_TRY(bpt_alloc((size_t)count, sizeof *data, &data));
    for (int64_t i = 0; i < count; ++i) {
        const uint64_t random = bpt_mix64((uint64_t)slot << 40 ^ (uint64_t)i ^ 0x62707464);
        const float x = real_at(n->in[slot].fill, random, i);
        if (info->dtype == BPT_U32)
            data[i] = word_at(n, slot, random, i);
        else if (info->dtype == BPT_F32)
            ((float *)data)[i] = x;
        else
            ((uint16_t *)data)[i] = info->dtype == BPT_BF16 ? bpt_to_bf16(x) : bpt_to_f16(x);
    }
    uint32_t table[ROWS * TABLE_SLOTS * 4], back[TABLE_KEYS * TABLE_BACK * 2];
    bpt_status_t status = make_table(table, back);
    if (n->in[slot].fill == FILL_TABLE) memcpy(data, table, sizeof table);
    if (n->in[slot].fill == FILL_BACK) memcpy(data, back, sizeof back);
    if (status == BPT_OK) status = bpt_program_write(program, n->in[slot].value, data);
    bpt_free(data);
    return status;
}

typedef struct {
    net_t net;
    bpt_workspace_t *workspace;
    bpt_program_t *program;
} side_t;

static bpt_status_t compute(int index, bpt_device_t *device, bpt_dtype_t precision, const cli_selftest_shape_t *shape, side_t *side) {
    net_t *n = &side->net;
    n->type = precision;
    n->d = shape->d_model;
    n->heads = shape->heads;
    BPT_TRY(bpt_graph_create(&n->g));
    cases[index].build(n, cases[index].variant);
    bpt_status_t status = bpt_graph_status(n->g);
    if (status == BPT_OK) status = bpt_workspace_create(device, &side->workspace);
    if (status != BPT_OK) {
        bpt_graph_destroy(n->g);
        return status;
    }
    BPT_TRY(bpt_program_compile(n->g, side->workspace, NULL, 0, &side->program));
    for (int i = 0; i < n->n_in; ++i) BPT_TRY(write_input(n, i, side->program));
    return bpt_program_run(side->program);
}

static void release(side_t *side) {
    bpt_program_destroy(side->program);
    bpt_workspace_destroy(side->workspace);
}

// ---- Comparing
static bpt_status_t read_result(const side_t *side, int i, float **out, int64_t *count) {
    const bpt_value_t value = side->net.out[i].value;
    const bpt_value_info_t *info = bpt_graph_value(side->net.g, value);
    *count = bpt_shape_count(&info->shape);
    BPT_TRY(bpt_alloc((size_t)*count, sizeof **out, out));
    BPT_TRY(bpt_program_read(side->program, value, *out));
    const uint16_t *low = (const uint16_t *)*out;
    for (int64_t k = *count - 1; k >= 0 && info->dtype != BPT_F32; --k)  // from the back: an element widens into its own place
        (*out)[k] = info->dtype == BPT_BF16 ? bpt_from_bf16(low[k]) : bpt_from_f16(low[k]);
    return BPT_OK;
}

static bpt_status_t compare_result(const side_t *wanted, const side_t *got, int i, double tolerance, cli_selftest_case_t *out) {
    float *a = NULL, *b = NULL;
    int64_t count;
    bpt_status_t status = read_result(wanted, i, &a, &count);
    if (status == BPT_OK) status = read_result(got, i, &b, &count);
    if (status == BPT_OK) {
        const double off = cli_selftest_deviation(a, b, count, 0, 0);
        if (off > out->deviation) out->deviation = off;
        if (!(off <= tolerance) && !*out->detail)
            snprintf(out->detail, sizeof out->detail, "a result of op %s is off by %.1e of its size", wanted->net.out[i].op, off);
    }
    bpt_free(a);
    bpt_free(b);
    return status;
}

void cli_selftest_op(int index, bpt_device_t *reference, bpt_device_t *device, bpt_dtype_t precision, const cli_selftest_shape_t *shape,
                     cli_selftest_case_t *out) {
    side_t wanted = {0}, got = {0};
    snprintf(out->name, sizeof out->name, "%s", cases[index].name);
    bpt_status_t status = compute(index, reference, precision, shape, &wanted);
    if (status == BPT_OK) status = compute(index, device, precision, shape, &got);
    for (int i = 0; i < wanted.net.n_out && status == BPT_OK; ++i)
        status = compare_result(&wanted, &got, i, precision == BPT_F32 ? 1e-4 : 0.03, out);
    if (status != BPT_OK) snprintf(out->detail, sizeof out->detail, "%s", bpt_error_message());
    out->status = status;
    release(&wanted);
    release(&got);
}
