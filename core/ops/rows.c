// add_rows: adds a block of rows into a larger tensor; the gradient of a view of rows.
#include "core/graph/internal.h"
#include "core/lines/form.h"
#include "core/ops/contract.h"

static bpt_status_t infer(bpt_graph_t *g, bpt_node_t *node) {
    const bpt_rows_attrs_t *a = &node->attrs.rows;
    const int64_t rows = value_rows(g, node->in[1]);
    GRAPH_EXPECT(a->row >= 0 && a->row + rows <= a->rows, "rows %lld+%lld of %lld", (long long)a->row, (long long)rows, (long long)a->rows);
    return bpt_new_output(g, node, 0, value_info(g, node->in[1])->dtype, bpt_shape2(a->rows, value_columns(g, node->in[1])));
}

bpt_value_t bpt_add_rows(bpt_graph_t *g, bpt_value_t a, bpt_value_t b, int64_t row, int64_t rows) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_node_t node = bpt_node_init(BPT_OP_ADD_ROWS);
    node.attrs.rows = (bpt_rows_attrs_t){.row = row, .rows = rows};
    node.in[0] = a;
    node.in[1] = b;
    return bpt_add_node(g, &node);
}

static bpt_status_t grad(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    if (need[0]) din[0] = dout[0];
    if (need[1]) din[1] = bpt_rows(g, dout[0], node->attrs.rows.row, value_rows(g, node->in[1]));
    return bpt_graph_status(g);
}

static int share(const bpt_graph_t *g, const bpt_node_t *node, int nth) {
    (void)g;
    return nth == 0 && present(node->in[0]) ? 0 : -1;
}

// ---- Operands

static bpt_status_t check_add_rows(bpt_checker_t *c) {
    const bpt_rows_attrs_t *t = &c->call->attrs.rows;
    const bpt_operand_t *b = &c->call->in[1];
    const int64_t d = operand_columns(b);
    BPT_TRY(bpt_expect_input(c, 0, "a", ANY_FLOAT, OPTIONAL, t->rows, d));
    BPT_TRY(bpt_expect_input(c, 1, "b", ANY_FLOAT, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(
        bpt_expect(c, t->row >= 0 && operand_rows(b) <= t->rows && t->row <= t->rows - operand_rows(b), "the rows of b lie outside of a"));
    return bpt_expect_output(c, 0, "out", ANY_FLOAT, REQUIRED, t->rows, d);
}

// ---- Lines

static const bpt_attribute_t attributes[] = {{BPT_INT64("row", bpt_attrs_t, rows.row, 0, BPT_LINE_MOST_ROWS)},
                                             {BPT_INT64("rows", bpt_attrs_t, rows.rows, 0, BPT_LINE_MOST_ROWS), .required = true},
                                             {.key = NULL}};

const bpt_op_info_t bpt_op_info_ADD_ROWS = {
    .check = check_add_rows, .infer = infer, .grad = grad, .share = share, .attributes = attributes};
