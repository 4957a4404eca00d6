// Every kernel in CUDA, compiled by NVRTC, which needs no GPU. Of the variants that the lowering asks for on all cases of the conformance
// tests the last one of each kernel (and the last with matrix units, from sm_80 on), with BPT_ALL_VARIANTS=1 every one, becomes assembly
// for sm_75 and machine code for sm_80, sm_90a and sm_120. Without NVRTC the tests are skipped, or fail when BPT_REQUIRE_CUDA_COMPILE=1.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef BPT_WITH_CUDA
#include "backends/cuda/compile.h"
#include "backends/cuda/texts.h"
#include "backends/gpu/backend.h"
#include "bpt/alloc.h"
#include "support/case.h"
#include "support/check.h"
#include "support/dialect.h"
#include "support/library.h"

// ---- A driver that notes the variants --------------------------------------------------------------------------------

struct bpt_gpu_memory {
    char unused;
};
struct bpt_gpu_program {
    char unused;
};
struct bpt_gpu_commands {
    char unused;
};

static struct {
    bpt_gpu_api_t api;
    const char *type;  // of device
    bool mma;          // that it has
    bpt_gpu_variant_t *variants;
    size_t count, capacity;
} notes;

extern const bpt_gpu_driver_t notes_driver;

static bpt_status_t enumerate(bpt_device_info_t *infos, int capacity, int *count) {
    *count = 1;
    if (capacity < 1) return BPT_OK;
    infos[0] = (bpt_device_info_t){.name = "a device of notes", .usable = true, .bf16 = true};
    snprintf(infos[0].type, sizeof infos[0].type, "%s", notes.type);
    return BPT_OK;
}

static bpt_status_t open_notes(int index, bpt_gpu_api_t **out) {
    (void)index;
    notes.api = (bpt_gpu_api_t){.driver = &notes_driver,
                                .limits = {.max_groups = {INT32_MAX, 65535, 65535},
                                           .max_group_size = 1024,
                                           .local_bytes = 49152,
                                           .max_binding_bytes = UINT64_C(1) << 36,
                                           .max_allocation_bytes = UINT64_C(1) << 36,
                                           .memory_bytes = UINT64_C(1) << 36,
                                           .offset_alignment = 1,
                                           .f16 = true,
                                           .mma = notes.mma}};
    *out = &notes.api;
    return BPT_OK;
}

static void close_notes(bpt_gpu_api_t *api) { (void)api; }

static bpt_status_t memory_create(bpt_gpu_api_t *api, size_t bytes, bpt_gpu_memory_t **out) {
    (void)api, (void)bytes;
    return bpt_alloc(1, sizeof **out, out);
}

static void memory_destroy(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory) {
    (void)api;
    bpt_free(memory);
}

static bpt_status_t program_create(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out) {
    (void)api;
    BPT_TRY(bpt_grow(&notes.variants, notes.count, &notes.capacity, sizeof *notes.variants));
    notes.variants[notes.count++] = *variant;
    return bpt_alloc(1, sizeof **out, out);
}

static void program_destroy(bpt_gpu_api_t *api, bpt_gpu_program_t *program) {
    (void)api;
    bpt_free(program);
}

static bpt_status_t commands_create(bpt_gpu_api_t *api, bpt_gpu_commands_t **out) {
    (void)api;
    return bpt_alloc(1, sizeof **out, out);
}

static void commands_destroy(bpt_gpu_api_t *api, bpt_gpu_commands_t *commands) {
    (void)api;
    bpt_free(commands);
}

static bpt_status_t dispatch(bpt_gpu_commands_t *commands, const bpt_gpu_dispatch_t *d) {
    (void)commands, (void)d;
    return BPT_OK;
}

static bpt_status_t nothing(bpt_gpu_commands_t *commands) {
    (void)commands;
    return BPT_OK;
}

static bool product_can(bpt_gpu_api_t *api, const bpt_gpu_product_t *p) {
    (void)api;
    return !p->masked || p->result != BPT_F32;
}

static bpt_status_t product_scratch(bpt_gpu_api_t *api, const bpt_gpu_product_t *p, size_t *bytes) {
    (void)api, (void)p;
    *bytes = 0;
    return BPT_OK;
}

