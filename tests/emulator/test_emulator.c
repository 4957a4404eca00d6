// The CUDA device on the processor computes what CUDA says, and sees what CUDA forbids: fragments and products of matrices, shuffles,
// barriers that not all threads reach, indices, alignment, races.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef CUDA_EMULATOR
#include "backends/cuda/loader.h"
#include "backends/gpu/kernel.h"
#include "emulator/emulator.h"
#include "emulator/numbers.h"
#include "support/check.h"
#include "support/dialect.h"

static const bpt_cuda_functions_t *cuda;
static const bpt_nvrtc_functions_t *nvrtc;

#define assert_cuda(call) assert_int_equal(call, CUDA_SUCCESS)

// ---- Kernels of this folder ------------------------------------------------------------------------------------------

typedef struct {
    CUcontext context;
    CUstream stream;
    CUmodule module;
    CUfunction function;
    CUdeviceptr memory;  // of MEMORY bytes
} device_t;
enum { WG = 64, MEMORY = 65536 };

// What cl/dialect/cuda.h puts in front of a kernel's own parameters.
typedef struct {
    uint32_t first_group;
    uint8_t skew[16];
    uint32_t mode, other;
} params_t;

// Constants that a kernel has beside WG, in the order of its .inc; NULL after the last.
typedef struct {
    const char *name;
    unsigned value;
} constant_t;

static CUmodule compile(const char *file, const constant_t *constants) {
    char path[256], *text, *image, *log, definitions[40][64];
    const char *options[42] = {"--gpu-architecture=sm_90", "-DWG=64u"};
    int count = 2;
    for (; constants && constants->name; ++constants, ++count) {
        snprintf(definitions[count - 2], sizeof definitions[0], "-D%s=%uu", constants->name, constants->value);
        options[count] = definitions[count - 2];
    }
    nvrtcProgram program;
    CUmodule module = NULL;
    size_t bytes;
    snprintf(path, sizeof path, "tests/emulator/%s.cl", file);
    text = test_cuda_text(path);
    assert_int_equal(nvrtc->nvrtcCreateProgram(&program, text, "kernel.cu", 0, NULL, NULL), NVRTC_SUCCESS);
    if (nvrtc->nvrtcCompileProgram(program, count, options) != NVRTC_SUCCESS) {
        assert_int_equal(nvrtc->nvrtcGetProgramLogSize(program, &bytes), NVRTC_SUCCESS);
        log = test_malloc(bytes);
        nvrtc->nvrtcGetProgramLog(program, log);
        fail_msg("%s: %s", path, log);
    }
    assert_int_equal(nvrtc->nvrtcGetCUBINSize(program, &bytes), NVRTC_SUCCESS);
    image = malloc(bytes);
    assert_int_equal(nvrtc->nvrtcGetCUBIN(program, image), NVRTC_SUCCESS);
    assert_cuda(cuda->cuModuleLoadData(&module, image));
    nvrtc->nvrtcDestroyProgram(&program);
    free(image), free(text);
    return module;
}

static device_t open_kernel(const char *file, const char *kernel, const constant_t *constants) {
    device_t d = {NULL};
    assert_cuda(cuda->cuDevicePrimaryCtxRetain(&d.context, 0));
    assert_cuda(cuda->cuCtxSetCurrent(d.context));
    assert_cuda(cuda->cuStreamCreate(&d.stream, CU_STREAM_NON_BLOCKING));
    d.module = compile(file, constants);
    assert_cuda(cuda->cuModuleGetFunction(&d.function, d.module, kernel));
    assert_cuda(cuda->cuMemAlloc(&d.memory, MEMORY));
    return d;
}

static device_t open_device(const char *kernel) { return open_kernel(kernel, kernel, NULL); }

static void close_device(device_t *d) {
    assert_cuda(cuda->cuMemFree(d->memory));
    assert_cuda(cuda->cuModuleUnload(d->module));
    assert_cuda(cuda->cuStreamDestroy(d->stream));
    assert_cuda(cuda->cuDevicePrimaryCtxRelease(0));
}

