// Interval attention and its gradient: all graphs, lengths, head sizes, ways to store q, k and v, and optional operands. A
// covering subset of the product: every graph with every length, the other properties drawn by a fixed hash (the gate in
// test_gates.c checks that every value of every property occurs with every graph).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bpt/rng.h"
#include "support/attention.h"

static const struct {
    const char *name;
    bpt_intervals_kind_t kind;
    bool reference_rule, span_self, root;
} graphs[] = {
    {"bpt", BPT_INTERVALS_BPT, false, false, false},         {"bpt_reference", BPT_INTERVALS_BPT, true, false, false},
    {"segtree", BPT_INTERVALS_SEGTREE, false, false, false}, {"segtree_self", BPT_INTERVALS_SEGTREE, false, true, false},
    {"dense", BPT_INTERVALS_DENSE, false, false, false},     {"dense_root", BPT_INTERVALS_DENSE, false, false, true},
    {"window", BPT_INTERVALS_WINDOW, false, false, false},   {"window_root", BPT_INTERVALS_WINDOW, false, false, true},
    {"sparse", BPT_INTERVALS_SPARSE, false, false, false},   {"sparse_root", BPT_INTERVALS_SPARSE, false, false, true},
};
static const int64_t lengths[] = {1, 2, 3, 5, 16, 17, 33, 64, 100, 257, 1000};
static const int32_t ks[] = {1, 2, 4, 16, 64}, head_dims[] = {10, 20, 40, 50, 64, 100}, windows[] = {1, 2, 7, 40};

// Chosen by hand: the settings of the papers' models, and extremes.
typedef struct {
    bpt_intervals_kind_t kind;
    bool causal, zero_spans, packed, rel;
    int32_t k, heads, head_dim;
    int64_t n, batch;
    bpt_queries_t queries;
    float p;
    bpt_dtype_t dtype;
    double amplitude;  // of the queries: 2 gives scores around 1, 80 around 50
} chosen_t;

