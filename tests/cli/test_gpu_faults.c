// GPUs that fail in the middle of things: no memory, a compiler that refuses, damaged caches, wrong results. One sentence, exit status 1,
// and nothing that was there is lost.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpt/file.h"
#include "support/gpu_fault.h"

static const char *const backends[] = {"opencl", "vulkan"};

static int set_up(void **state) {
    (void)state;
    setenv("BPT_CACHE_DIR", test_path("cache"), 1);
    return 0;
}

static char *weights_of(const char *run, size_t *length) {
    char path[700];
    snprintf(path, sizeof path, "%s/latest/model.safetensors", run);
    char *bytes = test_read_file(path, length);
    if (!bytes) fail_msg("%s is missing", path);
    return bytes;
}

static void expect_weights(const char *run, const char *wanted, size_t wanted_length) {
    size_t length;
    char *bytes = weights_of(run, &length);
    assert_int_equal(length, wanted_length);
    assert_memory_equal(bytes, wanted, length);
    free(bytes);
}

static void expect_trained(const char *backend, const char *run, const char *more) {
    test_process_t p = test_train_tiny(backend, run, more);
    if (p.exit_status) fail_msg("%s", p.err);
    test_process_free(&p);
}

// ---- Memory ----------------------------------------------------------------------------------------------------------

static void without_memory_it_says_what_to_lower(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        if (!test_shim_use(backends[i])) continue;
        char run[600];
        size_t length;
        snprintf(run, sizeof run, "%s", test_path("memory-%s", backends[i]));
        expect_trained("cpu", run, "");
        char *before = weights_of(run, &length);
        const char *const resume = "--resume --steps 4";
        setenv("SHIM_MAX_BLOCK", "30000", 1);  // the driver refuses
        test_process_t p = test_train_tiny(backends[i], run, resume);
        unsetenv("SHIM_MAX_BLOCK");
        expect_error(&p, 1, "has no room for a block of", "of which this program uses", "Lower --batch-tokens");
        setenv("BPT_LIMITS", "allocation=30000", 1);
        p = test_train_tiny(backends[i], run, resume);
        expect_error(&p, 1, "allows at most 0.0 MiB in one block", "Lower --batch-tokens");
        setenv("BPT_LIMITS", "memory=100000", 1);
        p = test_train_tiny(backends[i], run, resume);
        expect_error(&p, 1, "it has 0.1 MiB", "Lower --batch-tokens");
        unsetenv("BPT_LIMITS");
        p = test_train_tiny(backends[i], run, "--resume --steps 4 --max-mem 0.2");
        expect_error(&p, 1, "it has 0.2 MiB", "Lower --batch-tokens");
        expect_weights(run, before, length);
        free(before);
        expect_trained(backends[i], run, resume);  // and it goes on where there is memory
        test_shim_drop();
    }
}

// Other programs use the GPU too. Drivers tell what is left, and some of them lie.
static void what_a_driver_says_is_left_is_believed_within_reason(void **state) {
    (void)state;
    if (!test_shim_use("vulkan")) skip();
    setenv("SHIM_BUDGET", "104858", 1);
    test_process_t p = test_train_tiny("vulkan", test_path("budget"), "");
    expect_error(&p, 1, "it has 0.1 MiB", "Lower --batch-tokens");
    setenv("SHIM_BUDGET", "0", 1);  // nothing is known
    expect_trained("vulkan", test_path("no-budget"), "");
    setenv("SHIM_BUDGET", "1152921504606846976", 1);  // more than there is
    p = test_train_tiny("vulkan", test_path("large-budget"), "--max-mem 0.1");
    expect_error(&p, 1, "it has 0.1 MiB");
    unsetenv("SHIM_BUDGET");
    test_shim_drop();
}

// PoCL with a limit of its own: blocks of a quarter of it at most.
static void a_driver_out_of_memory_is_one_sentence(void **state) {
    (void)state;
    if (!test_shim_use("opencl")) skip();
    test_shim_drop();
    setenv("POCL_MEMORY_LIMIT", "1", 1);
    test_process_t p = test_train_tiny("opencl", test_path("large"), "--d-model 2400 --heads 8");
    unsetenv("POCL_MEMORY_LIMIT");
    if (p.exit_status == 0) {
        test_process_free(&p);
        skip();  // another driver
    }
    expect_error(&p, 1, "has no room for a block of", "Lower --batch-tokens");
}

// ---- Kernels ---------------------------------------------------------------------------------------------------------

static void a_kernel_that_does_not_compile_is_named(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        if (!test_shim_use(backends[i])) continue;
        char run[600];
        size_t length;
        snprintf(run, sizeof run, "%s", test_path("build-%s", backends[i]));
        expect_trained("cpu", run, "");
        char *before = weights_of(run, &length);
        setenv("BPT_DISABLE", "cache", 1);
        setenv("SHIM_BREAK_BUILD", "1", 1);
        test_process_t p = test_train_tiny(backends[i], run, "--resume --steps 4");
        unsetenv("SHIM_BREAK_BUILD");
        unsetenv("BPT_DISABLE");
        expect_error(&p, 1, "kernel ", i ? "compiler refuses it" : "undeclared identifier 'broken'");
        expect_weights(run, before, length);
        free(before);
        test_shim_drop();
    }
}

