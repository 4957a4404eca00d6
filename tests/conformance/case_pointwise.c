// Chains of elementwise steps: every step alone, the chains that fusion makes, all shapes and types.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/case.h"

typedef struct {
    const char *name;
    int n_steps;
    bpt_pointwise_step_t step[BPT_MAX_STEPS];
} chain_t;

static const chain_t chains[] = {
    {"none", 0, {{0}}},
    {"add", 1, {{BPT_POINTWISE_ADD, 1}}},
    {"mul", 1, {{BPT_POINTWISE_MUL, 1}}},
    {"add_row", 1, {{BPT_POINTWISE_ADD_ROW, 1}}},
    {"mul_scalar", 1, {{BPT_POINTWISE_MUL_SCALAR, 1}}},
    {"scale", 1, {{BPT_POINTWISE_SCALE, .c = -1.7f}}},
    {"relu", 1, {{BPT_POINTWISE_RELU}}},
    {"mask", 1, {{BPT_POINTWISE_MASK, 1, 1.25f}}},
    {"dropout", 1, {{BPT_POINTWISE_DROPOUT, .c = 0.2f, .uid = 7}}},
    {"dropout0", 1, {{BPT_POINTWISE_DROPOUT, .c = 0.0f, .uid = 7}}},
    {"abs", 1, {{BPT_POINTWISE_ABS}}},
    {"sign", 1, {{BPT_POINTWISE_SIGN, 1}}},
    {"swish", 1, {{BPT_POINTWISE_SWISH}}},
    {"swish_slope", 1, {{BPT_POINTWISE_SWISH_SLOPE, 1}}},
    {"swish_mul_dropout", 3, {{BPT_POINTWISE_SWISH}, {BPT_POINTWISE_MUL, 1}, {BPT_POINTWISE_DROPOUT, .c = 0.1f, .uid = 5}}},
    {"mul_abs_sign", 3, {{BPT_POINTWISE_MUL, 1}, {BPT_POINTWISE_ABS}, {BPT_POINTWISE_SIGN, 2}}},
    {"bias_relu_dropout", 3, {{BPT_POINTWISE_ADD_ROW, 2}, {BPT_POINTWISE_RELU}, {BPT_POINTWISE_DROPOUT, .c = 0.1f, .uid = 9}}},
    {"dropout_add", 2, {{BPT_POINTWISE_DROPOUT, .c = 0.5f, .uid = 1}, {BPT_POINTWISE_ADD, 5}}},
    {"two_dropouts", 2, {{BPT_POINTWISE_DROPOUT, .c = 0.3f, .uid = 1}, {BPT_POINTWISE_DROPOUT, .c = 0.6f, .uid = 2}}},
    {"six",
     6,
     {{BPT_POINTWISE_ADD, 1},
      {BPT_POINTWISE_MUL, 2},
      {BPT_POINTWISE_ADD_ROW, 3},
      {BPT_POINTWISE_MUL_SCALAR, 4},
      {BPT_POINTWISE_SCALE, .c = 0.5f},
      {BPT_POINTWISE_RELU}}},
};

static const bpt_shape_t shapes[] = {
    {2, {0, 7}},   {0, {0}},         {1, {129}},     {2, {1, 1}},     {2, {2, 31}},    {2, {33, 127}},
    {2, {129, 2}}, {3, {3, 11, 33}}, {2, {7, 1025}}, {2, {65537, 2}}, {2, {3, 20001}}, {2, {35, 130}},  // for the types
};

static const struct {
    const char *name;
    bpt_dtype_t x, extra, out;
} types[] = {
    {"f32", BPT_F32, BPT_F32, BPT_F32},          {"bf16", BPT_BF16, BPT_BF16, BPT_BF16},        {"f16", BPT_F16, BPT_F16, BPT_F16},
    {"f32_to_bf16", BPT_F32, BPT_F32, BPT_BF16}, {"bf16_and_f32", BPT_BF16, BPT_F32, BPT_BF16}, {"f16_to_f32", BPT_F16, BPT_F32, BPT_F32},
};

enum { N_CHAINS = BPT_COUNT(chains), N_SHAPES = BPT_COUNT(shapes) - 1, N_TYPES = BPT_COUNT(types) };

// Every chain in every shape (types in turn), then every chain in every type, then what a NaN comes to in every type.
static size_t count(void) { return N_CHAINS * (N_SHAPES + N_TYPES) + N_TYPES; }

// A step is refused where its loss or gradient is not finite, so a NaN must pass through whatever stands between.
static void put_specials(const test_case_t *c, void *const in[]) {
    static const double values[] = {NAN, 1, -NAN, -1, INFINITY, -INFINITY, 0};
    const int64_t n = bpt_shape_count(&c->call.in[0].shape);
    for (int64_t i = 0; i < n; ++i) test_store(&c->call.in[0], in[0], i, values[i % (int64_t)BPT_COUNT(values)]);
}

static void make_specials(size_t type, test_case_t *c) {
    static const bpt_pointwise_step_t steps[] = {{BPT_POINTWISE_SCALE, .c = 0.5f}, {BPT_POINTWISE_RELU}};
    const bpt_shape_t shape = bpt_shape2(5, 33);
    test_case_init(c, BPT_OP_POINTWISE);
    test_case_name(c, "relu/not_finite/%s", types[type].name);
    c->call.attrs.pointwise.n_steps = BPT_COUNT(steps);
    memcpy(c->call.attrs.pointwise.step, steps, sizeof steps);
    c->prepare = put_specials;
    test_in(c, 0, types[type].x, shape, TEST_PREPARED, 0, 0);
    test_out(c, 0, types[type].out, shape);
}

static void make(size_t index, test_case_t *c) {
    if (index >= N_CHAINS * (N_SHAPES + N_TYPES)) {
        make_specials(index - N_CHAINS * (N_SHAPES + N_TYPES), c);
        return;
    }
    const size_t chain_index = index % N_CHAINS, variant = index / N_CHAINS;
    const chain_t *chain = &chains[chain_index];
    const bpt_shape_t shape = shapes[variant < N_SHAPES ? variant : N_SHAPES];
    const size_t type = variant < N_SHAPES ? (chain_index + variant) % N_TYPES : variant - N_SHAPES;
    const int64_t columns = bpt_shape_columns(&shape);
    test_case_init(c, BPT_OP_POINTWISE);
    test_case_name(c, "%s/rank%d-%lldx%lld/%s", chain->name, shape.rank, (long long)bpt_shape_rows(&shape), (long long)columns,
                   types[type].name);
    c->call.attrs.pointwise.n_steps = chain->n_steps;
    memcpy(c->call.attrs.pointwise.step, chain->step, sizeof chain->step);
    c->tolerance = 8;
    test_in(c, 0, types[type].x, shape, TEST_UNIFORM, -2, 2);
    test_steps(c, &c->call.attrs.pointwise, types[type].extra, shape, 2);
    test_out(c, 0, types[type].out, shape);
}

const test_family_t test_pointwise_cases = {"pointwise", count, make};