static const chosen_t chosen[] = {
    {BPT_INTERVALS_BPT, true, true, true, true, 4, 4, 16, 320, 2, BPT_QUERIES_ALL, 0.1f, BPT_F32, 2},       // first layer
    {BPT_INTERVALS_BPT, true, false, true, true, 4, 4, 16, 320, 2, BPT_QUERIES_ALL, 0.1f, BPT_BF16, 2},     // middle layer
    {BPT_INTERVALS_BPT, true, false, false, true, 4, 4, 16, 320, 2, BPT_QUERIES_LEAVES, 0.1f, BPT_F32, 2},  // last layer, language model
    {BPT_INTERVALS_BPT, false, false, false, true, 2, 2, 50, 51, 3, BPT_QUERIES_ROOTS, 0.1f, BPT_F32, 2},   // last layer, classifier
    {BPT_INTERVALS_BPT, false, true, true, false, 2, 2, 50, 51, 3, BPT_QUERIES_LEAVES, 0, BPT_F32, 2},      // the only layer
    {BPT_INTERVALS_BPT, true, false, true, true, 64, 1, 64, 513, 1, BPT_QUERIES_ALL, 0, BPT_F32, 2},
    {BPT_INTERVALS_BPT, true, false, true, true, 4, 2, 20, 2049, 1, BPT_QUERIES_ALL, 0, BPT_F32, 2},
    {BPT_INTERVALS_BPT, false, false, true, true, 4, 2, 20, 64, 2, BPT_QUERIES_ALL, 0, BPT_F32, 80},
    {BPT_INTERVALS_DENSE, false, false, true, false, 1, 2, 20, 129, 2, BPT_QUERIES_ALL, 0, BPT_F32, 80},
    {BPT_INTERVALS_SEGTREE, false, false, true, true, 1, 2, 20, 31, 40, BPT_QUERIES_ALL, 0.2f, BPT_F32, 2},
    {BPT_INTERVALS_WINDOW, true, false, true, true, 1, 1, 4, 65537, 1, BPT_QUERIES_ALL, 0, BPT_F32, 2},
    {BPT_INTERVALS_BPT, false, false, true, true, 1, 1, 10, 20000, 1, BPT_QUERIES_ALL, 0, BPT_F32, 2},  // longer than a piece of work
    {BPT_INTERVALS_BPT, true, false, false, true, 2, 1, 10, 7, 0, BPT_QUERIES_ALL, 0, BPT_F32, 2},      // no sequences at all
    // Around whole tiles of 16 leaves, and of 8 and 4; sequences of other lengths beside them.
    {BPT_INTERVALS_BPT, false, false, true, true, 4, 2, 20, 15, 3, BPT_QUERIES_ALL, 0, BPT_F32, 2},
    {BPT_INTERVALS_BPT, true, false, false, true, 4, 3, 30, 16, 3, BPT_QUERIES_LEAVES, 0.1f, BPT_F32, 2},
    {BPT_INTERVALS_BPT, false, false, false, true, 16, 2, 20, 35, 3, BPT_QUERIES_ALL, 0, BPT_F32, 2},
    {BPT_INTERVALS_DENSE, true, false, true, true, 1, 1, 50, 35, 3, BPT_QUERIES_ALL, 0, BPT_F32, 2},
    {BPT_INTERVALS_SEGTREE, false, true, true, true, 1, 1, 10, 19, 3, BPT_QUERIES_ALL, 0, BPT_F32, 2},
    {BPT_INTERVALS_BPT, false, false, true, true, 2, 1, 200, 40, 1, BPT_QUERIES_ALL, 0, BPT_F32, 2},  // a head as large as the models have
    // Heads and types that matrix units take.
    {BPT_INTERVALS_BPT, true, false, true, true, 4, 2, 64, 150, 2, BPT_QUERIES_ALL, 0.1f, BPT_BF16, 2},
    {BPT_INTERVALS_BPT, false, false, true, true, 64, 1, 64, 300, 1, BPT_QUERIES_ALL, 0, BPT_BF16, 2},
    {BPT_INTERVALS_BPT, false, true, false, true, 2, 3, 48, 50, 2, BPT_QUERIES_LEAVES, 0.1f, BPT_F16, 2},
    {BPT_INTERVALS_BPT, true, false, true, true, 2, 1, 128, 40, 1, BPT_QUERIES_ALL, 0, BPT_BF16, 2},
    {BPT_INTERVALS_SEGTREE, false, false, true, true, 1, 1, 32, 70, 2, BPT_QUERIES_ALL, 0, BPT_F16, 2},
    {BPT_INTERVALS_DENSE, true, false, true, true, 1, 2, 16, 129, 1, BPT_QUERIES_ALL, 0, BPT_BF16, 2},
    {BPT_INTERVALS_WINDOW, true, false, false, false, 1, 2, 32, 100, 2, BPT_QUERIES_LEAVES, 0, BPT_F16, 2},
    // Several sequences, for bindings that hold only some of them.
    {BPT_INTERVALS_BPT, false, false, true, true, 4, 2, 20, 100, 7, BPT_QUERIES_ALL, 0.1f, BPT_F32, 2},
    {BPT_INTERVALS_BPT, false, false, false, true, 4, 2, 30, 100, 7, BPT_QUERIES_ROOTS, 0, BPT_F16, 2},
    {BPT_INTERVALS_WINDOW, true, false, false, false, 1, 2, 20, 100, 7, BPT_QUERIES_LEAVES, 0, BPT_F32, 2},
    // Heads of which little local memory has room for one array, or for a part of one.
    {BPT_INTERVALS_BPT, true, false, true, true, 4, 2, 160, 35, 2, BPT_QUERIES_ALL, 0.1f, BPT_F32, 2},
    {BPT_INTERVALS_BPT, false, false, false, true, 2, 1, 256, 21, 2, BPT_QUERIES_LEAVES, 0, BPT_F32, 2},
    {BPT_INTERVALS_DENSE, true, false, true, true, 1, 2, 256, 17, 1, BPT_QUERIES_ALL, 0.1f, BPT_F32, 2},
    {BPT_INTERVALS_SEGTREE, false, true, true, true, 1, 1, 700, 9, 1, BPT_QUERIES_ALL, 0, BPT_F32, 2},
    // Heads that are worked on side by side, longer than a piece of work.
    {BPT_INTERVALS_BPT, true, false, true, true, 1, 4, 16, 8300, 1, BPT_QUERIES_ALL, 0.1f, BPT_F32, 2},
    {BPT_INTERVALS_SEGTREE, true, false, true, true, 1, 2, 16, 16900, 1, BPT_QUERIES_ALL, 0, BPT_F32, 2},
    {BPT_INTERVALS_BPT, true, false, false, true, 2, 2, 50, 51, 3, BPT_QUERIES_ROOTS, 0.1f, BPT_F32, 2},  // causal classifier
    {BPT_INTERVALS_BPT, true, true, true, true, 64, 2, 16, 700, 2, BPT_QUERIES_ALL, 0, BPT_F32, 2},
    // As far as a query reads on both sides, across the end of a piece of work.
    {BPT_INTERVALS_BPT, false, false, true, true, 4, 1, 16, 8500, 1, BPT_QUERIES_ALL, 0, BPT_F32, 2},
    // Heads of f16 that matrix units of a subgroup take; the last one has spans in several parts.
    {BPT_INTERVALS_BPT, true, false, true, true, 4, 2, 64, 150, 2, BPT_QUERIES_ALL, 0.1f, BPT_F16, 2},
    {BPT_INTERVALS_BPT, false, false, true, true, 64, 1, 64, 300, 1, BPT_QUERIES_ALL, 0, BPT_F16, 2},
    {BPT_INTERVALS_BPT, true, false, true, true, 2, 1, 128, 40, 1, BPT_QUERIES_ALL, 0, BPT_F16, 2},
    {BPT_INTERVALS_BPT, true, true, true, true, 4, 4, 16, 70, 2, BPT_QUERIES_ALL, 0.1f, BPT_F16, 2},
    {BPT_INTERVALS_DENSE, false, false, true, true, 1, 2, 16, 129, 3, BPT_QUERIES_ALL, 0, BPT_F16, 2},
    {BPT_INTERVALS_SEGTREE, true, false, true, true, 1, 2, 32, 1030, 1, BPT_QUERIES_ALL, 0, BPT_F16, 2},
    // Dense graphs so large that GPUs gather the gradient of keys by blocks of them, in one part and in several.
    {BPT_INTERVALS_DENSE, true, false, true, true, 1, 1, 18, 1100, 1, BPT_QUERIES_ALL, 0.1f, BPT_F32, 2},
    {BPT_INTERVALS_DENSE, false, false, true, true, 1, 2, 80, 600, 2, BPT_QUERIES_ALL, 0, BPT_F16, 2},
    {BPT_INTERVALS_DENSE, false, false, true, false, 1, 2, 64, 600, 2, BPT_QUERIES_ALL, 0.1f, BPT_F16, 2},  // on matrix units
    {BPT_INTERVALS_DENSE, true, false, false, false, 1, 3, 48, 1100, 1, BPT_QUERIES_LEAVES, 0, BPT_BF16, 2},
    // Trimmed trees whose last leaves, 16 or more, have no spans above them.
    {BPT_INTERVALS_BPT, true, false, true, true, 16, 1, 32, 64, 1, BPT_QUERIES_ALL, 0, BPT_F32, 2},
    {BPT_INTERVALS_BPT, true, false, false, true, 64, 2, 20, 520, 3, BPT_QUERIES_ALL, 0.1f, BPT_F16, 2},
    {BPT_INTERVALS_SEGTREE, true, false, true, true, 1, 2, 32, 49, 2, BPT_QUERIES_ALL, 0, BPT_F32, 2},
};

