// Products of few rows on the cpu backend: right, and a row's bits the same whatever other rows there are and for any number of threads,
// with every instruction set that this machine has.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/q8.h"
#include "support/check.h"
#include "support/execute.h"

static const char *const sets[] = {"baseline", "avx2", "avx512", "avx512dots"};

typedef struct {
    bpt_dtype_t dtype;
    bool transposed, accumulates;
    int64_t m, k, n;
} product_t;

static void make(test_case_t *c, const product_t *p) {
    test_case_init(c, BPT_OP_MATMUL);
    test_case_name(c, "%s %dx%dx%d%s%s", bpt_dtype_name(p->dtype), (int)p->m, (int)p->k, (int)p->n, p->transposed ? ", B transposed" : "",
                   p->accumulates ? ", added" : "");
    c->call.attrs.matmul.transpose_b = p->transposed;
    test_in(c, 0, p->dtype, bpt_shape2(p->m, p->k), TEST_UNIFORM, -1, 1);
    test_in(c, 1, p->dtype, p->transposed ? bpt_shape2(p->n, p->k) : bpt_shape2(p->k, p->n), TEST_UNIFORM, -1, 1);
    if (p->accumulates) test_in(c, 2, BPT_F32, bpt_shape2(p->m, p->n), TEST_UNIFORM, -1, 1);
    test_out(c, 0, BPT_F32, bpt_shape2(p->m, p->n));
}

// NULL where the machine lacks the instructions.
static bpt_device_t *open_with(const char *set, int threads) {
    const bpt_device_options_t options = {.threads = threads};
    bpt_device_t *device = NULL;
    setenv("BPT_CPU_ISA", set, 1);
    const bpt_status_t status = bpt_backend_find("cpu")->open(0, &options, &device);
    unsetenv("BPT_CPU_ISA");
    assert_true(status == BPT_OK || status == BPT_ERR_UNAVAILABLE);
    return device;
}

static void run(const char *set, int threads, const test_case_t *c, test_data_t *data) {
    bpt_device_t *device = open_with(set, threads);
    test_must_execute(device, c, data);
    bpt_backend_find("cpu")->close(device);
}

// In f64, with a bound for a sum of k products in f32.
static void expect_right(const product_t *p, const test_case_t *c, const test_data_t *data) {
    const bpt_operand_t *a = &c->call.in[0], *b = &c->call.in[1];
    for (int64_t i = 0; i < p->m; ++i)
        for (int64_t j = 0; j < p->n; ++j) {
            double sum = p->accumulates ? ((const float *)data->in[2])[i * p->n + j] : 0, size = 1;
            for (int64_t l = 0; l < p->k; ++l) {
                const double x =
                    test_load(a, data->in[0], i * p->k + l) * test_load(b, data->in[1], p->transposed ? j * p->k + l : l * p->n + j);
                sum += x, size += x < 0 ? -x : x;
            }
            const double error = sum - ((const float *)data->out[0])[i * p->n + j];
            if (!(error < 0 ? -error < 4e-7 * size : error < 4e-7 * size))
                fail_msg("%s: element %d, %d is wrong by %g", c->name, (int)i, (int)j, error);
        }
}

// `rows` rows from `row` on alone, on another number of threads.
static void expect_same_rows(const char *set, const product_t *p, const test_data_t *all, int64_t row, int64_t rows) {
    const size_t size = bpt_dtype_size(p->dtype);
    product_t some = *p;
    test_case_t c;
    test_data_t data;
    some.m = rows;
    make(&c, &some);
    test_data_create(&c, &data);
    memcpy(data.in[0], (const char *)all->in[0] + (size_t)(row * p->k) * size, (size_t)(rows * p->k) * size);
    memcpy(data.in[1], all->in[1], (size_t)(p->n * p->k) * size);
    if (p->accumulates) memcpy(data.in[2], (const float *)all->in[2] + row * p->n, (size_t)(rows * p->n) * sizeof(float));
    run(set, 1 + (int)(row % 3), &c, &data);
    if (memcmp(data.out[0], (const float *)all->out[0] + row * p->n, (size_t)(rows * p->n) * sizeof(float)) != 0)
        fail_msg("%s, %s: rows from %d on have other bits alone", set, c.name, (int)row);
    test_data_destroy(&data);
}

// A product, against groups of `rows` of its rows.
static void check(const char *set, const product_t *p, int64_t rows) {
    test_case_t c;
    test_data_t data;
    make(&c, p);
    test_data_create(&c, &data);
    run(set, 2, &c, &data);
    expect_right(p, &c, &data);
    for (int64_t row = 0; row + rows <= p->m; row += rows + 2) expect_same_rows(set, p, &data, row, rows);
    test_data_destroy(&data);
}

