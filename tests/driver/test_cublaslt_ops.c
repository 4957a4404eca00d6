// What the op level makes of products by cuBLASLt, on stand-ins for it and for the CUDA driver: results are those of ref, steps go into the
// product where a value is still rounded once, the library is used after its self-check and not without.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef CUDA_EMULATOR
#include "backends/cuda/loader.h"
#include "bpt/log.h"
#include "driver/cublaslt_fixture.h"
#include "support/library.h"

extern const bpt_backend_t bpt_cuda_backend;

typedef struct {
    bpt_dtype_t operands, result;
    bool transpose_a, transpose_b, acc, bias;
    bpt_pointwise_attrs_t steps;
    bool masked;  // by a relu of random numbers
} op_t;

enum { M = 70, N = 56, K = 40 };

static bpt_shape_t matrix(int64_t rows, int64_t columns) { return (bpt_shape_t){2, {rows, columns}}; }

// A matmul whose operands lie one behind the other, 32 KiB apart.
static bpt_op_call_t call_of(const op_t *t, bpt_buffer_t *buffer) {
    bpt_op_call_t call = {.op = BPT_OP_MATMUL,
                          .attrs.matmul = {.transpose_a = t->transpose_a, .transpose_b = t->transpose_b, .epilogue = t->steps}};
    const bpt_shape_t a = t->transpose_a ? matrix(K, M) : matrix(M, K), b = t->transpose_b ? matrix(N, K) : matrix(K, N);
    call.in[0] = (bpt_operand_t){buffer, 0, t->operands, a, true};
    call.in[1] = (bpt_operand_t){buffer, 32768, t->operands, b, true};
    call.out[0] = (bpt_operand_t){buffer, 65536, t->result, matrix(M, N), true};
    if (t->acc) call.in[2] = call.out[0];
    if (t->bias) call.in[3] = (bpt_operand_t){buffer, 98304, BPT_F32, {1, {N}}, true};
    if (t->masked) call.in[4] = (bpt_operand_t){buffer, 131072, t->result, matrix(M, N), true};
    return call;
}

static void fill(const bpt_backend_t *backend, bpt_device_t *device, bpt_buffer_t *buffer, const bpt_operand_t *o, bool relu) {
    const size_t count = (size_t)bpt_shape_count(&o->shape), size = bpt_dtype_size(o->dtype);
    static unsigned char bytes[32768];
    uint32_t seed = (uint32_t)o->offset_bytes + 5;
    assert_true(count * size <= sizeof bytes);
    for (size_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        const float any = (float)(int32_t)seed * 0x1p-31f, x = relu ? fmaxf(any, 0) : any;
        const uint16_t half = o->dtype == BPT_BF16 ? bpt_to_bf16(x) : bpt_to_f16(x);
        memcpy(bytes + i * size, o->dtype == BPT_F32 ? (const void *)&x : (const void *)&half, size);
    }
    assert_ok(backend->write(device, buffer, o->offset_bytes, bytes, count * size));
}

static void run_op(const bpt_backend_t *backend, bpt_device_t *device, const op_t *t, float result[M * N]) {
    static unsigned char bytes[32768];
    bpt_buffer_t *buffer;
    bpt_list_t *list;
    bpt_ticket_t ticket;
    size_t scratch = 0;
    assert_ok(backend->buffer_create(device, 163840, &buffer));
    bpt_op_call_t call = call_of(t, buffer);
    const bpt_operand_t *const operands[] = {&call.in[0], &call.in[1], &call.out[0], &call.in[3]};
    for (size_t i = 0; i < BPT_COUNT(operands); ++i)
        if (operands[i]->present) fill(backend, device, buffer, operands[i], false);
    if (t->masked) fill(backend, device, buffer, &call.in[4], true);
    assert_ok(backend->op(device, &call, NULL, &scratch));
    if (scratch) assert_ok(backend->buffer_create(device, scratch, &call.scratch.buffer));
    call.scratch.present = scratch > 0;
    assert_ok(backend->list_create(device, &list));
    assert_ok(backend->op(device, &call, list, NULL));
    assert_ok(backend->list_seal(list));
    assert_ok(backend->submit(device, list, &ticket));
    assert_ok(backend->wait(device, ticket, PATIENCE_NS));
    assert_ok(backend->read(device, buffer, call.out[0].offset_bytes, bytes, M * N * bpt_dtype_size(t->result)));
    for (size_t i = 0; i < M * N; ++i) result[i] = element(bytes, t->result, i);
    backend->list_destroy(device, list);
    backend->buffer_destroy(device, call.scratch.buffer);
    backend->buffer_destroy(device, buffer);
}

