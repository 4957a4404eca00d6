// Products by cuBLASLt through the CUDA driver, on stand-ins for both (tests/emulator, fake_cublaslt.c): every form, type and epilogue is
// what plain loops compute, also when replayed, at odd places and with odd rows; what is said where it is missing, too new or fails. Of
// the real library, where there is one, that it has the functions that are looked for.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef CUDA_EMULATOR
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/cuda/loader.h"
#include "bpt/log.h"
#include "driver/cublaslt_fixture.h"

extern const bpt_gpu_driver_t bpt_cuda_driver;
extern const bpt_backend_t bpt_cuda_backend;

// ---- What is missing -------------------------------------------------------------------------------------------------

// Libraries are opened once in a process, so each of these runs in a child, before the parent opens any.
static int in_child(int (*work)(const void *), const void *user) {
    const pid_t child = fork();
    if (child == 0) _exit(work(user));
    int ended = 1;
    return child > 0 && waitpid(child, &ended, 0) == child && WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
}

typedef struct {
    void (*prepare)(void);
    const char *said;
} missing_t;

static bool opens(const char *products, bpt_status_t wanted, const char *said) {
    const bpt_device_options_t options = {.products = products};
    bpt_device_t *device = NULL;
    const bpt_status_t got = bpt_cuda_backend.open(0, &options, &device);
    bpt_gpu_info_t gpu = {.rule = ""};
    if (got == BPT_OK) gpu = bpt_gpu_info(&device->info);
    const char *text = got == BPT_OK ? gpu.rule : bpt_error_message();
    const bool ok = got == wanted && strstr(text, said) && (got != BPT_OK || !*gpu.rule_note);
    if (!ok) print_error("%s: \"%s\"\n", bpt_status_name(got), text);
    if (device) bpt_cuda_backend.close(device);
    return ok;
}

// It is said; who asked for the library gets an error, everybody else our own kernels.
static int check_missing(const void *user) {
    const missing_t *missing = user;
    char text[256];
    missing->prepare();
    const bool there = bpt_cuda_backend.library(text, sizeof text);
    const bool ok = !there && strstr(text, missing->said) && opens("library", BPT_ERR_UNAVAILABLE, missing->said) &&
                    opens(NULL, BPT_OK, "tiles:64,64,16,8,8");
    if (!ok) print_error("\"%s\", not \"%s\"\n", text, missing->said);
    return ok ? 0 : 1;
}

static void no_file(void) { setenv("BPT_CUBLASLT_LIBRARY", "/nonexistent/libcublasLt.so.13", 1); }
static void switched_off(void) { setenv("BPT_CUBLASLT_LIBRARY", "none", 1); }
static void another_library(void) { setenv("BPT_CUBLASLT_LIBRARY", "libm.so.6", 1); }
static void an_old_one(void) {
    open_fake();
    lt->version = 110103;
}
static void one_of_a_newer_driver(void) {
    open_fake();
    lt->version = 140000;
}

static void what_is_missing_is_named(void **state) {
    (void)state;
    static const missing_t missing[] = {{no_file, "BPT_CUBLASLT_LIBRARY: /nonexistent"},
                                        {switched_off, "BPT_CUBLASLT_LIBRARY=none"},
                                        {another_library, "it has no cublasLt"},
                                        {an_old_one, "cuBLASLt 11.1 is too old; 12 or newer is needed"},
                                        {one_of_a_newer_driver, "needs a driver of CUDA 14, this one is of 13.0"}};
    for (size_t i = 0; i < BPT_COUNT(missing); ++i) assert_int_equal(in_child(check_missing, &missing[i]), 0);
}

enum { NOT_THERE = 77 };

static int find_real(const void *user) {
    const bpt_cublaslt_functions_t *functions;
    char text[256];
    (void)user;
    unsetenv("BPT_CUBLASLT_LIBRARY");
    const bool there = bpt_cublaslt_describe(text, sizeof text);
    print_message("the real library: %s\n", text);
    if (!there) return strstr(text, "no cuBLASLt") ? NOT_THERE : 1;
    if (bpt_cublaslt_load(&functions) != BPT_OK) return 1;
    return functions->major >= 12 && functions->cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED) ? 0 : 1;
}

static void the_real_library_has_all_functions(void **state) {
    (void)state;
    const int found = in_child(find_real, NULL);
    if (found == NOT_THERE) skip();
    assert_int_equal(found, 0);
}

// ---- A device --------------------------------------------------------------------------------------------------------

