// Which device runs: by number, name and place on the PCI bus; what auto chooses and says; a driver that crashes does no harm.
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "support/gpu_fault.h"

static void expect_choice(const char *backend, const char *more, const char *said) {
    char options[256];
    snprintf(options, sizeof options, "%s%s--dry-run", more, *more ? " " : "");
    test_process_t p = test_train_tiny(backend, test_path("run"), options);
    if (p.exit_status || !strstr(p.err, said))
        fail_msg("--backend %s %s: exit status %d, no '%s' in: %s", backend, more, p.exit_status, said, p.err);
    test_process_free(&p);
}

// Name of a device of the opencl backend up to its first blank, in capitals where asked: PoCL calls its own differently in each version.
static const char *name_of(int index, bool capitals) {
    static char name[64];
    char label[48];
    test_process_t p = test_run_line("devices --backend opencl --json");
    snprintf(label, sizeof label, "\"index\": %d, \"name\": \"", index);
    const char *at = strstr(p.out, label);
    assert_non_null(at);
    at += strlen(label);
    const size_t length = strcspn(at, " \"");
    assert_in_range(length, 1, sizeof name - 1);
    for (size_t i = 0; i < length; ++i) name[i] = (char)(capitals ? toupper((unsigned char)at[i]) : at[i]);
    name[length] = 0;
    test_process_free(&p);
    return name;
}

static const char *option(const char *name) {
    static char text[96];
    snprintf(text, sizeof text, "--device %s", name);
    return text;
}

static void auto_takes_the_cpu_where_there_is_no_gpu(void **state) {
    (void)state;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    setenv("BPT_OPENCL_LIBRARY", "/nonexistent", 1);
    expect_choice("auto", "", "backend cpu: ");
    test_shim_drop();
    clock_gettime(CLOCK_MONOTONIC, &end);
    print_message("%.2f s\n", (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec));
}

static void software_devices_must_be_named(void **state) {
    (void)state;
    setenv("BPT_PROBE", "1", 1);
    setenv("BPT_OPENCL_LIBRARY", "/nonexistent", 1);
    setenv("VK_DRIVER_FILES", "/nonexistent", 1);
    expect_choice("auto", "", "(auto: no usable discrete GPU");
    test_shim_drop();
    unsetenv("VK_DRIVER_FILES");
    unsetenv("BPT_PROBE");
    if (!test_shim_use("opencl")) return;
    test_shim_drop();
    setenv("BPT_PROBE", "1", 1);
    setenv("VK_DRIVER_FILES", "/nonexistent", 1);
    expect_choice("auto", "", "backend cpu: ");
    expect_choice("auto", option(name_of(0, false)), "backend opencl: ");
    unsetenv("VK_DRIVER_FILES");
    unsetenv("BPT_PROBE");
}

static void auto_takes_a_discrete_gpu_but_no_integrated_one(void **state) {
    (void)state;
    if (!test_shim_use("opencl")) skip();
    setenv("BPT_PROBE", "1", 1);
    setenv("VK_DRIVER_FILES", "/nonexistent", 1);
    setenv("SHIM_TYPE", "discrete", 1);
    expect_choice("auto", "", "(auto: the first usable discrete GPU)");
    expect_choice("auto", "", "backend opencl: ");
    setenv("SHIM_TYPE", "integrated", 1);
    expect_choice("auto", "", "backend cpu: ");
    setenv("SHIM_VERSION", "OpenCL 1.0", 1);  // not usable
    setenv("SHIM_TYPE", "discrete", 1);
    expect_choice("auto", "", "backend cpu: ");
    unsetenv("SHIM_VERSION");
    setenv("SHIM_CRASH", "1", 1);
    expect_choice("auto", "", "backend cpu: ");
    unsetenv("SHIM_CRASH");
    unsetenv("SHIM_TYPE");
    unsetenv("VK_DRIVER_FILES");
    unsetenv("BPT_PROBE");
    test_shim_drop();
}

static void a_device_is_found_by_number_name_and_place(void **state) {
    (void)state;
    if (!test_shim_use("opencl")) skip();
    setenv("SHIM_TYPE", "integrated", 1);
    setenv("VK_DRIVER_FILES", "/nonexistent", 1);
    expect_choice("opencl", "--device 0", "backend opencl: ");
    expect_choice("opencl", option(name_of(0, true)), "backend opencl: ");
    expect_choice("opencl", "--device 0000:03:00.0", "backend opencl: ");
    expect_choice("opencl", "--device 3:0.0", "backend opencl: ");
    expect_choice("auto", "--device 03:00.0", "(auto: the first backend that has it)");
    test_process_t p = test_run_line("devices --backend opencl");
    assert_non_null(strstr(p.out, "PCI 0000:03:00.0"));
    assert_non_null(strstr(p.out, "limits: work-group "));
    test_process_free(&p);
    p = test_run_line("devices --backend opencl --json");
    assert_non_null(strstr(p.out, "\"pci\": \"0000:03:00.0\""));
    assert_non_null(strstr(p.out, "\"max_local_bytes\": "));
    test_process_free(&p);
    p = test_train_tiny("opencl", test_path("run"), "--device 04:00.0");
    expect_error(&p, 1, "--device 04:00.0", "backend opencl");
    p = test_train_tiny("opencl", test_path("run"), "--device 1");
    expect_error(&p, 1, "--device 1", "backend opencl");
    p = test_train_tiny("auto", test_path("run"), "--device 05:00.0");
    expect_error(&p, 1, "--device 05:00.0", "no backend");
    p = test_train_tiny("auto", test_path("run"), "--device 0");
    expect_error(&p, 2, "--device 0 needs --backend");
    unsetenv("SHIM_TYPE");
    unsetenv("VK_DRIVER_FILES");
    test_shim_drop();
}

static void a_driver_that_crashes_is_a_reason(void **state) {
    (void)state;
    if (!test_shim_use("opencl")) skip();
    setenv("SHIM_CRASH", "1", 1);
    test_process_t p = test_run_line("devices --backend opencl");
    assert_int_equal(p.exit_status, 0);
    assert_non_null(strstr(p.out, "crashed with signal 11"));
    test_process_free(&p);
    unsetenv("SHIM_CRASH");
    test_shim_drop();
}

static void two_devices_of_one_name_need_a_number(void **state) {
    (void)state;
    if (!test_shim_use("opencl")) skip();
    test_shim_drop();
    setenv("POCL_DEVICES", "pthread basic", 1);
    test_process_t p = test_run_line("devices --backend opencl --json");
    const bool two = strstr(p.out, "\"index\": 1");
    test_process_free(&p);
    if (two) {
        p = test_train_tiny("opencl", test_path("run"), "--device a");  // basic and pthread, or cpu-minimal-skylake and cpu-skylake
        expect_error(&p, 2, "--device a fits", "give its number");
        for (int i = 0; i < 2; ++i) {
            char number[32], said[96];
            const char *name = name_of(i, false);
            snprintf(said, sizeof said, "backend opencl: %s", name);
            snprintf(number, sizeof number, "--device %d", i);
            expect_choice("opencl", option(name), said);
            expect_choice("opencl", number, said);
        }
    }
    unsetenv("POCL_DEVICES");
    if (!two) skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_takes_the_cpu_where_there_is_no_gpu),
        cmocka_unit_test(software_devices_must_be_named),
        cmocka_unit_test(auto_takes_a_discrete_gpu_but_no_integrated_one),
        cmocka_unit_test(a_device_is_found_by_number_name_and_place),
        cmocka_unit_test(a_driver_that_crashes_is_a_reason),
        cmocka_unit_test(two_devices_of_one_name_need_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
