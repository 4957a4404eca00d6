// Loss of a linear-chain CRF and its gradient: one tag and many, empty and long sequences, rows in none, sequences of weight 0, large
// scores.
#include "support/case.h"

static const struct {
    int64_t rows, sequences, tags;
    double scale;  // of the scores
} shapes[] = {
    {0, 2, 3, 1},    {1, 1, 1, 1},        {7, 3, 1, 1},      {5, 1, 2, 1},     {33, 9, 5, 3},    {129, 31, 9, 1},
    {300, 2, 9, 4},  {700, 1, 4, 2},      {130, 11, 17, 10}, {65, 4, 64, 2},   {127, 3, 129, 1}, {41, 2, 256, 2},
    {60, 200, 3, 1}, {1025, 65537, 2, 1}, {96, 5, 7, 1e4},   {1200, 3, 33, 3},
};

static size_t count(void) { return 2 * BPT_COUNT(shapes); }

// Neighbouring ranges; every third leaves its first row out, every fifth is empty, and the last one goes beyond the end.
static void range_of(int64_t rows, int64_t sequences, int64_t s, int64_t *begin, int64_t *end) {
    *begin = rows * s / sequences;
    *end = rows * (s + 1) / sequences;
    if (s % 3 == 1 && *end > *begin) ++*begin;
    if (s % 5 == 2) *end = 0;
    if (s == sequences - 1) *end += 7;
}

static void prepare(const test_case_t *c, void *const in[]) {
    const int64_t rows = c->call.in[0].shape.dim[0], tags = c->call.in[0].shape.dim[1], sequences = c->call.in[3].shape.dim[0];
    for (int64_t r = 0; r < rows; ++r) ((uint32_t *)in[2])[r] = (uint32_t)(r * 7 + r / 3) % (uint32_t)tags;
    for (int64_t s = 0; s < sequences; ++s) {
        int64_t begin, end;
        range_of(rows, sequences, s, &begin, &end);
        ((uint32_t *)in[3])[2 * s] = (uint32_t)begin;
        ((uint32_t *)in[3])[2 * s + 1] = (uint32_t)end;
        ((float *)in[4])[s] = s % 4 == 1 ? 0 : 0.25f * (float)(1 + s % 3);
    }
}

static void make(size_t index, test_case_t *c) {
    const size_t shape = index / 2;
    const bool gradient = index % 2;
    const int64_t rows = shapes[shape].rows, sequences = shapes[shape].sequences, tags = shapes[shape].tags;
    test_case_init(c, gradient ? BPT_OP_CRF_GRAD : BPT_OP_CRF);
    test_case_name(c, "%lldof%lldx%lld", (long long)sequences, (long long)rows, (long long)tags);
    c->prepare = prepare;
    test_in(c, 0, BPT_F32, bpt_shape2(rows, tags), TEST_UNIFORM, -shapes[shape].scale, shapes[shape].scale);
    test_in(c, 1, BPT_F32, bpt_shape2(tags + 2, tags), TEST_UNIFORM, -1, 1.5);
    test_in(c, 2, BPT_U32, bpt_shape1(rows), TEST_PREPARED, 0, 0);
    test_in(c, 3, BPT_U32, bpt_shape2(sequences, 2), TEST_PREPARED, 0, 0);
    test_in(c, 4, BPT_F32, bpt_shape1(sequences), TEST_PREPARED, 0, 0);
    if (gradient) test_in(c, 5, BPT_F32, bpt_shape1(1), TEST_UNIFORM, 0.5, 2);
    test_out(c, 0, BPT_F32, bpt_shape1(1));
    test_out(c, 1, BPT_F32, bpt_shape1(sequences));
    if (gradient) test_out(c, 2, BPT_F32, bpt_shape2(rows, tags));
    if (gradient) test_out(c, 3, BPT_F32, bpt_shape2(tags + 2, tags));
    c->tolerance = 8 + test_sum_tolerance(rows + tags) / 4;
}

const test_family_t test_crf_cases = {"crf", count, make};
