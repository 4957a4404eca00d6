// LayerNorm and its gradient; the same cases of RMSNorm. The gradient's z and stats come from ref's forward pass.
#include <string.h>

#include "support/execute.h"

typedef struct {
    int64_t rows, d;
    float p;
    bool residual, z, stats;
    bpt_dtype_t x;
    int low;  // dtype of the low-precision output, -1 = absent
} forward_t;

static const forward_t forwards[] = {
    {0, 8, 0, true, true, true, BPT_F32, -1},
    {1, 1, 0, true, true, true, BPT_F32, -1},
    {1, 2, 0, false, false, false, BPT_F32, -1},
    {2, 31, 0.1f, true, true, true, BPT_F32, -1},
    {31, 33, 0, false, true, true, BPT_BF16, BPT_BF16},
    {33, 127, 0.5f, true, false, true, BPT_BF16, BPT_BF16},
    {127, 129, 0.1f, true, true, false, BPT_F16, BPT_F16},
    {129, 300, 0, true, true, true, BPT_F16, -1},
    {7, 1025, 0.1f, true, true, true, BPT_F32, BPT_BF16},
    {1025, 10, 0.2f, false, true, true, BPT_F32, BPT_F16},
    {65537, 3, 0.1f, true, true, true, BPT_F32, -1},
    {65537, 2, 0, true, false, true, BPT_BF16, BPT_BF16},
    {5, 64, 0, true, false, false, BPT_F32, -1},
    {5, 64, 0.1f, false, false, false, BPT_BF16, -1},
};

typedef struct {
    int64_t rows, d;
    float p;
    int low, dx;  // dtype of the low-precision output's gradient and of dx, -1 = absent
} gradient_t;

static const gradient_t gradients[] = {
    {0, 8, 0, -1, -1},
    {1, 1, 0, -1, BPT_F32},
    {1, 2, 0.5f, -1, BPT_F32},
    {2, 31, 0, BPT_F32, -1},
    {31, 33, 0, BPT_BF16, BPT_BF16},
    {33, 127, 0.3f, BPT_BF16, BPT_BF16},
    {127, 129, 0.1f, BPT_F16, BPT_F16},
    {129, 300, 0.1f, -1, BPT_F32},
    {7, 1025, 0.2f, BPT_BF16, BPT_F32},
    {1025, 10, 0, -1, -1},
    {65537, 3, 0.1f, -1, BPT_F32},
    {65537, 2, 0, BPT_BF16, BPT_BF16},
    {64, 512, 0.1f, -1, BPT_BF16},
    {4, 7, 0, BPT_F32, BPT_F32},
    {4, 7, 0.4f, BPT_F32, BPT_F32},
    {5, 9, 0.4f, -1, BPT_F32},
};

enum { N_FORWARDS = BPT_COUNT(forwards), N_GRADIENTS = BPT_COUNT(gradients) };

static size_t count(void) { return 2 * (N_FORWARDS + N_GRADIENTS); }

// In short rows all values may be nearly equal: their small variance magnifies what was rounded before, up to 1/sqrt(eps).
static double tolerance_of(int64_t d) { return d < 8 ? 2000 : 40; }

static void make_forward(bpt_op_t op, const forward_t *f, test_case_t *c) {
    const bpt_shape_t shape = bpt_shape2(f->rows, f->d), row = bpt_shape1(f->d);
    test_case_init(c, op);
    test_case_name(c, "%lldx%lld/%s/p%g%s%s%s%s%s", (long long)f->rows, (long long)f->d, bpt_dtype_name(f->x), (double)f->p,
                   f->residual ? "/residual" : "", f->z ? "/z" : "", f->stats ? "/stats" : "", f->low < 0 ? "" : "/low-",
                   f->low < 0 ? "" : bpt_dtype_name((bpt_dtype_t)f->low));
    c->call.attrs.layernorm = (bpt_layernorm_attrs_t){.eps = 1e-5f, .p = f->p, .uid = 3};
    c->tolerance = tolerance_of(f->d);
    test_in(c, 0, f->x, shape, TEST_UNIFORM, -2, 3);
    if (f->residual) test_in(c, 1, BPT_F32, shape, TEST_UNIFORM, -2, 3);
    test_in(c, 2, BPT_F32, row, TEST_UNIFORM, 0.5, 1.5);
    if (bpt_norm_is_centred(op)) test_in(c, 3, BPT_F32, row, TEST_UNIFORM, -1, 1);
    if (f->p > 0) test_random(c, f->rows);
    test_out(c, 0, BPT_F32, shape);
    if (f->z) test_out(c, 1, BPT_F32, shape);
    if (f->stats) test_out(c, 2, BPT_F32, bpt_shape2(f->rows, 2));
    if (f->low >= 0) test_out(c, 3, (bpt_dtype_t)f->low, shape);
}