enum { ROOM = 1 << 16, PLACES = 5 };  // bytes per operand, operands

typedef struct {
    bpt_gpu_api_t *api;
    bpt_gpu_memory_t *memory, *scratch;
    size_t scratch_bytes;
} device_t;

static device_t open_device(void) {
    device_t d = {NULL};
    assert_ok(bpt_cuda_driver.open(0, &d.api));
    assert_ok(bpt_cuda_driver.memory_create(d.api, PLACES * ROOM, &d.memory));
    assert_ok(bpt_cuda_driver.product_scratch(d.api, &(bpt_gpu_product_t){.m = 1}, &d.scratch_bytes));
    assert_ok(bpt_cuda_driver.memory_create(d.api, d.scratch_bytes, &d.scratch));
    return d;
}

static void close_device(device_t *d) {
    bpt_cuda_driver.memory_destroy(d->api, d->scratch);
    bpt_cuda_driver.memory_destroy(d->api, d->memory);
    bpt_cuda_driver.close(d->api);
}

// ---- One product -----------------------------------------------------------------------------------------------------

// Elements as floats and as they lie in memory; the operand begins `first` elements into its place.
typedef struct {
    bpt_dtype_t dtype;
    int place;
    size_t first, count;
    float values[4096];
} operand_t;

static float rounded(float x, bpt_dtype_t dtype) {
    return dtype == BPT_BF16 ? bpt_from_bf16(bpt_to_bf16(x)) : dtype == BPT_F16 ? bpt_from_f16(bpt_to_f16(x)) : x;
}

static bpt_gpu_binding_t place(const device_t *d, operand_t *o, size_t count) {
    const size_t size = bpt_dtype_size(o->dtype);
    uint32_t seed = (uint32_t)o->place + 1;
    unsigned char bytes[ROOM];
    assert_true(count <= BPT_COUNT(o->values) && (o->first + count) * size <= ROOM);
    o->count = count;
    memset(bytes, 0xA5, sizeof bytes);
    for (size_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        o->values[i] = rounded((float)(int32_t)seed * 0x1p-31f, o->dtype);
        const uint16_t half = o->dtype == BPT_BF16 ? bpt_to_bf16(o->values[i]) : bpt_to_f16(o->values[i]);
        memcpy(bytes + (o->first + i) * size, o->dtype == BPT_F32 ? (const void *)&o->values[i] : (const void *)&half, size);
    }
    assert_ok(bpt_cuda_driver.write(d->api, d->memory, (size_t)o->place * ROOM, bytes, sizeof bytes));
    return (bpt_gpu_binding_t){d->memory, (size_t)o->place * ROOM + o->first * size, count * size};
}

// A mask that has no order in it.
static bool has_bit(const bpt_gpu_product_t *p, uint32_t i, uint32_t j) { return ((i * p->n + j) * 2654435761u) >> 31; }

static bpt_gpu_binding_t place_mask(const device_t *d, bpt_gpu_product_t *p) {
    unsigned char bytes[ROOM] = {0};
    p->ldmask = (p->n + 127) / 128 * 128;
    p->scale = 1.25f;
    for (uint32_t i = 0; i < p->m; ++i)
        for (uint32_t j = 0; j < p->n; ++j)
            if (has_bit(p, i, j)) bytes[(i * p->ldmask + j) / 8] |= (unsigned char)(1u << j % 8);
    assert_ok(bpt_cuda_driver.write(d->api, d->memory, 4 * ROOM, bytes, sizeof bytes));
    return (bpt_gpu_binding_t){d->memory, 4 * ROOM, p->m * p->ldmask / 8};
}

// c[i][j] after it was multiplied so many times.
static double expected(const bpt_gpu_product_t *p, const operand_t *a, const operand_t *b, const operand_t *c, const operand_t *bias,
                       uint32_t i, uint32_t j, int times) {
    double x = (double)c->values[i * p->ldc + j], sum = 0;
    for (uint32_t k = 0; k < p->k; ++k)
        sum += (double)a->values[p->transpose_a ? k * p->lda + i : i * p->lda + k] *
               (double)b->values[p->transpose_b ? j * p->ldb + k : k * p->ldb + j];
    while (times-- > 0) {
        x = (p->add ? x : 0) + sum + (p->has_bias ? (double)bias->values[j] : 0);
        if (p->relu && x < 0) x = 0;
        if (p->masked) x = has_bit(p, i, j) ? (double)p->scale * x : 0;
        x = (double)rounded((float)x, p->result);
    }
    return x;
}

