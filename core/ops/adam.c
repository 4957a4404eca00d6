// adam: the optimiser over a flat arena (Kingma & Ba 2015; decoupled decay: Loshchilov & Hutter 2019), and accumulate.
#include "core/graph/internal.h"

static bpt_status_t infer_adam(bpt_graph_t *g, bpt_node_t *node) {
    const int64_t n = bpt_shape_count(value_shape(g, node->in[0]));
    for (int i = 1; i < 4; ++i) GRAPH_EXPECT(bpt_shape_count(value_shape(g, node->in[i])) == n, "gradients or moments of another size");
    return BPT_OK;
}

void bpt_adam(bpt_graph_t *g, bpt_value_t p, bpt_value_t grad, bpt_value_t m, bpt_value_t v, bpt_value_t hyper, bpt_value_t square_sum,
              const bpt_adam_attrs_t *attrs) {
    if (g->status != BPT_OK) return;
    bpt_node_t node = bpt_node_init(BPT_OP_ADAM);
    node.attrs.adam = *attrs;
    const bpt_value_t in[] = {p, grad, m, v, hyper, square_sum};
    for (int i = 0; i < 6; ++i) node.in[i] = in[i];
    (void)bpt_add_node(g, &node);
}

static bpt_status_t infer_accumulate(bpt_graph_t *g, bpt_node_t *node) {
    GRAPH_EXPECT(bpt_shape_count(value_shape(g, node->in[0])) == bpt_shape_count(value_shape(g, node->in[1])),
                 "operands of different size");
    return BPT_OK;
}

void bpt_accumulate(bpt_graph_t *g, bpt_value_t acc, bpt_value_t x, bpt_value_t keep) {
    if (g->status != BPT_OK) return;
    bpt_node_t node = bpt_node_init(BPT_OP_ACCUMULATE);
    node.in[0] = acc;
    node.in[1] = x;
    node.in[2] = keep;
    (void)bpt_add_node(g, &node);
}

static double flops(const bpt_graph_t *g, const bpt_node_t *node) { return 12.0 * (double)bpt_shape_count(value_shape(g, node->in[0])); }

const bpt_op_info_t bpt_op_info_ADAM = {.infer = infer_adam, .flops = flops, .mutates = 1u | 1u << 2 | 1u << 3};
const bpt_op_info_t bpt_op_info_ACCUMULATE = {.infer = infer_accumulate, .mutates = 1};