static bpt_status_t product(bpt_gpu_commands_t *commands, const bpt_gpu_product_t *p) {
    (void)commands, (void)p;
    return BPT_OK;
}

const bpt_gpu_driver_t notes_driver = {
    .enumerate = enumerate,
    .open = open_notes,
    .close = close_notes,
    .memory_create = memory_create,
    .memory_destroy = memory_destroy,
    .program_create = program_create,
    .program_destroy = program_destroy,
    .commands_create = commands_create,
    .commands_destroy = commands_destroy,
    .dispatch = dispatch,
    .barrier = nothing,
    .mark = nothing,
    .finish = nothing,
    .product_flops = 1e12,
    .product_can = product_can,
    .product_scratch = product_scratch,
    .product = product,
};

static const bpt_backend_t notes_backend = {.name = "notes"};

// ---- What the lowering asks for --------------------------------------------------------------------------------------

static const test_family_t *const families[] = {
#define TEST_FAMILY(name) &test_##name##_cases,
#include "conformance/cases.def"
};

// Records the call of a case with all operands in one buffer; nothing is computed, so they may overlap.
static void record(bpt_device_t *device, const test_case_t *c) {
    bpt_op_call_t call = c->call;
    bpt_buffer_t *buffer;
    bpt_list_t *list;
    size_t bytes = 0, largest = 1;
    if (call.op == BPT_OP_MATMUL && call.attrs.matmul.packed_b) return;  // no kernel of GPUs multiplies numbers of 8 bits
    assert_ok(bpt_gpu_op(device, &call, NULL, &bytes));
    for (int i = 0; i < BPT_MAX_INPUTS + BPT_MAX_OUTPUTS; ++i) {
        const bpt_operand_t *o = i < BPT_MAX_INPUTS ? &call.in[i] : &call.out[i - BPT_MAX_INPUTS];
        if (o->present && test_operand_bytes(o) > largest) largest = test_operand_bytes(o);
    }
    assert_ok(bpt_gpu_buffer_create(device, largest, &buffer));
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) call.in[i].buffer = buffer;
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) call.out[i].buffer = buffer;
    call.scratch = (bpt_operand_t){.buffer = buffer, .present = true};
    assert_ok(bpt_gpu_list_create(device, &list));
    assert_ok(bpt_gpu_op(device, &call, list, NULL));
    assert_ok(bpt_gpu_list_seal(list));
    bpt_gpu_list_destroy(device, list);
    bpt_gpu_buffer_destroy(device, buffer);
}

// On a device in software, whose products take another kernel, on GPUs without and with matrix units, and on one with a library of
// products.
static int note_variants(void **state) {
    (void)state;
    for (int d = 0; d < 4; ++d) {
        bpt_device_t *device;
        notes.type = d == 0 ? "software" : "discrete";
        notes.mma = d == 2;
        assert_ok(bpt_gpu_open(&notes_backend, &notes_driver, 0, NULL, &device));
        if (d == 3) test_take_library(device);
        for (size_t f = 0; f < BPT_COUNT(families); ++f)
            for (size_t i = 0; i < families[f]->count(); ++i) {
                test_case_t c;
                families[f]->make(i, &c);
                record(device, &c);
            }
        bpt_gpu_close(device);
    }
    return 0;
}

static int forget_variants(void **state) {
    (void)state;
    bpt_free(notes.variants);
    return 0;
}

static bool seen_before(size_t v) {
    for (size_t i = 0; i < v; ++i)
        if (!memcmp(&notes.variants[i], &notes.variants[v], sizeof *notes.variants)) return true;
    return false;
}

// Whether its products are for matrix units.
static bool needs_matrix_units(size_t v) {
    const bpt_gpu_kernel_info_t *info = &bpt_gpu_kernels[notes.variants[v].kernel];
    const char *const *names = info->constants;
    if (info->needs == BPT_GPU_NEEDS_WARPS) return true;
    for (int c = 0; names[c]; ++c)
        if (!strcmp(names[c], "MATRIX")) return notes.variants[v].constants[c] != 0;
    return false;
}

// Whether a variant is compiled: the last one of its kernel, without and with matrix units, or every one.
static bool is_chosen(size_t v) {
    if (getenv("BPT_ALL_VARIANTS")) return !seen_before(v);
    for (size_t i = v + 1; i < notes.count; ++i)
        if (notes.variants[i].kernel == notes.variants[v].kernel && needs_matrix_units(i) == needs_matrix_units(v)) return false;
    return true;
}