enum {
    N_GRAPHS = BPT_COUNT(graphs),
    N_LENGTHS = BPT_COUNT(lengths),
    N_DRAWN = 2 * N_GRAPHS * N_LENGTHS,
    N_CHOSEN = BPT_COUNT(chosen),
    LARGE = 1500000
};

// Each setting forward and backward.
static size_t count(void) { return 2 * (N_DRAWN + N_CHOSEN); }

typedef struct {
    bpt_attention_attrs_t attrs;
    char graph_name[32];
    bpt_dtype_t dtype;
    bool rel, lse;
    double amplitude;
} setting_t;

static double edges_times_columns(const bpt_attention_attrs_t *t) {
    int64_t all, contextual;
    bpt_intervals_count(&t->graph, t->graph.n, &all, &contextual);
    return (double)all * (double)(t->batch * t->heads * t->head_dim);
}

// Numbers of the sparse pattern, which reads to the left only and has no relative positions: blocks of 3 to 40 leaves, more where there
// would be too many.
static void draw_blocks(uint64_t h, setting_t *s) {
    bpt_intervals_t *g = &s->attrs.graph;
    if (g->kind != BPT_INTERVALS_SPARSE) return;
    const int32_t strides[] = {3, 16, 20, 40};
    g->causal = true, g->rel_levels = 0, s->rel = false;
    g->stride = strides[(h >> 4) % 4] + (int32_t)(g->n / 50);
    g->tail = 1 + (int32_t)((h >> 56) % (uint64_t)g->stride);
}

