// Rows of a table: gather, its gradient and scatter, with and without ids that name no row.
#include "support/case.h"

static const struct {
    int64_t n, table_rows, d;
    bool holes;
    bpt_dtype_t from, to;
} rows[] = {
    {0, 3, 5, false, BPT_F32, BPT_F32},       {1, 1, 1, false, BPT_F32, BPT_F32},      {2, 31, 33, true, BPT_F32, BPT_F32},
    {31, 2, 129, true, BPT_BF16, BPT_BF16},   {33, 127, 31, false, BPT_F16, BPT_F16},  {127, 129, 10, true, BPT_F32, BPT_BF16},
    {129, 1025, 50, true, BPT_BF16, BPT_F32}, {1025, 33, 2, false, BPT_F32, BPT_F32},  {65537, 7, 2, true, BPT_F32, BPT_F32},
    {1025, 70001, 3, true, BPT_F32, BPT_F32}, {40, 5, 1025, true, BPT_BF16, BPT_BF16}, {513, 11, 64, true, BPT_F16, BPT_F32},
};

enum { N_ROWS = BPT_COUNT(rows) };

// gather, gather_grad without and with acc, scatter.
static size_t count(void) { return 4 * N_ROWS; }

static void make(size_t index, test_case_t *c) {
    static const bpt_op_t ops[] = {BPT_OP_GATHER, BPT_OP_GATHER_GRAD, BPT_OP_GATHER_GRAD, BPT_OP_SCATTER};
    const size_t r = index / 4;
    const bool acc = index % 4 == 2;
    const int64_t n = rows[r].n, d = rows[r].d;
    // A scatter needs as many rows as it has distinct ids.
    const int64_t table_rows = ops[index % 4] == BPT_OP_SCATTER && rows[r].table_rows < n ? n + 3 : rows[r].table_rows;
    const bpt_shape_t table = bpt_shape2(table_rows, d), picked = bpt_shape2(n, d), ids = bpt_shape1(n);
    test_case_init(c, ops[index % 4]);
    test_case_name(c, "%lldof%lldx%lld%s%s/%s_to_%s", (long long)n, (long long)table_rows, (long long)d, rows[r].holes ? "/holes" : "",
                   acc ? "/acc" : "", bpt_dtype_name(rows[r].from),
                   bpt_dtype_name(ops[index % 4] == BPT_OP_GATHER_GRAD ? BPT_F32 : rows[r].to));
    switch (c->call.op) {
    case BPT_OP_GATHER:
        test_in(c, 0, rows[r].from, table, TEST_UNIFORM, -1, 1);
        test_in(c, 1, BPT_U32, ids, TEST_IDS, (double)table_rows, rows[r].holes);
        test_out(c, 0, rows[r].to, picked);
        break;
    case BPT_OP_GATHER_GRAD:
        test_in(c, 0, rows[r].from, picked, TEST_UNIFORM, -1, 1);
        test_in(c, 1, BPT_U32, ids, TEST_IDS, (double)table_rows, rows[r].holes);
        if (acc) test_in(c, 2, BPT_F32, table, TEST_UNIFORM, -1, 1);
        test_out(c, 0, BPT_F32, table);
        c->tolerance = test_sum_tolerance(n / table_rows + 1);
        break;
    default:
        test_in(c, 0, rows[r].to, table, TEST_UNIFORM, -1, 1);
        test_in(c, 1, rows[r].from, picked, TEST_UNIFORM, -1, 1);
        test_in(c, 2, BPT_U32, ids, TEST_DISTINCT_IDS, (double)table_rows, rows[r].holes);
        c->changed = 1u << 0;
    }
}

const test_family_t test_gather_cases = {"gather", count, make};