// ---- The cache -------------------------------------------------------------------------------------------------------

static size_t for_each_entry(const char *kind, void (*change)(const char *path)) {
    char **names, path[700];
    size_t count, found = 0;
    assert_int_equal(bpt_folder_list(test_path("cache"), &names, &count), BPT_OK);
    for (size_t i = 0; i < count; ++i) {
        if (strncmp(names[i], kind, strlen(kind))) continue;
        snprintf(path, sizeof path, "%s/%s", test_path("cache"), names[i]);
        if (change) change(path);
        ++found;
    }
    bpt_names_free(names, count);
    return found;
}

static void cut_in_half(const char *path) {
    size_t length;
    char *bytes = test_read_file(path, &length);
    test_write_file(path, bytes, length / 2);
    free(bytes);
}

static void change_one_byte(const char *path) {
    size_t length;
    char *bytes = test_read_file(path, &length);
    bytes[length * 3 / 4] = (char)(bytes[length * 3 / 4] ^ 4);
    test_write_file(path, bytes, length);
    free(bytes);
}

static void make_empty(const char *path) { test_write_file(path, "", 0); }
static void make_foreign(const char *path) { test_write_file(path, "\177ELF and what follows", 20); }

static void kernels_come_from_the_cache_and_survive_its_damage(void **state) {
    (void)state;
    static void (*const damages[])(const char *path) = {cut_in_half, change_one_byte, make_empty, make_foreign};
    if (!test_shim_use("opencl")) skip();
    char run[600];
    size_t length;
    snprintf(run, sizeof run, "%s", test_path("cold"));
    expect_trained("opencl", run, "");
    char *wanted = weights_of(run, &length);
    const size_t n_entries = for_each_entry("opencl-", NULL);
    assert_true(n_entries > 5);
    setenv("SHIM_NO_TEXT", "1", 1);  // nothing but the cache can give kernels
    snprintf(run, sizeof run, "%s", test_path("warm"));
    expect_trained("opencl", run, "");
    expect_weights(run, wanted, length);
    unsetenv("SHIM_NO_TEXT");
    setenv("SHIM_NO_BINARY", "1", 1);  // the driver wants none of them
    snprintf(run, sizeof run, "%s", test_path("refused"));
    expect_trained("opencl", run, "");
    expect_weights(run, wanted, length);
    unsetenv("SHIM_NO_BINARY");
    for (size_t i = 0; i < sizeof damages / sizeof *damages; ++i) {
        assert_int_equal(for_each_entry("opencl-", damages[i]), n_entries);
        snprintf(run, sizeof run, "%s", test_path("damaged-%zu", i));
        expect_trained("opencl", run, "");
        expect_weights(run, wanted, length);
        setenv("SHIM_NO_TEXT", "1", 1);  // all have been replaced
        snprintf(run, sizeof run, "%s", test_path("mended-%zu", i));
        expect_trained("opencl", run, "");
        unsetenv("SHIM_NO_TEXT");
    }
    free(wanted);
    test_shim_drop();
}

static void pipelines_survive_damage(void **state) {
    (void)state;
    static void (*const damages[])(const char *path) = {cut_in_half, change_one_byte, make_empty, make_foreign};
    if (!test_shim_use("vulkan")) skip();
    for (size_t i = 0; i <= sizeof damages / sizeof *damages; ++i) {
        char run[600];
        snprintf(run, sizeof run, "%s", test_path("pipelines-%zu", i));
        expect_trained("vulkan", run, "");
        if (i < sizeof damages / sizeof *damages) assert_int_equal(for_each_entry("vulkan-", damages[i]), 1);
    }
    test_shim_drop();
}

static void without_a_cache_all_works(void **state) {
    (void)state;
    if (!test_shim_use("vulkan")) skip();
    test_write_file(test_path("no-folder"), "", 0);
    setenv("BPT_CACHE_DIR", test_path("no-folder/cache"), 1);
    test_process_t p = test_train_tiny("vulkan", test_path("without"), "");
    setenv("BPT_CACHE_DIR", test_path("cache"), 1);
    assert_int_equal(p.exit_status, 0);
    assert_null(strstr(p.err, "cache"));
    test_process_free(&p);
    test_shim_drop();
}

// ---- Verdicts --------------------------------------------------------------------------------------------------------

static void expect_doctor(int exit_status, const char *said, const char *unsaid) {
    test_process_t p = test_run_line("doctor --backend vulkan --device 0");
    if (p.exit_status != exit_status || !strstr(p.out, said) || (unsaid && strstr(p.out, unsaid)))
        fail_msg("exit status %d, wanted %d and '%s': %s%s", p.exit_status, exit_status, said, p.out, p.err);
    test_process_free(&p);
}

