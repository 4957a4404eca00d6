// Drivers that abort, crash, call exit(0) or never answer, alone and beside a good one: they are named by their files, the good one is
// used, and without one the exit status is never 0.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "bpt/file.h"
#include "support/gpu_fault.h"

static const struct {
    const char *name, *said;
} kinds[] = {{"abort", "crashed with signal 6"},
             {"crash", "crashed with signal 11"},
             {"exit", "ended the process with status 0"},
             {"hang", "did not answer within"}};
enum { KINDS = sizeof kinds / sizeof *kinds, HANG = 3 };

static const char *library(int kind) {
    static char path[700];
    snprintf(path, sizeof path, "%s/libfake_icd_%s.so", getenv("BPT_FAKE_ICDS"), kinds[kind].name);
    return path;
}

static int set_up(void **state) {
    (void)state;
    setenv("BPT_DRIVER_SECONDS", "2", 1);
    return getenv("BPT_FAKE_ICDS") == NULL;
}

// A cache of its own: what is remembered of drivers must not come from elsewhere.
static void use_fresh_cache(const char *name) { setenv("BPT_CACHE_DIR", test_path("cache-%s", name), 1); }

static void copy(const char *from, const char *to) {
    size_t length;
    char *bytes = test_read_file(from, &length);
    assert_non_null(bytes);
    test_write_file(to, bytes, length);
    free(bytes);
}

// ---- Which drivers the loaders find

static const char *fake_manifest(int kind) {
    char text[900], name[64];
    snprintf(text, sizeof text, "{\"file_format_version\": \"1.0.0\", \"ICD\": {\"library_path\": \"%s\", \"api_version\": \"1.2.0\"}}",
             library(kind));
    snprintf(name, sizeof name, "fake_%s.json", kinds[kind].name);
    return test_file(name, text);
}

// The first manifest of lavapipe, NULL where there is none.
static const char *good_manifest(void) {
    static char path[600];
    static const char *const folders[] = {"/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"};
    for (size_t f = 0; f < 3; ++f) {
        char **names;
        size_t count;
        if (!bpt_folder_exists(folders[f]) || bpt_folder_list(folders[f], &names, &count) != BPT_OK) continue;
        for (size_t i = 0; i < count && !*path; ++i)
            if (strstr(names[i], "lvp")) snprintf(path, sizeof path, "%s/%s", folders[f], names[i]);
        bpt_names_free(names, count);
    }
    return *path ? path : NULL;
}

// The loader of Vulkan finds the fake driver, before the good one where that is wanted.
static void offer_vulkan(const char *bad, const char *good) {
    char list[1400];
    snprintf(list, sizeof list, "%s%s%s", bad, good ? ":" : "", good ? good : "");
    setenv("VK_DRIVER_FILES", list, 1);
    setenv("VK_ICD_FILENAMES", list, 1);
}

static void offer_all_vulkan(void) {
    unsetenv("VK_DRIVER_FILES");
    unsetenv("VK_ICD_FILENAMES");
}

static bool has_good(const char *backend) {
    if (!test_shim_use(backend)) return false;
    test_shim_drop();
    return strcmp(backend, "vulkan") != 0 || good_manifest();
}

// A folder of files as in /etc/OpenCL/vendors.
static void offer_opencl(int kind, bool good) {
    char folder[600], path[700], line[720];
    snprintf(folder, sizeof folder, "%s", test_path("vendors-%s-%d", kinds[kind].name, good));
    assert_int_equal(bpt_folders_create(folder), BPT_OK);
    snprintf(path, sizeof path, "%s/fake_%s.icd", folder, kinds[kind].name);
    snprintf(line, sizeof line, "%s\n", library(kind));
    test_write_file(path, line, strlen(line));
    snprintf(path, sizeof path, "%s/good.icd", folder);
    if (good) copy("/etc/OpenCL/vendors/pocl.icd", path);
    setenv("OCL_ICD_VENDORS", folder, 1);
}

static void offer(const char *backend, int kind, bool good) {
    if (!strcmp(backend, "opencl"))
        offer_opencl(kind, good);
    else
        offer_vulkan(fake_manifest(kind), good ? good_manifest() : NULL);
}

static void offer_all(void) {
    offer_all_vulkan();
    unsetenv("OCL_ICD_VENDORS");
}

// ---- Expectations

static void expect_refusal(const char *backend, int kind) {
    char name[64], line[64];
    snprintf(name, sizeof name, "fake_%s.", kinds[kind].name);
    const char *run = test_path("run-%s-%s", backend, kinds[kind].name);
    test_process_t p = test_train_tiny(backend, run, "");
    expect_error(&p, 1, backend, name, kinds[kind].said);
    assert_false(bpt_folder_exists(run));
    snprintf(line, sizeof line, "devices --backend %s", backend);
    p = test_run_line(line);
    if (p.exit_status || !strstr(p.out, "left out: ") || !strstr(p.out, name) || !strstr(p.out, kinds[kind].said))
        fail_msg("bpt devices: %d: %s%s", p.exit_status, p.out, p.err);
    test_process_free(&p);
}