static void draw(size_t index, setting_t *s) {
    const size_t graph = index % N_GRAPHS, round = index / N_GRAPHS;
    const uint64_t h = bpt_mix64(8 * round + graph % 8 + graph / 8 * 4096 + 2), h2 = bpt_mix64(h);  // however many graphs there are
    const int64_t n = lengths[round / 2];
    const bpt_dtype_t dtypes[] = {BPT_F32, BPT_F32, BPT_BF16, BPT_F16};
    bpt_attention_attrs_t *t = &s->attrs;
    t->graph = (bpt_intervals_t){.kind = graphs[graph].kind,
                                 .causal = round % 2,
                                 .reference_rule = graphs[graph].reference_rule,
                                 .span_self = graphs[graph].span_self,
                                 .root = graphs[graph].root,
                                 .k = ks[h % 5],
                                 .window = windows[(h >> 4) % 4],
                                 .n = n};
    const int32_t levels[] = {bpt_default_rel_levels(n), 1, 2, 9};
    s->rel = (h >> 8) % 4 != 0;
    t->graph.rel_levels = s->rel ? levels[(h >> 12) % 4] : 0;
    draw_blocks(h, s);
    t->head_dim = head_dims[(h >> 16) % 6];
    t->heads = 1 + (int32_t)((h >> 20) % 3);
    t->batch = 1 + (int64_t)((h >> 24) % 3);
    const bool tree = bpt_intervals_has_spans(&t->graph), has_root = tree || graphs[graph].root;
    t->queries = (bpt_queries_t)((h >> 28) % (has_root ? 3 : 2));
    t->graph.trimmed = t->graph.causal && tree && (h >> 48) % 2;
    t->graph.root |= t->graph.trimmed && (t->queries == BPT_QUERIES_ROOTS || (h >> 52) % 2);
    t->zero_spans = (h >> 32) % 3 == 0;
    t->packed = (h >> 36) % 2 &&
                (t->queries == BPT_QUERIES_ALL || (t->queries == BPT_QUERIES_LEAVES && (t->zero_spans || bpt_node_count(&t->graph) == n)));
    t->p = (h >> 40) % 3 == 0 ? 0.25f : 0;
    s->dtype = dtypes[(h >> 44) % 4];
    s->lse = h2 % 2;
    s->amplitude = 2;
    // Large ones stay quick: fewer heads, then one sequence, then short heads.
    if (edges_times_columns(t) > LARGE) t->heads = 1;
    if (edges_times_columns(t) > LARGE) t->batch = 1;
    if (edges_times_columns(t) > LARGE) t->head_dim = head_dims[(h >> 16) % 2];
    snprintf(s->graph_name, sizeof s->graph_name, "%s", graphs[graph].name);
}