// Training as it goes by itself, with the test at the first use of a device.
static test_process_t train_tested(const char *name) {
    unsetenv("BPT_SELFTEST");
    test_process_t p = test_train_tiny("vulkan", test_path("%s", name), "");
    setenv("BPT_SELFTEST", "0", 1);
    return p;
}

static void expect_tested(const char *name, bool tested) {
    test_process_t p = train_tested(name);
    if (p.exit_status || !strstr(p.err, "(first use)") == tested) fail_msg("a test %swanted: %s", tested ? "" : "not ", p.err);
    test_process_free(&p);
}

static void a_device_that_computes_nonsense_is_remembered(void **state) {
    (void)state;
    if (!test_shim_use("vulkan")) skip();
    setenv("SHIM_WRONG", "1", 1);
    expect_doctor(1, "FAILED", "with this driver");
    unsetenv("SHIM_WRONG");
    test_process_t p = train_tested("judged");
    expect_error(&p, 1, "failed the self-test on 2", "off by", "bpt doctor --backend vulkan", "BPT_SELFTEST=0");
    assert_false(bpt_folder_exists(test_path("judged")));
    p = test_train_tiny("vulkan", test_path("all-the-same"), "");  // BPT_SELFTEST=0
    if (p.exit_status || !strstr(p.err, "do not trust the results")) fail_msg("%s", p.err);
    test_process_free(&p);
    expect_doctor(0, "with this driver: FAILED", NULL);
    expect_tested("trusted", false);
    test_shim_drop();
}

static void a_device_is_tested_at_its_first_use(void **state) {
    (void)state;
    if (!test_shim_use("vulkan")) skip();
    setenv("BPT_CACHE_DIR", test_path("cache-first"), 1);
    setenv("SHIM_WRONG", "1", 1);
    for (int again = 0; again < 2; ++again) {  // a failure is not remembered, it is found again
        test_process_t p = train_tested("wrong");
        expect_error(&p, 1, "failed the self-test: ", "off by", "BPT_SELFTEST=0");
        assert_false(bpt_folder_exists(test_path("wrong")));
    }
    unsetenv("SHIM_WRONG");
    setenv("SHIM_CRASH_DISPATCH", "1", 1);
    test_process_t p = train_tested("crash");
    unsetenv("SHIM_CRASH_DISPATCH");
    expect_error(&p, 1, "failed the self-test: pointwise: the self-test crashed with signal 11");
    expect_tested("first", true);
    expect_tested("second", false);
    setenv("BPT_DISABLE", "cache", 1);
    expect_tested("no-cache", false);  // where nothing can be remembered only on request
    unsetenv("BPT_DISABLE");
    setenv("BPT_CACHE_DIR", test_path("cache"), 1);
    test_shim_drop();
}

// As a device without hardware does, on which kernels only compile.
static void a_device_that_runs_nothing_is_told_in_words(void **state) {
    (void)state;
    if (!test_shim_use("vulkan")) skip();
    setenv("BPT_CACHE_DIR", test_path("cache-nothing"), 1);
    setenv("SHIM_RUNS_NOTHING", "1", 1);
    expect_doctor(1, "runs nothing: its driver reported success, but none of its submissions", "submissions did not run");
    test_process_t p = test_train_tiny("vulkan", test_path("nothing"), "");
    expect_error(&p, 1, "runs nothing", "bpt doctor --compile");
    p = test_run_to(1, "bench train --backend vulkan --layers 1 --d-model 16 --heads 2 --n 64 --tokens 64");
    expect_error(&p, 1, "runs nothing", "bpt doctor --compile");
    unsetenv("SHIM_RUNS_NOTHING");
    setenv("BPT_CACHE_DIR", test_path("cache"), 1);
    test_shim_drop();
}

// Some drivers tell no more of their version than a number.
static void another_version_of_a_driver_is_tested_again(void **state) {
    (void)state;
    if (!test_shim_use("vulkan")) skip();
    setenv("BPT_CACHE_DIR", test_path("cache-version"), 1);
    setenv("SHIM_DRIVER", "7", 1);
    expect_tested("version-7", true);
    expect_tested("version-7-again", false);
    setenv("SHIM_DRIVER", "8", 1);
    expect_tested("version-8", true);
    unsetenv("SHIM_DRIVER");
    setenv("BPT_CACHE_DIR", test_path("cache"), 1);
    test_shim_drop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_it_says_what_to_lower),
        cmocka_unit_test(what_a_driver_says_is_left_is_believed_within_reason),
        cmocka_unit_test(a_driver_out_of_memory_is_one_sentence),
        cmocka_unit_test(a_kernel_that_does_not_compile_is_named),
        cmocka_unit_test(kernels_come_from_the_cache_and_survive_its_damage),
        cmocka_unit_test(pipelines_survive_damage),
        cmocka_unit_test(without_a_cache_all_works),
        cmocka_unit_test(a_device_that_computes_nonsense_is_remembered),
        cmocka_unit_test(a_device_is_tested_at_its_first_use),
        cmocka_unit_test(a_device_that_runs_nothing_is_told_in_words),
        cmocka_unit_test(another_version_of_a_driver_is_tested_again),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
