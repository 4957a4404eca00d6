// Limits on address space (ulimit -v): what computes nothing works under any limit that the program can be loaded under; what computes
// either works or ends at once with the limit, what is needed and the remedy. OpenBLAS, which tries for ever to get memory, is never left
// to that.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "support/process.h"
#include "support/support.h"

static char text[512];

// The exit status of `bpt LINE` under a limit of `mib`; 124 after 30 s. *err is freed by the caller.
static int run_within(int mib, const char *line, char **err) {
    char command[4096];
    size_t length;
    snprintf(command, sizeof command, "ulimit -v %d; exec timeout 30 \"$BPT_PROGRAM\" %s >%s 2>%s", mib * 1024, line, test_path("out"),
             test_path("err"));
    const int status = system(command);
    *err = test_read_file(test_path("err"), &length);
    assert_non_null(*err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void what_computes_nothing_needs_no_more_than_the_program(void **state) {
    (void)state;
    static const char *const lines[] = {
        "--version", "--help", "train --help", "presets", "graph --n 8 --k 2", "train --data %s --out none --dry-run --backend ref"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        char line[1024], *err;
        snprintf(line, sizeof line, lines[i], text);
        const int status = run_within(100, line, &err);
        if (status) fail_msg("bpt %s: exit %d: %s", line, status, err);
        free(err);
    }
}

// From far too little to enough: never a run for ever, a signal, or a failure without a sentence.
static void what_computes_works_or_says_what_it_needs(void **state) {
    (void)state;
    static const char *const lines[] = {
        "train --data %s --out %s --backend cpu --threads 2 --quiet --layers 1 --d-model 16 --heads 2 --context 32 --batch-tokens 64 "
        "--steps 3",
        "bench gemm --backend cpu --threads 2 --quiet",
    };
    int limited = 0;
    for (int i = 0; i < 2; ++i)
        for (int mib = 64; mib <= (i ? 256 : 1024); mib += mib < 512 ? 48 : 128) {
            char line[2048], *err;
            snprintf(line, sizeof line, lines[i], text, test_path("run-%d", mib));
            const int status = run_within(mib, line, &err);
            if (status && (status != 1 || strncmp(err, "bpt: error: ", 12)))
                fail_msg("%d MiB: bpt %s: exit %d: %s", mib, line, status, err);
            if (status && !strstr(err, "ulimit -v unlimited")) fail_msg("%d MiB: no remedy: %s", mib, err);
            limited += status != 0;
            free(err);
        }
    assert_true(limited >= 4);
}

static void without_openblas_the_cpu_says_which_package_is_missing(void **state) {
    (void)state;
    setenv("BPT_OPENBLAS_LIBRARY", "/nonexistent/libopenblas.so.0", 1);
    test_process_t list = test_run_line("devices --backend cpu"), run = test_run_line("bench gemm --backend cpu");
    unsetenv("BPT_OPENBLAS_LIBRARY");
    assert_int_equal(list.exit_status, 0);
    assert_non_null(strstr(list.out, "libopenblas0-openmp"));
    assert_int_equal(run.exit_status, 1);
    assert_non_null(strstr(run.err, "libopenblas0-openmp"));
    assert_non_null(strstr(run.err, "BPT_OPENBLAS_LIBRARY"));
    test_process_free(&list), test_process_free(&run);
}

int main(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return test_skip_program("sanitizers take address space without limit");
#endif
    static char bytes[4001];
    for (int i = 0; i < 4000; ++i) bytes[i] = (char)('a' + (i * 5 + i / 13) % 26);
    snprintf(text, sizeof text, "%s", test_file("text.txt", bytes));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_computes_nothing_needs_no_more_than_the_program),
        cmocka_unit_test(what_computes_works_or_says_what_it_needs),
        cmocka_unit_test(without_openblas_the_cpu_says_which_package_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