// The code that waiting for the kernel gives.
static CUresult launch_kernel(device_t *d, unsigned groups, unsigned threads, void *params, CUdeviceptr *bindings, int n_bindings) {
    void *arguments[16];
    for (int i = 0; i < n_bindings; ++i) arguments[i] = &bindings[i];
    arguments[n_bindings] = params;
    assert_cuda(cuda->cuLaunchKernel(d->function, groups, 1, 1, threads, 1, 1, 0, d->stream, arguments, NULL));
    return cuda->cuStreamSynchronize(d->stream);
}

static CUresult launch(device_t *d, unsigned groups, unsigned threads, params_t params, CUdeviceptr *bindings, int n_bindings) {
    return launch_kernel(d, groups, threads, &params, bindings, n_bindings);
}

static void write_words(device_t *d, size_t offset, const void *words, size_t count) {
    assert_cuda(cuda->cuMemcpyHtoDAsync(d->memory + offset, words, 4 * count, d->stream));
}
static void read_words(device_t *d, size_t offset, void *words, size_t count) {
    assert_cuda(cuda->cuMemcpyDtoHAsync(words, d->memory + offset, 4 * count, d->stream));
}

// ---- Warps -----------------------------------------------------------------------------------------------------------

enum { AT_A = 0, AT_B = 1024, AT_C = 2048, AT_SHUFFLED = 4096 };

// Small numbers that are exact in either type, so that the product is exact too.
static float left(int row, int k) { return (float)((row * 7 + k * 3) % 11 - 5); }
static float right(int k, int column) { return (float)((k * 5 + column * 9) % 13 - 6) * 0.5f; }
static uint16_t bits_of(float v, bool f16) { return f16 ? emulated_float_to_half(v) : (uint16_t)(emulated_bits(v) >> 16); }

static void multiply(device_t *d, uint32_t mode) {
    uint16_t a[16 * 16], b[16 * 8];
    float c[16 * 8];
    CUdeviceptr bindings[] = {d->memory + AT_A, d->memory + AT_B, d->memory + AT_C, 0};
    for (int i = 0; i < 16 * 16; ++i) a[i] = bits_of(left(i / 16, i % 16), mode % 2);
    for (int i = 0; i < 16 * 8; ++i) b[i] = bits_of(right(i / 8, i % 8), mode % 2);
    for (int i = 0; i < 16 * 8; ++i) c[i] = (float)i;
    write_words(d, AT_A, a, sizeof a / 4), write_words(d, AT_B, b, sizeof b / 4), write_words(d, AT_C, c, sizeof c / 4);
    assert_cuda(launch(d, 1, 32, (params_t){.mode = mode}, bindings, 4));
    read_words(d, AT_C, c, sizeof c / 4);
    for (int i = 0; i < 16 * 8; ++i) {
        float want = (float)i;
        for (int k = 0; k < 16; ++k) want += left(i / 8, k) * right(k, i % 8);
        if (c[i] != want) fail_msg("mode %u, row %d, column %d: %g instead of %g", mode, i / 8, i % 8, (double)c[i], (double)want);
    }
}

static void fragments_lie_as_documented(void **state) {
    (void)state;
    device_t d = open_device("probe_warp");
    for (uint32_t mode = 0; mode < 4; ++mode) multiply(&d, mode);
    close_device(&d);
}

// ---- Fragments by the words of cl/matrix/fragments.h ---------------------------------------------------------------------

static float product_of(int row, int column, int depth) {
    float sum = 0;
    for (int k = 0; k < depth; ++k) sum += left(row, k) * right(k, column);
    return sum;
}

