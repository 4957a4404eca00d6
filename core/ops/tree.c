// tree_values: hierarchical accumulation, and its gradient.
#include "core/graph/internal.h"
#include "core/lines/form.h"
#include "core/ops/contract.h"

static bpt_status_t infer(bpt_graph_t *g, bpt_node_t *node) {
    const bpt_tree_values_attrs_t *t = &node->attrs.tree_values;
    const int64_t rows = value_rows(g, node->in[0]), leaves = value_rows(g, node->in[1]), width = (int64_t)t->heads * t->head_dim;
    GRAPH_EXPECT(t->heads > 0 && t->head_dim > 0 && width <= value_columns(g, node->in[0]), "%d heads of %d columns are more than kv has",
                 t->heads, t->head_dim);
    GRAPH_EXPECT(leaves <= rows && value_columns(g, node->in[1]) == t->heads, "weight must be [leaves,heads]");
    GRAPH_EXPECT(present(node->in[2]) == present(node->in[3]), "one table of hierarchical embeddings is missing");
    for (int i = 2; i < 4 && present(node->in[i]); ++i)
        GRAPH_EXPECT(t->head_dim % 2 == 0 && value_rows(g, node->in[i]) > 0 && value_columns(g, node->in[i]) == t->head_dim / 2,
                     "tables of hierarchical embeddings must be [rows,head_dim/2], with an even head_dim");
    GRAPH_EXPECT(value_rows(g, node->in[4]) == rows && value_columns(g, node->in[4]) == 3, "links must be [rows,3]");
    GRAPH_EXPECT(value_columns(g, node->in[5]) == 4, "trees must be [trees,4]");
    return bpt_new_output(g, node, 0, value_info(g, node->in[0])->dtype, *value_shape(g, node->in[0]));
}

static bpt_status_t infer_grad(bpt_graph_t *g, bpt_node_t *node) {
    BPT_TRY(infer(g, node));
    for (int i = 1; i < 4; ++i)
        if (present(node->in[i])) BPT_TRY(bpt_new_output(g, node, i, BPT_F32, *value_shape(g, node->in[i])));
    return BPT_OK;
}

bpt_value_t bpt_tree_values(bpt_graph_t *g, const bpt_tree_values_attrs_t *attrs, const bpt_tree_values_inputs_t *in) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_node_t node = bpt_node_init(BPT_OP_TREE_VALUES);
    const bpt_value_t values[] = {in->kv, in->weight, in->vertical, in->horizontal, in->links, in->trees};
    node.attrs.tree_values = *attrs;
    for (int i = 0; i < 6; ++i) node.in[i] = values[i];
    return bpt_add_node(g, &node);
}

static bpt_status_t grad(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    bpt_node_t back = bpt_node_init(BPT_OP_TREE_VALUES_GRAD);
    back.attrs.tree_values = node->attrs.tree_values;
    for (int i = 0; i < 6; ++i) back.in[i] = node->in[i];
    back.in[6] = dout[0];
    (void)bpt_add_node(g, &back);
    for (int i = 0; i < 4; ++i)
        if (need[i]) din[i] = back.out[i];
    return bpt_graph_status(g);
}

// What is known without the trees: as if each leaf had seven nodes above it, as in treebanks.
static double flops(const bpt_graph_t *g, const bpt_node_t *node) {
    const bpt_tree_values_attrs_t *t = &node->attrs.tree_values;
    return 4.0 * 7 * (double)value_rows(g, node->in[1]) * t->heads * t->head_dim;
}
static double flops_grad(const bpt_graph_t *g, const bpt_node_t *node) { return 2.5 * flops(g, node); }

// ---- Operands

static bpt_status_t check_tree_values(bpt_checker_t *c) {
    const bpt_tree_values_attrs_t *t = &c->call->attrs.tree_values;
    const bpt_operand_t *kv = &c->call->in[0], *vertical = &c->call->in[2], *horizontal = &c->call->in[3];
    const int64_t rows = operand_rows(kv), width = operand_columns(kv), leaves = operand_rows(&c->call->in[1]), half = t->head_dim / 2;
    const bool gradient = c->call->op == BPT_OP_TREE_VALUES_GRAD, tables = vertical->present;
    BPT_TRY(bpt_expect(c, t->heads > 0 && t->head_dim > 0 && (int64_t)t->heads * t->head_dim <= width, "the heads need more columns"));
    BPT_TRY(bpt_expect(c, leaves <= rows && t->depth >= 0, "there are more leaves than rows, or a depth below 0"));
    BPT_TRY(bpt_expect(c, !tables || t->head_dim % 2 == 0, "hierarchical embeddings need an even head_dim"));
    BPT_TRY(bpt_expect(c, !tables || (operand_rows(vertical) > 0 && operand_rows(horizontal) > 0), "a table of embeddings is empty"));
    BPT_TRY(bpt_expect_input(c, 0, "kv", ANY_FLOAT, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect_input(c, 1, "weight", ONLY_F32, REQUIRED, ANY_ROWS, t->heads));
    BPT_TRY(bpt_expect(c, tables == horizontal->present, "one table of hierarchical embeddings is missing"));
    BPT_TRY(bpt_expect_input(c, 2, "vertical", ONLY_F32, OPTIONAL, ANY_ROWS, half));
    BPT_TRY(bpt_expect_input(c, 3, "horizontal", ONLY_F32, OPTIONAL, ANY_ROWS, half));
    BPT_TRY(bpt_expect_input(c, 4, "links", ONLY_U32, REQUIRED, rows, 3));
    BPT_TRY(bpt_expect_input(c, 5, "trees", ONLY_U32, REQUIRED, ANY_ROWS, 4));
    BPT_TRY(bpt_expect_output(c, 0, gradient ? "dkv" : "out", ANY_FLOAT, REQUIRED, rows, width));
    if (!gradient) return BPT_OK;
    BPT_TRY(bpt_expect_input(c, 6, "dout", ANY_FLOAT, REQUIRED, rows, width));
    BPT_TRY(bpt_expect_output(c, 1, "dweight", ONLY_F32, REQUIRED, leaves, t->heads));
    if (tables) BPT_TRY(bpt_expect_output(c, 2, "dvertical", ONLY_F32, REQUIRED, operand_rows(vertical), half));
    return tables ? bpt_expect_output(c, 3, "dhorizontal", ONLY_F32, REQUIRED, operand_rows(horizontal), half) : BPT_OK;
}

// ---- Lines

static const bpt_attribute_t attributes[] = {{BPT_INT32("heads", bpt_attrs_t, tree_values.heads, 1, 65536), .required = true},
                                             {BPT_INT32("head_dim", bpt_attrs_t, tree_values.head_dim, 1, 65536), .required = true},
                                             {BPT_FLAG("counts_leaf", bpt_attrs_t, tree_values.counts_leaf)},
                                             {BPT_INT64("depth", bpt_attrs_t, tree_values.depth, 0, BPT_LINE_MOST_ROWS)},
                                             {.key = NULL}};
static const bpt_content_t contents[] = {
    {.name = "links", .holds = BPT_HOLDS_LINKS}, {.name = "trees", .holds = BPT_HOLDS_TREES}, {.name = NULL}};

const bpt_op_info_t bpt_op_info_TREE_VALUES = {
    .check = check_tree_values, .infer = infer, .grad = grad, .flops = flops, .attributes = attributes, .contents = contents};
const bpt_op_info_t bpt_op_info_TREE_VALUES_GRAD = {
    .check = check_tree_values, .infer = infer_grad, .flops = flops_grad, .attributes = attributes, .contents = contents};
