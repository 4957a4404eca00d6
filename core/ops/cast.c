// cast, fill and copy.
#include <math.h>

#include "core/graph/internal.h"
#include "core/lines/form.h"
#include "core/ops/contract.h"

static bpt_status_t infer(bpt_graph_t *g, bpt_node_t *node) {
    return bpt_new_output(g, node, 0, node->dtype, *value_shape(g, node->in[0]));
}

static bpt_value_t convert(bpt_graph_t *g, bpt_op_t op, bpt_value_t x, bpt_dtype_t dtype) {
    bpt_node_t node = bpt_node_init(op);
    node.dtype = dtype;
    node.in[0] = x;
    return bpt_add_node(g, &node);
}

bpt_value_t bpt_cast(bpt_graph_t *g, bpt_value_t x, bpt_dtype_t dtype) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    return value_info(g, x)->dtype == dtype ? x : convert(g, BPT_OP_CAST, x, dtype);
}
bpt_value_t bpt_copy(bpt_graph_t *g, bpt_value_t x) {
    return g->status == BPT_OK ? convert(g, BPT_OP_COPY, x, value_info(g, x)->dtype) : BPT_NO_VALUE;
}

// In the wider one of both precisions.
static bpt_status_t grad_cast(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    const bool widens = value_info(g, node->out[0])->dtype == BPT_F32;
    if (need[0]) din[0] = widens ? dout[0] : bpt_cast(g, dout[0], value_info(g, node->in[0])->dtype);
    return bpt_graph_status(g);
}

// In whatever precision it comes: that of a copied weight is f32.
static bpt_status_t grad_copy(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    (void)node;
    if (need[0]) din[0] = dout[0];
    return bpt_graph_status(g);
}

// A fill has no inputs: its shape and dtype come through its output, created by the builder.
static bpt_status_t infer_fill(bpt_graph_t *g, bpt_node_t *node) {
    (void)g, (void)node;
    return BPT_OK;
}

bpt_value_t bpt_fill(bpt_graph_t *g, bpt_dtype_t dtype, bpt_shape_t shape, float value) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_node_t node = bpt_node_init(BPT_OP_FILL);
    node.attrs.fill.value = value;
    if (bpt_new_output(g, &node, 0, dtype, shape) != BPT_OK) return BPT_NO_VALUE;
    return bpt_add_node(g, &node);
}

// ---- Operands

static bpt_status_t check_cast(bpt_checker_t *c) {
    const int64_t count = bpt_shape_count(&c->call->in[0].shape);
    BPT_TRY(bpt_expect_input(c, 0, "x", ANY_FLOAT, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    return bpt_expect_output(c, 0, "out", ANY_FLOAT, REQUIRED, 1, count);
}

static bpt_status_t check_fill(bpt_checker_t *c) { return bpt_expect_output(c, 0, "out", ANY_FLOAT, REQUIRED, ANY_ROWS, ANY_COLUMNS); }

static bpt_status_t check_copy(bpt_checker_t *c) {
    const bpt_operand_t *from = &c->call->in[0], *to = &c->call->out[0];
    const bpt_dtype_class_t class = from->dtype == BPT_U32 ? ONLY_U32 : ANY_FLOAT;
    BPT_TRY(bpt_expect_input(c, 0, "source", ANY_TYPE, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect_output(c, 0, "target", class, REQUIRED, 1, bpt_shape_count(&from->shape)));
    return bpt_expect(c, from->dtype == to->dtype, "source and target of a copy have the same type");
}

// ---- Lines

static const bpt_attribute_t attributes_fill[] = {{BPT_FLOAT("value", bpt_attrs_t, fill.value, -INFINITY, INFINITY)}, {.key = NULL}};

const bpt_op_info_t bpt_op_info_CAST = {.check = check_cast, .infer = infer, .grad = grad_cast};
const bpt_op_info_t bpt_op_info_FILL = {.check = check_fill, .infer = infer_fill, .attributes = attributes_fill};
const bpt_op_info_t bpt_op_info_COPY = {.check = check_copy, .infer = infer, .grad = grad_copy};