static void fragments_are_loaded_multiplied_and_stored(void **state) {
    (void)state;
    device_t d = open_device("probe_fragments");
    for (uint32_t mode = 0; mode < 2; ++mode) {
        uint16_t a[16 * 16], b[16 * 8], halves[16 * 8];
        float c[16 * 8];
        CUdeviceptr bindings[] = {d.memory + AT_A, d.memory + AT_B, d.memory + AT_C, d.memory + AT_SHUFFLED};
        for (int i = 0; i < 16 * 16; ++i) a[i] = bits_of(mode ? left(i % 16, i / 16) : left(i / 16, i % 16), true);
        for (int i = 0; i < 16 * 8; ++i) b[i] = bits_of(mode ? right(i % 16, i / 16) : right(i / 8, i % 8), true);
        write_words(&d, AT_A, a, sizeof a / 4), write_words(&d, AT_B, b, sizeof b / 4);
        assert_cuda(launch(&d, 1, 32, (params_t){.mode = mode}, bindings, 4));
        read_words(&d, AT_C, c, sizeof c / 4), read_words(&d, AT_SHUFFLED, halves, sizeof halves / 4);
        for (int i = 0; i < 16 * 8; ++i) {
            const float want = product_of(i / 8, i % 8, 16);
            if (c[i] != want) fail_msg("mode %u, row %d, column %d: %g instead of %g", mode, i / 8, i % 8, (double)c[i], (double)want);
            assert_int_equal(halves[i], emulated_float_to_half(want));
        }
    }
    close_device(&d);
}

// One text multiplies by cooperative matrices in Vulkan and by mma in CUDA: every way in which operands may be stored, whole vectors of
// eight halves or not, edges of tiles.
static void one_kernel_multiplies_by_fragments(void **state) {
    enum { EIGHTS = 4 };
    (void)state;
    for (unsigned way = 0; way < 8; ++way) {
        const bool across_a = way & 1, across_b = way & 2, eights = way & EIGHTS;
        const int m = eights ? 40 : 37, n = eights ? 24 : 19, k = eights ? 48 : 45, lda = across_a ? m : k, ldb = across_b ? k : n;
        const constant_t constants[] = {{"N_STEPS", 0},
                                        {"STEP0", 0},
                                        {"STEP1", 0},
                                        {"STEP2", 0},
                                        {"STEP3", 0},
                                        {"STEP4", 0},
                                        {"STEP5", 0},
                                        {"TRANSPOSE_A", across_a},
                                        {"TRANSPOSE_B", across_b},
                                        {"HAS_ADDEND", 0},
                                        {"HAS_BIAS", 0},
                                        {"FRAGMENT_M", 16},
                                        {"FRAGMENT_N", 8},
                                        {"FRAGMENT_K", 16},
                                        {"ROWS", 1},
                                        {"COLUMNS", 2},
                                        {"GROUP_ROWS", 2},
                                        {"GROUP_COLUMNS", 1},
                                        {"DEPTH", 32},
                                        {"EIGHTS_A", eights},
                                        {"EIGHTS_B", eights},
                                        {"DT_extra4", 0},
                                        {"DT_extra5", 0},
                                        {"DT_c", 0},
                                        {NULL, 0}};
        device_t d = open_kernel("probe_product", "matmul_matrix", constants);
        uint16_t a[64 * 64] = {0}, b[64 * 64] = {0};
        float c[40 * 24];
        CUdeviceptr bindings[9] = {d.memory, d.memory + 8192, 0, 0, 0, 0, 0, 0, d.memory + 16384};
        matmul_matrix_params_t params = {.m = (uint32_t)m,
                                         .n = (uint32_t)n,
                                         .k = (uint32_t)k,
                                         .lda = (uint32_t)lda,
                                         .ldb = (uint32_t)ldb,
                                         .ldc = (uint32_t)n,
                                         .part_depth = (uint32_t)k};
        for (int row = 0; row < m; ++row)
            for (int i = 0; i < k; ++i) a[across_a ? i * lda + row : row * lda + i] = bits_of(left(row, i), true);
        for (int i = 0; i < k; ++i)
            for (int column = 0; column < n; ++column) b[across_b ? column * ldb + i : i * ldb + column] = bits_of(right(i, column), true);
        write_words(&d, 0, a, sizeof a / 4), write_words(&d, 8192, b, sizeof b / 4);
        assert_cuda(launch_kernel(&d, (unsigned)((m + 31) / 32 * ((n + 15) / 16)), WG, &params, bindings, 9));
        read_words(&d, 16384, c, (size_t)m * (size_t)n);
        for (int i = 0; i < m * n; ++i) {
            const float want = product_of(i / n, i % n, k);
            if (c[i] != want) fail_msg("way %u, row %d, column %d: %g instead of %g", way, i / n, i % n, (double)c[i], (double)want);
        }
        close_device(&d);
    }
}

