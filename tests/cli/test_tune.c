// `bpt tune` and the rule that it records: written, read by every start, forgotten; whatever is wrong with it is one sentence and the
// shipped rule. Also what a run says when its rule changes, and a CLBlast that cannot be trusted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "bpt/file.h"
#include "support/gpu_fault.h"

static char backend[16];      // "" when there is no usable GPU
static char rule_file[1024];  // of the tuned rule

static int set_up(void **state) {
    (void)state;
    static const char *const backends[] = {"vulkan", "opencl"};  // the one that compiles fastest first
    setenv("BPT_CONFIG_DIR", test_path("config"), 1);
    for (int i = 0; i < 2 && !*backend; ++i) {
        if (!test_shim_use(backends[i])) continue;
        test_shim_drop();
        snprintf(backend, sizeof backend, "%s", backends[i]);
    }
    return 0;
}

static void need_gpu(void) {
    if (!*backend) skip();
}

static test_process_t bpt(const char *format, const char *more) {
    char line[512];
    snprintf(line, sizeof line, format, backend, more);
    return test_run_line(line);
}

static void expect_said(const char *format, const char *more, const char *said) {
    test_process_t p = bpt(format, more);
    if (p.exit_status || !strstr(p.out, said)) fail_msg("exit status %d, no '%s' in: %s%s", p.exit_status, said, p.out, p.err);
    test_process_free(&p);
}

// In little time; in more where a busy machine did not even measure the first candidate.
static test_process_t tune(const char *more) {
    for (int seconds = 15;; seconds *= 4) {
        char format[96];
        snprintf(format, sizeof format, "tune --backend %%s --seconds %d%%s", seconds);
        test_process_t p = bpt(format, more);
        if (!strstr(p.err, "could not be measured (no time left)") || seconds >= 240) return p;
        test_process_free(&p);
    }
}

static size_t files_in(const char *folder) {
    char **names;
    size_t count = 0;
    if (!bpt_folder_exists(folder)) return 0;
    assert_int_equal(bpt_folder_list(folder, &names, &count), BPT_OK);
    bpt_names_free(names, count);
    return count;
}

// ---- Tuning ----------------------------------------------------------------------------------------------------------

static void a_dry_run_records_nothing(void **state) {
    (void)state;
    need_gpu();
    test_process_t p = tune(" --dry-run");
    if (p.exit_status || !strstr(p.out, "fastest: ")) fail_msg("exit status %d: %s%s", p.exit_status, p.out, p.err);
    test_process_t devices = bpt("devices --backend %s --json%s", "");
    const bool waits = strstr(devices.out, "\"type\": \"software\"") && strstr(p.out, "\nlibrary ");
    if (waits && !strstr(p.err, "the library may compile its kernels first")) fail_msg("it waits without a word: %s%s", p.out, p.err);
    test_process_free(&devices);
    test_process_free(&p);
    assert_int_equal(files_in(test_path("config")), 0);
}

static void it_records_what_every_start_reads(void **state) {
    (void)state;
    need_gpu();
    expect_said("devices --backend %s%s", "", "(shipped)");
    test_process_t p = tune("");
    if (p.exit_status || !strstr(p.out, "(shipped)") || !strstr(p.out, "weights")) fail_msg("%s%s", p.out, p.err);
    const char *path = strstr(p.out, "recorded in "), *end = path ? strchr(path, ';') : NULL;
    if (!end) fail_msg("%s", p.out);
    snprintf(rule_file, sizeof rule_file, "%.*s", (int)(end - path - 12), path + 12);
    test_process_free(&p);
    assert_true(bpt_file_exists(rule_file));
    assert_int_equal(files_in(test_path("config")), 1);
    expect_said("devices --backend %s%s", "", "(tuned)");
    expect_said("devices --backend %s --json%s", "", "\"products_origin\": \"tuned\"");
}

static void its_time_is_bounded(void **state) {
    (void)state;
    need_gpu();
    const time_t start = time(NULL);
    test_process_t p = bpt("tune --backend %s --dry-run --seconds 2%s", "");
    assert_true(time(NULL) - start < 30);
    assert_true(p.exit_status == 0 || strstr(p.err, "could not be measured"));
    test_process_free(&p);
}

