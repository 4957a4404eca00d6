// The oracle itself: ref's gradient ops against central differences of its forward ops. Inputs are multiples of 2^-12 and
// the step is 2^-6, so that no input is rounded; fourth-order differences, sums in double.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/attention.h"

static const double step = 0x1p-6;

static void quantise(const bpt_operand_t *operand, void *data) {
    if (operand->dtype != BPT_F32) return;
    float *x = data;
    for (int64_t i = 0; i < bpt_shape_count(&operand->shape); ++i) x[i] = roundf(x[i] * 4096) / 4096;
}

static void create_quantised(const test_case_t *c, test_data_t *data) {
    test_data_create(c, data);
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (data->in[i]) quantise(&c->call.in[i], data->in[i]);
    if (test_is_packed(&c->call)) memcpy(data->in[1], data->in[0], test_operand_bytes(&c->call.in[0]));
}

// weights[o] (NULL: 0) is the gradient of the loss with respect to output o: loss = sum over o of weights[o] . out[o].
static double loss(const test_case_t *forward, test_data_t *data, const float *const weights[]) {
    double sum = 0;
    if (test_is_packed(&forward->call)) memcpy(data->in[1], data->in[0], test_operand_bytes(&forward->call.in[0]));
    test_must_execute(test_ref_device(), forward, data);
    for (int o = 0; o < BPT_MAX_OUTPUTS; ++o)
        for (int64_t i = 0; weights[o] && i < bpt_shape_count(&forward->call.out[o].shape); ++i)
            sum += (double)weights[o][i] * test_load(&forward->call.out[o], data->out[o], i);
    return sum;
}

static double slope(const test_case_t *forward, test_data_t *data, const float *const weights[], float *x) {
    static const double at[] = {-2, -1, 1, 2}, factor[] = {1, -8, 8, -1};
    const float value = *x;
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
        *x = value + (float)(at[i] * step);
        sum += factor[i] * loss(forward, data, weights);
    }
    *x = value;
    return sum / (12 * step);
}

// Holds `gradient` (with respect to input `slot` of the forward case) against differences, at some 30 elements of it.
static bool held[BPT_OP_COUNT];  // forward ops whose gradients were
static void check_gradient(const test_case_t *forward, test_data_t *data, const float *const weights[], int slot, const float *gradient) {
    const int64_t n = bpt_shape_count(&forward->call.in[slot].shape), stride = n > 30 ? n / 30 | 1 : 1;
    double largest = 0;
    held[forward->call.op] = true;
    for (int64_t i = 0; i < n; ++i) largest = fmax(largest, fabs((double)gradient[i]));
    for (int64_t i = 0; i < n; i += stride) {
        const double expected = slope(forward, data, weights, (float *)data->in[slot] + i), got = (double)gradient[i];
        if (!(fabs(got - expected) <= 1e-4 * largest + 2e-5))
            fail_msg("%s: gradient of input %d, element %lld: %.7g, by differences %.7g (largest %.3g)", forward->name, slot, (long long)i,
                     got, expected, largest);
    }
}

// ---- Gradient ops that their cases link to a forward pass ------------------------------------------------------------

// The operands of a gradient that are linked to its forward pass; `weights` of the loss are the gradients of the outputs.
static void link_operands(const test_derivative_t *d, const test_case_t *gradient, const test_data_t *x, test_data_t *g,
                          const float *weights[BPT_MAX_OUTPUTS]) {
    for (int i = 0; d->links[i].kind != TEST_END; ++i) {
        const int from = d->links[i].forward, to = d->links[i].gradient;
        if (d->links[i].kind == TEST_DY) weights[from] = g->in[to];
        if (d->links[i].kind == TEST_SAVED) memcpy(g->in[to], x->out[from], test_operand_bytes(&gradient->call.in[to]));
        if (d->links[i].kind == TEST_SAME) memcpy(g->in[to], x->in[from], test_operand_bytes(&gradient->call.in[to]));
    }
}

