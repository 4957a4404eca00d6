// gather: rows of a table by id (embeddings, roots), its gradient, and scatter into a table (caches of keys and values).
#include "core/graph/internal.h"
#include "core/lines/form.h"
#include "core/ops/contract.h"

static bpt_status_t infer_gather(bpt_graph_t *g, bpt_node_t *node) {
    GRAPH_EXPECT(value_info(g, node->in[1])->dtype == BPT_U32, "ids must be u32");
    const int64_t n = bpt_shape_count(value_shape(g, node->in[1]));
    return bpt_new_output(g, node, 0, value_info(g, node->in[0])->dtype, bpt_shape2(n, value_columns(g, node->in[0])));
}

bpt_value_t bpt_gather(bpt_graph_t *g, bpt_value_t table, bpt_value_t ids) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_node_t node = bpt_node_init(BPT_OP_GATHER);
    node.in[0] = table;
    node.in[1] = ids;
    return bpt_add_node(g, &node);
}

// The table of a gather is a weight or a stream in f32: its gradient is f32, cast back by accumulation where that differs.
static bpt_status_t grad_gather(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    if (!need[0]) return BPT_OK;
    bpt_node_t back = bpt_node_init(BPT_OP_GATHER_GRAD);
    back.attrs.rows.rows = value_rows(g, node->in[0]);
    back.in[0] = dout[0];
    back.in[1] = node->in[1];
    din[0] = bpt_add_node(g, &back);
    return bpt_graph_status(g);
}

static bpt_status_t infer_gather_grad(bpt_graph_t *g, bpt_node_t *node) {
    return bpt_new_output(g, node, 0, BPT_F32, bpt_shape2(node->attrs.rows.rows, value_columns(g, node->in[0])));
}

static int share_gather_grad(const bpt_graph_t *g, const bpt_node_t *node, int nth) {
    (void)g;
    return nth == 0 && present(node->in[2]) ? 2 : -1;
}

static bpt_status_t infer_scatter(bpt_graph_t *g, bpt_node_t *node) {
    GRAPH_EXPECT(value_columns(g, node->in[0]) == value_columns(g, node->in[1]), "rows of different length");
    GRAPH_EXPECT(bpt_shape_count(value_shape(g, node->in[2])) == value_rows(g, node->in[1]), "one id a row is needed");
    return BPT_OK;
}

void bpt_scatter(bpt_graph_t *g, bpt_value_t destination, bpt_value_t x, bpt_value_t ids) {
    if (g->status != BPT_OK) return;
    bpt_node_t node = bpt_node_init(BPT_OP_SCATTER);
    node.in[0] = destination;
    node.in[1] = x;
    node.in[2] = ids;
    (void)bpt_add_node(g, &node);
}

// ---- Operands

static bpt_status_t check_gather(bpt_checker_t *c) {
    const bpt_operand_t *table = &c->call->in[0];
    const int64_t n = bpt_shape_count(&c->call->in[1].shape);
    BPT_TRY(bpt_expect_input(c, 0, "table", ANY_FLOAT, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect_input(c, 1, "ids", ONLY_U32, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    return bpt_expect_output(c, 0, "rows", ANY_FLOAT, REQUIRED, n, operand_columns(table));
}

static bpt_status_t check_gather_grad(bpt_checker_t *c) {
    const bpt_operand_t *out = &c->call->out[0];
    const int64_t n = bpt_shape_count(&c->call->in[1].shape), v = operand_rows(out), d = operand_columns(out);
    BPT_TRY(bpt_expect_input(c, 0, "dy", ANY_FLOAT, REQUIRED, n, d));
    BPT_TRY(bpt_expect_input(c, 1, "ids", ONLY_U32, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect_input(c, 2, "acc", ONLY_F32, OPTIONAL, v, d));
    return bpt_expect_output(c, 0, "dtable", ONLY_F32, REQUIRED, ANY_ROWS, ANY_COLUMNS);
}

static bpt_status_t check_scatter(bpt_checker_t *c) {
    const bpt_operand_t *destination = &c->call->in[0];
    const int64_t n = bpt_shape_count(&c->call->in[2].shape), d = operand_columns(destination);
    BPT_TRY(bpt_expect_input(c, 0, "destination", ANY_FLOAT, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect_input(c, 1, "x", ANY_FLOAT, REQUIRED, n, d));
    return bpt_expect_input(c, 2, "ids", ONLY_U32, REQUIRED, ANY_ROWS, ANY_COLUMNS);
}

// ---- Lines

static int64_t rows_of_input(const bpt_op_call_t *call) { return operand_rows(&call->in[0]); }
static int64_t rows_of_output(const bpt_op_call_t *call) { return operand_rows(&call->out[0]); }

static const bpt_content_t in_table[] = {{"ids", BPT_HOLDS_IDS, rows_of_input}, {.name = NULL}};
static const bpt_content_t in_gradient[] = {{"ids", BPT_HOLDS_IDS, rows_of_output}, {.name = NULL}};
static const bpt_content_t in_destination[] = {{"ids", BPT_HOLDS_DISTINCT_IDS, rows_of_input}, {.name = NULL}};

const bpt_op_info_t bpt_op_info_GATHER = {.check = check_gather, .infer = infer_gather, .grad = grad_gather, .contents = in_table};
const bpt_op_info_t bpt_op_info_GATHER_GRAD = {
    .check = check_gather_grad, .infer = infer_gather_grad, .share = share_gather_grad, .contents = in_gradient};
const bpt_op_info_t bpt_op_info_SCATTER = {.check = check_scatter, .infer = infer_scatter, .mutates = 1, .contents = in_destination};