static void run_twice(const device_t *d, const bpt_gpu_product_t *p) {
    bpt_gpu_commands_t *commands;
    uint64_t ticket = 0;
    assert_ok(bpt_cuda_driver.commands_create(d->api, &commands));
    assert_ok(bpt_cuda_driver.product(commands, p));
    assert_ok(bpt_cuda_driver.finish(commands));
    for (int i = 0; i < 2; ++i) {
        assert_ok(bpt_cuda_driver.submit(d->api, commands, &ticket));
        assert_ok(bpt_cuda_driver.wait(d->api, ticket, PATIENCE_NS));
    }
    bpt_cuda_driver.commands_destroy(d->api, commands);
}

// p with its sizes and types; rows are `padding` elements longer than they need to be, operands begin `first` elements into their places.
static void multiply(const device_t *d, bpt_gpu_product_t p, uint32_t padding, size_t first) {
    static operand_t a, b, c, bias;
    static unsigned char bytes[ROOM];
    a = b = (operand_t){.dtype = p.operands, .first = first};
    c = bias = (operand_t){.dtype = p.result, .first = first};
    b.place = 1, c.place = 2, bias.place = 3;
    p.lda = (p.transpose_a ? p.m : p.k) + padding, p.ldb = (p.transpose_b ? p.k : p.n) + padding, p.ldc = p.n + padding;
    p.a = place(d, &a, (size_t)(p.transpose_a ? p.k : p.m) * p.lda);
    p.b = place(d, &b, (size_t)(p.transpose_b ? p.n : p.k) * p.ldb);
    p.c = place(d, &c, (size_t)p.m * p.ldc);
    if (p.has_bias) p.bias = place(d, &bias, p.n);
    if (p.masked) p.mask = place_mask(d, &p);
    p.scratch = (bpt_gpu_binding_t){d->scratch, 0, d->scratch_bytes};
    assert_true(bpt_cuda_driver.product_can(d->api, &p));
    run_twice(d, &p);
    assert_ok(bpt_cuda_driver.read(d->api, d->memory, 2 * ROOM, bytes, sizeof bytes));
    for (uint32_t i = 0; i < p.m; ++i)
        for (uint32_t j = 0; j < p.ldc; ++j) {
            const float got = element(bytes, p.result, first + i * p.ldc + j);
            const double want = j < p.n ? expected(&p, &a, &b, &c, &bias, i, j, 2) : (double)c.values[i * p.ldc + j];
            const double last_bit = p.result == BPT_F32 ? 0x1p-20 : p.result == BPT_BF16 ? 0x1p-7 : 0x1p-10;
            if (!(fabs((double)got - want) <= (j < p.n ? last_bit * (fabs(want) + 1) : 0)))
                fail_msg("%u x %u x %u, %s to %s, a%s b%s%s%s%s%s, element %u, %u: %g, not %g", p.m, p.n, p.k, bpt_dtype_name(p.operands),
                         bpt_dtype_name(p.result), p.transpose_a ? "'" : "", p.transpose_b ? "'" : "", p.add ? ", added" : "",
                         p.has_bias ? ", bias" : "", p.relu ? ", relu" : "", p.masked ? ", masked" : "", i, j, (double)got, want);
        }
}

static const bpt_dtype_t types[][2] = {
    {BPT_F32, BPT_F32}, {BPT_BF16, BPT_BF16}, {BPT_BF16, BPT_F32}, {BPT_F16, BPT_F16}, {BPT_F16, BPT_F32}};

enum { TRANSPOSE_A = 1, TRANSPOSE_B = 2, ADD = 4, BIAS = 8, RELU = 16, MASK = 32 };  // bits of a form

static bpt_gpu_product_t product_of(size_t type, int form, uint32_t m, uint32_t n, uint32_t k) {
    return (bpt_gpu_product_t){.operands = types[type][0],
                               .result = types[type][1],
                               .m = m,
                               .n = n,
                               .k = k,
                               .transpose_a = form & TRANSPOSE_A,
                               .transpose_b = form & TRANSPOSE_B,
                               .add = form & ADD,
                               .has_bias = form & BIAS,
                               .relu = form & RELU,
                               .masked = form & MASK};
}

// ---- Products --------------------------------------------------------------------------------------------------------

