// attention: interval attention over all heads, and its gradient. Shapes only; the graphs themselves are core/intervals.
#include <math.h>
#include <string.h>

#include "core/graph/internal.h"
#include "core/lines/form.h"
#include "core/ops/contract.h"

enum { IN_Q, IN_KV, IN_REL, IN_LENGTHS, IN_ROW_KEYS, IN_RNG, IN_TABLE, IN_OUT, IN_DOUT, IN_LSE, IN_BACK, IN_KEY_CODES };

// A table of ranges [rows, any number of slots, words].
static bool is_table_of(const bpt_graph_t *g, bpt_value_t v, int64_t rows, int64_t words) {
    if (!present(v)) return false;
    const bpt_shape_t *s = value_shape(g, v);
    return s->rank == 3 && s->dim[0] == rows && s->dim[2] == words;
}

static bpt_status_t infer_table(const bpt_graph_t *g, const bpt_node_t *node, int64_t q_rows, int64_t kv_rows) {
    GRAPH_EXPECT(is_table_of(g, node->in[IN_TABLE], q_rows, 4), "the table of %lld queries must be [queries, slots, 4]", (long long)q_rows);
    GRAPH_EXPECT(!present(node->in[IN_BACK]) || is_table_of(g, node->in[IN_BACK], kv_rows, 2),
                 "the transposed table of %lld keys must be [keys, slots, 2]", (long long)kv_rows);
    if (node->attrs.attention.p <= 0) return BPT_OK;
    GRAPH_EXPECT(present(node->in[IN_KEY_CODES]) && bpt_shape_count(value_shape(g, node->in[IN_KEY_CODES])) == kv_rows,
                 "dropout needs one code for each of %lld keys", (long long)kv_rows);
    return BPT_OK;
}

static bpt_status_t infer(bpt_graph_t *g, bpt_node_t *node) {
    const bpt_attention_attrs_t *a = &node->attrs.attention;
    const bool table = bpt_intervals_is_table(&a->graph);
    const int64_t d = (int64_t)a->heads * a->head_dim, leaves = a->batch * a->graph.n;
    const int64_t q_rows = value_rows(g, node->in[IN_Q]), kv_rows = value_rows(g, node->in[IN_KV]);
    GRAPH_EXPECT(value_columns(g, node->in[IN_Q]) == (a->packed ? 3 * d : d), "queries have %lld columns",
                 (long long)value_columns(g, node->in[IN_Q]));
    GRAPH_EXPECT(value_columns(g, node->in[IN_KV]) == (a->packed ? 3 : 2) * d, "keys and values have %lld columns",
                 (long long)value_columns(g, node->in[IN_KV]));
    int64_t out_rows = q_rows;
    if (table) {
        BPT_TRY(infer_table(g, node, q_rows, kv_rows));
    } else {
        BPT_TRY(bpt_intervals_check(&a->graph));
        GRAPH_EXPECT(a->queries != BPT_QUERIES_ROOTS || bpt_root_node(&a->graph, a->graph.n) >= 0, "the graph has no root");
        const int64_t all = a->batch * bpt_node_count(&a->graph);
        const int64_t stored = a->zero_spans ? leaves : all;
        out_rows = a->queries == BPT_QUERIES_ALL ? all : a->queries == BPT_QUERIES_LEAVES ? leaves : a->batch;
        GRAPH_EXPECT(kv_rows == stored, "%lld rows of keys and values, %lld nodes", (long long)kv_rows, (long long)stored);
        GRAPH_EXPECT(q_rows == (a->queries == BPT_QUERIES_ALL ? stored : out_rows), "%lld rows of queries", (long long)q_rows);
        GRAPH_EXPECT(bpt_shape_count(value_shape(g, node->in[IN_LENGTHS])) == a->batch, "one length a sequence is needed");
        if (present(node->in[IN_REL]))
            GRAPH_EXPECT(value_rows(g, node->in[IN_REL]) == bpt_rel_rows(&a->graph) && value_columns(g, node->in[IN_REL]) == a->head_dim,
                         "table of relative positions [%lld,%lld], wanted [%lld,%d]", (long long)value_rows(g, node->in[IN_REL]),
                         (long long)value_columns(g, node->in[IN_REL]), (long long)bpt_rel_rows(&a->graph), a->head_dim);
    }
    BPT_TRY(bpt_new_output(g, node, 0, value_info(g, node->in[IN_Q])->dtype, bpt_shape2(out_rows, d)));
    return bpt_new_output(g, node, 1, BPT_F32, bpt_shape2(out_rows, a->heads));
}