static void a_row_has_the_same_bits_alone(void **state) {
    (void)state;
    static const bpt_dtype_t dtypes[] = {BPT_F32, BPT_BF16, BPT_F16};
    static const int64_t shapes[][3] = {{16, 515, 300}, {8, 33, 37}, {5, 7, 5}, {3, 1, 700}, {7, 64, 1}, {2, 300, 1100}};
    for (size_t set = 0; set < BPT_COUNT(sets); ++set) {
        bpt_device_t *device = open_with(sets[set], 1);
        if (!device) continue;
        bpt_backend_find("cpu")->close(device);
        for (size_t d = 0; d < BPT_COUNT(dtypes); ++d)
            for (size_t s = 0; s < BPT_COUNT(shapes); ++s)
                for (int kind = 0; kind < 4; ++kind) {
                    const int64_t rows = dtypes[d] == BPT_F32 && shapes[s][0] > 8 ? 8 : shapes[s][0];  // more of f32 go another way
                    check(sets[set], &(product_t){dtypes[d], kind & 1, kind & 2, rows, shapes[s][1], shapes[s][2]}, 1);
                }
    }
}

// From nine rows of f32 on the matrix is laid out in panels.
static void rows_have_the_same_bits_among_more(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{128, 260, 70}, {31, 128, 33}, {17, 5, 3}, {45, 1, 300}, {64, 131, 1}};
    for (size_t set = 0; set < BPT_COUNT(sets); ++set) {
        bpt_device_t *device = open_with(sets[set], 1);
        if (!device) continue;
        bpt_backend_find("cpu")->close(device);
        for (size_t s = 0; s < BPT_COUNT(shapes); ++s)
            for (int kind = 0; kind < 4; ++kind)
                check(sets[set], &(product_t){BPT_F32, kind & 1, kind & 2, shapes[s][0], shapes[s][1], shapes[s][2]}, 9 + (int)s);
    }
}

// What is not a number stays none, where it is and nowhere else.
static void a_nan_stays_in_its_row_and_column(void **state) {
    (void)state;
    const product_t p = {BPT_BF16, false, false, 6, 35, 40};
    for (size_t set = 0; set < BPT_COUNT(sets); ++set) {
        test_case_t c;
        test_data_t data;
        bpt_device_t *device = open_with(sets[set], 2);
        if (!device) continue;
        make(&c, &p);
        test_data_create(&c, &data);
        ((uint16_t *)data.in[0])[2 * p.k + 34] = bpt_to_bf16((float)NAN);
        ((uint16_t *)data.in[1])[33 * p.n + 39] = bpt_to_bf16((float)INFINITY);
        test_must_execute(device, &c, &data);
        for (int64_t i = 0; i < p.m; ++i)
            for (int64_t j = 0; j < p.n; ++j) assert_int_equal(!isfinite(((const float *)data.out[0])[i * p.n + j]), i == 2 || j == 39);
        test_data_destroy(&data);
        bpt_backend_find("cpu")->close(device);
    }
}

// The product with a matrix [n, k] of numbers of 8 bits, in place of one in f32 that holds what they stand for: `wide`.
static void make_packed(const product_t *p, const test_case_t *wide, const test_data_t *from, test_case_t *c, test_data_t *out) {
    int8_t bytes[2048];
    uint16_t scales[2048 / BPT_Q8_BLOCK];
    *c = *wide;
    c->call.attrs.matmul.packed_b = true;
    test_in(c, 1, BPT_U32, bpt_shape2(p->n, bpt_q8_words(p->k)), TEST_PREPARED, 0, 0);
    test_data_create(c, out);
    memcpy(out->in[0], from->in[0], (size_t)(p->m * p->k) * sizeof(float));
    for (int64_t row = 0; row < p->n; ++row) {
        float *x = (float *)from->in[1] + row * p->k;
        assert_true(bpt_q8_quantise(x, p->k, bytes, scales));
        bpt_q8_widen(bytes, scales, p->k, x);
        bpt_q8_pack(bytes, scales, p->k, (uint32_t *)out->in[1] + row * bpt_q8_words(p->k));
    }
}

static void numbers_of_8_bits_give_the_bits_of_what_they_stand_for(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{1, 512, 37}, {8, 515, 70}, {5, 33, 9}, {3, 1, 5}, {7, 2000, 66}, {9, 300, 40}, {128, 97, 35}};
    for (size_t set = 0; set < BPT_COUNT(sets); ++set) {
        bpt_device_t *device = open_with(sets[set], 2);
        if (!device) continue;
        for (size_t s = 0; s < BPT_COUNT(shapes); ++s) {
            const product_t p = {BPT_F32, true, false, shapes[s][0], shapes[s][1], shapes[s][2]};
            test_case_t wide, narrow;
            test_data_t of_wide, of_narrow;
            make(&wide, &p);
            test_data_create(&wide, &of_wide);
            make_packed(&p, &wide, &of_wide, &narrow, &of_narrow);
            test_must_execute(device, &wide, &of_wide);
            test_must_execute(device, &narrow, &of_narrow);
            assert_memory_equal(of_narrow.out[0], of_wide.out[0], (size_t)(p.m * p.n) * sizeof(float));
            test_data_destroy(&of_wide);
            test_data_destroy(&of_narrow);
        }
        bpt_backend_find("cpu")->close(device);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_has_the_same_bits_alone),
        cmocka_unit_test(rows_have_the_same_bits_among_more),
        cmocka_unit_test(numbers_of_8_bits_give_the_bits_of_what_they_stand_for),
        cmocka_unit_test(a_nan_stays_in_its_row_and_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
