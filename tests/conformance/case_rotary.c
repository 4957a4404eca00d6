// Rotary position embedding: of queries, keys and values side by side, of keys and values, of queries alone; and back.
#include <math.h>

#include "support/case.h"

static const struct {
    int64_t rows, columns, turned;
    int32_t head_dim;
    bool shared;
    bpt_dtype_t in, out;
} rows[] = {
    {0, 12, 8, 4, false, BPT_F32, BPT_F32},         {1, 2, 2, 2, false, BPT_F32, BPT_F32},
    {2, 31, 30, 10, true, BPT_F32, BPT_F32},        {31, 33, 0, 4, false, BPT_BF16, BPT_BF16},
    {33, 127, 126, 126, false, BPT_F16, BPT_F16},   {127, 192, 128, 64, true, BPT_BF16, BPT_BF16},
    {129, 150, 100, 50, false, BPT_F32, BPT_F32},   {1025, 96, 64, 32, true, BPT_F32, BPT_F32},
    {3, 1025, 1000, 100, false, BPT_F32, BPT_BF16}, {65537, 2, 2, 2, true, BPT_F32, BPT_F32},
    {65537, 3, 2, 2, false, BPT_F16, BPT_F32},      {5, 64, 64, 16, false, BPT_BF16, BPT_F32},
    {17, 384, 256, 128, true, BPT_F16, BPT_F16},
};

// There, and back.
static size_t count(void) { return 2 * BPT_COUNT(rows); }

// Angles as positions make them: position p turns pair i by p / 10000^(2i / head_dim).
static void put_angles(const test_case_t *c, void *const in[]) {
    const int64_t n = c->call.attrs.rotary.head_dim, half = n / 2;
    for (int64_t i = 0; i < bpt_shape_count(&c->call.in[1].shape); ++i) {
        const int64_t row = i / n, pair = i % n % half;
        const double angle = (double)row / 2 * pow(10000, -(double)pair / (double)half);
        test_store(&c->call.in[1], in[1], i, i % n < half ? cos(angle) : sin(angle));
    }
}

static void make(size_t index, test_case_t *c) {
    const size_t r = index / 2;
    const bpt_shape_t shape = bpt_shape2(rows[r].rows, rows[r].columns);
    test_case_init(c, BPT_OP_ROTARY);
    test_case_name(c, "%lldof%lldx%lld-%d%s%s/%s_to_%s", (long long)rows[r].turned, (long long)rows[r].rows, (long long)rows[r].columns,
                   rows[r].head_dim, index % 2 ? "/inverse" : "", rows[r].shared ? "/in_place" : "", bpt_dtype_name(rows[r].in),
                   bpt_dtype_name(rows[r].out));
    c->call.attrs.rotary = (bpt_rotary_attrs_t){rows[r].head_dim, rows[r].turned, index % 2};
    c->tolerance = 4;
    c->prepare = put_angles;
    test_in(c, 0, rows[r].in, shape, TEST_UNIFORM, -1, 1);
    test_in(c, 1, BPT_F32, bpt_shape2(rows[r].rows, rows[r].head_dim), TEST_PREPARED, 0, 0);
    test_out(c, 0, rows[r].out, shape);
    c->shares_input = rows[r].shared;
}

const test_family_t test_rotary_cases = {"rotary", count, make, NULL};