static void choose(size_t index, setting_t *s) {
    const chosen_t *k = &chosen[index];
    bpt_attention_attrs_t *t = &s->attrs;
    t->graph = (bpt_intervals_t){.kind = k->kind,
                                 .causal = k->causal,
                                 .k = k->k,
                                 .window = 3,
                                 .n = k->n,
                                 .rel_levels = !k->rel                           ? 0
                                               : k->kind == BPT_INTERVALS_WINDOW ? 2
                                                                                 : bpt_default_rel_levels(k->n)};
    // As models have them.
    t->graph.trimmed = k->causal && bpt_intervals_has_spans(&t->graph);
    t->graph.root = t->graph.trimmed && k->queries == BPT_QUERIES_ROOTS;
    t->head_dim = k->head_dim, t->heads = k->heads, t->batch = k->batch;
    t->queries = k->queries, t->zero_spans = k->zero_spans, t->packed = k->packed, t->p = k->p;
    s->dtype = k->dtype, s->rel = k->rel, s->lse = true, s->amplitude = k->amplitude;
    snprintf(s->graph_name, sizeof s->graph_name, k->head_dim > 128 ? "wide%zu" : "chosen%zu", index);
}

static void put_lengths_and_keys(const test_case_t *c, void *const in[]) {
    const bpt_attention_attrs_t *t = &c->call.attrs.attention;
    const int64_t n = t->graph.n, nodes = bpt_node_count(&t->graph);
    uint32_t *true_lengths = in[3], *row_keys = in[4];
    for (int64_t b = 0; b < t->batch; ++b) {
        const uint64_t h = bpt_mix64((uint64_t)(n * 1000 + b * 10 + t->graph.k));
        true_lengths[b] = b == 0 && h % 2 ? (uint32_t)n : b == 2 ? 1 : 1 + (uint32_t)(h % (uint64_t)n);
        for (int64_t node = 0; row_keys && node < nodes; ++node) {
            uint32_t *key = row_keys + 2 * test_key_row(t, b, node);
            key[0] = bpt_intervals_node_code(&t->graph, node);
            key[1] = 17 + 3 * (uint32_t)b;
        }
    }
}

