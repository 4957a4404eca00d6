// Sums over columns and of squares.
#include "support/case.h"

static const struct {
    int64_t rows, columns;
    bpt_dtype_t dtype;
} shapes[] = {
    {0, 5, BPT_F32},    {1, 1, BPT_F32},     {2, 31, BPT_BF16},  {31, 33, BPT_F32},   {33, 127, BPT_F16},  {127, 129, BPT_F32},
    {129, 2, BPT_BF16}, {1025, 50, BPT_F32}, {3, 1025, BPT_F32}, {65537, 3, BPT_F32}, {65537, 2, BPT_F16}, {70000, 1, BPT_BF16},
};

enum { N_SHAPES = BPT_COUNT(shapes) };

static size_t count(void) { return 2 * N_SHAPES; }

static void make(size_t index, test_case_t *c) {
    const int64_t rows = shapes[index / 2].rows, columns = shapes[index / 2].columns;
    const bool squares = index % 2;
    const bpt_dtype_t dtype = squares ? BPT_F32 : shapes[index / 2].dtype;
    test_case_init(c, squares ? BPT_OP_SQUARE_SUM : BPT_OP_COLUMN_SUM);
    test_case_name(c, "%lldx%lld/%s", (long long)rows, (long long)columns, bpt_dtype_name(dtype));
    // square_sum: partial sums may be f32, one addition for each doubling
    c->tolerance = squares ? 32 : test_sum_tolerance(rows);
    test_in(c, 0, dtype, bpt_shape2(rows, columns), TEST_UNIFORM, -1, 1.5);
    test_out(c, 0, BPT_F32, bpt_shape1(squares ? 1 : columns));
}

const test_family_t test_reduce_cases = {"reduce", count, make};
