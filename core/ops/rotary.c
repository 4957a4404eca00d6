// rotary: rotary position embedding (Su et al. 2021, "RoFormer: Enhanced transformer with rotary position embedding"). The gradient of a
// rotation is the rotation back.
#include "core/graph/internal.h"
#include "core/lines/form.h"
#include "core/ops/contract.h"

static bpt_status_t infer(bpt_graph_t *g, bpt_node_t *node) {
    const bpt_rotary_attrs_t *a = &node->attrs.rotary;
    const bpt_shape_t shape = *value_shape(g, node->in[0]);
    GRAPH_EXPECT(a->head_dim > 0 && a->head_dim % 2 == 0, "heads of %d columns have no pairs to rotate", a->head_dim);
    GRAPH_EXPECT(a->columns % a->head_dim == 0 && a->columns <= bpt_shape_columns(&shape), "heads that are not whole");
    GRAPH_EXPECT(value_rows(g, node->in[1]) == bpt_shape_rows(&shape) && value_columns(g, node->in[1]) == a->head_dim,
                 "one row of angles for each row is needed");
    return bpt_new_output(g, node, 0, value_info(g, node->in[0])->dtype, shape);
}

static bpt_value_t rotate(bpt_graph_t *g, bpt_value_t x, bpt_value_t angles, const bpt_rotary_attrs_t *attrs) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_node_t node = bpt_node_init(BPT_OP_ROTARY);
    node.attrs.rotary = *attrs;
    node.in[0] = x;
    node.in[1] = angles;
    return bpt_add_node(g, &node);
}

bpt_value_t bpt_rotary(bpt_graph_t *g, bpt_value_t x, bpt_value_t angles, int32_t head_dim, int64_t columns) {
    return rotate(g, x, angles, &(bpt_rotary_attrs_t){.head_dim = head_dim, .columns = columns});
}

static bpt_status_t grad(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    bpt_rotary_attrs_t back = node->attrs.rotary;
    back.inverse = !back.inverse;
    GRAPH_EXPECT(!need[1], "the angles of a rotation have no gradient");
    if (need[0]) din[0] = rotate(g, dout[0], node->in[1], &back);
    return bpt_graph_status(g);
}

static int share(const bpt_graph_t *g, const bpt_node_t *node, int nth) {
    (void)g, (void)node;
    return nth == 0 ? 0 : -1;
}

static double flops(const bpt_graph_t *g, const bpt_node_t *node) {
    return 3.0 * (double)(value_rows(g, node->in[0]) * node->attrs.rotary.columns);
}

// ---- Operands

static bpt_status_t check_rotary(bpt_checker_t *c) {
    const bpt_rotary_attrs_t *t = &c->call->attrs.rotary;
    const int64_t rows = operand_rows(&c->call->in[0]), columns = operand_columns(&c->call->in[0]);
    BPT_TRY(bpt_expect_input(c, 0, "x", ANY_FLOAT, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect(c, t->head_dim > 0 && t->head_dim % 2 == 0, "the columns of a head are no pairs"));
    BPT_TRY(bpt_expect(c, t->columns >= 0 && t->columns <= columns && t->columns % t->head_dim == 0, "the columns are not those of heads"));
    BPT_TRY(bpt_expect_input(c, 1, "angles", ONLY_F32, REQUIRED, rows, t->head_dim));
    return bpt_expect_output(c, 0, "out", ANY_FLOAT, REQUIRED, rows, columns);
}

// ---- Lines

static const bpt_attribute_t attributes[] = {{BPT_INT32("head_dim", bpt_attrs_t, rotary.head_dim, 2, 65536), .required = true},
                                             {BPT_INT64("columns", bpt_attrs_t, rotary.columns, 0, BPT_LINE_MOST_ROWS), .required = true},
                                             {BPT_FLAG("inverse", bpt_attrs_t, rotary.inverse)},
                                             {.key = NULL}};

const bpt_op_info_t bpt_op_info_ROTARY = {
    .check = check_rotary, .infer = infer, .grad = grad, .share = share, .flops = flops, .attributes = attributes};