// False: the case is not fit for differences.
static bool check_derivative(const test_derivative_t *d, const test_case_t *gradient) {
    const float *weights[BPT_MAX_OUTPUTS] = {NULL};
    test_case_t forward;
    test_data_t x, g;
    if (gradient->call.op != d->gradient || !d->make_forward(gradient, &forward)) return false;
    create_quantised(&forward, &x);
    test_must_execute(test_ref_device(), &forward, &x);
    test_data_create(gradient, &g);
    link_operands(d, gradient, &x, &g, weights);
    test_must_execute(test_ref_device(), gradient, &g);
    for (int i = 0; d->links[i].kind != TEST_END; ++i)
        if (d->links[i].kind == TEST_RESULT && g.out[d->links[i].gradient])
            check_gradient(&forward, &x, weights, d->links[i].forward, g.out[d->links[i].gradient]);
    test_data_destroy(&x), test_data_destroy(&g);
    return true;
}

static void gradients_of_families_match_differences(void **state) {
    static const test_family_t *const families[] = {
#define TEST_FAMILY(name) &test_##name##_cases,
#include "conformance/cases.def"
    };
    (void)state;
    for (size_t f = 0; f < BPT_COUNT(families); ++f)
        for (const test_derivative_t *d = families[f]->derivatives; d && d->make_forward; ++d) {
            int checked = 0;
            for (size_t i = 0; i < families[f]->count(); ++i) {
                test_case_t c;
                families[f]->make(i, &c);
                checked += check_derivative(d, &c);
            }
            if (!checked) fail_msg("%s: no case is fit for differences", bpt_op_name(d->gradient));
        }
}

// ---- Gradient ops whose forward pass is made here --------------------------------------------------------------------

// One f32 gradient case of the table; the inputs that the forward pass gives are made again after quantising.
static void check_attention_case(const test_case_t *gradient) {
    test_case_t forward;
    test_data_t x, g;
    test_attention_forward(gradient, &forward);
    forward.prepare = NULL;
    test_data_create(gradient, &g);
    test_data_allocate(&forward.call, &x);
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (x.in[i]) {
            quantise(&gradient->call.in[i], g.in[i]);
            memcpy(x.in[i], g.in[i], test_operand_bytes(&gradient->call.in[i]));
        }
    test_must_execute(test_ref_device(), &forward, &x);
    memcpy(g.in[7], x.out[0], test_operand_bytes(&gradient->call.in[7]));
    memcpy(g.in[9], x.out[1], test_operand_bytes(&gradient->call.in[9]));
    test_must_execute(test_ref_device(), gradient, &g);
    const float *const weights[BPT_MAX_OUTPUTS] = {g.in[8]};
    check_gradient(&forward, &x, weights, 0, g.out[0]);
    if (!test_is_packed(&gradient->call)) check_gradient(&forward, &x, weights, 1, g.out[1]);
    if (x.in[2]) check_gradient(&forward, &x, weights, 2, g.out[2]);
    test_data_destroy(&x), test_data_destroy(&g);
}

static void attention_gradients_match_differences(void **state) {
    (void)state;
    int checked = 0;
    for (size_t i = 0; i < test_attention_cases.count(); ++i) {
        test_case_t c;
        test_attention_cases.make(i, &c);
        if (c.call.op != BPT_OP_ATTENTION_GRAD || c.call.in[0].dtype != BPT_F32 || c.call.attrs.attention.graph.n > 33 ||
            strstr(c.name, "chosen"))
            continue;
        check_attention_case(&c);
        ++checked;
    }
    print_message("%d attention graphs checked\n", checked);
    assert_true(checked >= 30);
}

static void attention_gradients_over_tables_match_differences(void **state) {
    (void)state;
    int checked = 0;
    for (size_t i = 0; i < test_attention_table_cases.count(); ++i) {
        test_case_t c;
        test_attention_table_cases.make(i, &c);
        const int64_t queries = c.call.in[0].shape.dim[0], keys = c.call.in[1].shape.dim[0];
        if (c.call.op != BPT_OP_ATTENTION_GRAD || c.call.in[0].dtype != BPT_F32 || queries > 50 || keys > 107) continue;
        check_attention_case(&c);
        ++checked;
    }
    assert_true(checked >= 15);
}