static void an_interruption_leaves_nothing_half_written(void **state) {
    (void)state;
    need_gpu();
    char line[1024];
    setenv("BPT_CONFIG_DIR", test_path("interrupted"), 1);
    snprintf(line, sizeof line, "timeout -s INT --preserve-status 3 \"$BPT_PROGRAM\" tune --backend %s >/dev/null 2>&1", backend);
    const int status = system(line);
    setenv("BPT_CONFIG_DIR", test_path("config"), 1);
    assert_int_equal(WEXITSTATUS(status), 130);
    assert_int_equal(files_in(test_path("interrupted")), 0);
}

// ---- The file --------------------------------------------------------------------------------------------------------

// Replaces the rule in the file.
static void set_rule(const char *rule) {
    char text[4096];
    size_t length;
    char *before = test_read_file(rule_file, &length);
    assert_non_null(before);
    const char *value = strstr(before, "\"products\": \"");
    assert_non_null(value);
    value += 13;
    const int used = snprintf(text, sizeof text, "%.*s%s%s", (int)(value - before), before, rule, strchr(value, '"'));
    test_write_file(rule_file, text, (size_t)used);
    free(before);
}

// A start that works, of a run whose length gives no reason to warn, with one warning that says this ("" = none).
static void expect_start(const char *warning) {
    test_process_t p = test_train_tiny(backend, test_path("start"), "--dry-run --steps 200");
    const char *found = strstr(p.err, "warning: ");
    if (p.exit_status || (*warning ? !found || !strstr(found, warning) || strstr(found + 1, "warning: ") : !!found))
        fail_msg("exit status %d, warning '%s' wanted: %s", p.exit_status, warning, p.err);
    test_process_free(&p);
}

static void a_damaged_file_is_one_warning_and_the_shipped_rule(void **state) {
    (void)state;
    need_gpu();
    size_t length;
    char *good = test_read_file(rule_file, &length);
    assert_non_null(good);
    expect_start("");
    test_write_file(rule_file, good, length / 2);
    expect_start(rule_file);
    expect_said("devices --backend %s%s", "", "the shipped rule for products is used");
    test_write_file(rule_file, "\0\1\2", 3);
    expect_start(rule_file);
    test_write_file(rule_file, good, length);
    set_rule("wide:8,2,77");
    expect_start("which is no rule");
    set_rule("wide:4,1,4");
    expect_start("");
    expect_said("devices --backend %s%s", "", "wide:4,1,4 (tuned)");
    free(good);
}

static void a_library_that_is_gone_is_one_warning(void **state) {
    (void)state;
    need_gpu();
    set_rule("tiles/tiles/library");
    setenv("BPT_CLBLAST_LIBRARY", "none", 1);
    expect_start("the shipped rule for products is used");
    unsetenv("BPT_CLBLAST_LIBRARY");
}

static void reset_forgets_it(void **state) {
    (void)state;
    need_gpu();
    expect_said("tune --backend %s --reset%s", "", "the tuned rule is forgotten");
    assert_false(bpt_file_exists(rule_file));
    expect_said("devices --backend %s%s", "", "(shipped)");
    expect_said("tune --backend %s --reset%s", "", "no rule was tuned");
}

static void what_cannot_be_done_is_said_before_anything_is_measured(void **state) {
    (void)state;
    need_gpu();
    test_write_file(test_path("no-folder"), "", 0);
    setenv("BPT_CONFIG_DIR", test_path("no-folder/config"), 1);
    test_process_t p = bpt("tune --backend %s%s", "");
    assert_int_equal(p.out_length, 0);
    expect_error(&p, 1, "no-folder");
    setenv("BPT_CONFIG_DIR", test_path("config"), 1);
    p = bpt("tune --backend %s --device quantum%s", "");
    expect_error(&p, 1, "--device quantum");
    p = bpt("tune --backend %s --reset --dry-run%s", "");
    expect_error(&p, 2, "exclude each other");
    p = test_run_line("tune --backend cpu");
    expect_error(&p, 2, "nothing to tune on backend cpu");
    p = bpt("tune --backend %s --seconds 0%s", "");
    expect_error(&p, 2, "--seconds");
}

