// What is the cpu backend's own: choice of instruction set and of matrix library, thread numbers, clean-up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <math.h>

#include "bpt/alloc.h"
#include "bpt/graph.h"
#include "support/check.h"
#include "support/execute.h"
#include "support/openmp.h"

static const bpt_backend_t *cpu;

static bpt_device_t *open_threads(int threads) {
    bpt_device_t *device;
    const bpt_device_options_t options = {.threads = threads};
    assert_ok(cpu->open(0, &options, &device));
    return device;
}

static void make_product(test_case_t *c, bpt_dtype_t dtype, bool transpose_a, int64_t m, int64_t k, int64_t n) {
    test_case_init(c, BPT_OP_MATMUL);
    test_case_name(c, "%s %lldx%lldx%lld", bpt_dtype_name(dtype), (long long)m, (long long)k, (long long)n);
    c->call.attrs.matmul.transpose_a = transpose_a;
    test_in(c, 0, dtype, transpose_a ? bpt_shape2(k, m) : bpt_shape2(m, k), TEST_UNIFORM, -1, 1);
    test_in(c, 1, dtype, bpt_shape2(k, n), TEST_UNIFORM, -1, 1);
    test_out(c, 0, BPT_F32, bpt_shape2(m, n));
}

static void make_dropout(test_case_t *c) {
    test_case_init(c, BPT_OP_POINTWISE);
    test_case_name(c, "dropout");
    c->call.attrs.pointwise = (bpt_pointwise_attrs_t){.n_steps = 1, .step = {{BPT_POINTWISE_DROPOUT, .c = 0.3f, .uid = 7}}};
    test_in(c, 0, BPT_F32, bpt_shape2(5, 1100), TEST_UNIFORM, -1, 1);
    test_random(c, 5);
    test_out(c, 0, BPT_F32, bpt_shape2(5, 1100));
}

// In a process of its own, as the library is looked for once.
static void expect_products_of_widened_operands(bpt_dtype_t dtype) {
    enum { M = 300, K = 500, N = 400 };
    test_case_t narrow, wide;
    test_data_t data, widened;
    bpt_device_t *device = open_threads(2);
    assert_non_null(strstr(device->info.features, "bf16-as-f32"));
    make_product(&narrow, dtype, false, M, K, N);
    make_product(&wide, BPT_F32, false, M, K, N);
    test_data_create(&narrow, &data);
    test_data_create(&wide, &widened);
    for (int operand = 0; operand < 2; ++operand) {
        const bpt_operand_t *x = &narrow.call.in[operand];
        float *out = widened.in[operand];
        for (int64_t i = 0; i < bpt_shape_count(&x->shape); ++i) out[i] = (float)test_load(x, data.in[operand], i);
    }
    test_must_execute(device, &narrow, &data);
    test_must_execute(device, &wide, &widened);
    test_same_bits(bpt_dtype_name(dtype), &wide, &data, &widened);
    test_data_destroy(&data);
    test_data_destroy(&widened);
    cpu->close(device);
}

