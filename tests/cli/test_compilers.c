// The kernels through the compilers of GPUs that are not here: Mesa's RADV for AMD, Intel's ocloc, NVIDIA's NVRTC. `bpt doctor --compile`
// compiles every kernel that a device would use; none may fail, spill registers, or ask for more local memory than the device has.
// A compiler that is missing is a skip, or a failure where BPT_REQUIRE_COMPILERS (radv,ocloc,nvrtc) names it. The first family of each
// compiler runs by default and in f32; BPT_ALL_FAMILIES=1 compiles for all of them, in every number type.
#include <ctype.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/base.h"
#include "support/process.h"

typedef struct {
    const char *compiler, *backend;
    const char *names[3];  // of the family, as versions of the compiler call it; NULL after the last
    bool first;            // runs by default
    int local_bytes;       // that the device has for a work-group
    int least_subgroup;    // work-items side by side; fewer leave most of the device idle
} family_t;

static const family_t families[] = {
    {"radv", "vulkan", {"POLARIS10"}, true, 65536, 64},          // GFX8
    {"radv", "vulkan", {"VEGA10"}, true, 65536, 64},             // GFX9
    {"radv", "vulkan", {"RAVEN"}, true, 65536, 64},              // GFX9, an APU
    {"radv", "vulkan", {"NAVI21"}, true, 65536, 32},             // GFX10.3
    {"radv", "vulkan", {"NAVI31", "GFX1100"}, true, 65536, 32},  // GFX11
    {"radv", "vulkan", {"GFX1201"}, false, 65536, 32},           // GFX12, of Mesa 26
    {"ocloc", "opencl", {"skl"}, false, 65536, 8},               // Gen9
    {"ocloc", "opencl", {"icllp"}, false, 65536, 8},             // Gen11
    {"ocloc", "opencl", {"tgllp"}, false, 65536, 8},             // Xe-LP
    {"ocloc", "opencl", {"dg2-g10"}, true, 65536, 8},            // Xe-HPG
    {"nvrtc", "cuda", {"sm_75"}, false, 49152, 32},
    {"nvrtc", "cuda", {"sm_80"}, true, 49152, 32},
    {"nvrtc", "cuda", {"sm_86"}, false, 49152, 32},
    {"nvrtc", "cuda", {"sm_89"}, false, 49152, 32},
    {"nvrtc", "cuda", {"sm_90"}, false, 49152, 32},
    {"nvrtc", "cuda", {"sm_120"}, false, 49152, 32},
};

static bool all_families(void) {
    const char *all = getenv("BPT_ALL_FAMILIES");
    return all && !strcmp(all, "1");
}

static void not_tested(const family_t *f, const char *why) {
    const char *required = getenv("BPT_REQUIRE_COMPILERS");
    if (required && strstr(required, f->compiler))
        fail_msg("BPT_REQUIRE_COMPILERS=%s, but %s for %s: %s", required, f->compiler, f->names[0], why);
    print_message("not tested: %s for %s: %s\n", f->compiler, f->names[0], why);
    skip();
}

// Has the program see RADV alone, and in it a GPU of this name: a device without hardware, as Mesa has them up to 25, or the one that
// mesa-drm-shim pretends. False: it is not installed.
static bool choose_radv(const char *name, bool shim) {
    const char *file = getenv("BPT_RADV_ICD");
    char id[32] = "";
    glob_t drivers = {0}, shims = {0};
    if (!file && !glob("/usr/share/vulkan/icd.d/radeon_icd*.json", 0, NULL, &drivers)) file = drivers.gl_pathv[0];
    const bool found = file && (!shim || !glob("/usr/lib/*/libamdgpu_noop_drm_shim.so", 0, NULL, &shims));
    for (size_t i = 0; name[i] && i + 1 < sizeof id; ++i) id[i] = (char)tolower((unsigned char)name[i]);
    if (found) {
        setenv("VK_DRIVER_FILES", file, 1);
        setenv("VK_ICD_FILENAMES", file, 1);
        setenv(shim ? "AMDGPU_GPU_ID" : "RADV_FORCE_FAMILY", shim ? id : name, 1);
        if (shim) setenv("LD_PRELOAD", shims.gl_pathv[0], 1);
    }
    globfree(&drivers);
    globfree(&shims);
    return found;
}

static void forget_radv(void) {
    static const char *const names[] = {"VK_DRIVER_FILES", "VK_ICD_FILENAMES", "RADV_FORCE_FAMILY", "AMDGPU_GPU_ID", "LD_PRELOAD"};
    for (size_t i = 0; i < BPT_COUNT(names); ++i) unsetenv(names[i]);
}

static int64_t number(const json_t *line, const char *key) {
    const json_t *value = json_object_get(line, key);
    return value ? json_integer_value(value) : -1;
}

