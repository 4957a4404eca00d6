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
#include "tools/bpt/options/options.h"
#include "tools/bpt/output.h"
#include "tools/bpt/report/progress.h"
#include "tools/bpt/report/watch.h"

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

// ---- Evaluations
typedef struct {
    bpt_batch_source_t base;
    int steps, micro_batches, at;
} source_t;

static bpt_status_t next(bpt_batch_source_t *source, bpt_batch_t *batch, bool *end) {
    source_t *s = (source_t *)source;
    *end = s->at == s->steps * s->micro_batches;
    if (*end) return BPT_OK;
    const int step = s->at / s->micro_batches, micro = s->at++ % s->micro_batches;
    *batch = (bpt_batch_t){.n_scored = 3,
                           .window_scored = 3 * s->micro_batches,
                           .last = micro == s->micro_batches - 1,
                           .epoch_end = (double)(step + 1) / (double)s->steps};
    return BPT_OK;
}

static bpt_status_t seek(bpt_batch_source_t *source, int64_t step) {
    ((source_t *)source)->at = (int)step;
    return BPT_OK;
}

// Four batches, as four steps (a language model) and as four micro-batches of one (a classifier): the same line after each.
static void an_evaluation_tells_how_much_of_the_data_is_done(void **state) {
    (void)state;
    for (int many = 0; many < 2; ++many) {
        source_t source = {.base = {.next = next, .seek = seek}, .steps = many ? 4 : 1, .micro_batches = many ? 1 : 4};
        cli_progress_t progress;
        bpt_batch_source_t *watched;
        char path[512];
        size_t length;
        snprintf(path, sizeof path, "%s", test_path("watched"));
        cli_progress_start(&progress, false, CLI_LOSS_NATS);
        progress.terminal = false;
        progress.line_seconds = progress.silent_seconds = 0;
        assert_int_equal(cli_watch_create(&source.base, &progress, &watched), BPT_OK);
        fflush(stderr);
        const int before = dup(STDERR_FILENO);
        assert_non_null(freopen(path, "w", stderr));
        for (int time = 0; time < 2; ++time) {  // the second evaluation begins at nothing again
            bool end = false;
            bpt_batch_t batch;
            assert_int_equal(watched->seek(watched, 0), BPT_OK);
            while (!end) assert_int_equal(watched->next(watched, &batch, &end), BPT_OK);
        }
        fflush(stderr);
        dup2(before, STDERR_FILENO);
        close(before);
        char *text = test_read_file(path, &length);
        const char *at = text;
        for (int i = 0; i < 8; ++i) {
            static const char *const lines[] = {"evaluating: 25 %", "evaluating: 50 %", "evaluating: 75 %", "evaluating: 100 %"};
            at = strstr(at, lines[i % 4]);
            if (!at) fail_msg("no '%s' in %s", lines[i % 4], text);
        }
        free(text);
        watched->destroy(watched);
    }
}

static void a_short_evaluation_is_silent(void **state) {
    (void)state;
    cli_progress_t progress;
    cli_progress_start(&progress, false, CLI_LOSS_NATS);
    progress.terminal = true;
    cli_progress_evaluation(&progress, 0.5, 0.1);
    assert_false(progress.line_open);
    cli_progress_evaluation(&progress, 0.5, 5);
    assert_true(progress.line_open);
    cli_progress_clear(&progress);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_odd_window_does_not_move_the_time_left),
                                       cmocka_unit_test(an_evaluation_tells_how_much_of_the_data_is_done),
                                       cmocka_unit_test(a_short_evaluation_is_silent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