static void every_product_is_what_loops_compute(void **state) {
    (void)state;
    for (int graphs = 0; graphs < 2; ++graphs) {
        setenv("BPT_DISABLE", graphs ? "cache" : "cache,cuda-graph", 1);
        device_t d = open_device();
        for (size_t type = 0; type < BPT_COUNT(types); ++type)
            for (int form = 0; form < 32; ++form) {
                if (types[type][1] != BPT_F32 && form & BIAS) continue;
                multiply(&d, product_of(type, form, 13, 9, 17), 0, 0);
                multiply(&d, product_of(type, form, 7, 16, 5), 3, 1);  // odd rows, and places that are aligned to an element only
            }
        close_device(&d);
    }
    assert_int_equal(lt->n_products, 2 * 2 * 2 * (3 * 32 + 2 * 16));
}

static void gradients_of_relu_are_masked(void **state) {
    (void)state;
    static const uint32_t sizes[][3] = {{13, 16, 24}, {1, 8, 8}, {3, 136, 16}, {17, 128, 8}, {5, 232, 8}};
    device_t d = open_device();
    for (size_t type = 0; type < BPT_COUNT(types); ++type) {
        if (types[type][1] == BPT_F32) continue;
        for (size_t i = 0; i < BPT_COUNT(sizes); ++i)
            for (int form = MASK; form <= (MASK | TRANSPOSE_B); form += TRANSPOSE_B)
                multiply(&d, product_of(type, form, sizes[i][0], sizes[i][1], sizes[i][2]), i > 1 ? 8 : 0, 0);
    }
    assert_int_equal(lt->epilogue, CUBLASLT_EPILOGUE_DRELU);
    close_device(&d);
}

static void thin_products_too(void **state) {
    (void)state;
    static const uint32_t sizes[][3] = {{1, 1, 1}, {1, 33, 20}, {40, 1, 9}, {31, 33, 1}};
    device_t d = open_device();
    for (size_t i = 0; i < BPT_COUNT(sizes); ++i)
        for (int form = 0; form < 32; ++form)
            multiply(&d, product_of(form & BIAS ? 2 : 1, form, sizes[i][0], sizes[i][1], sizes[i][2]), 0, 0);
    close_device(&d);
}