static void expect_the_good_one(const char *backend, int kind) {
    char name[64], line[64];
    snprintf(name, sizeof name, "fake_%s.", kinds[kind].name);
    for (int again = 0; again < 2; ++again) {  // asked, and from memory
        char run[600];
        snprintf(run, sizeof run, "%s", test_path("good-%s-%s-%d", backend, kinds[kind].name, again));
        test_process_t p = test_train_tiny(backend, run, "");
        if (p.exit_status || !strstr(p.err, name) || !strstr(p.err, kinds[kind].said) || !bpt_folder_exists(run))
            fail_msg("%s: exit status %d: %s", run, p.exit_status, p.err);
        test_process_free(&p);
    }
    snprintf(line, sizeof line, "devices --backend %s", backend);
    test_process_t p = test_run_line(line);
    if (p.exit_status || !strstr(p.out, "left out: ") || !strstr(p.out, name) || !strstr(p.out, "  0  "))
        fail_msg("%s: %d: %s%s", line, p.exit_status, p.out, p.err);
    test_process_free(&p);
    snprintf(line, sizeof line, "doctor --backend %s --device no-such-device", backend);
    p = test_run_line(line);
    if (!strstr(p.out, "left out: ") || !strstr(p.out, name)) fail_msg("%s: %s%s", line, p.out, p.err);
    test_process_free(&p);
}

// ---- Tests

static void a_bad_driver_alone_is_named_and_never_a_success(void **state) {
    (void)state;
    for (int b = 0; b < 2; ++b)
        for (int kind = 0; kind < KINDS; ++kind) {
            const char *backend = b ? "opencl" : "vulkan";
            if (!has_good(backend)) continue;
            use_fresh_cache("bad");
            offer(backend, kind, false);
            expect_refusal(backend, kind);
            offer_all();
        }
}

static void a_bad_driver_beside_a_good_one_is_left_out(void **state) {
    (void)state;
    for (int b = 0; b < 2; ++b)
        for (int kind = 0; kind < KINDS; ++kind) {
            const char *backend = b ? "opencl" : "vulkan";
            if (!has_good(backend) || (b && !bpt_file_exists("/etc/OpenCL/vendors/pocl.icd"))) continue;
            use_fresh_cache("beside");
            offer(backend, kind, true);
            expect_the_good_one(backend, kind);
            offer_all();
        }
}

static void a_damaged_file_is_named(void **state) {
    (void)state;
    if (!has_good("vulkan")) skip();
    use_fresh_cache("damaged");
    char damaged[600];
    snprintf(damaged, sizeof damaged, "%s", test_file("damaged.json", "{\"ICD\": {\"api_version\": "));
    offer_vulkan(damaged, NULL);
    test_process_t p = test_train_tiny("vulkan", test_path("damaged-run"), "");
    expect_error(&p, 1, damaged, "damaged");
    offer_vulkan(damaged, good_manifest());
    p = test_train_tiny("vulkan", test_path("mended-run"), "");
    if (p.exit_status || !strstr(p.err, damaged)) fail_msg("exit status %d: %s", p.exit_status, p.err);
    test_process_free(&p);
    offer_all();
}

// A driver that answered once, and now calls exit(0) in the process that uses it.
static void an_exit_in_the_middle_is_no_success(void **state) {
    (void)state;
    if (!test_shim_use("opencl")) skip();
    use_fresh_cache("exit");
    char run[600];
    snprintf(run, sizeof run, "%s", test_path("before"));
    test_process_t p = test_train_tiny("opencl", run, "");
    assert_int_equal(p.exit_status, 0);
    test_process_free(&p);
    setenv("SHIM_EXIT", "1", 1);
    snprintf(run, sizeof run, "%s", test_path("after"));
    p = test_train_tiny("opencl", run, "");
    unsetenv("SHIM_EXIT");
    test_shim_drop();
    expect_error(&p, 1, "ended it before the work was done");
}

// What Mesa's variables are in the process that trains: "width|folder of the cache|no cache".
static void expect_variables(const char *width, const char *folder, const char *wanted) {
    const char *note = test_path("note");
    size_t length;
    if (*width) setenv("LP_NATIVE_VECTOR_WIDTH", width, 1);
    if (*folder) setenv("MESA_SHADER_CACHE_DIR", folder, 1);
    setenv("SHIM_NOTE", note, 1);
    test_process_t p = test_train_tiny("vulkan", test_path("noted"), "--dry-run");
    assert_int_equal(p.exit_status, 0);
    test_process_free(&p);
    unsetenv("SHIM_NOTE");
    unsetenv("LP_NATIVE_VECTOR_WIDTH");
    unsetenv("MESA_SHADER_CACHE_DIR");
    char *text = test_read_file(note, &length);
    if (!text || strcmp(text, wanted) != 0) fail_msg("'%s', wanted '%s'", text ? text : "", wanted);
    free(text);
}

// What is compiled for vectors of one width is wrong for others, and Mesa 25.0 does not see that.
static void widths_of_the_rasterizer_do_not_share_machine_code(void **state) {
    (void)state;
    char wanted[700];
    if (!has_good("vulkan") || !test_shim_use("vulkan")) skip();
    use_fresh_cache("width");
    offer_vulkan(good_manifest(), NULL);
    unsetenv("MESA_SHADER_CACHE_DIR");
    for (int again = 0; again < 2; ++again) {  // asked, and from memory
        snprintf(wanted, sizeof wanted, "128|%s/mesa-128|", test_path("cache-width"));
        expect_variables("128", "", wanted);
        snprintf(wanted, sizeof wanted, "256|%s/mesa-256|", test_path("cache-width"));
        expect_variables("256", "", wanted);
        expect_variables("256", "/tmp/mine", "256|/tmp/mine|");
    }
    setenv("BPT_DISABLE", "cache", 1);
    expect_variables("256", "", "256||true");
    unsetenv("BPT_DISABLE");
    test_shim_drop();
    offer_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_driver_alone_is_named_and_never_a_success),
        cmocka_unit_test(a_bad_driver_beside_a_good_one_is_left_out),
        cmocka_unit_test(a_damaged_file_is_named),
        cmocka_unit_test(widths_of_the_rasterizer_do_not_share_machine_code),
        cmocka_unit_test(an_exit_in_the_middle_is_no_success),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