// The loss is taken apart into its rows: a sum of many in f32 would drown the differences.
static void cross_entropy_gradient_matches_differences(void **state) {
    (void)state;
    int checked = 0;
    for (size_t i = 0; i < test_xent_cases.count(); ++i) {
        test_case_t c, forward;
        test_data_t x, g;
        float row_weights[64];
        test_xent_cases.make(i, &c);
        const int64_t n = c.call.in[0].shape.dim[0];
        if (c.call.op != BPT_OP_XENT_GRAD || c.call.in[0].dtype != BPT_F32 || n > 64 || c.call.in[1].shape.dim[0] > 200) continue;
        if (c.call.attrs.xent.smoothing > 0) continue;  // below
        forward = c;
        forward.call.op = BPT_OP_XENT;
        forward.call.in[5].present = forward.call.out[2].present = forward.call.out[3].present = forward.call.out[4].present = false;
        create_quantised(&c, &g);
        create_quantised(&forward, &x);
        test_must_execute(test_ref_device(), &c, &g);
        for (int64_t r = 0; r < n; ++r) row_weights[r] = ((const float *)x.in[4])[r] * *(const float *)g.in[5];
        const float *const weights[BPT_MAX_OUTPUTS] = {NULL, row_weights};
        check_gradient(&forward, &x, weights, 0, g.out[2]);
        check_gradient(&forward, &x, weights, 1, g.out[3]);
        if (x.in[2]) check_gradient(&forward, &x, weights, 2, g.out[4]);
        test_data_destroy(&x), test_data_destroy(&g);
        ++checked;
    }
    assert_true(checked >= 5);
}

// With smoothing the gradient is not that of the nll: here the loss itself is differentiated, of the few rows that its f32 allows.
static void smoothed_cross_entropy_gradient_matches_differences(void **state) {
    (void)state;
    int checked = 0;
    for (size_t i = 0; i < test_xent_cases.count(); ++i) {
        test_case_t c, forward;
        test_data_t x, g;
        test_xent_cases.make(i, &c);
        if (c.call.op != BPT_OP_XENT_GRAD || c.call.attrs.xent.smoothing <= 0 || c.call.in[0].shape.dim[0] > 3 ||
            c.call.in[1].shape.dim[0] > 200)
            continue;
        forward = c;
        forward.call.op = BPT_OP_XENT;
        forward.call.in[5].present = forward.call.out[2].present = forward.call.out[3].present = forward.call.out[4].present = false;
        create_quantised(&c, &g);
        create_quantised(&forward, &x);
        test_must_execute(test_ref_device(), &c, &g);
        const float *const weights[BPT_MAX_OUTPUTS] = {g.in[5]};
        check_gradient(&forward, &x, weights, 0, g.out[2]);
        check_gradient(&forward, &x, weights, 1, g.out[3]);
        if (x.in[2]) check_gradient(&forward, &x, weights, 2, g.out[4]);
        test_data_destroy(&x), test_data_destroy(&g);
        ++checked;
    }
    assert_int_equal(checked, 2);
}

// The loss of the small cases, whose f32 the differences allow.
static void crf_gradient_matches_differences(void **state) {
    (void)state;
    int checked = 0;
    for (size_t i = 0; i < test_crf_cases.count(); ++i) {
        test_case_t c, forward;
        test_data_t x, g;
        test_crf_cases.make(i, &c);
        if (c.call.op != BPT_OP_CRF_GRAD || !c.call.in[0].shape.dim[0] || c.call.in[0].shape.dim[0] > 33 || c.call.in[0].shape.dim[1] > 9)
            continue;
        forward = c;
        forward.call.op = BPT_OP_CRF;
        forward.call.in[5].present = forward.call.out[2].present = forward.call.out[3].present = false;
        create_quantised(&c, &g);
        create_quantised(&forward, &x);
        c.prepare(&c, g.in);
        c.prepare(&c, x.in);
        test_must_execute(test_ref_device(), &c, &g);
        const float *const weights[BPT_MAX_OUTPUTS] = {g.in[5]};
        check_gradient(&forward, &x, weights, 0, g.out[2]);
        check_gradient(&forward, &x, weights, 1, g.out[3]);
        test_data_destroy(&x), test_data_destroy(&g);
        ++checked;
    }
    assert_int_equal(checked, 4);
}

