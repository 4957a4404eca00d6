// Addition to a range of rows.
#include "support/case.h"

static const struct {
    int64_t rows, row, added, d;
    bool a, shared;
    bpt_dtype_t in, out;
} rows[] = {
    {0, 0, 0, 5, true, false, BPT_F32, BPT_F32},          {1, 0, 1, 1, true, false, BPT_F32, BPT_F32},
    {2, 1, 1, 31, true, true, BPT_F32, BPT_F32},          {31, 0, 31, 33, false, false, BPT_BF16, BPT_BF16},
    {33, 2, 0, 127, true, false, BPT_F16, BPT_F16},       {127, 31, 33, 129, true, true, BPT_BF16, BPT_BF16},
    {129, 128, 1, 2, false, false, BPT_F32, BPT_F32},     {1025, 1, 1023, 3, true, true, BPT_F32, BPT_F32},
    {3, 1, 1, 1025, true, false, BPT_F32, BPT_BF16},      {65537, 65535, 2, 2, true, true, BPT_F32, BPT_F32},
    {65537, 1, 65536, 2, false, false, BPT_F16, BPT_F32},
};

static size_t count(void) { return BPT_COUNT(rows); }

static void make(size_t index, test_case_t *c) {
    const bpt_shape_t shape = bpt_shape2(rows[index].rows, rows[index].d);
    test_case_init(c, BPT_OP_ADD_ROWS);
    test_case_name(c, "%lld+%lldof%lldx%lld/%s/%s_to_%s", (long long)rows[index].row, (long long)rows[index].added,
                   (long long)rows[index].rows, (long long)rows[index].d,
                   rows[index].shared ? "in_place"
                   : rows[index].a    ? "a"
                                      : "zeros",
                   bpt_dtype_name(rows[index].in), bpt_dtype_name(rows[index].out));
    c->call.attrs.rows = (bpt_rows_attrs_t){rows[index].row, rows[index].rows};
    c->tolerance = 2;
    if (rows[index].a) test_in(c, 0, rows[index].in, shape, TEST_UNIFORM, -1, 1);
    test_in(c, 1, rows[index].in, bpt_shape2(rows[index].added, rows[index].d), TEST_UNIFORM, -1, 1);
    test_out(c, 0, rows[index].out, shape);
    c->shares_input = rows[index].shared;
}

const test_family_t test_rows_cases = {"rows", count, make};
