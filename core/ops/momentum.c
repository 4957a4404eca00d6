// momentum, normalize, descend: the steps of an optimizer around what it makes of a whole matrix (Jordan et al. 2024, Muon).
#include <math.h>

#include "core/graph/internal.h"
#include "core/lines/form.h"
#include "core/ops/contract.h"

static bool same_count(const bpt_graph_t *g, const bpt_node_t *node) {
    return bpt_shape_count(value_shape(g, node->in[0])) == bpt_shape_count(value_shape(g, node->in[1]));
}

static bpt_status_t infer_momentum(bpt_graph_t *g, bpt_node_t *node) {
    GRAPH_EXPECT(same_count(g, node), "gradients and momentum of different size");
    return BPT_OK;
}

static bpt_status_t infer_normalize(bpt_graph_t *g, bpt_node_t *node) {
    return bpt_new_output(g, node, 0, node->dtype, *value_shape(g, node->in[0]));
}

static bpt_status_t infer_descend(bpt_graph_t *g, bpt_node_t *node) {
    GRAPH_EXPECT(same_count(g, node), "parameters and directions of different size");
    return BPT_OK;
}

// momentum and descend: a matrix, what goes with it, and the numbers of the step.
static void add_part_of_step(bpt_graph_t *g, bpt_node_t node, bpt_value_t matrix, bpt_value_t other, bpt_value_t hyper,
                             bpt_value_t square_sum) {
    const bpt_value_t in[] = {matrix, other, hyper, square_sum};
    for (int i = 0; i < 4; ++i) node.in[i] = in[i];
    (void)bpt_add_node(g, &node);
}

void bpt_momentum(bpt_graph_t *g, bpt_value_t grad, bpt_value_t m, bpt_value_t hyper, bpt_value_t square_sum,
                  const bpt_momentum_attrs_t *attrs) {
    if (g->status != BPT_OK) return;
    bpt_node_t node = bpt_node_init(BPT_OP_MOMENTUM);
    node.attrs.momentum = *attrs;
    add_part_of_step(g, node, grad, m, hyper, square_sum);
}

bpt_value_t bpt_normalize(bpt_graph_t *g, bpt_value_t x, bpt_value_t square_sum, float eps, bpt_dtype_t dtype) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_node_t node = bpt_node_init(BPT_OP_NORMALIZE);
    node.attrs.normalize.eps = eps;
    node.dtype = dtype;
    node.in[0] = x;
    node.in[1] = square_sum;
    return bpt_add_node(g, &node);
}

void bpt_descend(bpt_graph_t *g, bpt_value_t p, bpt_value_t u, bpt_value_t hyper, bpt_value_t square_sum,
                 const bpt_descend_attrs_t *attrs) {
    if (g->status != BPT_OK) return;
    bpt_node_t node = bpt_node_init(BPT_OP_DESCEND);
    node.attrs.descend = *attrs;
    add_part_of_step(g, node, p, u, hyper, square_sum);
}

static double flops(const bpt_graph_t *g, const bpt_node_t *node) { return 4.0 * (double)bpt_shape_count(value_shape(g, node->in[0])); }

// ---- Operands

static bpt_status_t check_momentum(bpt_checker_t *c) {
    const int64_t count = bpt_shape_count(&c->call->in[0].shape);
    BPT_TRY(bpt_expect_input(c, 0, "g", ONLY_F32, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect_input(c, 1, "m", ONLY_F32, REQUIRED, 1, count));
    BPT_TRY(bpt_expect_input(c, 2, "hyper", ONLY_F32, REQUIRED, 1, 8));
    return bpt_expect_input(c, 3, "square_sum", ONLY_F32, REQUIRED, 1, 1);
}

static bpt_status_t check_normalize(bpt_checker_t *c) {
    const int64_t count = bpt_shape_count(&c->call->in[0].shape);
    BPT_TRY(bpt_expect_input(c, 0, "x", ONLY_F32, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect_input(c, 1, "square_sum", ONLY_F32, REQUIRED, 1, 1));
    return bpt_expect_output(c, 0, "out", ANY_FLOAT, REQUIRED, 1, count);
}

static bpt_status_t check_descend(bpt_checker_t *c) {
    const int64_t count = bpt_shape_count(&c->call->in[0].shape);
    BPT_TRY(bpt_expect_input(c, 0, "p", ONLY_F32, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect_input(c, 1, "u", ANY_FLOAT, REQUIRED, 1, count));
    BPT_TRY(bpt_expect_input(c, 2, "hyper", ONLY_F32, REQUIRED, 1, 8));
    return bpt_expect_input(c, 3, "square_sum", ONLY_F32, REQUIRED, 1, 1);
}

// ---- Lines

static const bpt_attribute_t attributes_momentum[] = {
    {BPT_FLOAT("momentum", bpt_attrs_t, momentum.momentum, 0, 1), .below_most = true, .standard = 0.95},
    {BPT_FLAG("nesterov", bpt_attrs_t, momentum.nesterov)},
    {.key = NULL}};
static const bpt_attribute_t attributes_normalize[] = {{BPT_FLOAT("eps", bpt_attrs_t, normalize.eps, 0, INFINITY), .standard = 1e-7},
                                                       {.key = NULL}};
static const bpt_attribute_t attributes_descend[] = {{BPT_FLOAT("lr_scale", bpt_attrs_t, descend.lr_scale, 0, INFINITY), .standard = 1},
                                                     {BPT_FLOAT("weight_decay", bpt_attrs_t, descend.weight_decay, 0, INFINITY)},
                                                     {.key = NULL}};
static const bpt_content_t contents[] = {
    {.name = "hyper", .holds = BPT_HOLDS_ONES}, {.name = "square_sum", .holds = BPT_HOLDS_ONES}, {.name = NULL}};
static const bpt_content_t contents_normalize[] = {{.name = "square_sum", .holds = BPT_HOLDS_ONES}, {.name = NULL}};

const bpt_op_info_t bpt_op_info_MOMENTUM = {.check = check_momentum,
                                            .infer = infer_momentum,
                                            .flops = flops,
                                            .mutates = 1u | 1u << 1,
                                            .attributes = attributes_momentum,
                                            .contents = contents};
const bpt_op_info_t bpt_op_info_NORMALIZE = {
    .check = check_normalize, .infer = infer_normalize, .flops = flops, .attributes = attributes_normalize, .contents = contents_normalize};
const bpt_op_info_t bpt_op_info_DESCEND = {
    .check = check_descend, .infer = infer_descend, .flops = flops, .mutates = 1u, .attributes = attributes_descend, .contents = contents};