bpt_value_t bpt_attention(bpt_graph_t *g, const bpt_attention_attrs_t *attrs, const bpt_attention_inputs_t *in) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_node_t node = bpt_node_init(BPT_OP_ATTENTION);
    node.attrs.attention = *attrs;
    node.attrs.attention.uid = attrs->p > 0 ? ++g->next_uid : 0;
    node.in[IN_Q] = in->q;
    node.in[IN_KV] = in->kv;
    node.in[IN_REL] = in->rel;
    node.in[IN_LENGTHS] = in->lengths;
    if (attrs->p > 0) {
        node.in[IN_ROW_KEYS] = in->row_keys;
        node.in[IN_RNG] = in->rng;
    }
    if (bpt_intervals_is_table(&attrs->graph)) {
        node.in[IN_TABLE] = in->table;
        node.in[IN_BACK] = in->back;
        if (attrs->p > 0) node.in[IN_KEY_CODES] = in->key_codes;
    }
    return bpt_add_node(g, &node);
}

bpt_value_t bpt_attention_lse(bpt_graph_t *g, bpt_value_t attention) {
    return g->status == BPT_OK ? g->nodes[value_info(g, attention)->node].out[1] : BPT_NO_VALUE;
}

static bpt_status_t grad(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    GRAPH_EXPECT(!present(node->in[IN_TABLE]) || present(node->in[IN_BACK]), "the gradient of attention over a table needs its transpose");
    bpt_node_t back = bpt_node_init(BPT_OP_ATTENTION_GRAD);
    back.attrs = node->attrs;
    memcpy(back.in, node->in, sizeof back.in);
    back.in[IN_OUT] = node->out[0];
    back.in[IN_DOUT] = dout[0];
    back.in[IN_LSE] = node->out[1];
    (void)bpt_add_node(g, &back);
    BPT_TRY(bpt_graph_status(g));
    if (need[IN_Q]) din[IN_Q] = back.out[0];
    if (need[IN_KV] && !node->attrs.attention.packed) din[IN_KV] = back.out[1];
    if (need[IN_REL]) din[IN_REL] = back.out[2];
    return BPT_OK;
}

static bpt_status_t infer_grad(bpt_graph_t *g, bpt_node_t *node) {
    BPT_TRY(bpt_new_output(g, node, 0, value_info(g, node->in[IN_Q])->dtype, *value_shape(g, node->in[IN_Q])));
    if (!node->attrs.attention.packed)
        BPT_TRY(bpt_new_output(g, node, 1, value_info(g, node->in[IN_KV])->dtype, *value_shape(g, node->in[IN_KV])));
    return present(node->in[IN_REL]) ? bpt_new_output(g, node, 2, BPT_F32, *value_shape(g, node->in[IN_REL])) : BPT_OK;
}

// What a table reads is not known before it is written: as many edges as its bounds allow, or two a key.
static double table_edges(const bpt_table_side_t *queries, double rows, double keys) {
    const double light = (double)queries->light, others = rows - light;
    if ((light > 0 && !queries->light_edges) || (others > 0 && !queries->edges)) return 2 * keys;
    return light * (double)queries->light_edges + others * (double)queries->edges;
}

