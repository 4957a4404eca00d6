// join: the rows of several tensors one behind the other. An op of graphs alone: graph/place.c turns it into places of its parts.
#include "core/graph/internal.h"

static bpt_status_t infer(bpt_graph_t *g, bpt_node_t *node) {
    const int64_t columns = value_columns(g, node->in[0]);
    int64_t rows = 0;
    for (int i = 0; i < BPT_MAX_PARTS && present(node->in[i]); ++i) {
        GRAPH_EXPECT(value_columns(g, node->in[i]) == columns, "part %d has rows of %lld; the first part has %lld", i,
                     (long long)value_columns(g, node->in[i]), (long long)columns);
        rows += value_rows(g, node->in[i]);
    }
    return bpt_new_output(g, node, 0, node->dtype, bpt_shape2(rows, columns));
}

bpt_value_t bpt_join(bpt_graph_t *g, bpt_dtype_t dtype, const bpt_value_t *part, int n) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    if (n < 1 || n > BPT_MAX_PARTS) {
        (void)bpt_graph_fail(g, bpt_fail(BPT_ERR_INTERNAL, "join of %d parts; there may be 1 to %d", n, BPT_MAX_PARTS));
        return BPT_NO_VALUE;
    }
    bpt_node_t node = bpt_node_init(BPT_OP_JOIN);
    node.dtype = dtype;
    for (int i = 0; i < n; ++i) node.in[i] = bpt_cast(g, part[i], dtype);
    return g->status == BPT_OK ? bpt_add_node(g, &node) : BPT_NO_VALUE;
}

static bpt_status_t grad(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    size_t offset = 0;
    for (int i = 0; i < BPT_MAX_PARTS && present(node->in[i]); ++i) {
        const bpt_shape_t shape = *value_shape(g, node->in[i]);
        if (need[i]) din[i] = bpt_view(g, dout[0], offset, shape);
        offset += (size_t)bpt_shape_count(&shape) * bpt_dtype_size(value_info(g, dout[0])->dtype);
    }
    return bpt_graph_status(g);
}

const bpt_op_info_t bpt_op_info_JOIN = {.infer = infer, .grad = grad};