// Small trees of every form; the rows of the tables that no leaf reads have no gradient.
static void tree_values_gradients_match_differences(void **state) {
    (void)state;
    int checked = 0;
    for (size_t i = 0; i < test_tree_cases.count(); ++i) {
        test_case_t c, forward;
        test_data_t x, g;
        test_tree_cases.make(i, &c);
        const int64_t rows = bpt_shape_rows(&c.call.in[0].shape);
        if (c.call.op != BPT_OP_TREE_VALUES_GRAD || c.call.in[0].dtype != BPT_F32 || rows > 150) continue;
        forward = c;
        forward.call.op = BPT_OP_TREE_VALUES;
        forward.call.in[6].present = false;
        for (int o = 1; o < 4; ++o) forward.call.out[o].present = false;
        create_quantised(&c, &g);
        create_quantised(&forward, &x);
        test_must_execute(test_ref_device(), &c, &g);
        const float *const weights[BPT_MAX_OUTPUTS] = {g.in[6]};
        for (int slot = 0; slot < 4; ++slot)
            if (x.in[slot]) check_gradient(&forward, &x, weights, slot, g.out[slot]);
        test_data_destroy(&x), test_data_destroy(&g);
        ++checked;
    }
    assert_int_equal(checked, 6);
}

// Rows 1 to 3 and 5 to 8 of nine; between them an empty range.
static void segment_gradients_match_differences(void **state) {
    (void)state;
    enum { ROWS = 9, SEGMENTS = 3, D = 3 };
    static const uint32_t ranges[SEGMENTS][2] = {{1, 4}, {4, 4}, {5, 20}};
    for (int kind = BPT_SEGMENT_SUM; kind <= BPT_SEGMENT_MAX; ++kind) {
        const bool largest = kind == BPT_SEGMENT_MAX;
        test_case_t forward, gradient;
        test_data_t x, g;
        test_case_init(&forward, BPT_OP_SEGMENT);
        test_case_init(&gradient, BPT_OP_SEGMENT_GRAD);
        test_case_name(&forward, "kind %d", kind);
        forward.call.attrs.segment = gradient.call.attrs.segment = (bpt_segment_attrs_t){(bpt_segment_kind_t)kind, ROWS};
        test_in(&forward, 0, BPT_F32, bpt_shape2(ROWS, D), TEST_PREPARED, 0, 0);
        test_in(&forward, 1, BPT_U32, bpt_shape2(SEGMENTS, 2), TEST_PREPARED, 0, 0);
        test_out(&forward, 0, BPT_F32, bpt_shape2(SEGMENTS, D));
        if (largest) test_out(&forward, 1, BPT_U32, bpt_shape2(SEGMENTS, D));
        test_in(&gradient, 0, BPT_F32, bpt_shape2(SEGMENTS, D), TEST_UNIFORM, -1, 1);
        test_in(&gradient, 1, BPT_U32, bpt_shape2(SEGMENTS, 2), TEST_PREPARED, 0, 0);
        if (largest) test_in(&gradient, 2, BPT_U32, bpt_shape2(SEGMENTS, D), TEST_PREPARED, 0, 0);
        test_out(&gradient, 0, BPT_F32, bpt_shape2(ROWS, D));
        create_quantised(&forward, &x);
        create_quantised(&gradient, &g);
        for (int i = 0; i < ROWS * D; ++i) ((float *)x.in[0])[i] = (float)(i * 7 % 11) / 4;  // further apart in a range than the steps
        memcpy(x.in[1], ranges, sizeof ranges);
        memcpy(g.in[1], ranges, sizeof ranges);
        test_must_execute(test_ref_device(), &forward, &x);
        if (largest) memcpy(g.in[2], x.out[1], test_operand_bytes(&gradient.call.in[2]));
        test_must_execute(test_ref_device(), &gradient, &g);
        const float *const weights[BPT_MAX_OUTPUTS] = {g.in[0]};
        check_gradient(&forward, &x, weights, 0, g.out[0]);
        test_data_destroy(&x), test_data_destroy(&g);
    }
}

