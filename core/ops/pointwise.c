// pointwise: a chain of elementwise steps. The builders make chains of one step; fusion (core/graph/fuse.c) joins them.
#include "core/lines/form.h"
#include "core/ops/contract.h"
#include "core/ops/steps.h"

static bpt_status_t infer(bpt_graph_t *g, bpt_node_t *node) {
    const bpt_pointwise_attrs_t *a = &node->attrs.pointwise;
    const bpt_shape_t shape = *value_shape(g, node->in[0]);
    for (int i = 0; i < a->n_steps; ++i) {
        const bpt_pointwise_step_t *s = &a->step[i];
        const bpt_pointwise_form_t *form = bpt_pointwise_form(s->code);
        const int64_t read = form->operand == BPT_OPERAND_NONE ? 0 : bpt_shape_count(value_shape(g, node->in[s->arg]));
        switch (form->operand) {
        case BPT_OPERAND_NONE: break;
        case BPT_OPERAND_ELEMENTS: GRAPH_EXPECT(read == bpt_shape_count(&shape), "operands of different size"); break;
        case BPT_OPERAND_ROW: GRAPH_EXPECT(read == bpt_shape_columns(&shape), "row of the wrong length"); break;
        case BPT_OPERAND_SCALAR: GRAPH_EXPECT(read == 1, "a scalar is one element"); break;
        }
        if (form->constant == BPT_CONSTANT_RATE)
            GRAPH_EXPECT(present(node->in[BPT_IN_ROW_KEYS]) && present(node->in[BPT_IN_RNG]), "dropout without row keys");
    }
    return bpt_new_output(g, node, 0, value_info(g, node->in[0])->dtype, shape);
}

static bpt_value_t chain(bpt_graph_t *g, bpt_value_t x, bpt_value_t other, bpt_pointwise_step_t step, bpt_random_t random) {
    if (g->status != BPT_OK) return BPT_NO_VALUE;
    bpt_node_t node = bpt_node_init(BPT_OP_POINTWISE);
    step.arg = 1;
    node.attrs.pointwise = (bpt_pointwise_attrs_t){.n_steps = 1, .step = {step}};
    node.in[0] = x;
    node.in[1] = other;
    if (bpt_pointwise_form(step.code)->constant == BPT_CONSTANT_RATE) {
        node.in[BPT_IN_ROW_KEYS] = random.row_keys;
        node.in[BPT_IN_RNG] = random.rng;
    }
    return bpt_add_node(g, &node);
}

static const bpt_random_t no_random = {BPT_NO_VALUE, BPT_NO_VALUE};

bpt_value_t bpt_add(bpt_graph_t *g, bpt_value_t a, bpt_value_t b) {
    return chain(g, a, b, (bpt_pointwise_step_t){.code = BPT_POINTWISE_ADD}, no_random);
}
bpt_value_t bpt_mul(bpt_graph_t *g, bpt_value_t a, bpt_value_t b) {
    return chain(g, a, b, (bpt_pointwise_step_t){.code = BPT_POINTWISE_MUL}, no_random);
}
bpt_value_t bpt_add_row(bpt_graph_t *g, bpt_value_t a, bpt_value_t row) {
    return chain(g, a, row, (bpt_pointwise_step_t){.code = BPT_POINTWISE_ADD_ROW}, no_random);
}
bpt_value_t bpt_mul_scalar(bpt_graph_t *g, bpt_value_t a, bpt_value_t scalar) {
    return chain(g, a, scalar, (bpt_pointwise_step_t){.code = BPT_POINTWISE_MUL_SCALAR}, no_random);
}
bpt_value_t bpt_scale(bpt_graph_t *g, bpt_value_t a, float factor) {
    return chain(g, a, BPT_NO_VALUE, (bpt_pointwise_step_t){.code = BPT_POINTWISE_SCALE, .c = factor}, no_random);
}
bpt_value_t bpt_relu(bpt_graph_t *g, bpt_value_t a) {
    return chain(g, a, BPT_NO_VALUE, (bpt_pointwise_step_t){.code = BPT_POINTWISE_RELU}, no_random);
}
bpt_value_t bpt_abs(bpt_graph_t *g, bpt_value_t a) {
    return chain(g, a, BPT_NO_VALUE, (bpt_pointwise_step_t){.code = BPT_POINTWISE_ABS}, no_random);
}
bpt_value_t bpt_swish(bpt_graph_t *g, bpt_value_t a) {
    return chain(g, a, BPT_NO_VALUE, (bpt_pointwise_step_t){.code = BPT_POINTWISE_SWISH}, no_random);
}
bpt_value_t bpt_dropout(bpt_graph_t *g, bpt_value_t a, float p, bpt_random_t random) {
    if (p == 0) return a;
    return chain(g, a, BPT_NO_VALUE, (bpt_pointwise_step_t){.code = BPT_POINTWISE_DROPOUT, .c = p, .uid = ++g->next_uid}, random);
}

