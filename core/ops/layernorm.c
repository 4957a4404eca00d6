// layernorm: y = LN(dropout(x) + residual) and its gradient (Ba et al. 2016, "Layer normalization"); rmsnorm: the same without mean and
// beta (Zhang and Sennrich 2019, "Root mean square layer normalization").
#include "core/graph/internal.h"
#include "core/lines/form.h"
#include "core/ops/contract.h"

static bpt_status_t infer(bpt_graph_t *g, bpt_node_t *node) {
    const bpt_shape_t shape = *value_shape(g, node->in[0]);
    const int64_t d = bpt_shape_columns(&shape), rows = bpt_shape_rows(&shape);
    if (present(node->in[1])) GRAPH_EXPECT(bpt_shape_count(value_shape(g, node->in[1])) == rows * d, "residual of another shape");
    for (int i = 2; i <= (bpt_norm_is_centred(node->op) ? 3 : 2); ++i)
        GRAPH_EXPECT(bpt_shape_count(value_shape(g, node->in[i])) == d, "gamma or beta of another length");
    BPT_TRY(bpt_new_output(g, node, 0, BPT_F32, bpt_shape2(rows, d)));
    BPT_TRY(bpt_new_output(g, node, 1, BPT_F32, bpt_shape2(rows, d)));
    BPT_TRY(bpt_new_output(g, node, 2, BPT_F32, bpt_shape2(rows, 2)));
    if (node->dtype != BPT_F32) BPT_TRY(bpt_new_output(g, node, 3, node->dtype, bpt_shape2(rows, d)));
    return BPT_OK;
}

// `beta` BPT_NO_VALUE: there is none.
static bpt_value_t add_norm(bpt_graph_t *g, bpt_op_t op, bpt_value_t x, bpt_value_t residual, bpt_value_t gamma, bpt_value_t beta, float p,
                            bpt_random_t random, bpt_dtype_t low_dtype, bpt_value_t *low) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_node_t node = bpt_node_init(op);
    node.attrs.layernorm = (bpt_layernorm_attrs_t){.eps = 1e-5f, .p = p, .uid = p > 0 ? ++g->next_uid : 0};
    node.dtype = low_dtype;
    node.in[0] = x;
    node.in[1] = residual;
    node.in[2] = gamma;
    node.in[3] = beta;
    if (p > 0) {
        node.in[BPT_IN_ROW_KEYS] = random.row_keys;
        node.in[BPT_IN_RNG] = random.rng;
    }
    const bpt_value_t y = bpt_add_node(g, &node);
    if (low) *low = low_dtype == BPT_F32 ? y : node.out[3];
    return y;
}

bpt_value_t bpt_layernorm(bpt_graph_t *g, bpt_value_t x, bpt_value_t residual, bpt_value_t gamma, bpt_value_t beta, float p,
                          bpt_random_t random, bpt_dtype_t low_dtype, bpt_value_t *low) {
    return add_norm(g, BPT_OP_LAYERNORM, x, residual, gamma, beta, p, random, low_dtype, low);
}

bpt_value_t bpt_rmsnorm(bpt_graph_t *g, bpt_value_t x, bpt_value_t residual, bpt_value_t gamma, float p, bpt_random_t random,
                        bpt_dtype_t low_dtype, bpt_value_t *low) {
    return add_norm(g, BPT_OP_RMSNORM, x, residual, gamma, BPT_NO_VALUE, p, random, low_dtype, low);
}

static bpt_status_t grad(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    GRAPH_EXPECT(!present(dout[1]) && !present(dout[2]), "no gradient through the saved sum and statistics");
    bpt_node_t back = bpt_node_init(node->op == BPT_OP_LAYERNORM ? BPT_OP_LAYERNORM_GRAD : BPT_OP_RMSNORM_GRAD);
    back.attrs = node->attrs;
    back.dtype = value_info(g, node->in[0])->dtype;
    back.in[0] = present(dout[0]) ? dout[0] : bpt_cast(g, dout[3], BPT_F32);
    back.in[1] = node->out[1];
    back.in[2] = node->out[2];
    back.in[3] = node->in[2];
    back.in[4] = present(dout[0]) ? dout[3] : BPT_NO_VALUE;
    back.in[BPT_IN_ROW_KEYS] = node->in[BPT_IN_ROW_KEYS];
    back.in[BPT_IN_RNG] = node->in[BPT_IN_RNG];
    (void)bpt_add_node(g, &back);
    BPT_TRY(bpt_graph_status(g));
    if (need[0]) din[0] = present(back.out[1]) ? back.out[1] : back.out[0];
    if (need[1]) din[1] = back.out[0];
    if (need[2]) din[2] = back.out[2];
    if (present(node->in[3]) && need[3]) din[3] = back.out[3];
    return BPT_OK;
}