// ---- Tests -----------------------------------------------------------------------------------------------------------

static void not_tested(const char *why) {
    const char *required = getenv("BPT_REQUIRE_CUDA_COMPILE");
    if (required && !strcmp(required, "1")) fail_msg("BPT_REQUIRE_CUDA_COMPILE=1, but: %s", why);
    print_message("not tested: %s\n", why);
    skip();
}

static const bpt_nvrtc_functions_t *compiler(void) {
    const bpt_nvrtc_functions_t *nvrtc = NULL;
    if (bpt_nvrtc_load(&nvrtc) != BPT_OK) not_tested(bpt_error_message());
    return nvrtc;
}

static void compile(const bpt_nvrtc_functions_t *nvrtc, size_t v, const char *arch, const char *beginning) {
    char *image = NULL;
    size_t bytes = 0;
    if (bpt_cuda_compile(nvrtc, &notes.variants[v], arch, &image, &bytes) != BPT_OK)
        fail_msg("%s: %s", bpt_gpu_kernels[notes.variants[v].kernel].name, bpt_error_message());
    assert_true(bytes > 64);
    assert_memory_equal(image, beginning, strlen(beginning));
    bpt_free(image);
}

static void every_kernel_is_asked_for(void **state) {
    bool asked[BPT_GPU_KERNEL_COUNT] = {false};
    (void)state;
    for (size_t v = 0; v < notes.count; ++v) asked[notes.variants[v].kernel] = true;
    for (int k = 0; k < BPT_GPU_KERNEL_COUNT; ++k)
        if (!asked[k] && bpt_gpu_cuda_text[k]) fail_msg("no case of the conformance tests uses the kernel %s", bpt_gpu_kernels[k].name);
}

static void compile_chosen(const bpt_nvrtc_functions_t *nvrtc, const char *arch, bool matrix_units, const char *beginning) {
    int count = 0, with_matrix_units = 0;
    for (size_t v = 0; v < notes.count; ++v) {
        if (!is_chosen(v) || (needs_matrix_units(v) && !matrix_units)) continue;
        compile(nvrtc, v, arch, beginning);
        ++count;
        with_matrix_units += needs_matrix_units(v);
    }
    assert_true(with_matrix_units > 0 || !matrix_units);
    print_message("NVRTC %d.%d: %d variants of %d kernels for %s, %d of them with matrix units\n", nvrtc->major, nvrtc->minor, count,
                  (int)BPT_GPU_KERNEL_COUNT, arch, with_matrix_units);
}

static void kernels_become_assembly(void **state) {
    (void)state;
    compile_chosen(compiler(), "compute_75", false, "//");
}

static void kernels_become_machine_code(void **state) {
    const char *arch = *state;
    const bpt_nvrtc_functions_t *nvrtc = compiler();
    bool known = false;
    for (int i = 0; i < nvrtc->n_archs; ++i) known = known || nvrtc->archs[i] == atoi(arch + 3);
    if (!known) not_tested("NVRTC does not know the architecture");
    compile_chosen(nvrtc, arch, true,
                   "\x7F"
                   "ELF");
}

static void an_error_is_told_with_its_place(void **state) {
    const bpt_nvrtc_functions_t *nvrtc = compiler();
    const bpt_gpu_variant_t variant = {.kernel = BPT_GPU_sum_all, .group_size = 0};  // local arrays without elements
    char *image = NULL;
    size_t bytes;
    (void)state;
    assert_fails(bpt_cuda_compile(nvrtc, &variant, "sm_80", &image, &bytes), BPT_ERR_UNSUPPORTED, "cl/rows/sum_all.inc");
    assert_null(image);
    assert_fails(bpt_cuda_compile(nvrtc, &variant, "sm_1", &image, &bytes), BPT_ERR_UNSUPPORTED, "sm_1");
}

