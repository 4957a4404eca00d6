// Linear layer with cross-entropy, and its gradient.
#include "support/case.h"

typedef enum { ALL_SCORED, SOME_SCORED, NONE_SCORED } scored_t;

static const struct {
    int64_t n, d, vocabulary;
    bool bias;
    scored_t scored;
    bpt_dtype_t h, w, dh;
    float smoothing;
} rows[] = {
    {0, 4, 7, true, ALL_SCORED, BPT_F32, BPT_F32, BPT_F32},
    {1, 1, 1, true, ALL_SCORED, BPT_F32, BPT_F32, BPT_F32},
    {2, 31, 33, false, ALL_SCORED, BPT_F32, BPT_F32, BPT_F32},
    {31, 33, 2, true, SOME_SCORED, BPT_F32, BPT_F32, BPT_F32},
    {33, 127, 129, true, SOME_SCORED, BPT_BF16, BPT_BF16, BPT_BF16},
    {129, 20, 1025, true, SOME_SCORED, BPT_F32, BPT_F32, BPT_F32},
    {127, 50, 256, false, SOME_SCORED, BPT_F16, BPT_F16, BPT_F16},
    {1025, 5, 31, true, SOME_SCORED, BPT_F32, BPT_F32, BPT_F32},
    {40, 16, 10000, true, SOME_SCORED, BPT_F32, BPT_F32, BPT_F32},
    {3, 4, 70001, true, ALL_SCORED, BPT_F32, BPT_F32, BPT_F32},
    {65537, 2, 3, true, SOME_SCORED, BPT_F32, BPT_F32, BPT_F32},
    {33, 10, 31, true, NONE_SCORED, BPT_F32, BPT_F32, BPT_F32},
    {64, 64, 1000, true, SOME_SCORED, BPT_BF16, BPT_F32, BPT_F32},
    {65, 30, 500, true, ALL_SCORED, BPT_BF16, BPT_BF16, BPT_F32},
    {3, 6, 2, true, ALL_SCORED, BPT_F32, BPT_F32, BPT_F32, 0.1f},
    {3, 5, 33, false, SOME_SCORED, BPT_F32, BPT_F32, BPT_F32, 0.3f},
    {129, 20, 1025, true, SOME_SCORED, BPT_F32, BPT_F32, BPT_F32, 0.1f},
    {33, 31, 127, true, SOME_SCORED, BPT_BF16, BPT_BF16, BPT_BF16, 0.1f},
    {65, 16, 500, true, SOME_SCORED, BPT_F16, BPT_F16, BPT_F16, 0.2f},
    {2, 4, 70001, true, ALL_SCORED, BPT_F32, BPT_F32, BPT_F32, 0.1f},
    {33, 10, 31, true, NONE_SCORED, BPT_F32, BPT_F32, BPT_F32, 0.1f},
};

enum { N_ROWS = BPT_COUNT(rows) };

static size_t count(void) { return 2 * N_ROWS; }

// The target of a row that is not scored is never looked at.
static void spoil_unscored_targets(const test_case_t *c, void *const in[]) {
    const int64_t n = c->call.in[4].shape.dim[0];
    for (int64_t i = 0; i < n; ++i)
        if (((const float *)in[4])[i] == 0) ((uint32_t *)in[3])[i] = BPT_NO_ROW;
}

static void make(size_t index, test_case_t *c) {
    static const char *const scored_names[] = {"all", "some", "none"};
    const size_t r = index / 2;
    const bool gradient = index % 2;
    const int64_t n = rows[r].n, d = rows[r].d, vocabulary = rows[r].vocabulary;
    test_case_init(c, gradient ? BPT_OP_XENT_GRAD : BPT_OP_XENT);
    c->call.attrs.xent.smoothing = rows[r].smoothing;
    test_case_name(c, "%lldx%lldx%lld/%s/%s_scored/%s%s_%s", (long long)n, (long long)d, (long long)vocabulary,
                   rows[r].bias ? "bias" : "no_bias", scored_names[rows[r].scored], rows[r].smoothing > 0 ? "smoothed/" : "",
                   bpt_dtype_name(rows[r].h), bpt_dtype_name(rows[r].w));
    c->tolerance = 32 + test_sum_tolerance(d);
    c->more[2] = test_sum_tolerance(vocabulary);
    c->more[3] = c->more[4] = test_sum_tolerance(n);
    if (rows[r].h == BPT_BF16 && rows[r].w == BPT_BF16)  // the gradient of the logits may be rounded to bf16
        c->more[2] += 0x1p24 * 0x1p-8, c->more[3] += 0x1p24 * 0x1p-8;
    c->prepare = spoil_unscored_targets;
    test_in(c, 0, rows[r].h, bpt_shape2(n, d), TEST_UNIFORM, -1, 1);
    test_in(c, 1, rows[r].w, bpt_shape2(vocabulary, d), TEST_UNIFORM, -1, 1);
    if (rows[r].bias) test_in(c, 2, BPT_F32, bpt_shape1(vocabulary), TEST_UNIFORM, -1, 1);
    test_in(c, 3, BPT_U32, bpt_shape1(n), TEST_IDS, (double)vocabulary, 0);
    if (rows[r].scored == NONE_SCORED)
        test_in(c, 4, BPT_F32, bpt_shape1(n), TEST_CONSTANT, 0, 0);
    else
        test_in(c, 4, BPT_F32, bpt_shape1(n), TEST_WEIGHTS, 0, rows[r].scored == SOME_SCORED);
    test_out(c, 0, BPT_F32, bpt_shape1(1));
    test_out(c, 1, BPT_F32, bpt_shape1(n));
    if (!gradient) return;
    test_in(c, 5, BPT_F32, bpt_shape1(1), TEST_CONSTANT, 0.37, 0);
    test_out(c, 2, rows[r].dh, bpt_shape2(n, d));
    test_out(c, 3, BPT_F32, bpt_shape2(vocabulary, d));
    if (rows[r].bias) test_out(c, 4, BPT_F32, bpt_shape1(vocabulary));
}

const test_family_t test_xent_cases = {"xent", count, make};
