// column_sum (gradient of a bias) and square_sum (norm of all gradients, squared errors).
#include "core/graph/internal.h"
#include "core/ops/contract.h"

static bpt_status_t infer_columns(bpt_graph_t *g, bpt_node_t *node) {
    return bpt_new_output(g, node, 0, BPT_F32, bpt_shape1(value_columns(g, node->in[0])));
}
static bpt_status_t infer_square(bpt_graph_t *g, bpt_node_t *node) { return bpt_new_output(g, node, 0, BPT_F32, bpt_shape1(1)); }

static bpt_value_t reduce(bpt_graph_t *g, bpt_op_t op, bpt_value_t x) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_node_t node = bpt_node_init(op);
    node.in[0] = x;
    return bpt_add_node(g, &node);
}
bpt_value_t bpt_column_sum(bpt_graph_t *g, bpt_value_t x) { return reduce(g, BPT_OP_COLUMN_SUM, x); }
bpt_value_t bpt_square_sum(bpt_graph_t *g, bpt_value_t x) { return reduce(g, BPT_OP_SQUARE_SUM, x); }

static double flops(const bpt_graph_t *g, const bpt_node_t *node) { return (double)bpt_shape_count(value_shape(g, node->in[0])); }

static bpt_status_t grad_square(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    if (need[0]) din[0] = bpt_scale(g, bpt_mul_scalar(g, node->in[0], dout[0]), 2);
    return bpt_graph_status(g);
}

// ---- Operands

static bpt_status_t check_column_sum(bpt_checker_t *c) {
    const bpt_operand_t *x = &c->call->in[0];
    BPT_TRY(bpt_expect_input(c, 0, "x", ANY_FLOAT, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    return bpt_expect_output(c, 0, "sums", ONLY_F32, REQUIRED, 1, operand_columns(x));
}

static bpt_status_t check_square_sum(bpt_checker_t *c) {
    BPT_TRY(bpt_expect_input(c, 0, "x", ONLY_F32, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    return bpt_expect_output(c, 0, "sum", ONLY_F32, REQUIRED, 1, 1);
}

const bpt_op_info_t bpt_op_info_COLUMN_SUM = {.check = check_column_sum, .infer = infer_columns, .flops = flops};
const bpt_op_info_t bpt_op_info_SQUARE_SUM = {.check = check_square_sum, .infer = infer_square, .grad = grad_square, .flops = flops};