// Kernels of the emulator's tests: cl/dialect/warp.h, cl/matrix/fragments.h, and the kernel that multiplies by fragments.
static void operations_of_warps_become_machine_code(void **state) {
    static const char *const archs[] = {"--gpu-architecture=sm_80", "--gpu-architecture=sm_90"};
    static const char *const probes[] = {"warp", "fragments", "product"};
    static const char *const constants[] = {
        "-DWG=64u",        "-DN_STEPS=0u",       "-DSTEP0=0u",       "-DSTEP1=0u",      "-DSTEP2=0u",    "-DSTEP3=0u",     "-DSTEP4=0u",
        "-DSTEP5=0u",      "-DTRANSPOSE_A=1u",   "-DTRANSPOSE_B=0u", "-DHAS_ADDEND=0u", "-DHAS_BIAS=0u", "-DROWS=1u",      "-DCOLUMNS=2u",
        "-DGROUP_ROWS=2u", "-DGROUP_COLUMNS=1u", "-DDEPTH=32u",      "-DEIGHTS_A=0u",   "-DEIGHTS_B=1u", "-DDT_extra4=0u", "-DDT_extra5=0u",
        "-DDT_c=0u",       "-DFRAGMENT_M=16u",   "-DFRAGMENT_N=8u",  "-DFRAGMENT_K=16u"};
    const bpt_nvrtc_functions_t *nvrtc = compiler();
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(archs) * BPT_COUNT(probes); ++i) {
        const char *options[1 + BPT_COUNT(constants)] = {archs[i % 2]}, *probe = probes[i / 2];
        char path[64], log[2000] = "", *text;
        nvrtcProgram program;
        size_t bytes = 0;
        memcpy(options + 1, constants, sizeof constants);
        snprintf(path, sizeof path, "tests/emulator/probe_%s.cl", probe);
        text = test_cuda_text(path);
        assert_int_equal(nvrtc->nvrtcCreateProgram(&program, text, "probe.cu", 0, NULL, NULL), NVRTC_SUCCESS);
        const nvrtcResult code = nvrtc->nvrtcCompileProgram(program, strcmp(probe, "product") ? 2 : (int)BPT_COUNT(options), options);
        if (nvrtc->nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS && bytes <= sizeof log) nvrtc->nvrtcGetProgramLog(program, log);
        nvrtc->nvrtcDestroyProgram(&program);
        free(text);
        if (code != NVRTC_SUCCESS) fail_msg("%s, %s: %s", path, archs[i % 2], log);
    }
}

static void the_image_suits_the_device(void **state) {
    const bpt_nvrtc_functions_t nvrtc = {.major = 13, .archs = {75, 80, 86, 90, 100, 120}, .n_archs = 6};
    static const struct {
        int capability;
        const char *arch;
    } cases[] = {{75, "sm_75"},   {80, "sm_80"},        {89, "sm_86"},   {90, "sm_90"},
                 {103, "sm_100"}, {110, "compute_100"}, {121, "sm_120"}, {130, "compute_120"}};
    char arch[24];
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        assert_ok(bpt_cuda_arch(&nvrtc, cases[i].capability, arch));
        assert_string_equal(arch, cases[i].arch);
    }
    assert_fails(bpt_cuda_arch(&nvrtc, 61, arch), BPT_ERR_UNSUPPORTED, "6.1");
}

int main(void) {
    static const char *const archs[] = {"sm_80", "sm_90a", "sm_120"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_is_asked_for),
        cmocka_unit_test(kernels_become_assembly),
        {.name = "kernels_become_machine_code/sm_80", .test_func = kernels_become_machine_code, .initial_state = (void *)archs[0]},
        {.name = "kernels_become_machine_code/sm_90a", .test_func = kernels_become_machine_code, .initial_state = (void *)archs[1]},
        {.name = "kernels_become_machine_code/sm_120", .test_func = kernels_become_machine_code, .initial_state = (void *)archs[2]},
        cmocka_unit_test(operations_of_warps_become_machine_code),
        cmocka_unit_test(an_error_is_told_with_its_place),
        cmocka_unit_test(the_image_suits_the_device),
    };
    setenv("BPT_DISABLE", "cache", 1);
    return cmocka_run_group_tests(tests, note_variants, forget_variants);
}
#else
static void not_compiled_in(void **state) {
    const char *required = getenv("BPT_REQUIRE_CUDA_COMPILE");
    (void)state;
    if (required && !strcmp(required, "1")) fail_msg("BPT_REQUIRE_CUDA_COMPILE=1, but the CUDA backend is not compiled in");
    print_message("cuda: not compiled in\n");
    skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(not_compiled_in)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