static void without_bf16_instructions_products_are_those_of_the_widened_operands(void **state) {
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        setenv("BPT_ONEDNN_LIBRARY", "none", 1);
        expect_products_of_widened_operands(BPT_BF16);
        expect_products_of_widened_operands(BPT_F16);
        _exit(0);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void every_instruction_set_gives_the_same_dropout(void **state) {
    (void)state;
    static const char *const sets[] = {"baseline", "avx2", "avx512", "avx512dots"};
    test_case_t c;
    test_data_t first, data;
    make_dropout(&c);
    for (size_t i = 0; i < BPT_COUNT(sets); ++i) {
        bpt_device_t *device;
        setenv("BPT_CPU_ISA", sets[i], 1);
        const bpt_status_t status = cpu->open(0, NULL, &device);
        unsetenv("BPT_CPU_ISA");
        if (status != BPT_OK) {
            assert_int_equal(status, BPT_ERR_UNAVAILABLE);
            assert_non_null(strstr(bpt_error_message(), sets[i]));
            assert_true(i > 0);  // the baseline runs everywhere
            continue;
        }
        test_data_create(&c, &data);
        test_must_execute(device, &c, &data);
        cpu->close(device);
        if (i == 0) {
            first = data;
            continue;
        }
        test_same_bits(sets[i], &c, &data, &first);
        test_data_destroy(&data);
    }
    test_data_destroy(&first);
}

static void an_unknown_instruction_set_is_refused(void **state) {
    (void)state;
    bpt_device_t *device;
    setenv("BPT_CPU_ISA", "sse9", 1);
    assert_fails(cpu->open(0, NULL, &device), BPT_ERR_UNAVAILABLE, "sse9");
    unsetenv("BPT_CPU_ISA");
}

static void impossible_thread_numbers_and_devices_are_refused(void **state) {
    (void)state;
    bpt_device_t *device;
    const bpt_device_options_t negative = {.threads = -1}, huge = {.threads = 1 << 20};
    assert_fails(cpu->open(0, &negative, &device), BPT_ERR_USAGE, "-1");
    assert_fails(cpu->open(0, &huge, &device), BPT_ERR_USAGE, "4096");
    assert_fails(cpu->open(1, NULL, &device), BPT_ERR_UNAVAILABLE, "device 1");
}

static void products_have_the_same_bits_with_any_number_of_threads(void **state) {
    (void)state;
    static const struct {
        bpt_dtype_t dtype;
        bool transpose_a;
        int64_t m, k, n;
    } products[] = {
        {BPT_F32, false, 1100, 300, 530},  {BPT_F32, true, 260, 4500, 130},   {BPT_F32, false, 1, 700, 900},
        {BPT_BF16, false, 1100, 300, 530}, {BPT_BF16, true, 260, 4500, 130},  {BPT_BF16, false, 3, 64, 2500},
        {BPT_F16, false, 530, 1100, 700},  {BPT_F32, true, 1040, 4100, 1030}, {BPT_F16, false, 1300, 600, 1100},
    };
    for (size_t i = 0; i < BPT_COUNT(products); ++i) {
        test_case_t c;
        make_product(&c, products[i].dtype, products[i].transpose_a, products[i].m, products[i].k, products[i].n);
        test_same_bits_with_any_number_of_threads(&c);
    }
}

// Some elements of the product, against sums in double precision.
static void expect_right_product(const test_case_t *c, const test_data_t *data, int64_t m, int64_t k, int64_t n) {
    const bpt_matmul_attrs_t *attrs = &c->call.attrs.matmul;
    for (int64_t i = 0; i < m; i += i + 37 < m ? 37 : 1)
        for (int64_t j = 0; j < n; j += 11) {
            double sum = 0;
            for (int64_t p = 0; p < k; ++p)
                sum += test_load(&c->call.in[0], data->in[0], attrs->transpose_a ? p * m + i : i * k + p) *
                       test_load(&c->call.in[1], data->in[1], attrs->transpose_b ? j * k + p : p * n + j);
            assert_true(fabs(sum - test_load(&c->call.out[0], data->out[0], i * n + j)) < 2e-4);
        }
}

static void products_of_copied_operands_are_right(void **state) {
    (void)state;
    static const struct {
        bpt_dtype_t dtype;
        bool transpose_a, transpose_b;
        int64_t m, k, n;
    } products[] = {
        {BPT_F32, true, false, 1030, 4200, 40},  // rows of A far apart, and the depth is summed in parts
        {BPT_F32, true, false, 40, 1100, 1030},  // rows of B far apart, and the depth is copied in pieces
        {BPT_F32, false, true, 1310, 600, 530},  // B is copied once, transposed
        {BPT_F16, false, true, 1310, 600, 530}, {BPT_F16, false, false, 1310, 600, 530},
    };
    bpt_device_t *device = open_threads(2);
    for (size_t i = 0; i < BPT_COUNT(products); ++i) {
        test_case_t c;
        test_data_t data;
        make_product(&c, products[i].dtype, products[i].transpose_a, products[i].m, products[i].k, products[i].n);
        c.call.attrs.matmul.transpose_b = products[i].transpose_b;
        if (products[i].transpose_b) c.call.in[1].shape = bpt_shape2(products[i].n, products[i].k);
        test_data_create(&c, &data);
        test_must_execute(device, &c, &data);
        expect_right_product(&c, &data, products[i].m, products[i].k, products[i].n);
        test_data_destroy(&data);
    }
    cpu->close(device);
}

static void closing_the_last_device_frees_everything(void **state) {
    (void)state;
    const size_t before = bpt_alloc_live();
    bpt_device_t *one = open_threads(2), *two = open_threads(1);
    test_case_t c;
    size_t scratch;
    make_product(&c, BPT_BF16, false, 600, 70, 90);
    assert_ok(cpu->op(one, &c.call, NULL, &scratch));
    cpu->close(one);
    assert_ok(cpu->op(two, &c.call, NULL, &scratch));
    cpu->close(two);
    assert_int_equal(bpt_alloc_live(), before);
}

enum { THREADS = 3 };  // that OMP_NUM_THREADS says

// OpenBLAS changes OpenMP's number of threads when it is told to use one: neither the device nor the host process may notice.
static void a_device_takes_all_threads_and_leaves_the_process_its_own_number(void **state) {
    (void)state;
    const test_openmp_t openmp = test_openmp();
    openmp.set_num_threads(THREADS + 1);
    bpt_device_t *device = open_threads(0);
    assert_int_equal(device->info.units, THREADS);
    assert_int_equal(openmp.get_max_threads(), THREADS + 1);
    cpu->close(device);
}

int main(void) {
    setenv("OMP_NUM_THREADS", "3", 1);  // whatever this machine has
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_bf16_instructions_products_are_those_of_the_widened_operands),
        cmocka_unit_test(every_instruction_set_gives_the_same_dropout),
        cmocka_unit_test(an_unknown_instruction_set_is_refused),
        cmocka_unit_test(impossible_thread_numbers_and_devices_are_refused),
        cmocka_unit_test(products_have_the_same_bits_with_any_number_of_threads),
        cmocka_unit_test(products_of_copied_operands_are_right),
        cmocka_unit_test(closing_the_last_device_frees_everything),
        cmocka_unit_test(a_device_takes_all_threads_and_leaves_the_process_its_own_number),
    };
    cpu = bpt_backend_find("cpu");
    return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