// Edges times head size: scores and weighted sum, 4 operations each; full length assumed.
static double flops(const bpt_graph_t *g, const bpt_node_t *node) {
    const bpt_attention_attrs_t *a = &node->attrs.attention;
    if (present(node->in[IN_TABLE]))
        return 4.0 * a->heads * a->head_dim *
               table_edges(&a->bounds.queries, (double)value_rows(g, node->in[IN_Q]), (double)value_rows(g, node->in[IN_KV]));
    int64_t all, contextual;
    bpt_intervals_count(&a->graph, a->graph.n, &all, &contextual);
    double edges = (double)all;
    if (a->queries == BPT_QUERIES_LEAVES) edges = (double)(contextual + a->graph.n);
    if (a->queries == BPT_QUERIES_ROOTS) edges = (double)a->graph.n;
    return 4.0 * edges * (double)a->batch * a->heads * a->head_dim;
}
static double flops_grad(const bpt_graph_t *g, const bpt_node_t *node) { return 2.5 * flops(g, node); }

// ---- Operands

static bpt_status_t check_attention_attrs(const bpt_checker_t *c) {
    const bpt_attention_attrs_t *t = &c->call->attrs.attention;
    const bool table = bpt_intervals_is_table(&t->graph);
    if (!table) BPT_TRY(bpt_context(bpt_intervals_check(&t->graph), "%s", bpt_op_name(c->call->op)));
    BPT_TRY(bpt_expect(c, t->batch >= 0 && t->heads > 0 && t->head_dim > 0, "batch, heads and head_dim must be positive"));
    BPT_TRY(bpt_expect(c, t->heads <= 256, "a dropout stream has room for 256 heads"));
    if (table) {
        return bpt_expect(c, t->batch == 1 && t->queries == BPT_QUERIES_ALL && !t->packed && !t->zero_spans,
                          "graphs given as tables have batch 1, all queries, separate q and kv, and no zero_spans");
    }
    const int64_t n_other = bpt_node_count(&t->graph) - t->graph.n;
    BPT_TRY(bpt_expect(c,
                       !t->packed || t->queries == BPT_QUERIES_ALL || (t->queries == BPT_QUERIES_LEAVES && (n_other == 0 || t->zero_spans)),
                       "q, k and v in one tensor need a query for every key row"));
    return bpt_expect(c, t->queries != BPT_QUERIES_ROOTS || bpt_root_node(&t->graph, t->graph.n) >= 0,
                      "root queries of a graph without a root");
}

// A table of ranges, u32 [rows, slots, words].
static bpt_status_t check_ranges(bpt_checker_t *c, int slot, const char *name, bpt_presence_t presence, int64_t rows, int64_t words) {
    const bpt_operand_t *o = &c->call->in[slot];
    BPT_TRY(bpt_expect_input(c, slot, name, ONLY_U32, presence, ANY_ROWS, words));
    if (!o->present || (o->shape.rank == 3 && o->shape.dim[0] == rows)) return BPT_OK;
    return bpt_fail(BPT_ERR_INTERNAL, "%s input %d (%s) must be u32 [%lld, slots, %lld]", bpt_op_name(c->call->op), slot, name,
                    (long long)rows, (long long)words);
}

static bool is_bound(const bpt_table_side_t *side, int64_t rows) {
    return side->light >= 0 && side->light <= rows && side->light_edges >= 0 && side->edges >= 0;
}

