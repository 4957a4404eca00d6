// A GPU that is lost in the middle of training: the run goes on from its last checkpoint and ends with the same weights; a device that
// stays lost ends with exit status 3, a clear sentence and intact checkpoints.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/process.h"

static char text[512];
static char why[512];    // OpenCL cannot be used here
static char whole[512];  // a run whose device is never lost
static long launches;    // its kernel launches

// Trains; at this kernel launch the device is lost, 0: never; `always`: also at all later ones.
static test_process_t train(const char *run, long fail_at, bool always) {
    char line[1024];
    snprintf(line, sizeof line, "%ld", fail_at);
    if (fail_at) setenv("SHIM_FAIL_AT", line, 1);
    if (always) setenv("SHIM_FAIL_ALWAYS", "1", 1);
    snprintf(line, sizeof line,
             "train --backend opencl --data %s --out %s --steps 12 --layers 1 --d-model 16 --heads 2 --k 2 --context 16 --batch-tokens 32 "
             "--save-every 4 --eval-every 100 --log-every 1 --dropout-hidden 0.1",
             text, run);
    const test_process_t p = test_run_line(line);
    unsetenv("SHIM_FAIL_AT");
    unsetenv("SHIM_FAIL_ALWAYS");
    return p;
}

static char *read_part(const char *run, const char *name, size_t *length) {
    char path[700];
    snprintf(path, sizeof path, "%s/%s", run, name);
    char *bytes = test_read_file(path, length);
    if (!bytes) fail_msg("%s is missing", path);
    return bytes;
}

static int lines_of(const char *run) {
    size_t length;
    int lines = 0;
    char *bytes = read_part(run, "metrics.jsonl", &length);
    for (size_t i = 0; i < length; ++i) lines += bytes[i] == '\n';
    free(bytes);
    return lines;
}

// Trains without a loss and counts the launches.
static void train_whole(void) {
    char count[512];
    size_t length;
    snprintf(whole, sizeof whole, "%s", test_path("whole"));
    snprintf(count, sizeof count, "%s", test_path("launches"));
    setenv("SHIM_COUNT", count, 1);
    test_process_t p = train(whole, 0, false);
    unsetenv("SHIM_COUNT");
    if (p.exit_status) fail_msg("training failed: %s", p.err);
    test_process_free(&p);
    char *number = test_read_file(count, &length);
    assert_non_null(number);
    launches = atol(number);
    free(number);
    assert_true(launches > 100);
}

static int set_up(void **state) {
    (void)state;
    static char bytes[4001];
    const char *shim = getenv("BPT_OPENCL_SHIM"), *required = getenv("BPT_REQUIRE_BACKENDS");
    for (int i = 0; i < 4000; ++i) bytes[i] = (char)('a' + (i * 5 + i / 13) % 26);
    snprintf(text, sizeof text, "%s", test_file("text.txt", bytes));
    test_process_t p = test_run_line("devices --backend opencl --json");
    if (!shim)
        snprintf(why, sizeof why, "no OpenCL library was found when the tests were configured");
    else if (!strstr(p.out, "\"usable\": true"))
        snprintf(why, sizeof why, "no usable OpenCL device");
    test_process_free(&p);
    if (*why && required && strstr(required, "opencl")) fail_msg("opencl is required, but: %s", why);
    if (*why) return 0;
    setenv("BPT_OPENCL_LIBRARY", shim, 1);
    train_whole();
    return 0;
}

static void a_lost_device_costs_nothing_but_time(void **state) {
    (void)state;
    if (*why) skip();
    static const double moments[] = {0.05, 0.4, 0.9};  // of all launches: before the first of three checkpoints, and later
    char run[512];
    size_t n, m;
    char *wanted = read_part(whole, "latest/model.safetensors", &n);
    for (size_t i = 0; i < sizeof moments / sizeof *moments; ++i) {
        const long moment = (long)(moments[i] * (double)launches);
        snprintf(run, sizeof run, "%s", test_path("lost-%ld", moment));
        test_process_t p = train(run, moment, false);
        if (p.exit_status) fail_msg("lost at launch %ld of %ld: %s", moment, launches, p.err);
        assert_non_null(strstr(p.err, "CL_OUT_OF_RESOURCES"));
        assert_non_null(strstr(p.err, "going on from the last checkpoint"));
        test_process_free(&p);
        char *got = read_part(run, "latest/model.safetensors", &m);
        assert_int_equal(m, n);
        assert_memory_equal(got, wanted, n);
        assert_int_equal(lines_of(run), lines_of(whole));  // no line twice
        free(got);
    }
    free(wanted);
}

static void a_device_that_stays_lost_ends_with_status_3(void **state) {
    (void)state;
    if (*why) skip();
    char run[512];
    size_t n;
    snprintf(run, sizeof run, "%s", test_path("gone"));
    test_process_t p = train(run, launches * 9 / 10, true);
    assert_int_equal(p.exit_status, 3);
    assert_non_null(strstr(p.err, "--submit-ms"));
    test_process_free(&p);
    free(read_part(run, "latest/model.safetensors", &n));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_device_costs_nothing_but_time),
        cmocka_unit_test(a_device_that_stays_lost_ends_with_status_3),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
