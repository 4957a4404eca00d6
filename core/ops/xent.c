// xent: linear layer + cross-entropy in chunks of rows. Its gradient op also gives the loss, so that training computes the
// logits once: differentiation hands the forward op's results over to it, and the forward op disappears as dead code.
#include "core/graph/internal.h"
#include "core/lines/form.h"
#include "core/ops/contract.h"

static bpt_status_t check(bpt_graph_t *g, const bpt_node_t *node) {
    const int64_t n = value_rows(g, node->in[0]), d = value_columns(g, node->in[0]), v = value_rows(g, node->in[1]);
    GRAPH_EXPECT(value_columns(g, node->in[1]) == d, "weight [%lld,%lld] for rows of %lld", (long long)v,
                 (long long)value_columns(g, node->in[1]), (long long)d);
    if (present(node->in[2])) GRAPH_EXPECT(bpt_shape_count(value_shape(g, node->in[2])) == v, "bias of another length");
    const float smoothing = node->attrs.xent.smoothing;
    GRAPH_EXPECT(smoothing >= 0 && smoothing < 1, "label smoothing of %g; it must be in [0, 1)", (double)smoothing);
    GRAPH_EXPECT(smoothing <= 0 || v > 1, "label smoothing needs two classes or more");
    for (int i = 3; i < 5; ++i) GRAPH_EXPECT(bpt_shape_count(value_shape(g, node->in[i])) == n, "one target and weight a row is needed");
    return BPT_OK;
}

static bpt_status_t infer(bpt_graph_t *g, bpt_node_t *node) {
    BPT_TRY(check(g, node));
    BPT_TRY(bpt_new_output(g, node, 0, BPT_F32, bpt_shape1(1)));
    return bpt_new_output(g, node, 1, BPT_F32, bpt_shape1(value_rows(g, node->in[0])));
}

static bpt_status_t infer_grad(bpt_graph_t *g, bpt_node_t *node) {
    BPT_TRY(infer(g, node));
    BPT_TRY(bpt_new_output(g, node, 2, value_info(g, node->in[0])->dtype, *value_shape(g, node->in[0])));
    BPT_TRY(bpt_new_output(g, node, 3, BPT_F32, *value_shape(g, node->in[1])));
    return present(node->in[2]) ? bpt_new_output(g, node, 4, BPT_F32, *value_shape(g, node->in[2])) : BPT_OK;
}

bpt_xent_t bpt_xent(bpt_graph_t *g, bpt_value_t h, bpt_value_t w, bpt_value_t bias, bpt_value_t targets, bpt_value_t weights,
                    float smoothing) {
    if (g->status != BPT_OK) return (bpt_xent_t){BPT_NO_VALUE, BPT_NO_VALUE};
    bpt_node_t node = bpt_node_init(BPT_OP_XENT);
    node.attrs.xent.smoothing = smoothing;
    const bpt_value_t in[] = {h, w, bias, targets, weights};
    for (int i = 0; i < 5; ++i) node.in[i] = in[i];
    (void)bpt_add_node(g, &node);
    return (bpt_xent_t){node.out[0], node.out[1]};
}

static bpt_status_t grad(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    GRAPH_EXPECT(present(dout[0]) && !present(dout[1]), "only the loss of xent can be differentiated");
    bpt_node_t back = bpt_node_init(BPT_OP_XENT_GRAD);
    back.attrs.xent = node->attrs.xent;
    for (int i = 0; i < 5; ++i) back.in[i] = node->in[i];
    back.in[5] = dout[0];
    (void)bpt_add_node(g, &back);
    BPT_TRY(bpt_graph_status(g));
    bpt_take_over(g, node->out[0], 2);
    for (int i = 0; i < 3; ++i)
        if (need[i]) din[i] = back.out[2 + i];
    return BPT_OK;
}

static double product_flops(const bpt_graph_t *g, const bpt_node_t *node) {
    return 2.0 * (double)value_rows(g, node->in[0]) * (double)bpt_shape_count(value_shape(g, node->in[1]));
}
static double flops_grad(const bpt_graph_t *g, const bpt_node_t *node) { return 3 * product_flops(g, node); }

// ---- Operands

static bpt_status_t check_xent(bpt_checker_t *c) {
    const bpt_operand_t *h = &c->call->in[0], *w = &c->call->in[1];
    const int64_t n = operand_rows(h), v = operand_rows(w), d = operand_columns(h);
    const float smoothing = c->call->attrs.xent.smoothing;
    BPT_TRY(bpt_expect(c, smoothing >= 0 && smoothing < 1, "label smoothing must be in [0, 1)"));
    BPT_TRY(bpt_expect(c, smoothing <= 0 || v > 1, "label smoothing needs two classes or more"));
    BPT_TRY(bpt_expect_input(c, 0, "h", ANY_FLOAT, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect_input(c, 1, "w", ANY_FLOAT, REQUIRED, ANY_ROWS, d));
    BPT_TRY(bpt_expect_input(c, 2, "b", ONLY_F32, OPTIONAL, 1, v));
    BPT_TRY(bpt_expect_input(c, 3, "targets", ONLY_U32, REQUIRED, 1, n));
    BPT_TRY(bpt_expect_input(c, 4, "weights", ONLY_F32, REQUIRED, 1, n));
    BPT_TRY(bpt_expect_output(c, 0, "loss", ONLY_F32, REQUIRED, 1, 1));
    BPT_TRY(bpt_expect_output(c, 1, "nll", ONLY_F32, REQUIRED, 1, n));
    if (c->call->op == BPT_OP_XENT) return BPT_OK;
    BPT_TRY(bpt_expect_input(c, 5, "dloss", ONLY_F32, REQUIRED, 1, 1));
    BPT_TRY(bpt_expect_output(c, 2, "dh", ANY_FLOAT, REQUIRED, n, d));
    BPT_TRY(bpt_expect_output(c, 3, "dw", ONLY_F32, REQUIRED, v, d));
    if (!c->call->in[2].present) return BPT_OK;
    return bpt_expect_output(c, 4, "db", ONLY_F32, REQUIRED, 1, v);
}

// ---- Lines

static int64_t classes(const bpt_op_call_t *call) { return operand_rows(&call->in[1]); }

static const bpt_attribute_t attributes[] = {{BPT_FLOAT("smoothing", bpt_attrs_t, xent.smoothing, 0, 1), .below_most = true},
                                             {.key = NULL}};
static const bpt_content_t contents[] = {{"targets", BPT_HOLDS_IDS, classes},
                                         {.name = "weights", .holds = BPT_HOLDS_ONES},
                                         {.name = "dloss", .holds = BPT_HOLDS_ONES},
                                         {.name = NULL}};

const bpt_op_info_t bpt_op_info_XENT = {
    .check = check_xent, .infer = infer, .grad = grad, .flops = product_flops, .attributes = attributes, .contents = contents};
const bpt_op_info_t bpt_op_info_XENT_GRAD = {
    .check = check_xent, .infer = infer_grad, .flops = flops_grad, .attributes = attributes, .contents = contents};