static bpt_status_t check_attention_table(bpt_checker_t *c, int64_t d) {
    const bpt_attention_attrs_t *t = &c->call->attrs.attention;
    const int64_t queries = operand_rows(&c->call->in[0]), keys = operand_rows(&c->call->in[1]);
    const bool grad = c->call->op == BPT_OP_ATTENTION_GRAD;
    BPT_TRY(bpt_expect_input(c, 0, "q", ANY_FLOAT, REQUIRED, ANY_ROWS, d));
    BPT_TRY(bpt_expect_input(c, 1, "kv", ANY_FLOAT, REQUIRED, ANY_ROWS, 2 * d));
    BPT_TRY(bpt_expect_input(c, 2, "rel", ANY_FLOAT, OPTIONAL, ANY_ROWS, t->head_dim));
    BPT_TRY(check_ranges(c, 6, "table", REQUIRED, queries, 4));
    BPT_TRY(check_ranges(c, 10, "back", grad ? REQUIRED : OPTIONAL, keys, 2));
    BPT_TRY(bpt_expect(c, is_bound(&t->bounds.queries, queries) && is_bound(&t->bounds.keys, keys),
                       "bounds of a table must not be negative, nor have more light rows than there are"));
    BPT_TRY(bpt_expect_random(c, 4, 5, t->p, queries));
    return t->p > 0 ? bpt_expect_input(c, 11, "key_codes", ONLY_U32, REQUIRED, 1, keys) : BPT_OK;
}

static bpt_status_t check_attention_inputs(bpt_checker_t *c, int64_t *stored_queries, int64_t *out_rows) {
    const bpt_attention_attrs_t *t = &c->call->attrs.attention;
    BPT_TRY(check_attention_attrs(c));
    const int64_t d = (int64_t)t->heads * t->head_dim;
    if (bpt_intervals_is_table(&t->graph)) {
        *stored_queries = *out_rows = operand_rows(&c->call->in[0]);
        return check_attention_table(c, d);
    }
    const int64_t leaf_rows = t->batch * t->graph.n, all_rows = t->batch * bpt_node_count(&t->graph);
    const int64_t key_rows = t->zero_spans ? leaf_rows : all_rows;
    *out_rows = t->queries == BPT_QUERIES_ALL ? all_rows : t->queries == BPT_QUERIES_LEAVES ? leaf_rows : t->batch;
    *stored_queries = t->queries == BPT_QUERIES_ALL && t->zero_spans ? leaf_rows : *out_rows;
    if (t->packed) {
        BPT_TRY(bpt_expect_input(c, 0, "qkv", ANY_FLOAT, REQUIRED, key_rows, 3 * d));
        BPT_TRY(bpt_expect_input(c, 1, "qkv", ANY_FLOAT, REQUIRED, key_rows, 3 * d));
    } else {
        BPT_TRY(bpt_expect_input(c, 0, "q", ANY_FLOAT, REQUIRED, *stored_queries, d));
        BPT_TRY(bpt_expect_input(c, 1, "kv", ANY_FLOAT, REQUIRED, key_rows, 2 * d));
    }
    BPT_TRY(bpt_expect(c, !c->call->in[2].present || bpt_rel_rows(&t->graph) > 0, "rel needs rel_levels of at least 1"));
    BPT_TRY(bpt_expect_input(c, 2, "rel", ANY_FLOAT, OPTIONAL, bpt_rel_rows(&t->graph), t->head_dim));
    BPT_TRY(bpt_expect_input(c, 3, "lengths", ONLY_U32, REQUIRED, 1, t->batch));
    return bpt_expect_random(c, 4, 5, t->p, all_rows);
}

static bpt_status_t check_attention(bpt_checker_t *c) {
    const bpt_attention_attrs_t *t = &c->call->attrs.attention;
    int64_t stored_queries, out_rows;
    BPT_TRY(check_attention_inputs(c, &stored_queries, &out_rows));
    BPT_TRY(bpt_expect_output(c, 0, "out", ANY_FLOAT, REQUIRED, out_rows, (int64_t)t->heads * t->head_dim));
    return bpt_expect_output(c, 1, "lse", ONLY_F32, OPTIONAL, out_rows, t->heads);
}