static bpt_device_t *open_with_library(void) {
    const bpt_device_options_t options = {.products = "tiles"};
    bpt_device_t *device;
    assert_ok(bpt_cuda_backend.open(0, &options, &device));
    test_take_library(device);
    return device;
}

#define RELU_ONLY                                              \
    {                                                          \
        .n_steps = 1, .step = { {.code = BPT_POINTWISE_RELU} } \
    }

#define MASK_ONLY                                                                    \
    {                                                                                \
        .n_steps = 1, .step = { {.code = BPT_POINTWISE_MASK, .arg = 4, .c = 1.25f} } \
    }

static void ops_are_what_ref_computes(void **state) {
    (void)state;
    static const op_t ops[] = {{BPT_F32, BPT_F32, false, true, false, true, RELU_ONLY},
                               {BPT_F32, BPT_F32, true, false, true, false, {0}},
                               {BPT_F32, BPT_F32, false, false, true, true, RELU_ONLY},
                               {BPT_BF16, BPT_BF16, false, true, false, false, RELU_ONLY},
                               {BPT_BF16, BPT_F32, false, true, false, true, {0}},
                               {BPT_BF16, BPT_F32, true, false, true, false, {0}},
                               {BPT_F16, BPT_F16, false, false, false, false, {0}},
                               {BPT_BF16, BPT_BF16, false, false, false, false, MASK_ONLY, true},
                               {BPT_F16, BPT_F16, false, true, false, false, MASK_ONLY, true},
                               {BPT_F32, BPT_F32, false, false, false, false, MASK_ONLY, true}};
    static float got[M * N], want[M * N];
    const bpt_backend_t *ref = bpt_backend_find("ref");
    bpt_device_t *device = open_with_library(), *oracle;
    assert_ok(ref->open(0, NULL, &oracle));
    for (size_t i = 0; i < BPT_COUNT(ops); ++i) {
        lt->n_products = 0;
        run_op(&bpt_cuda_backend, device, &ops[i], got);
        assert_int_equal(lt->n_products, 1);
        run_op(ref, oracle, &ops[i], want);
        const float last_bit = ops[i].result == BPT_F32 ? 0x1p-20f : ops[i].result == BPT_BF16 ? 0x1p-7f : 0x1p-10f;
        for (size_t e = 0; e < M * N; ++e)
            if (!(fabsf(got[e] - want[e]) <= last_bit * (fabsf(want[e]) + 1)))
                fail_msg("op %zu, element %zu: %g, not %g", i, e, (double)got[e], (double)want[e]);
    }
    ref->close(oracle);
    bpt_cuda_backend.close(device);
}

// A bias and a first relu go into the product; a value is rounded once, so what gets a bias or more steps leaves the product in f32.
static void steps_go_where_they_are_rounded_once(void **state) {
    (void)state;
    static const struct {
        op_t op;
        int n_products, epilogue, result;
    } cases[] = {
        {{BPT_BF16, BPT_BF16, false, true, false, false, RELU_ONLY}, 1, CUBLASLT_EPILOGUE_RELU, CUDA_R_16BF},
        {{BPT_BF16, BPT_BF16, false, true, false, true, RELU_ONLY}, 1, CUBLASLT_EPILOGUE_RELU_BIAS, CUDA_R_32F},
        {{BPT_BF16, BPT_BF16, false, false, false, false, MASK_ONLY, true}, 1, CUBLASLT_EPILOGUE_DRELU, CUDA_R_16BF},
        {{BPT_F32, BPT_F32, false, false, false, false, MASK_ONLY, true}, 1, CUBLASLT_EPILOGUE_DEFAULT, CUDA_R_32F},
        {{BPT_BF16, BPT_BF16, false, true, false, true, {2, {{.code = BPT_POINTWISE_RELU}, {.code = BPT_POINTWISE_SCALE, .c = 3}}}},
         1,
         CUBLASLT_EPILOGUE_RELU_BIAS,
         CUDA_R_32F},
        {{BPT_F16, BPT_F16, false, false, false, true, {1, {{.code = BPT_POINTWISE_SCALE, .c = 3}}}},
         1,
         CUBLASLT_EPILOGUE_BIAS,
         CUDA_R_32F},
        {{BPT_F32, BPT_F32, false, false, false, false, {2, {{.code = BPT_POINTWISE_SCALE, .c = 3}, {.code = BPT_POINTWISE_RELU}}}},
         1,
         CUBLASLT_EPILOGUE_DEFAULT,
         CUDA_R_32F},
        {{BPT_F32, BPT_BF16, false, false, false, false, {0}}, 1, CUBLASLT_EPILOGUE_DEFAULT, CUDA_R_32F},
    };
    static float got[M * N];
    bpt_device_t *device = open_with_library();
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        lt->n_products = lt->epilogue = lt->result = 0;
        run_op(&bpt_cuda_backend, device, &cases[i].op, got);
        assert_int_equal(lt->n_products, cases[i].n_products);
        assert_int_equal(lt->epilogue, cases[i].epilogue);
        assert_int_equal(lt->result, cases[i].result);
    }
    bpt_cuda_backend.close(device);
}