static void nothing_is_left_to_chance(void **state) {
    (void)state;
    device_t d = open_device();
    assert_true(d.scratch_bytes == (size_t)32 << 20);
    multiply(&d, product_of(0, 0, 8, 8, 8), 0, 0);
    assert_int_equal(lt->reductions, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
    assert_int_equal(lt->compute, CUBLAS_COMPUTE_32F);
    assert_true(lt->workspace_bytes == d.scratch_bytes);
    assert_int_equal(lt->alignment_of_a, 256);
    multiply(&d, product_of(1, 0, 8, 8, 8), 0, 3);
    assert_int_equal(lt->alignment_of_a, 2);
    multiply(&d, product_of(1, 0, 8, 8, 8), 0, 8);
    assert_int_equal(lt->alignment_of_a, 16);
    bpt_gpu_product_t p = product_of(0, 0, 8, 8, 8);
    p.tf32 = true;
    p.lda = p.ldb = p.ldc = 8;
    operand_t a = {.dtype = BPT_F32};
    p.a = p.b = place(&d, &a, 64);
    p.c = (bpt_gpu_binding_t){d.memory, ROOM, 256};
    p.scratch = (bpt_gpu_binding_t){d.scratch, 0, d.scratch_bytes};
    run_twice(&d, &p);
    assert_int_equal(lt->compute, CUBLAS_COMPUTE_32F_FAST_TF32);
    close_device(&d);
}

static void what_it_cannot_do_is_not_offered(void **state) {
    (void)state;
    static const struct {
        bpt_gpu_product_t product;
        bool can;
    } asked[] = {{{.operands = BPT_F32, .result = BPT_F32, .has_bias = true, .relu = true}, true},
                 {{.operands = BPT_F32, .result = BPT_F32, .tf32 = true}, true},
                 {{.operands = BPT_F32, .result = BPT_BF16}, false},
                 {{.operands = BPT_BF16, .result = BPT_F16}, false},
                 {{.operands = BPT_BF16, .result = BPT_BF16, .relu = true}, true},
                 {{.operands = BPT_BF16, .result = BPT_BF16, .has_bias = true}, false},
                 {{.operands = BPT_F16, .result = BPT_F32, .tf32 = true}, false},
                 {{.operands = BPT_BF16, .result = BPT_BF16, .masked = true}, true},
                 {{.operands = BPT_BF16, .result = BPT_F32, .masked = true}, false},
                 {{.operands = BPT_BF16, .result = BPT_BF16, .n = 12, .lda = 8, .ldb = 8, .ldc = 16, .masked = true}, false},
                 {{.operands = BPT_F16, .result = BPT_F16, .masked = true, .relu = true}, false},
                 {{.operands = BPT_U32, .result = BPT_F32}, false}};
    device_t d = open_device();
    for (size_t i = 0; i < BPT_COUNT(asked); ++i) assert_true(bpt_cuda_driver.product_can(d.api, &asked[i].product) == asked[i].can);
    close_device(&d);
}

// ---- Failures --------------------------------------------------------------------------------------------------------

// All the way through a list that is replayed.
static bpt_status_t try_product(const device_t *d) {
    bpt_gpu_product_t p = product_of(0, 8, 4, 4, 4);
    bpt_gpu_commands_t *commands;
    uint64_t ticket;
    operand_t a = {.dtype = BPT_F32};
    p.lda = p.ldb = p.ldc = 4;
    p.a = p.b = p.bias = place(d, &a, 16);
    p.c = (bpt_gpu_binding_t){d->memory, ROOM, 64};
    p.scratch = (bpt_gpu_binding_t){d->scratch, 0, d->scratch_bytes};
    assert_ok(bpt_cuda_driver.commands_create(d->api, &commands));
    bpt_status_t status = bpt_cuda_driver.product(commands, &p);
    if (status == BPT_OK) status = bpt_cuda_driver.finish(commands);
    if (status == BPT_OK) status = bpt_cuda_driver.submit(d->api, commands, &ticket);
    bpt_cuda_driver.commands_destroy(d->api, commands);
    return status;
}

static void every_call_that_fails_is_one_sentence(void **state) {
    (void)state;
    static const struct {
        const char *function;
        int code;
        bpt_status_t status;
        const char *said;
    } failures[] = {
        {"cublasLtCreate", CUBLAS_STATUS_NOT_INITIALIZED, BPT_ERR_UNSUPPORTED, "starting it on this device failed with CUBLAS_STATUS_NOT_"},
        {"cublasLtMatmulDescCreate", CUBLAS_STATUS_ALLOC_FAILED, BPT_ERR_NO_MEMORY, "describing a product failed with CUBLAS_STATUS_ALLOC"},
        {"cublasLtMatmulDescSetAttribute", CUBLAS_STATUS_INVALID_VALUE, BPT_ERR_UNSUPPORTED, "describing a product"},
        {"cublasLtMatrixLayoutCreate", CUBLAS_STATUS_ALLOC_FAILED, BPT_ERR_NO_MEMORY, "describing a matrix"},
        {"cublasLtMatmulPreferenceCreate", CUBLAS_STATUS_ALLOC_FAILED, BPT_ERR_NO_MEMORY, "choosing an algorithm"},
        {"cublasLtMatmulPreferenceSetAttribute", CUBLAS_STATUS_INVALID_VALUE, BPT_ERR_UNSUPPORTED, "choosing an algorithm"},
        {"cublasLtMatmulAlgoGetHeuristic", CUBLAS_STATUS_NOT_SUPPORTED, BPT_ERR_UNSUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED (15)"},
        {"cublasLtMatmul", CUBLAS_STATUS_EXECUTION_FAILED, BPT_ERR_UNSUPPORTED, "starting a product failed with CUBLAS_STATUS_EXECUTION"}};
    for (int graphs = 0; graphs < 2; ++graphs)
        for (size_t i = 0; i < BPT_COUNT(failures); ++i) {
            setenv("BPT_DISABLE", graphs ? "cache" : "cache,cuda-graph", 1);
            device_t d = open_device();
            lt->fails = failures[i].function;
            lt->fails_with = failures[i].code;
            assert_fails(try_product(&d), failures[i].status, failures[i].said);
            assert_non_null(strstr(bpt_error_message(), "cuBLASLt 13.1"));
            assert_non_null(strstr(bpt_error_message(), "BPT_TUNING=tiles"));
            lt->fails = NULL;
            assert_ok(try_product(&d));
            close_device(&d);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_named),  // first: see there
        cmocka_unit_test(the_real_library_has_all_functions),
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(every_product_is_what_loops_compute),
        TEST(gradients_of_relu_are_masked),
        TEST(thin_products_too),
        TEST(nothing_is_left_to_chance),
        TEST(what_it_cannot_do_is_not_offered),
        TEST(every_call_that_fails_is_one_sentence),
    };
    use_stand_ins();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include "support/support.h"

int main(void) { return test_skip_program(NO_CUDA_EMULATOR); }
#endif