static void make_setting(const setting_t *s, bpt_op_t op, test_case_t *c) {
    static const char *const queries_names[] = {"all", "leaves", "roots"};
    const bpt_attention_attrs_t *t = &s->attrs;
    const test_attention_rows_t rows = test_attention_rows(t);
    const int64_t d = (int64_t)t->heads * t->head_dim;
    test_case_init(c, op);
    c->call.attrs.attention = *t;
    c->call.attrs.attention.scale = (float)(1 / sqrt((double)t->head_dim));
    c->call.attrs.attention.uid = 11;
    test_case_name(c, "%s%s%s-n%lld-k%d-%dx%d-b%lld/%s%s%s%s%s/%s", s->graph_name, t->graph.causal ? "-causal" : "",
                   t->graph.trimmed ? t->graph.root ? "-trimmed-root" : "-trimmed" : "", (long long)t->graph.n, (int)t->graph.k,
                   (int)t->heads, (int)t->head_dim, (long long)t->batch, queries_names[t->queries], t->zero_spans ? "-zero_spans" : "",
                   t->packed ? "-packed" : "", s->rel ? "-rel" : "", t->p > 0 ? "-dropout" : "", bpt_dtype_name(s->dtype));
    c->tolerance = (64 + test_sum_tolerance(rows.keys)) * s->amplitude / 2;
    c->more[0] = test_factor_tolerance(s->dtype);
    c->prepare = put_lengths_and_keys;
    if (t->packed) {
        const double each = 2 * sqrt(s->amplitude / 2);  // queries and keys come in one tensor: both have a share in the scores
        test_in(c, 0, s->dtype, bpt_shape2(rows.keys, 3 * d), TEST_UNIFORM, -each, each);
        test_in(c, 1, s->dtype, bpt_shape2(rows.keys, 3 * d), TEST_PREPARED, 0, 0);
    } else {
        test_in(c, 0, s->dtype, bpt_shape2(rows.stored_queries, d), TEST_UNIFORM, -s->amplitude, s->amplitude);
        test_in(c, 1, s->dtype, bpt_shape2(rows.keys, 2 * d), TEST_UNIFORM, -2, 2);
    }
    if (s->rel) test_in(c, 2, s->dtype, bpt_shape2(bpt_rel_rows(&t->graph), t->head_dim), TEST_UNIFORM, -1, 1);
    test_in(c, 3, BPT_U32, bpt_shape1(t->batch), TEST_PREPARED, 0, 0);
    if (t->p > 0) {
        test_in(c, 4, BPT_U32, bpt_shape2(rows.all, 2), TEST_PREPARED, 0, 0);
        test_in(c, 5, BPT_U32, bpt_shape1(2), TEST_RNG, 0, 0);
    }
    test_out(c, 0, s->dtype, bpt_shape2(rows.out, d));
    if (s->lse) test_out(c, 1, BPT_F32, bpt_shape2(rows.out, t->heads));
}

// Inputs of the gradient that the forward pass gives: out and lse.
static void run_forward(const test_case_t *c, void *const in[]) {
    test_case_t forward = *c;
    test_data_t data;
    put_lengths_and_keys(c, in);
    test_attention_forward(c, &forward);
    test_data_allocate(&forward.call, &data);
    for (int i = 0; i < 6; ++i)
        if (data.in[i]) memcpy(data.in[i], in[i], test_operand_bytes(&c->call.in[i]));
    test_must_execute(test_ref_device(), &forward, &data);
    memcpy(in[7], data.out[0], test_operand_bytes(&c->call.in[7]));
    memcpy(in[9], data.out[1], test_operand_bytes(&c->call.in[9]));
    test_data_destroy(&data);
}

static void make_gradient(const setting_t *s, test_case_t *c) {
    make_setting(s, BPT_OP_ATTENTION_GRAD, c);
    const bpt_attention_attrs_t *t = &s->attrs;
    const bpt_shape_t out = c->call.out[0].shape;
    c->prepare = run_forward;
    c->least = 1;  // dout . v - dout . out cancels for queries of few keys
    test_in(c, 7, s->dtype, out, TEST_PREPARED, 0, 0);
    test_in(c, 8, s->dtype, out, TEST_UNIFORM, -1, 1);
    test_in(c, 9, BPT_F32, bpt_shape2(out.dim[0], t->heads), TEST_PREPARED, 0, 0);
    memset(c->call.out, 0, sizeof c->call.out);
    test_out(c, 0, s->dtype, c->call.in[0].shape);
    if (!t->packed) test_out(c, 1, s->dtype, c->call.in[1].shape);
    c->more[1] = c->more[0];
    if (s->rel) test_out(c, 2, BPT_F32, c->call.in[2].shape);
    c->more[2] = test_sum_tolerance(c->call.in[9].shape.dim[0] * t->heads) + c->more[0];
}

static void make(size_t index, test_case_t *c) {
    setting_t s = {0};
    const size_t i = index / 2;
    if (i < N_DRAWN)
        draw(i, &s);
    else
        choose(i - N_DRAWN, &s);
    if (index % 2)
        make_gradient(&s, c);
    else
        make_setting(&s, BPT_OP_ATTENTION, c);
}

const test_family_t test_attention_cases = {"attention", count, make};