// By the shipped rule, after its self-check.
static void a_library_that_agrees_is_used(void **state) {
    (void)state;
    bpt_device_t *device;
    assert_ok(bpt_cuda_backend.open(0, NULL, &device));
    assert_string_equal(bpt_gpu_info(&device->info).rule, "library");
    assert_string_equal(bpt_gpu_info(&device->info).rule_origin, "shipped");
    assert_string_equal(bpt_gpu_info(&device->info).rule_note, "");
    assert_true(lt->n_products >= 3 * 5 * 2);
    bpt_cuda_backend.close(device);
}

// Then a pass of ours masks, and all else is the library's.
static void one_whose_masks_are_wrong_is_used_without(void **state) {
    (void)state;
    static const op_t masked = {BPT_BF16, BPT_BF16, false, false, false, false, MASK_ONLY, true};
    static float got[2][M * N];
    for (int wrong = 0; wrong < 2; ++wrong) {
        bpt_device_t *device;
        lt->bits_differ = wrong;
        bpt_log_set_level(wrong ? BPT_LOG_OFF : BPT_LOG_INFO);
        assert_ok(bpt_cuda_backend.open(0, NULL, &device));
        bpt_log_set_level(BPT_LOG_INFO);
        assert_string_equal(bpt_gpu_info(&device->info).rule, "library");
        assert_true(wrong == !!strstr(bpt_gpu_info(&device->info).rule_note, "computes no gradients of relu: its product of"));
        run_op(&bpt_cuda_backend, device, &masked, got[wrong]);
        assert_int_equal(lt->epilogue, wrong ? CUBLASLT_EPILOGUE_DEFAULT : CUBLASLT_EPILOGUE_DRELU);
        bpt_cuda_backend.close(device);
    }
    for (size_t i = 0; i < M * N; ++i) assert_true(fabsf(got[0][i] - got[1][i]) <= 0x1p-7f * fabsf(got[0][i]));
}

static void a_library_that_is_wrong_is_not_used(void **state) {
    (void)state;
    bpt_device_t *device;
    bpt_device_info_t info = {.usable = false};
    int count = 0;
    lt->is_wrong = true;
    assert_ok(bpt_cuda_backend.enumerate(&info, 1, &count));
    assert_true(bpt_gpu_info(&info).library);
    assert_string_equal(bpt_gpu_info(&info).rule, "library");
    assert_string_equal(bpt_gpu_info(&info).rule_origin, "shipped");
    bpt_log_set_level(BPT_LOG_OFF);
    assert_ok(bpt_cuda_backend.open(0, NULL, &device));
    bpt_log_set_level(BPT_LOG_INFO);
    assert_string_equal(bpt_gpu_info(&device->info).rule, "tiles:64,64,16,8,8");
    assert_non_null(strstr(bpt_gpu_info(&device->info).rule_note, "cuBLASLt 13.1.0 is not used: its product of"));
    assert_non_null(strstr(bpt_gpu_info(&device->info).rule_note, "products run on our own kernels"));
    bpt_cuda_backend.close(device);
    setenv("BPT_TUNING", "library", 1);
    assert_fails(bpt_cuda_backend.open(0, NULL, &device), BPT_ERR_UNAVAILABLE,
                 "BPT_TUNING: no products by a library: cuBLASLt 13.1.0: its");
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(ops_are_what_ref_computes),           TEST(steps_go_where_they_are_rounded_once),
        TEST(a_library_that_agrees_is_used),       TEST(one_whose_masks_are_wrong_is_used_without),
        TEST(a_library_that_is_wrong_is_not_used),
    };
    use_stand_ins();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include "support/support.h"

int main(void) { return test_skip_program(NO_CUDA_EMULATOR); }
#endif
