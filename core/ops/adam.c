// adam: the optimiser over a flat arena (Kingma & Ba 2015; decoupled decay: Loshchilov & Hutter 2019), and accumulate.
#include <math.h>

#include "core/graph/internal.h"
#include "core/lines/form.h"
#include "core/ops/contract.h"

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

// ---- Operands

static bpt_status_t check_adam(bpt_checker_t *c) {
    static const char *const names[] = {"p", "g", "m", "v"};
    const int64_t count = bpt_shape_count(&c->call->in[0].shape);
    BPT_TRY(bpt_expect_input(c, 0, names[0], ONLY_F32, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    for (int i = 1; i < 4; ++i) BPT_TRY(bpt_expect_input(c, i, names[i], ONLY_F32, REQUIRED, 1, count));
    BPT_TRY(bpt_expect_input(c, 4, "hyper", ONLY_F32, REQUIRED, 1, 8));
    return bpt_expect_input(c, 5, "square_sum", ONLY_F32, REQUIRED, 1, 1);
}

static bpt_status_t check_accumulate(bpt_checker_t *c) {
    const int64_t count = bpt_shape_count(&c->call->in[0].shape);
    BPT_TRY(bpt_expect_input(c, 0, "acc", ONLY_F32, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect_input(c, 1, "x", ONLY_F32, REQUIRED, 1, count));
    return bpt_expect_input(c, 2, "keep", ONLY_F32, REQUIRED, 1, 1);
}

// ---- Lines

static const bpt_attribute_t attributes[] = {{BPT_FLOAT("beta1", bpt_attrs_t, adam.beta1, 0, 1), .below_most = true, .standard = 0.9},
                                             {BPT_FLOAT("beta2", bpt_attrs_t, adam.beta2, 0, 1), .below_most = true, .standard = 0.999},
                                             {BPT_FLOAT("eps", bpt_attrs_t, adam.eps, 0, 1), .standard = 1e-8},
                                             {BPT_FLOAT("weight_decay", bpt_attrs_t, adam.weight_decay, 0, INFINITY)},
                                             {BPT_FLOAT("lr_scale", bpt_attrs_t, adam.lr_scale, 0, INFINITY), .standard = 1},
                                             {BPT_FLAG("decoupled", bpt_attrs_t, adam.decoupled)},
                                             {.key = NULL}};
static const bpt_content_t contents[] = {{.name = "v", .holds = BPT_HOLDS_POSITIVE},
                                         {.name = "hyper", .holds = BPT_HOLDS_ONES},
                                         {.name = "square_sum", .holds = BPT_HOLDS_ONES},
                                         {.name = NULL}};
static const bpt_content_t contents_accumulate[] = {{.name = "keep", .holds = BPT_HOLDS_ONES}, {.name = NULL}};

const bpt_op_info_t bpt_op_info_ADAM = {.check = check_adam,
                                        .infer = infer_adam,
                                        .flops = flops,
                                        .mutates = 1u | 1u << 2 | 1u << 3,
                                        .attributes = attributes,
                                        .contents = contents};
const bpt_op_info_t bpt_op_info_ACCUMULATE = {
    .check = check_accumulate, .infer = infer_accumulate, .mutates = 1, .contents = contents_accumulate};
