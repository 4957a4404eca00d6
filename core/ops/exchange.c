// exchange: rows that are given to other processes, for rows that are taken from them. The host does it between two lists of work
// (core/graph/program.c); which rows go where is known to the caller of the program alone. The gradient goes the same way back.
#include "core/graph/internal.h"

static bpt_status_t infer(bpt_graph_t *g, bpt_node_t *node) {
    GRAPH_EXPECT(node->attrs.exchange.rows > 0, "an exchange takes %lld rows; it takes one at least", (long long)node->attrs.exchange.rows);
    return bpt_new_output(g, node, 0, value_info(g, node->in[0])->dtype,
                          bpt_shape2(node->attrs.exchange.rows, value_columns(g, node->in[0])));
}

static bpt_value_t exchange(bpt_graph_t *g, bpt_value_t given, int64_t rows, bool back) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_node_t node = bpt_node_init(BPT_OP_EXCHANGE);
    node.attrs.exchange = (bpt_exchange_attrs_t){.rows = rows, .back = back};
    node.in[0] = given;
    return bpt_add_node(g, &node);
}

bpt_value_t bpt_exchange(bpt_graph_t *g, bpt_value_t given, int64_t rows) { return exchange(g, given, rows, false); }

static bpt_status_t grad(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    if (need[0]) din[0] = exchange(g, dout[0], value_rows(g, node->in[0]), !node->attrs.exchange.back);
    return bpt_graph_status(g);
}

const bpt_op_info_t bpt_op_info_EXCHANGE = {.infer = infer, .grad = grad, .by_host = true};