static void gather_gradient_matches_differences(void **state) {
    (void)state;
    enum { N = 9, V = 4, D = 3 };
    for (int holes = 0; holes < 2; ++holes) {
        test_case_t forward, gradient;
        test_data_t x, g;
        test_case_init(&forward, BPT_OP_GATHER);
        test_in(&forward, 0, BPT_F32, bpt_shape2(V, D), TEST_UNIFORM, -1, 1);
        test_in(&forward, 1, BPT_U32, bpt_shape1(N), TEST_IDS, V, holes);
        test_out(&forward, 0, BPT_F32, bpt_shape2(N, D));
        test_case_init(&gradient, BPT_OP_GATHER_GRAD);
        test_in(&gradient, 0, BPT_F32, bpt_shape2(N, D), TEST_UNIFORM, -1, 1);
        test_in(&gradient, 1, BPT_U32, bpt_shape1(N), TEST_IDS, V, holes);
        test_out(&gradient, 0, BPT_F32, bpt_shape2(V, D));
        create_quantised(&forward, &x);
        test_data_create(&gradient, &g);
        test_must_execute(test_ref_device(), &gradient, &g);
        const float *const weights[BPT_MAX_OUTPUTS] = {g.in[0]};
        check_gradient(&forward, &x, weights, 0, g.out[0]);
        test_data_destroy(&x), test_data_destroy(&g);
    }
}

// ---- Ops whose gradient is made of other ops -------------------------------------------------------------------------

static void set_steps(bpt_pointwise_attrs_t *chain, int n, const bpt_pointwise_step_t *steps) {
    chain->n_steps = n;
    memcpy(chain->step, steps, (size_t)n * sizeof *steps);
}

// relu(x + row) * dropout: the gradient masks by the saved output, which is 0 exactly where one of the two cut.
static void mask_is_the_gradient_of_bias_relu_and_dropout(void **state) {
    (void)state;
    enum { ROWS = 5, COLUMNS = 6 };
    const bpt_shape_t shape = bpt_shape2(ROWS, COLUMNS);
    test_case_t forward, gradient, sum;
    test_data_t x, g, s;
    test_case_init(&forward, BPT_OP_POINTWISE);
    set_steps(
        &forward.call.attrs.pointwise, 3,
        (const bpt_pointwise_step_t[]){{BPT_POINTWISE_ADD_ROW, 1}, {BPT_POINTWISE_RELU}, {BPT_POINTWISE_DROPOUT, .c = 0.25f, .uid = 2}});
    test_in(&forward, 0, BPT_F32, shape, TEST_AWAY, -2, 2);
    test_in(&forward, 1, BPT_F32, bpt_shape1(COLUMNS), TEST_UNIFORM, -0.1, 0.1);
    test_random(&forward, ROWS);
    test_out(&forward, 0, BPT_F32, shape);
    create_quantised(&forward, &x);
    test_must_execute(test_ref_device(), &forward, &x);

    test_case_init(&gradient, BPT_OP_POINTWISE);
    set_steps(&gradient.call.attrs.pointwise, 1, (const bpt_pointwise_step_t[]){{BPT_POINTWISE_MASK, 1, 1 / 0.75f}});
    test_in(&gradient, 0, BPT_F32, shape, TEST_UNIFORM, -1, 1);
    test_in(&gradient, 1, BPT_F32, shape, TEST_PREPARED, 0, 0);
    test_out(&gradient, 0, BPT_F32, shape);
    test_data_create(&gradient, &g);
    memcpy(g.in[1], x.out[0], test_operand_bytes(&gradient.call.in[1]));
    test_must_execute(test_ref_device(), &gradient, &g);

    test_case_init(&sum, BPT_OP_COLUMN_SUM);
    test_in(&sum, 0, BPT_F32, shape, TEST_PREPARED, 0, 0);
    test_out(&sum, 0, BPT_F32, bpt_shape1(COLUMNS));
    test_data_create(&sum, &s);
    memcpy(s.in[0], g.out[0], test_operand_bytes(&sum.call.in[0]));
    test_must_execute(test_ref_device(), &sum, &s);

    const float *const weights[BPT_MAX_OUTPUTS] = {g.in[0]};
    check_gradient(&forward, &x, weights, 0, g.out[0]);
    check_gradient(&forward, &x, weights, 1, s.out[0]);
    test_data_destroy(&x), test_data_destroy(&g), test_data_destroy(&s);
}