static void check_kernel(const family_t *f, const json_t *line, int *wrong) {
    const char *kernel = json_string_value(json_object_get(line, "kernel")), *variant = json_string_value(json_object_get(line, "variant"));
    const int64_t spilled = number(line, "spilled"), local = number(line, "local_bytes"), width = number(line, "subgroup");
    const bool said = number(line, "code_bytes") > 0 && local >= 0 && width > 0;
    if (said && spilled == 0 && local <= f->local_bytes && width >= f->least_subgroup) return;
    print_message("%s (%s): %lld spilled, %lld bytes of local memory, %lld items side by side\n", kernel, variant, (long long)spilled,
                  (long long)local, (long long)width);
    ++*wrong;
}

// One family: the answer of the program, in JSON.
static void check_answer(const family_t *f, const char *text) {
    json_error_t error;
    json_t *devices = json_loads(text, 0, &error);
    const json_t *device = json_array_get(devices, 0), *kernels = json_object_get(device, "kernels");
    int wrong = 0;
    size_t i;
    json_t *line;
    if (!device) fail_msg("no JSON: %s: %.300s", error.text, text);
    assert_true(json_array_size(kernels) > 60);
    json_array_foreach(kernels, i, line) check_kernel(f, line, &wrong);
    print_message("%s: %zu kernels by %s\n", json_string_value(json_object_get(device, "device")), json_array_size(kernels),
                  json_string_value(json_object_get(device, "driver")));
    json_decref(devices);
    assert_int_equal(wrong, 0);
}

static void every_kernel_suits(void **state) {
    const family_t *f = *state;
    char command[160], why[400] = "its compiler is not installed";
    if (!f->first && !all_families()) {
        print_message("left to BPT_ALL_FAMILIES=1\n");
        skip();
    }
    const bool radv = !strcmp(f->compiler, "radv");
    for (int i = 0; i < (radv ? 6 : 3); ++i) {  // of RADV each name as a device without hardware, then as a pretended one
        const char *name = f->names[i % 3];
        if (!name || (radv && !choose_radv(name, i >= 3))) continue;
        snprintf(command, sizeof command, "doctor --compile --json --backend %s --device %s%s", f->backend, radv ? "0" : name,
                 all_families() ? "" : " --precision f32");
        test_process_t p = test_run_line(command);
        if (radv) forget_radv();
        const bool compiled = p.out[0] == '[';
        if (compiled && p.exit_status) fail_msg("%s: %s", name, p.err);
        if (compiled) check_answer(f, p.out);
        snprintf(why, sizeof why, "%.390s", p.err);
        test_process_free(&p);
        if (compiled) return;
    }
    not_tested(f, why);
}

// It compiles and nothing else, and whoever would run on it is told.
static void a_pretended_device_is_for_compiling(void **state) {
    (void)state;
    bool seen = false;
    for (int shim = 0; shim < 2; ++shim) {
        if (!choose_radv("NAVI21", shim)) continue;
        test_process_t p = test_run_line("bench train --backend vulkan --layers 1 --d-model 16 --heads 2");
        const bool pretended = strstr(p.err, "has Mesa pretend this device, which runs nothing; `bpt doctor --compile`") != NULL;
        if (!p.exit_status || (!pretended && !strstr(p.err, "RADV_FORCE_FAMILY is set, but this Mesa has no"))) fail_msg("%s", p.err);
        test_process_free(&p);
        p = test_run_line("doctor --backend vulkan");
        if (pretended && (p.exit_status != 1 || !strstr(p.out, "not usable: ") || strstr(p.out, "FAILED"))) fail_msg("%s", p.out);
        test_process_free(&p);
        forget_radv();
        seen = true;
    }
    if (!seen) skip();
}

// A name that no compiler knows is refused with those that are known.
static void an_unknown_device_is_refused(void **state) {
    (void)state;
    test_process_t p = test_run_to(1, "doctor --compile --device no-such-gpu");
    if (!strstr(p.err, "no-such-gpu") && !strstr(p.err, "cannot be opened") && !strstr(p.err, "compile")) fail_msg("%s", p.err);
    test_process_free(&p);
    p = test_run_to(2, "doctor --json");
    assert_non_null(strstr(p.err, "--compile"));
    test_process_free(&p);
}

int main(void) {
    struct CMUnitTest tests[BPT_COUNT(families) + 2] = {cmocka_unit_test(an_unknown_device_is_refused),
                                                        cmocka_unit_test(a_pretended_device_is_for_compiling)};
    static char names[BPT_COUNT(families)][64];
    for (size_t i = 0; i < BPT_COUNT(families); ++i) {
        snprintf(names[i], sizeof names[i], "%s/%s", families[i].compiler, families[i].names[0]);
        tests[i + 2] = (struct CMUnitTest){.name = names[i], .test_func = every_kernel_suits, .initial_state = (void *)&families[i]};
    }
    const char *wanted = getenv("BPT_CASE");  // the tests whose name contains the text
    char pattern[80];
    if (wanted) {
        snprintf(pattern, sizeof pattern, "*%s*", wanted);
        cmocka_set_test_filter(pattern);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