// Gradient through a chain that ends in `y`: {relu}, {relu, dropout}, {dropout} or any one step. The zeros of y tell where
// relu or dropout cut; a kept element of dropout(relu(x)) was scaled by 1/(1-p).
bpt_status_t bpt_steps_gradient(bpt_graph_t *g, const bpt_pointwise_attrs_t *a, const bpt_value_t *in, bpt_value_t y, bpt_value_t dy,
                                const bool *need, bpt_value_t *din, bpt_value_t *dx) {
    const bpt_pointwise_step_t *s = &a->step[0];
    const bpt_random_t random = {in[BPT_IN_ROW_KEYS], in[BPT_IN_RNG]};
    if (a->n_steps == 0) {
        *dx = dy;
        return BPT_OK;
    }
    if (a->n_steps == 2 && s[0].code == BPT_POINTWISE_RELU && s[1].code == BPT_POINTWISE_DROPOUT) {
        *dx = chain(g, dy, y, (bpt_pointwise_step_t){.code = BPT_POINTWISE_MASK, .c = 1 / (1 - s[1].c)}, no_random);
        return bpt_graph_status(g);
    }
    GRAPH_EXPECT(a->n_steps == 1, "a fused chain has no gradient: differentiate before fusing");
    const bpt_value_t other = s->arg > 0 ? in[s->arg] : BPT_NO_VALUE;
    switch (s->code) {
    case BPT_POINTWISE_ADD:
        *dx = dy;
        if (need[s->arg]) din[s->arg] = dy;
        break;
    case BPT_POINTWISE_MUL:
        *dx = bpt_mul(g, dy, other);
        if (need[s->arg]) din[s->arg] = bpt_mul(g, dy, in[0]);
        break;
    case BPT_POINTWISE_ADD_ROW:
        *dx = dy;
        if (need[s->arg]) din[s->arg] = bpt_column_sum(g, dy);
        break;
    case BPT_POINTWISE_MUL_SCALAR:
        GRAPH_EXPECT(!need[s->arg], "the scalar of a product has no gradient");
        *dx = bpt_mul_scalar(g, dy, other);
        break;
    case BPT_POINTWISE_SCALE: *dx = bpt_scale(g, dy, s->c); break;
    case BPT_POINTWISE_RELU: *dx = chain(g, dy, y, (bpt_pointwise_step_t){.code = BPT_POINTWISE_MASK, .c = 1}, no_random); break;
    case BPT_POINTWISE_MASK: *dx = chain(g, dy, other, *s, no_random); break;
    case BPT_POINTWISE_ABS: *dx = chain(g, dy, in[0], (bpt_pointwise_step_t){.code = BPT_POINTWISE_SIGN}, no_random); break;
    case BPT_POINTWISE_SIGN: *dx = chain(g, dy, other, *s, no_random); break;
    case BPT_POINTWISE_SWISH: *dx = chain(g, dy, in[0], (bpt_pointwise_step_t){.code = BPT_POINTWISE_SWISH_SLOPE}, no_random); break;
    case BPT_POINTWISE_SWISH_SLOPE:
        GRAPH_EXPECT(!need[s->arg], "the slope of swish has no gradient of its own");
        *dx = chain(g, dy, other, *s, no_random);
        break;
    case BPT_POINTWISE_DROPOUT: *dx = chain(g, dy, BPT_NO_VALUE, *s, random); break;
    }
    return bpt_graph_status(g);
}

static bpt_status_t grad(bpt_graph_t *g, const bpt_node_t *node, const bpt_value_t *dout, const bool *need, bpt_value_t *din) {
    bpt_value_t dx = BPT_NO_VALUE;
    BPT_TRY(bpt_steps_gradient(g, &node->attrs.pointwise, node->in, node->out[0], dout[0], need, din, &dx));
    if (need[0]) din[0] = dx;
    return BPT_OK;
}

static double flops(const bpt_graph_t *g, const bpt_node_t *node) {
    return (double)bpt_shape_count(value_shape(g, node->in[0])) * node->attrs.pointwise.n_steps;
}

static int share(const bpt_graph_t *g, const bpt_node_t *node, int nth) {
    (void)g, (void)node;
    return nth <= BPT_MAX_STEPS - 1 ? nth : -1;  // in[0..5]: the planner checks size and dtype
}

// ---- Operands

static bpt_status_t check_pointwise(bpt_checker_t *c) {
    const bpt_operand_t *x = &c->call->in[0];
    BPT_TRY(bpt_expect_input(c, 0, "x", ANY_FLOAT, REQUIRED, ANY_ROWS, ANY_COLUMNS));
    BPT_TRY(bpt_expect_output(c, 0, "out", ANY_FLOAT, REQUIRED, operand_rows(x), operand_columns(x)));
    return bpt_expect_steps(c, &c->call->attrs.pointwise, 1, operand_rows(x), operand_columns(x));
}

// ---- Lines

static const bpt_attribute_t attributes[] = {{BPT_STEPS("steps", bpt_attrs_t, pointwise)}, {.key = NULL}};

const bpt_op_info_t bpt_op_info_POINTWISE = {
    .check = check_pointwise, .infer = infer, .grad = grad, .flops = flops, .share = share, .attributes = attributes};