// y = step(x), of inputs from -limit to limit: the gradient is a step that reads the input beside it.
static void check_gradient_step(bpt_pointwise_code_t step, bpt_pointwise_code_t gradient_step, test_fill_kind_t fill, double limit) {
    const bpt_shape_t shape = bpt_shape2(5, 6);
    test_case_t forward, gradient;
    test_data_t x, g;
    test_case_init(&forward, BPT_OP_POINTWISE);
    set_steps(&forward.call.attrs.pointwise, 1, &(bpt_pointwise_step_t){step});
    test_in(&forward, 0, BPT_F32, shape, fill, -limit, limit);
    test_out(&forward, 0, BPT_F32, shape);
    create_quantised(&forward, &x);
    test_case_init(&gradient, BPT_OP_POINTWISE);
    set_steps(&gradient.call.attrs.pointwise, 1, &(bpt_pointwise_step_t){gradient_step, 1});
    test_in(&gradient, 0, BPT_F32, shape, TEST_UNIFORM, -1, 1);
    test_in(&gradient, 1, BPT_F32, shape, TEST_PREPARED, 0, 0);
    test_out(&gradient, 0, BPT_F32, shape);
    test_data_create(&gradient, &g);
    memcpy(g.in[1], x.in[0], test_operand_bytes(&gradient.call.in[1]));
    test_must_execute(test_ref_device(), &gradient, &g);
    const float *const weights[BPT_MAX_OUTPUTS] = {g.in[0]};
    check_gradient(&forward, &x, weights, 0, g.out[0]);
    test_data_destroy(&x), test_data_destroy(&g);
}

// |x|
static void sign_is_the_gradient_of_abs(void **state) {
    (void)state;
    check_gradient_step(BPT_POINTWISE_ABS, BPT_POINTWISE_SIGN, TEST_AWAY, 2);
}

// x s(x), s the logistic function
static void swish_slope_is_the_gradient_of_swish(void **state) {
    (void)state;
    check_gradient_step(BPT_POINTWISE_SWISH, BPT_POINTWISE_SWISH_SLOPE, TEST_UNIFORM, 4);
}

// The gradient of a rotation is the rotation back, whatever the angles are (here: any numbers), and of columns that stay the identity.
static void inverse_is_the_gradient_of_rotary(void **state) {
    (void)state;
    enum { ROWS = 4, HEAD = 6, TURNED = 12, COLUMNS = 15 };
    for (int inverse = 0; inverse < 2; ++inverse) {
        test_case_t forward, gradient;
        test_data_t x, g;
        test_case_t *const both[] = {&forward, &gradient};
        for (int i = 0; i < 2; ++i) {
            test_case_init(both[i], BPT_OP_ROTARY);
            both[i]->call.attrs.rotary = (bpt_rotary_attrs_t){HEAD, TURNED, inverse != i};
            test_in(both[i], 0, BPT_F32, bpt_shape2(ROWS, COLUMNS), TEST_UNIFORM, -1, 1);
            test_in(both[i], 1, BPT_F32, bpt_shape2(ROWS, HEAD), i ? TEST_PREPARED : TEST_UNIFORM, -1, 1);
            test_out(both[i], 0, BPT_F32, bpt_shape2(ROWS, COLUMNS));
        }
        create_quantised(&forward, &x);
        test_data_create(&gradient, &g);
        memcpy(g.in[1], x.in[1], test_operand_bytes(&gradient.call.in[1]));
        test_must_execute(test_ref_device(), &gradient, &g);
        const float *const weights[BPT_MAX_OUTPUTS] = {g.in[0]};
        check_gradient(&forward, &x, weights, 0, g.out[0]);
        test_data_destroy(&x), test_data_destroy(&g);
    }
}

