// The line of progress: what it says about the time left.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/scratch.h"
#include "tools/bpt/program.h"
#include "tools/bpt/progress.h"

int cli_columns(int fd, int fallback) {  // main.c has the one that asks a terminal
    (void)fd;
    return fallback;
}

// What cli_progress_update writes for the last of `count` windows of ten steps of 100 tokens.
static char *last_line(const double *rates, int count, int64_t steps) {
    cli_progress_t progress;
    cli_progress_start(&progress, false, CLI_LOSS_NATS);
    progress.terminal = false;
    progress.line_seconds = 0;
    char path[512];
    size_t length;
    snprintf(path, sizeof path, "%s", test_path("stderr"));
    fflush(stderr);
    const int before = dup(STDERR_FILENO);
    for (int i = 0; i < count; ++i) {
        assert_non_null(freopen(path, "w", stderr));
        const cli_progress_point_t point = {.step = 10 * (i + 1),
                                            .steps = steps,
                                            .epoch = NAN,
                                            .loss = 1,
                                            .lr = NAN,
                                            .grad_norm = NAN,
                                            .loss_scale = NAN,
                                            .tokens_per_s = rates[i],
                                            .seconds_per_step = 100 / rates[i]};
        cli_progress_update(&progress, &point);
    }
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    return test_read_file(path, &length);
}

static void one_odd_window_does_not_move_the_time_left(void **state) {
    (void)state;
    static const double slow[] = {1000, 1000, 1000, 1000, 100}, quick[] = {1000, 1000, 1000, 1000, 9000}, first[] = {500};
    const struct {
        const double *rates;
        int count;
        const char *says;
    } cases[] = {{slow, 5, "1000 tokens/s  5 s left"}, {quick, 5, "1000 tokens/s  5 s left"}, {first, 1, "500 tokens/s  18 s left"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char *line = last_line(cases[i].rates, cases[i].count, 100);
        if (!strstr(line, cases[i].says)) fail_msg("case %zu: %s", i, line);
        free(line);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_odd_window_does_not_move_the_time_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