static void shuffles_take_from_other_lanes(void **state) {
    uint32_t got[4 * 128];
    (void)state;
    device_t d = open_device("probe_warp");
    CUdeviceptr bindings[] = {0, 0, 0, d.memory + AT_SHUFFLED};
    assert_cuda(launch(&d, 2, WG, (params_t){.mode = 4}, bindings, 4));
    read_words(&d, AT_SHUFFLED, got, 4 * 128);
    for (uint32_t i = 0; i < 128; ++i) {
        assert_int_equal(got[4 * i], 100 * (i / 32 * 32 + 5));
        assert_int_equal(got[4 * i + 1], 100 * (i ^ 9));
        assert_int_equal(got[4 * i + 2], 100 * (i % 32 < 29 ? i + 3 : i));
        assert_int_equal(got[4 * i + 3], 31 * 32 / 2);
    }
    close_device(&d);
}

static void halves_are_rounded_as_documented(void **state) {
    static const struct {
        float from;
        uint16_t bits;
    } cases[] = {{0, 0},
                 {-0.0f, 0x8000},
                 {1, 0x3C00},
                 {65504, 0x7BFF},
                 {65519.996f, 0x7BFF},
                 {65520, 0x7C00},
                 {-1e9f, 0xFC00},
                 {0x1p-14f, 0x0400},
                 {0x1p-24f, 1},
                 {0x1p-25f, 0},
                 {0x1.8p-24f, 2},
                 {0x1.002p0f, 0x3C00},
                 {0x1.006p0f, 0x3C02},
                 {0x1.ff8p-15f, 0x03FF},
                 {0x1.ffcp-15f, 0x0400},
                 {-INFINITY, 0xFC00},
                 {NAN, 0x7FFF}};
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) assert_int_equal(emulated_float_to_half(cases[i].from), cases[i].bits);
    for (uint32_t bits = 0; bits < 65536; ++bits)
        if ((bits & 0x7C00) != 0x7C00 || !(bits & 0x3FF))
            assert_int_equal(emulated_float_to_half(emulated_half_to_float((uint16_t)bits)), bits);
}

// ---- What is forbidden -----------------------------------------------------------------------------------------------

static void what_is_right_passes_in_any_order(void **state) {
    static const char *const orders[] = {"forward", "backward", "mixed"};
    (void)state;
    for (size_t o = 0; o < BPT_COUNT(orders); ++o) {
        device_t d = open_device("probe_faults");
        CUdeviceptr bindings[] = {d.memory, 0};
        uint32_t sums[3];
        setenv("BPT_EMULATOR_ORDER", orders[o], 1);
        assert_cuda(launch(&d, 3, WG, (params_t){.mode = 0}, bindings, 2));
        read_words(&d, 0, sums, 3);
        for (int i = 0; i < 3; ++i) assert_int_equal(sums[i], WG * (WG - 1) / 2);
        close_device(&d);
    }
    unsetenv("BPT_EMULATOR_ORDER");
}