// The forward pass with the same rows, gamma and dropout.
static void make_forward_of(const test_case_t *gradient, test_case_t *forward) {
    const bpt_shape_t *shape = &gradient->call.in[0].shape;
    const int low = gradient->call.in[4].present ? (int)gradient->call.in[4].dtype : -1;
    const bpt_op_t op = bpt_norm_is_centred(gradient->call.op) ? BPT_OP_LAYERNORM : BPT_OP_RMSNORM;
    make_forward(op, &(forward_t){shape->dim[0], shape->dim[1], gradient->call.attrs.layernorm.p, true, true, true, BPT_F32, low}, forward);
}

// z and stats of the gradient.
static void run_forward(const test_case_t *c, void *const in[]) {
    test_case_t forward;
    test_data_t data;
    make_forward_of(c, &forward);
    test_data_create(&forward, &data);
    test_must_execute(test_ref_device(), &forward, &data);
    memcpy(in[1], data.out[1], test_operand_bytes(&c->call.in[1]));
    memcpy(in[2], data.out[2], test_operand_bytes(&c->call.in[2]));
    test_data_destroy(&data);
}

static void make_gradient(bpt_op_t op, const gradient_t *g, test_case_t *c) {
    const bpt_shape_t shape = bpt_shape2(g->rows, g->d), row = bpt_shape1(g->d);
    test_case_init(c, op);
    test_case_name(c, "%lldx%lld/p%g%s%s%s%s", (long long)g->rows, (long long)g->d, (double)g->p, g->low < 0 ? "" : "/low-",
                   g->low < 0 ? "" : bpt_dtype_name((bpt_dtype_t)g->low), g->dx < 0 ? "" : "/dx-",
                   g->dx < 0 ? "" : bpt_dtype_name((bpt_dtype_t)g->dx));
    c->call.attrs.layernorm = (bpt_layernorm_attrs_t){.eps = 1e-5f, .p = g->p, .uid = 3};
    c->tolerance = tolerance_of(g->d);
    c->least = 1;
    c->more[2] = c->more[3] = test_sum_tolerance(g->rows);
    c->prepare = run_forward;
    test_in(c, 0, BPT_F32, shape, TEST_UNIFORM, -1, 1);
    test_in(c, 1, BPT_F32, shape, TEST_PREPARED, 0, 0);
    test_in(c, 2, BPT_F32, bpt_shape2(g->rows, 2), TEST_PREPARED, 0, 0);
    test_in(c, 3, BPT_F32, row, TEST_UNIFORM, 0.5, 1.5);
    if (g->low >= 0) test_in(c, 4, (bpt_dtype_t)g->low, shape, TEST_UNIFORM, -1, 1);
    if (g->p > 0) test_random(c, g->rows);
    test_out(c, 0, BPT_F32, shape);
    if (g->dx >= 0) test_out(c, 1, (bpt_dtype_t)g->dx, shape);
    test_out(c, 2, BPT_F32, row);
    if (bpt_norm_is_centred(op)) test_out(c, 3, BPT_F32, row);
}

static void make(size_t index, test_case_t *c) {
    const bool centred = index < N_FORWARDS + N_GRADIENTS;
    const size_t i = index % (N_FORWARDS + N_GRADIENTS);
    if (i < N_FORWARDS)
        make_forward(centred ? BPT_OP_LAYERNORM : BPT_OP_RMSNORM, &forwards[i], c);
    else
        make_gradient(centred ? BPT_OP_LAYERNORM_GRAD : BPT_OP_RMSNORM_GRAD, &gradients[i - N_FORWARDS], c);
}

// Few elements, as each takes forward passes; rows that are not too short for a variance.
static bool make_smooth_forward(const test_case_t *gradient, test_case_t *forward) {
    const bpt_operand_t *dy = &gradient->call.in[0], *low = &gradient->call.in[4], *dx = &gradient->call.out[1];
    if (bpt_shape_count(&dy->shape) > 1000 || bpt_shape_columns(&dy->shape) < 7) return false;
    make_forward_of(gradient, forward);
    return (!low->present || low->dtype == BPT_F32) && (!dx->present || dx->dtype == BPT_F32);
}

#define LINKS                                                                                                             \
    {                                                                                                                     \
        {TEST_DY, 0, 0}, {TEST_SAVED, 1, 1}, {TEST_SAVED, 2, 2}, {TEST_SAME, 3, 2}, {TEST_DY, 4, 3}, {TEST_RESULT, 0, 1}, \
            {TEST_RESULT, 1, 0}, {TEST_RESULT, 2, 2}, {                                                                   \
            TEST_RESULT, 3, 3                                                                                             \
        }                                                                                                                 \
    }
static const test_derivative_t derivatives[] = {
    {BPT_OP_LAYERNORM_GRAD, make_smooth_forward, LINKS},
    {BPT_OP_RMSNORM_GRAD, make_smooth_forward, LINKS},
    {0},
};

const test_family_t test_layernorm_cases = {"layernorm", count, make, derivatives};