// y = op(A) op(B) + bias: dA and dB are products of dy with the other factor, for every transposition.
static void product_gradients_are_products(void **state) {
    (void)state;
    enum { M = 5, K = 4, N = 3 };
    for (int transpose = 0; transpose < 4; ++transpose) {
        const bool ta = transpose & 1, tb = transpose & 2;
        test_case_t forward, da, db;
        test_data_t x, ga, gb;
        test_case_init(&forward, BPT_OP_MATMUL);
        forward.call.attrs.matmul = (bpt_matmul_attrs_t){.transpose_a = ta, .transpose_b = tb};
        test_in(&forward, 0, BPT_F32, ta ? bpt_shape2(K, M) : bpt_shape2(M, K), TEST_UNIFORM, -1, 1);
        test_in(&forward, 1, BPT_F32, tb ? bpt_shape2(N, K) : bpt_shape2(K, N), TEST_UNIFORM, -1, 1);
        test_in(&forward, 3, BPT_F32, bpt_shape1(N), TEST_UNIFORM, -1, 1);
        test_out(&forward, 0, BPT_F32, bpt_shape2(M, N));
        create_quantised(&forward, &x);
        // A as stored: dy op(B)^T, or its transpose op(B) dy^T.
        test_case_init(&da, BPT_OP_MATMUL);
        da.call.attrs.matmul = (bpt_matmul_attrs_t){.transpose_a = ta && tb, .transpose_b = ta || !tb};
        test_in(&da, ta ? 1 : 0, BPT_F32, bpt_shape2(M, N), TEST_UNIFORM, -1, 1);
        test_in(&da, ta ? 0 : 1, BPT_F32, forward.call.in[1].shape, TEST_PREPARED, 0, 0);
        test_out(&da, 0, BPT_F32, forward.call.in[0].shape);
        test_data_create(&da, &ga);
        const float *dy = ga.in[ta ? 1 : 0];
        memcpy(ga.in[ta ? 0 : 1], x.in[1], test_operand_bytes(&forward.call.in[1]));
        test_must_execute(test_ref_device(), &da, &ga);
        // B as stored: op(A)^T dy, or its transpose dy^T op(A).
        test_case_init(&db, BPT_OP_MATMUL);
        db.call.attrs.matmul = (bpt_matmul_attrs_t){.transpose_a = tb || !ta, .transpose_b = tb && ta};
        test_in(&db, tb ? 1 : 0, BPT_F32, forward.call.in[0].shape, TEST_PREPARED, 0, 0);
        test_in(&db, tb ? 0 : 1, BPT_F32, bpt_shape2(M, N), TEST_PREPARED, 0, 0);
        test_out(&db, 0, BPT_F32, forward.call.in[1].shape);
        test_data_create(&db, &gb);
        memcpy(gb.in[tb ? 1 : 0], x.in[0], test_operand_bytes(&forward.call.in[0]));
        memcpy(gb.in[tb ? 0 : 1], dy, sizeof(float) * M * N);
        test_must_execute(test_ref_device(), &db, &gb);
        const float *const weights[BPT_MAX_OUTPUTS] = {dy};
        check_gradient(&forward, &x, weights, 0, ga.out[0]);
        check_gradient(&forward, &x, weights, 1, gb.out[0]);
        test_data_destroy(&x), test_data_destroy(&ga), test_data_destroy(&gb);
    }
}

// The last of all.
static void every_gradient_op_was_held_against_differences(void **state) {
    (void)state;
    for (int op = 0; op < BPT_OP_COUNT; ++op)
        for (int gradient = 0; gradient < BPT_OP_COUNT; ++gradient) {
            char name[64];
            snprintf(name, sizeof name, "%s_grad", bpt_op_name((bpt_op_t)op));
            if (!strcmp(name, bpt_op_name((bpt_op_t)gradient)) && !held[op]) fail_msg("nothing holds %s against differences", name);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_families_match_differences),
        cmocka_unit_test(attention_gradients_match_differences),
        cmocka_unit_test(attention_gradients_over_tables_match_differences),
        cmocka_unit_test(cross_entropy_gradient_matches_differences),
        cmocka_unit_test(smoothed_cross_entropy_gradient_matches_differences),
        cmocka_unit_test(gather_gradient_matches_differences),
        cmocka_unit_test(crf_gradient_matches_differences),
        cmocka_unit_test(tree_values_gradients_match_differences),
        cmocka_unit_test(segment_gradients_match_differences),
        cmocka_unit_test(sign_is_the_gradient_of_abs),
        cmocka_unit_test(swish_slope_is_the_gradient_of_swish),
        cmocka_unit_test(inverse_is_the_gradient_of_rotary),
        cmocka_unit_test(mask_is_the_gradient_of_bias_relu_and_dropout),
        cmocka_unit_test(product_gradients_are_products),
        cmocka_unit_test(every_gradient_op_was_held_against_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