// After a fault everything fails until the device is opened again, and then works.
static void what_is_forbidden_is_seen(void **state) {
    static const struct {
        params_t params;
        CUdeviceptr skew;  // of vectors
        CUresult fault;
    } cases[] = {
        {{.mode = 1}, 0, CUDA_ERROR_LAUNCH_FAILED},                // a barrier that some threads reach
        {{.mode = 2}, 0, CUDA_ERROR_LAUNCH_FAILED},                // two barriers, and each thread at one of them
        {{.mode = 3, .other = 1}, 0, CUDA_ERROR_ILLEGAL_ADDRESS},  // beyond the end of local memory
        {{.mode = 4}, 4, CUDA_ERROR_MISALIGNED_ADDRESS},
        {{.mode = 5}, 0, CUDA_ERROR_LAUNCH_FAILED},              // an operation of the warp without one of its lanes
        {{.mode = 6}, 0, CUDA_ERROR_LAUNCH_FAILED},              // two operations of the warp at once
        {{.mode = 7, .other = 4}, 0, CUDA_ERROR_LAUNCH_FAILED},  // a row of a matrix at no multiple of 16 bytes
        {{.mode = 7, .other = 4096}, 0, CUDA_ERROR_LAUNCH_FAILED},
        {{.mode = 8, .other = 32}, 0, CUDA_ERROR_LAUNCH_FAILED},
        {{.mode = 11}, 0, CUDA_ERROR_ILLEGAL_ADDRESS},  // far beyond all memory
    };
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        device_t d = open_device("probe_faults");
        CUdeviceptr bindings[] = {d.memory, d.memory + 1024 + cases[i].skew}, more;
        if (launch(&d, 2, WG, cases[i].params, bindings, 2) != cases[i].fault) fail_msg("case %zu is not seen", i);
        assert_int_equal(cuda->cuMemAlloc(&more, 16), cases[i].fault);
        close_device(&d);
    }
}

static void an_address_that_is_none_is_seen(void **state) {
    uint32_t host[WG];
    (void)state;
    device_t d = open_device("probe_faults");
    CUdeviceptr bindings[] = {(CUdeviceptr)(uintptr_t)host, 0};
    assert_int_equal(launch(&d, 1, WG, (params_t){.mode = 0}, bindings, 2), CUDA_ERROR_ILLEGAL_ADDRESS);
    close_device(&d);
}

static void run_in_order(device_t *d, uint32_t mode, const char *order, uint32_t words[WG]) {
    CUdeviceptr bindings[] = {d->memory, 0};
    setenv("BPT_EMULATOR_ORDER", order, 1);
    assert_cuda(launch(d, 1, WG, (params_t){.mode = mode}, bindings, 2));
    unsetenv("BPT_EMULATOR_ORDER");
    read_words(d, 0, words, WG);
}

static void a_race_gives_other_bits_in_another_order(void **state) {
    uint32_t forward[WG], backward[WG], unwritten[WG];
    (void)state;
    device_t d = open_device("probe_faults");
    run_in_order(&d, 9, "forward", forward);
    run_in_order(&d, 9, "backward", backward);
    assert_memory_not_equal(forward, backward, sizeof forward);
    run_in_order(&d, 10, "forward", unwritten);
    for (int i = 0; i < WG; ++i) assert_true(isnan(emulated_float(unwritten[i])));  // local memory is not zero
    close_device(&d);
}

static int load(void **state) {
    (void)state;
    setenv("BPT_CUDA_LIBRARY", CUDA_EMULATOR, 1);
    setenv("BPT_NVRTC_LIBRARY", CUDA_EMULATOR, 1);
    return bpt_cuda_load(&cuda) == BPT_OK && bpt_nvrtc_load(&nvrtc) == BPT_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fragments_lie_as_documented),
        cmocka_unit_test(fragments_are_loaded_multiplied_and_stored),
        cmocka_unit_test(one_kernel_multiplies_by_fragments),
        cmocka_unit_test(shuffles_take_from_other_lanes),
        cmocka_unit_test(halves_are_rounded_as_documented),
        cmocka_unit_test(what_is_right_passes_in_any_order),
        cmocka_unit_test(what_is_forbidden_is_seen),
        cmocka_unit_test(an_address_that_is_none_is_seen),
        cmocka_unit_test(a_race_gives_other_bits_in_another_order),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
#else
#include "support/support.h"

int main(void) { return test_skip_program(NO_CUDA_EMULATOR); }
#endif
