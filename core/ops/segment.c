// segment: sum, mean or largest of ranges of rows (pooling over sequences of any length), and its gradient.
#include "core/graph/internal.h"
#include "core/lines/form.h"
#include "core/ops/contract.h"

static bpt_status_t check_ranges(const bpt_graph_t *g, bpt_value_t ranges) {
    GRAPH_EXPECT(value_info(g, ranges)->dtype == BPT_U32 && value_columns(g, ranges) == 2, "ranges must be u32 [segments,2]");
    return BPT_OK;
}

static bpt_status_t infer(bpt_graph_t *g, bpt_node_t *node) {
    BPT_TRY(check_ranges(g, node->in[1]));
    const bpt_shape_t shape = bpt_shape2(value_rows(g, node->in[1]), value_columns(g, node->in[0]));
    BPT_TRY(bpt_new_output(g, node, 0, value_info(g, node->in[0])->dtype, shape));
    return node->attrs.segment.kind == BPT_SEGMENT_MAX ? bpt_new_output(g, node, 1, BPT_U32, shape) : BPT_OK;
}

bpt_value_t bpt_segment(bpt_graph_t *g, bpt_segment_kind_t kind, bpt_value_t x, bpt_value_t ranges) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_node_t node = bpt_node_init(BPT_OP_SEGMENT);
    node.attrs.segment = (bpt_segment_attrs_t){.kind = kind, .rows = value_rows(g, x)};
    node.in[0] = x;
    node.in[1] = ranges;
    return bpt_add_node(g, &node);
}

static bpt_status_t grad(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    if (!need[0]) return BPT_OK;
    bpt_node_t back = bpt_node_init(BPT_OP_SEGMENT_GRAD);
    back.attrs.segment = node->attrs.segment;
    back.dtype = value_info(g, node->in[0])->dtype;
    back.in[0] = dout[0];
    back.in[1] = node->in[1];
    back.in[2] = node->out[1];
    din[0] = bpt_add_node(g, &back);
    return bpt_graph_status(g);
}

static bpt_status_t infer_grad(bpt_graph_t *g, bpt_node_t *node) {
    BPT_TRY(check_ranges(g, node->in[1]));
    return bpt_new_output(g, node, 0, node->dtype, bpt_shape2(node->attrs.segment.rows, value_columns(g, node->in[0])));
}

static double flops(const bpt_graph_t *g, const bpt_node_t *node) { return (double)bpt_shape_count(value_shape(g, node->in[0])); }

// ---- Operands

static bpt_status_t check_segment(bpt_checker_t *c) {
    const bpt_segment_attrs_t *t = &c->call->attrs.segment;
    const bpt_operand_t *x = &c->call->in[0], *ranges = &c->call->in[1];
    const bool gradient = c->call->op == BPT_OP_SEGMENT_GRAD, largest = t->kind == BPT_SEGMENT_MAX;
    const int64_t segments = operand_rows(ranges), d = operand_columns(x);
    BPT_TRY(bpt_expect(c, t->kind == BPT_SEGMENT_SUM || t->kind == BPT_SEGMENT_MEAN || largest, "unknown kind of reduction"));
    BPT_TRY(bpt_expect(c, t->rows >= 0 && t->rows < (int64_t)BPT_NO_ROW, "more rows than numbers for them"));
    BPT_TRY(bpt_expect_input(c, 0, gradient ? "dy" : "x", ANY_FLOAT, REQUIRED, gradient ? segments : t->rows, ANY_COLUMNS));
    BPT_TRY(bpt_expect_input(c, 1, "ranges", ONLY_U32, REQUIRED, ANY_ROWS, 2));
    BPT_TRY(bpt_expect_output(c, 0, gradient ? "dx" : "y", ANY_FLOAT, REQUIRED, gradient ? t->rows : segments, d));
    if (!largest) return BPT_OK;
    if (gradient) return bpt_expect_input(c, 2, "place", ONLY_U32, REQUIRED, segments, d);
    return bpt_expect_output(c, 1, "place", ONLY_U32, OPTIONAL, segments, d);
}

// ---- Lines

static int64_t rows(const bpt_op_call_t *call) { return call->attrs.segment.rows; }

static const char *const kinds[] = {"sum", "mean", "max", NULL};
static const bpt_attribute_t attributes[] = {{BPT_CHOICE("kind", bpt_attrs_t, segment.kind, kinds), .required = true},
                                             {BPT_INT64("rows", bpt_attrs_t, segment.rows, 0, BPT_LINE_MOST_ROWS), .required = true},
                                             {.key = NULL}};
static const bpt_content_t contents[] = {{"ranges", BPT_HOLDS_RANGES, rows}, {"place", BPT_HOLDS_PLACES, rows}, {.name = NULL}};

const bpt_op_info_t bpt_op_info_SEGMENT = {.check = check_segment,
                                           .infer = infer,
                                           .grad = grad,
                                           .flops = flops,
                                           .optional_outputs = 1 << 1,
                                           .attributes = attributes,
                                           .contents = contents};
const bpt_op_info_t bpt_op_info_SEGMENT_GRAD = {
    .check = check_segment, .infer = infer_grad, .attributes = attributes, .contents = contents};