static bpt_status_t check_attention_grad(bpt_checker_t *c) {
    const bpt_attention_attrs_t *t = &c->call->attrs.attention;
    const bpt_op_call_t *call = c->call;
    const int64_t d = (int64_t)t->heads * t->head_dim;
    int64_t stored_queries, out_rows;
    BPT_TRY(check_attention_inputs(c, &stored_queries, &out_rows));
    BPT_TRY(bpt_expect_input(c, 7, "out", ANY_FLOAT, REQUIRED, out_rows, d));
    BPT_TRY(bpt_expect_input(c, 8, "dout", ANY_FLOAT, REQUIRED, out_rows, d));
    BPT_TRY(bpt_expect_input(c, 9, "lse", ONLY_F32, REQUIRED, out_rows, t->heads));
    BPT_TRY(
        bpt_expect_output(c, 0, t->packed ? "dqkv" : "dq", ANY_FLOAT, REQUIRED, operand_rows(&call->in[0]), operand_columns(&call->in[0])));
    if (!t->packed) BPT_TRY(bpt_expect_output(c, 1, "dkv", ANY_FLOAT, REQUIRED, operand_rows(&call->in[1]), operand_columns(&call->in[1])));
    if (!call->in[2].present) return BPT_OK;
    return bpt_expect_output(c, 2, "drel", ONLY_F32, REQUIRED, operand_rows(&call->in[2]), t->head_dim);
}

// ---- Lines

static const bpt_attention_attrs_t *of(const void *attrs) { return &((const bpt_attrs_t *)attrs)->attention; }
static const bpt_intervals_t *graph_of(const void *attrs) { return &of(attrs)->graph; }

static bool has_rule(const void *a) { return !bpt_intervals_is_table(graph_of(a)); }
static bool is_table(const void *a) { return bpt_intervals_is_table(graph_of(a)); }
static bool is_bpt(const void *a) { return graph_of(a)->kind == BPT_INTERVALS_BPT; }
static bool is_segtree(const void *a) { return graph_of(a)->kind == BPT_INTERVALS_SEGTREE; }
static bool is_window(const void *a) { return graph_of(a)->kind == BPT_INTERVALS_WINDOW; }
static bool is_sparse(const void *a) { return graph_of(a)->kind == BPT_INTERVALS_SPARSE; }
static bool may_be_trimmed(const void *a) { return has_rule(a) && bpt_intervals_has_spans(graph_of(a)) && graph_of(a)->causal; }
static bool may_have_root(const void *a) { return has_rule(a) && (!bpt_intervals_has_spans(graph_of(a)) || graph_of(a)->trimmed); }
static double usual_scale(const void *a) { return (double)(float)(1 / sqrt((double)of(a)->head_dim)); }

static const char *const kinds[] = {
    [BPT_INTERVALS_BPT] = "bpt",       [BPT_INTERVALS_SEGTREE] = "segtree", [BPT_INTERVALS_DENSE] = "dense",
    [BPT_INTERVALS_WINDOW] = "window", [BPT_INTERVALS_TABLE] = "table",     [BPT_INTERVALS_SPARSE] = "sparse",
    [BPT_INTERVALS_SPARSE + 1] = NULL};
static const char *const askers[] = {"all", "leaves", "roots", NULL};

