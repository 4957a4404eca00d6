// The kernels through the compilers of GPUs that are not here: Mesa's RADV for AMD and ANV for Intel, Intel's ocloc, NVIDIA's
// NVRTC. `bpt doctor --compile` compiles every kernel that a device would use; none may fail, spill registers, or ask for more local memory
// than the device has. A compiler that is missing is a skip, or a failure where BPT_REQUIRE_COMPILERS (radv,anv,ocloc,nvrtc) names it. The
// first family of each compiler runs by default and in f32; BPT_ALL_FAMILIES=1 compiles for all of them, in every number type.
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
    {"anv", "vulkan", {"SKL"}, false, 65536, 8},                 // Gen9
    {"anv", "vulkan", {"DG2"}, true, 65536, 8},                  // Xe-HPG
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

// Mesa's drivers that can pretend a GPU: by a device without hardware, as RADV has them up to Mesa 25, or by a drm-shim (Debian's
// mesa-drm-shim has AMD's alone).
static const struct {
    const char *compiler, *drivers, *family;  // family: the variable that asks for a device without hardware; NULL: there is none
    const char *shims[2], *id;                // id: the variable that names the GPU to a shim
} pretenders[] = {
    {"radv",
     "/usr/share/vulkan/icd.d/radeon_icd*.json",
     "RADV_FORCE_FAMILY",
     {"/usr/lib/*/libamdgpu_noop_drm_shim.so", "/usr/local/lib/libamdgpu_noop_drm_shim.so"},
     "AMDGPU_GPU_ID"},
    {"anv",
     "/usr/share/vulkan/icd.d/intel_icd*.json",
     NULL,
     {"/usr/lib/*/libintel_noop_drm_shim.so", "/usr/local/lib/libintel_noop_drm_shim.so"},
     "INTEL_STUB_GPU_PLATFORM"},
};

static int pretender_of(const char *compiler) {
    for (int i = 0; i < (int)BPT_COUNT(pretenders); ++i)
        if (!strcmp(pretenders[i].compiler, compiler)) return i;
    return -1;
}

// Has the program see this driver alone, and in it a GPU of this name. False: it is not installed.
static bool pretend(int who, const char *name, bool shim) {
    const char *file = who == 0 ? getenv("BPT_RADV_ICD") : NULL;
    char id[32] = "";
    glob_t drivers = {0}, shims = {0};
    if (!file && !glob(pretenders[who].drivers, 0, NULL, &drivers)) file = drivers.gl_pathv[0];
    for (int i = 0; shim && i < 2 && !shims.gl_pathc; ++i) (void)glob(pretenders[who].shims[i], 0, NULL, &shims);
    const bool found = file && (shim ? shims.gl_pathc > 0 : pretenders[who].family != NULL);
    for (size_t i = 0; name[i] && i + 1 < sizeof id; ++i) id[i] = (char)tolower((unsigned char)name[i]);
    if (found) {
        setenv("VK_DRIVER_FILES", file, 1);
        setenv("VK_ICD_FILENAMES", file, 1);
        setenv(shim ? pretenders[who].id : pretenders[who].family, shim ? id : name, 1);
        if (shim) setenv("LD_PRELOAD", shims.gl_pathv[0], 1);
    }
    globfree(&drivers);
    globfree(&shims);
    return found;
}

static void forget(void) {
    static const char *const names[] = {"VK_DRIVER_FILES", "VK_ICD_FILENAMES",        "RADV_FORCE_FAMILY",
                                        "AMDGPU_GPU_ID",   "INTEL_STUB_GPU_PLATFORM", "LD_PRELOAD"};
    for (size_t i = 0; i < BPT_COUNT(names); ++i) unsetenv(names[i]);
}

static int64_t number(const json_t *line, const char *key) {
    const json_t *value = json_object_get(line, key);
    return value ? json_integer_value(value) : -1;
}

static void check_kernel(const family_t *f, const json_t *line, int *wrong) {
    const char *kernel = json_string_value(json_object_get(line, "kernel")), *variant = json_string_value(json_object_get(line, "variant"));
    const int64_t spilled = number(line, "spilled"), local = number(line, "local_bytes"), width = number(line, "subgroup");
    const bool said = (number(line, "code_bytes") > 0 || number(line, "instructions") > 0) && local >= 0 && width > 0;
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
    const int who = pretender_of(f->compiler);
    for (int i = 0; i < (who < 0 ? 3 : 6); ++i) {  // of Mesa's drivers each name as a device without hardware, then by a shim
        const char *name = f->names[i % 3];
        if (!name || (who >= 0 && !pretend(who, name, i >= 3))) continue;
        snprintf(command, sizeof command, "doctor --compile --json --backend %s --device %s%s", f->backend, who < 0 ? name : "0",
                 all_families() ? "" : " --precision f32");
        test_process_t p = test_run_line(command);
        if (who >= 0) forget();
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
        if (!pretend(0, "NAVI21", shim)) continue;
        test_process_t p = test_run_line("bench train --backend vulkan --layers 1 --d-model 16 --heads 2");
        const bool pretended = strstr(p.err, "has Mesa pretend this device, which runs nothing; `bpt doctor --compile`") != NULL;
        if (!p.exit_status || (!pretended && !strstr(p.err, "RADV_FORCE_FAMILY is set, but this Mesa has no"))) fail_msg("%s", p.err);
        test_process_free(&p);
        p = test_run_line("doctor --backend vulkan");
        if (pretended && (p.exit_status != 1 || !strstr(p.out, "not usable: ") || strstr(p.out, "FAILED"))) fail_msg("%s", p.out);
        test_process_free(&p);
        forget();
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
