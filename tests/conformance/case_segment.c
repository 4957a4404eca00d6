// Sum, mean and largest of ranges of rows, and the gradients: ranges that are empty, that leave rows out, that end beyond the last row.
#include "support/case.h"

static const struct {
    int64_t rows, segments, d;
    bpt_dtype_t from, to;
} shapes[] = {
    {0, 3, 5, BPT_F32, BPT_F32},      {1, 1, 1, BPT_F32, BPT_F32},       {7, 0, 2, BPT_F32, BPT_F32},       {31, 2, 33, BPT_F32, BPT_F32},
    {127, 33, 3, BPT_BF16, BPT_BF16}, {129, 31, 127, BPT_F32, BPT_BF16}, {1025, 129, 3, BPT_F16, BPT_F16},  {40, 5, 513, BPT_F32, BPT_F32},
    {2, 3, 1025, BPT_BF16, BPT_F32},  {300, 4, 100, BPT_F32, BPT_F32},   {300, 4, 100, BPT_BF16, BPT_BF16}, {300, 4, 100, BPT_F16, BPT_F16},
    {33, 65537, 1, BPT_F32, BPT_F32}, {70001, 7, 2, BPT_F32, BPT_F32},   {65537, 1, 1, BPT_BF16, BPT_F32},
};

static const struct {
    const char *name;
    bpt_segment_kind_t kind;
} kinds[] = {{"sum", BPT_SEGMENT_SUM}, {"mean", BPT_SEGMENT_MEAN}, {"max", BPT_SEGMENT_MAX}};

enum { N_KINDS = BPT_COUNT(kinds) };

static size_t count(void) { return 2 * N_KINDS * BPT_COUNT(shapes); }

// Neighbouring ranges over all rows. Every third leaves its first row out, every fifth is empty, and the last one goes beyond the end.
static void range_of(int64_t rows, int64_t segments, int64_t s, int64_t *begin, int64_t *end) {
    *begin = rows * s / segments;
    *end = rows * (s + 1) / segments;
    if (s % 3 == 1 && *end > *begin) ++*begin;
    if (s % 5 == 2) *end = 0;
    if (s == segments - 1) *end += 7;
}

static void prepare(const test_case_t *c, void *const in[]) {
    const int64_t rows = c->call.attrs.segment.rows, segments = c->call.in[1].shape.dim[0], d = c->call.in[0].shape.dim[1];
    for (int64_t s = 0; s < segments; ++s) {
        int64_t begin, end;
        range_of(rows, segments, s, &begin, &end);
        ((uint32_t *)in[1])[2 * s] = (uint32_t)begin;
        ((uint32_t *)in[1])[2 * s + 1] = (uint32_t)end;
        if (end > rows) end = rows;
        for (int64_t i = 0; in[2] && i < d; ++i)
            ((uint32_t *)in[2])[s * d + i] = begin < end ? (uint32_t)(begin + (s + 3 * i) % (end - begin)) : BPT_NO_ROW;
    }
}

static void make(size_t index, test_case_t *c) {
    const size_t shape = index / (2 * N_KINDS), kind = index / 2 % N_KINDS;
    const bool gradient = index % 2, largest = kinds[kind].kind == BPT_SEGMENT_MAX;
    const int64_t rows = shapes[shape].rows, segments = shapes[shape].segments, d = shapes[shape].d;
    const bpt_shape_t all = bpt_shape2(rows, d), reduced = bpt_shape2(segments, d);
    test_case_init(c, gradient ? BPT_OP_SEGMENT_GRAD : BPT_OP_SEGMENT);
    test_case_name(c, "%lldof%lldx%lld/%s/%s_to_%s", (long long)segments, (long long)rows, (long long)d, kinds[kind].name,
                   bpt_dtype_name(shapes[shape].from), bpt_dtype_name(shapes[shape].to));
    c->call.attrs.segment = (bpt_segment_attrs_t){kinds[kind].kind, rows};
    c->prepare = prepare;
    test_in(c, 0, shapes[shape].from, gradient ? reduced : all, TEST_UNIFORM, -1, 1.5);
    test_in(c, 1, BPT_U32, bpt_shape2(segments, 2), TEST_PREPARED, 0, 0);
    test_out(c, 0, shapes[shape].to, gradient ? all : reduced);
    if (gradient && largest) test_in(c, 2, BPT_U32, reduced, TEST_PREPARED, 0, 0);
    if (!gradient && largest && shape % 4) test_out(c, 1, BPT_U32, reduced);  // somebody may not need it
    if (!largest && !gradient) c->tolerance = test_sum_tolerance(rows);
    if (kinds[kind].kind == BPT_SEGMENT_MEAN) c->more[0] = 8;
}

const test_family_t test_segment_cases = {"segment", count, make};