static bpt_status_t infer_grad(bpt_graph_t *g, bpt_node_t *node) {
    const int64_t rows = value_rows(g, node->in[0]), d = value_columns(g, node->in[0]);
    BPT_TRY(bpt_new_output(g, node, 0, BPT_F32, bpt_shape2(rows, d)));
    if (node->attrs.layernorm.p > 0 || node->dtype != BPT_F32) BPT_TRY(bpt_new_output(g, node, 1, node->dtype, bpt_shape2(rows, d)));
    BPT_TRY(bpt_new_output(g, node, 2, BPT_F32, bpt_shape1(d)));
    return bpt_norm_is_centred(node->op) ? bpt_new_output(g, node, 3, BPT_F32, bpt_shape1(d)) : BPT_OK;
}

static double flops(const bpt_graph_t *g, const bpt_node_t *node) { return 10.0 * (double)bpt_shape_count(value_shape(g, node->in[0])); }

// ---- Operands

static bpt_status_t check_layernorm(bpt_checker_t *c) {
    const bpt_operand_t *x = &c->call->in[0];
    const int64_t rows = operand_rows(x), d = operand_columns(x);
    BPT_TRY(bpt_expect_input(c, 0, "x", ANY_FLOAT, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect(c, d > 0, "rows of no columns have no mean"));
    BPT_TRY(bpt_expect_input(c, 1, "residual", ONLY_F32, OPTIONAL, rows, d));
    BPT_TRY(bpt_expect_input(c, 2, "gamma", ONLY_F32, REQUIRED, 1, d));
    if (bpt_norm_is_centred(c->call->op)) BPT_TRY(bpt_expect_input(c, 3, "beta", ONLY_F32, REQUIRED, 1, d));
    BPT_TRY(bpt_expect_output(c, 0, "y", ONLY_F32, REQUIRED, rows, d));
    BPT_TRY(bpt_expect_output(c, 1, "z", ONLY_F32, OPTIONAL, rows, d));
    BPT_TRY(bpt_expect_output(c, 2, "stats", ONLY_F32, OPTIONAL, rows, 2));
    BPT_TRY(bpt_expect_output(c, 3, "low", ANY_FLOAT, OPTIONAL, rows, d));
    return bpt_expect_random(c, BPT_IN_ROW_KEYS, BPT_IN_RNG, c->call->attrs.layernorm.p, rows);
}

static bpt_status_t check_layernorm_grad(bpt_checker_t *c) {
    const bpt_operand_t *dy = &c->call->in[0];
    const int64_t rows = operand_rows(dy), d = operand_columns(dy);
    BPT_TRY(bpt_expect_input(c, 0, "dy", ONLY_F32, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect(c, d > 0, "rows of no columns have no mean"));
    BPT_TRY(bpt_expect_input(c, 1, "z", ONLY_F32, REQUIRED, rows, d));
    BPT_TRY(bpt_expect_input(c, 2, "stats", ONLY_F32, REQUIRED, rows, 2));
    BPT_TRY(bpt_expect_input(c, 3, "gamma", ONLY_F32, REQUIRED, 1, d));
    BPT_TRY(bpt_expect_input(c, 4, "dy_low", ANY_FLOAT, OPTIONAL, rows, d));
    BPT_TRY(bpt_expect_output(c, 0, "dz", ONLY_F32, REQUIRED, rows, d));
    BPT_TRY(bpt_expect_output(c, 1, "dx", ANY_FLOAT, OPTIONAL, rows, d));
    BPT_TRY(bpt_expect_output(c, 2, "dgamma", ONLY_F32, REQUIRED, 1, d));
    if (bpt_norm_is_centred(c->call->op)) BPT_TRY(bpt_expect_output(c, 3, "dbeta", ONLY_F32, REQUIRED, 1, d));
    return bpt_expect_random(c, BPT_IN_ROW_KEYS, BPT_IN_RNG, c->call->attrs.layernorm.p, rows);
}

// ---- Lines

static const bpt_attribute_t attributes[] = {{BPT_FLOAT("eps", bpt_attrs_t, layernorm.eps, 0, 1), .standard = 1e-5},
                                             {BPT_FLOAT("p", bpt_attrs_t, layernorm.p, 0, 1), .below_most = true},
                                             {.key = NULL}};
static const bpt_content_t contents[] = {{.name = "stats", .holds = BPT_HOLDS_POSITIVE}, {.name = NULL}};

const bpt_op_info_t bpt_op_info_LAYERNORM = {.check = check_layernorm,
                                             .infer = infer,
                                             .grad = grad,
                                             .flops = flops,
                                             .optional_outputs = 1u << 1 | 1u << 2 | 1u << 3,
                                             .attributes = attributes};
const bpt_op_info_t bpt_op_info_LAYERNORM_GRAD = {
    .check = check_layernorm_grad, .infer = infer_grad, .flops = flops, .attributes = attributes, .contents = contents};
const bpt_op_info_t bpt_op_info_RMSNORM = {.check = check_layernorm,
                                           .infer = infer,
                                           .grad = grad,
                                           .flops = flops,
                                           .optional_outputs = 1u << 1 | 1u << 2 | 1u << 3,
                                           .attributes = attributes};
const bpt_op_info_t bpt_op_info_RMSNORM_GRAD = {
    .check = check_layernorm_grad, .infer = infer_grad, .flops = flops, .attributes = attributes, .contents = contents};