enum { MOST_LEAVES = 1 << (BPT_MAX_LEVELS - 1) };
static const bpt_attribute_t attributes[] = {
    {BPT_CHOICE("graph", bpt_attrs_t, attention.graph.kind, kinds), .required = true},
    {BPT_INT64("n", bpt_attrs_t, attention.graph.n, 1, MOST_LEAVES), .required = true, .when = has_rule},
    {BPT_INT32("k", bpt_attrs_t, attention.graph.k, 1, MOST_LEAVES), .required = true, .when = is_bpt},
    {BPT_INT32("window", bpt_attrs_t, attention.graph.window, 0, MOST_LEAVES), .required = true, .when = is_window},
    {BPT_INT32("stride", bpt_attrs_t, attention.graph.stride, 1, MOST_LEAVES), .required = true, .when = is_sparse},
    {BPT_INT32("tail", bpt_attrs_t, attention.graph.tail, 1, MOST_LEAVES), .required = true, .when = is_sparse},
    {BPT_FLAG("causal", bpt_attrs_t, attention.graph.causal), .when = has_rule},
    {BPT_FLAG("reference_rule", bpt_attrs_t, attention.graph.reference_rule), .when = is_bpt},
    {BPT_FLAG("span_self", bpt_attrs_t, attention.graph.span_self), .when = is_segtree},
    {BPT_FLAG("trimmed", bpt_attrs_t, attention.graph.trimmed), .when = may_be_trimmed},
    {BPT_FLAG("root", bpt_attrs_t, attention.graph.root), .when = may_have_root},
    {BPT_INT32("rel_levels", bpt_attrs_t, attention.graph.rel_levels, 0, MOST_LEAVES), .when = has_rule},
    {BPT_INT64("light_queries", bpt_attrs_t, attention.bounds.queries.light, 0, BPT_LINE_MOST_ROWS), .when = is_table},
    {BPT_INT64("light_query_edges", bpt_attrs_t, attention.bounds.queries.light_edges, 0, BPT_LINE_MOST_ROWS), .when = is_table},
    {BPT_INT64("query_edges", bpt_attrs_t, attention.bounds.queries.edges, 0, BPT_LINE_MOST_ROWS), .when = is_table},
    {BPT_INT64("light_keys", bpt_attrs_t, attention.bounds.keys.light, 0, BPT_LINE_MOST_ROWS), .when = is_table},
    {BPT_INT64("light_key_edges", bpt_attrs_t, attention.bounds.keys.light_edges, 0, BPT_LINE_MOST_ROWS), .when = is_table},
    {BPT_INT64("key_edges", bpt_attrs_t, attention.bounds.keys.edges, 0, BPT_LINE_MOST_ROWS), .when = is_table},
    {BPT_INT64("batch", bpt_attrs_t, attention.batch, 0, MOST_LEAVES), .standard = 1},
    {BPT_INT32("heads", bpt_attrs_t, attention.heads, 1, 256), .required = true},
    {BPT_INT32("head_dim", bpt_attrs_t, attention.head_dim, 1, 65536), .required = true},
    {BPT_CHOICE("queries", bpt_attrs_t, attention.queries, askers)},
    {BPT_FLAG("zero_spans", bpt_attrs_t, attention.zero_spans)},
    {BPT_FLAG("packed", bpt_attrs_t, attention.packed)},
    {BPT_FLOAT("scale", bpt_attrs_t, attention.scale, -INFINITY, INFINITY), .standard_of = usual_scale},
    {BPT_FLOAT("p", bpt_attrs_t, attention.p, 0, 1), .below_most = true},
    {.key = NULL}};

static int64_t leaves(const bpt_op_call_t *call) { return call->attrs.attention.graph.n; }
static int64_t keys(const bpt_op_call_t *call) { return operand_rows(&call->in[IN_KV]); }

static const bpt_content_t contents[] = {{"lengths", BPT_HOLDS_LENGTHS, leaves},
                                         {.name = "row_keys", .holds = BPT_HOLDS_NODE_KEYS},
                                         {.name = "key_codes", .holds = BPT_HOLDS_NODE_CODES},
                                         {.name = "table", .holds = BPT_HOLDS_TABLE},
                                         {.name = "back", .holds = BPT_HOLDS_BACK},
                                         {"lse", BPT_HOLDS_LOG, keys},
                                         {.name = NULL}};

const bpt_op_info_t bpt_op_info_ATTENTION = {.check = check_attention,
                                             .infer = infer,
                                             .grad = grad,
                                             .flops = flops,
                                             .optional_outputs = 1u << 1,
                                             .attributes = attributes,
                                             .contents = contents};
const bpt_op_info_t bpt_op_info_ATTENTION_GRAD = {
    .check = check_attention_grad, .infer = infer_grad, .flops = flops_grad, .attributes = attributes, .contents = contents};