// ---- Runs ------------------------------------------------------------------------------------------------------------

static void expect_resumed(const char *run, const char *rule, const char *steps, const char *said) {
    char more[64];
    snprintf(more, sizeof more, "--resume --steps %s", steps);
    setenv("BPT_TUNING", rule, 1);
    test_process_t p = test_train_tiny(backend, run, more);
    unsetenv("BPT_TUNING");
    const bool warned = strstr(p.err, "products of matrices");
    if (p.exit_status || (*said ? !strstr(p.err, said) : warned)) fail_msg("exit status %d, '%s' wanted: %s", p.exit_status, said, p.err);
    test_process_free(&p);
}

static void a_resumption_on_another_rule_says_so(void **state) {
    (void)state;
    need_gpu();
    char run[600], config[700];
    size_t length;
    snprintf(run, sizeof run, "%s", test_path("run"));
    snprintf(config, sizeof config, "%s/config.json", run);
    setenv("BPT_TUNING", "8,2,8", 1);
    test_process_t p = test_train_tiny(backend, run, "");
    assert_int_equal(p.exit_status, 0);
    test_process_free(&p);
    char *text = test_read_file(config, &length);
    assert_non_null(strstr(text, "\"products\": \"wide:8,2,8\""));
    free(text);
    expect_resumed(run, "wide:8,2,8", "4", "");
    expect_resumed(run, "tiles", "6", "by wide:8,2,8, from here on by tiles:64,64,16,8,8 (BPT_TUNING)");
    expect_resumed(run, "tiles", "8", "");
}

// ---- CLBlast ---------------------------------------------------------------------------------------------------------

static bool use_clblast_shim(void) {
    const char *shim = getenv("BPT_CLBLAST_SHIM");
    if (!shim || !test_shim_use("opencl")) return false;
    test_shim_drop();
    setenv("BPT_CLBLAST_LIBRARY", shim, 1);
    setenv("BPT_TUNING", "library", 1);
    return true;
}

static void a_clblast_that_is_wrong_is_not_used(void **state) {
    (void)state;
    static const char *const faults[][2] = {{"nothing", "is not what our own kernel computes"},
                                            {"error", "not enough local memory (-2046)"}};
    if (!use_clblast_shim()) skip();
    char before[600];
    snprintf(before, sizeof before, "%s", getenv("BPT_CACHE_DIR") ? getenv("BPT_CACHE_DIR") : "");
    for (int i = 0; i < 2; ++i) {
        setenv("BPT_CACHE_DIR", test_path("cache-%d", i), 1);
        setenv("SHIM_CLBLAST", faults[i][0], 1);
        test_process_t p = test_train_tiny("opencl", test_path("wrong"), "--dry-run");
        expect_error(&p, 1, "BPT_TUNING: no products by a library: CLBlast", faults[i][1]);
        setenv("SHIM_CLBLAST", "crash", 1);  // it is not asked again
        p = test_train_tiny("opencl", test_path("wrong"), "--dry-run");
        expect_error(&p, 1, faults[i][1]);
    }
    setenv("BPT_CACHE_DIR", before, 1);
    unsetenv("BPT_TUNING");
    unsetenv("BPT_CLBLAST_LIBRARY");
    unsetenv("SHIM_CLBLAST");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dry_run_records_nothing),
        cmocka_unit_test(it_records_what_every_start_reads),
        cmocka_unit_test(its_time_is_bounded),
        cmocka_unit_test(an_interruption_leaves_nothing_half_written),
        cmocka_unit_test(a_damaged_file_is_one_warning_and_the_shipped_rule),
        cmocka_unit_test(a_library_that_is_gone_is_one_warning),
        cmocka_unit_test(reset_forgets_it),
        cmocka_unit_test(what_cannot_be_done_is_said_before_anything_is_measured),
        cmocka_unit_test(a_resumption_on_another_rule_says_so),
        cmocka_unit_test(a_clblast_that_is_wrong_is_not_used),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
