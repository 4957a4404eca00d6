// matmul: product of two matrices with accumulation, bias and a fused chain of pointwise steps.
#include "bpt/q8.h"
#include "core/lines/form.h"
#include "core/ops/contract.h"
#include "core/ops/steps.h"

static void dimensions(const bpt_graph_t *g, const bpt_node_t *node, int64_t *m, int64_t *n, int64_t *k, int64_t *k_of_b) {
    const bpt_matmul_attrs_t *a = &node->attrs.matmul;
    const int64_t ar = value_rows(g, node->in[0]), ac = value_columns(g, node->in[0]);
    const int64_t br = value_rows(g, node->in[1]), bc = value_columns(g, node->in[1]);
    *m = a->transpose_a ? ac : ar;
    *k = a->transpose_a ? ar : ac;
    *n = a->transpose_b ? br : bc;
    *k_of_b = a->transpose_b ? bc : br;
    if (a->packed_b && bc == bpt_q8_words(*k)) *k_of_b = *k;
}

static bpt_status_t infer(bpt_graph_t *g, bpt_node_t *node) {
    int64_t m, n, k, k_of_b;
    dimensions(g, node, &m, &n, &k, &k_of_b);
    const bpt_matmul_attrs_t *t = &node->attrs.matmul;
    GRAPH_EXPECT(!t->packed_b || (t->transpose_b && !t->transpose_a), "a packed matrix that is not [N,K]");
    GRAPH_EXPECT(k == k_of_b, "product of [%lld,%lld] and [%lld,%lld]", (long long)m, (long long)k, (long long)k_of_b, (long long)n);
    if (present(node->in[2])) GRAPH_EXPECT(bpt_shape_count(value_shape(g, node->in[2])) == m * n, "accumulator of another shape");
    if (present(node->in[3])) GRAPH_EXPECT(bpt_shape_count(value_shape(g, node->in[3])) == n, "bias of another length");
    return bpt_new_output(g, node, 0, node->dtype, bpt_shape2(m, n));
}

bpt_value_t bpt_matmul(bpt_graph_t *g, bpt_value_t a, bpt_value_t b, bpt_matmul_options_t options) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_node_t node = bpt_node_init(BPT_OP_MATMUL);
    node.attrs.matmul = (bpt_matmul_attrs_t){
        .transpose_a = options.transpose_a, .transpose_b = options.transpose_b, .packed_b = value_info(g, b)->dtype == BPT_U32};
    node.in[0] = a;
    node.in[1] = b;
    node.in[2] = options.acc;
    node.in[3] = options.bias;
    node.dtype = options.dtype;
    return bpt_add_node(g, &node);
}

bpt_value_t bpt_linear(bpt_graph_t *g, bpt_value_t x, bpt_value_t w, bpt_value_t bias) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    return bpt_matmul(g, x, w,
                      (bpt_matmul_options_t){.transpose_b = true, .acc = BPT_NO_VALUE, .bias = bias, .dtype = value_info(g, x)->dtype});
}

static bpt_value_t product(bpt_graph_t *g, bpt_value_t a, bool ta, bpt_value_t b, bool tb, bpt_dtype_t dtype) {
    return bpt_matmul(
        g, a, b, (bpt_matmul_options_t){.transpose_a = ta, .transpose_b = tb, .acc = BPT_NO_VALUE, .bias = BPT_NO_VALUE, .dtype = dtype});
}

// C = op(A) op(B). The right operand is a weight in every model: its gradient is f32 whatever its dtype.
static bpt_status_t grad(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    const bpt_matmul_attrs_t *attrs = &node->attrs.matmul;
    const bpt_value_t a = node->in[0], b = node->in[1];
    const bool ta = attrs->transpose_a, tb = attrs->transpose_b;
    bpt_value_t dc;
    BPT_TRY(bpt_steps_gradient(g, &attrs->epilogue, node->in, node->out[0], dout[0], need, din, &dc));
    GRAPH_EXPECT(!attrs->packed_b, "no gradient of a product with numbers of 8 bits");
    GRAPH_EXPECT(!(ta && tb), "no gradient of a product with both operands transposed");
    if (need[0]) {
        const bpt_dtype_t dtype = value_info(g, a)->dtype;
        din[0] = ta ? product(g, b, tb, dc, true, dtype) : product(g, dc, false, b, !tb, dtype);
    }
    if (need[1]) din[1] = tb ? product(g, dc, true, a, false, BPT_F32) : product(g, a, !ta, dc, false, BPT_F32);
    if (need[2]) din[2] = dc;
    if (need[3]) din[3] = bpt_column_sum(g, dc);
    return bpt_graph_status(g);
}

static double flops(const bpt_graph_t *g, const bpt_node_t *node) {
    int64_t m, n, k, k_of_b;
    dimensions(g, node, &m, &n, &k, &k_of_b);
    return 2.0 * (double)m * (double)n * (double)k;
}

static int share(const bpt_graph_t *g, const bpt_node_t *node, int nth) {
    (void)g;
    return nth == 0 && present(node->in[2]) ? 2 : -1;
}

// ---- Operands

static bpt_status_t check_matmul(bpt_checker_t *c) {
    const bpt_operand_t *a = &c->call->in[0], *b = &c->call->in[1];
    const bpt_matmul_attrs_t *t = &c->call->attrs.matmul;
    const int64_t m = t->transpose_a ? operand_columns(a) : operand_rows(a), k = t->transpose_a ? operand_rows(a) : operand_columns(a);
    const int64_t n = t->transpose_b ? operand_rows(b) : operand_columns(b);
    BPT_TRY(bpt_expect_input(c, 0, "a", ANY_FLOAT, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    if (t->packed_b) {
        BPT_TRY(bpt_expect(c, t->transpose_b && !t->transpose_a, "packed_b goes with transpose_b and without transpose_a"));
        BPT_TRY(bpt_expect_input(c, 1, "packed", ONLY_U32, REQUIRED, ANY_ROWS, bpt_q8_words(k)));
    } else {
        BPT_TRY(bpt_expect_input(c, 1, "b", ANY_FLOAT, REQUIRED, t->transpose_b ? ANY_ROWS : k, t->transpose_b ? k : ANY_COLUMNS));
    }
    BPT_TRY(bpt_expect_input(c, 2, "acc", ONLY_F32, OPTIONAL, m, n));
    BPT_TRY(bpt_expect_input(c, 3, "bias", ONLY_F32, OPTIONAL, 1, n));
    BPT_TRY(bpt_expect_output(c, 0, "out", ANY_FLOAT, REQUIRED, m, n));
    return bpt_expect_steps(c, &t->epilogue, 4, m, n);
}

// ---- Lines

static int64_t units(const bpt_op_call_t *call) { return bpt_q8_units(operand_columns(&call->in[0])); }
static const bpt_content_t contents[] = {{"packed", BPT_HOLDS_PACKED, units}, {.name = NULL}};
static const bpt_attribute_t attributes[] = {{BPT_FLAG("transpose_a", bpt_attrs_t, matmul.transpose_a)},
                                             {BPT_FLAG("transpose_b", bpt_attrs_t, matmul.transpose_b)},
                                             {BPT_FLAG("packed_b", bpt_attrs_t, matmul.packed_b)},
                                             {BPT_STEPS("steps", bpt_attrs_t, matmul.epilogue)},
                                             {.key = NULL}};

const bpt_op_info_t bpt_op_info_MATMUL = {
    .check = check_matmul, .infer = infer, .grad = grad, .flops = flops, .share = share, .attributes = attributes, .contents = contents};
