// Ctrl-C, kill -9, a full disk, a run directory that is renamed or deleted while training: what was saved stays readable, and going on
// gives the bits of a run that was never interrupted.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "support/interrupted.h"
#include "support/process.h"

static void the_first_signal_saves_and_exits_130_and_going_on_loses_nothing(void **state) {
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    signal(SIGHUP, SIG_DFL);  // nohup around the tests would be inherited
    for (size_t s = 0; s < BPT_COUNT(signals); ++s) {
        char run[512], latest[600];
        bool stopped = false;
        for (int tries = 0; tries < 5 && !stopped; ++tries) {
            snprintf(run, sizeof run, "%s", test_path("stopped-%d-%d", (int)s, tries));
            const pid_t pid = interrupted_start(run, false);
            stopped = interrupted_wait(pid, run, 33) && interrupted_end_by(pid, signals[s], 130);
        }
        assert_true(stopped);
        snprintf(latest, sizeof latest, "%s/latest/model.safetensors", run);
        assert_int_equal(access(latest, R_OK), 0);
        assert_int_equal(interrupted_finish(interrupted_start(run, true)), 0);
        interrupted_same_weights(interrupted_whole_run(), run);
    }
}

// `timeout` signals its child and then the child's whole group; a terminal that closes sends SIGHUP and SIGTERM. The process is stopped
// meanwhile, so that both wait for it when it goes on.
static void two_signals_at_once_are_one(void **state) {
    (void)state;
    char run[512];
    const pid_t pid = interrupted_start_and_stop("twice", 33, run);
    kill(pid, SIGTERM);
    kill(pid, SIGINT);
    kill(pid, SIGCONT);
    assert_int_equal(interrupted_finish(pid), 130);
    assert_true(interrupted_saved(run) >= 33);  // after the regular one of step 20
}

static void a_killed_run_goes_on_from_its_last_checkpoint(void **state) {
    (void)state;
    char run[512], line[1024];
    snprintf(run, sizeof run, "%s", test_path("killed"));
    pid_t pid = interrupted_start(run, false);
    int kills = 0;
    bool killed = true;
    for (; kills < 4; ++kills) {
        // Past the first checkpoint, somewhere between two others.
        killed = interrupted_wait(pid, run, 25 + 83 * kills);
        for (int i = 0; i < 3 * kills; ++i) interrupted_nap();
        if (killed) killed = interrupted_end_by(pid, SIGKILL, 128 + SIGKILL);
        if (!killed) break;
        snprintf(line, sizeof line, "eval %s --checkpoint latest --backend ref --quiet", run);
        test_process_t p = test_run_line(line);
        if (p.exit_status) fail_msg("after kill %d: %s", kills, p.err);
        test_process_free(&p);
        pid = interrupted_start(run, true);
    }
    assert_true(kills > 0);
    if (killed) assert_int_equal(interrupted_finish(pid), 0);
    interrupted_same_weights(interrupted_whole_run(), run);
}

static void two_trainers_cannot_write_one_run(void **state) {
    (void)state;
    char run[512], line[2048];
    const pid_t pid = interrupted_start_and_stop("shared", 22, run);
    static const char *const again[] = {"--resume", ""};
    test_process_t second[2];
    for (int i = 0; i < 2; ++i) {
        snprintf(line, sizeof line, "train --data %s --out %s %s --steps %d " INTERRUPTED_SHAPE, interrupted_text, run, again[i],
                 INTERRUPTED_STEPS);
        second[i] = test_run_line(line);
    }
    kill(pid, SIGCONT);  // before anything is asserted: a process that stays stopped would keep this test's output open for ever
    for (int i = 0; i < 2; ++i) {
        const test_process_t *p = &second[i];
        if (p->exit_status != 1 || strncmp(p->err, "bpt: error: ", 12) || !strstr(p->err, "is in use by process"))
            fail_msg("%s: exit %d: %s", again[i], p->exit_status, p->err);
        test_process_free(&second[i]);
    }
    assert_int_equal(interrupted_finish(pid), 0);
    interrupted_same_weights(interrupted_whole_run(), run);
}

// A file size limit stands for a disk that fills up: the write fails in the middle of a checkpoint.
static void a_disk_that_fills_up_leaves_the_last_checkpoint(void **state) {
    (void)state;
    char run[512], line[2048];
    snprintf(run, sizeof run, "%s", test_path("full"));
    snprintf(line, sizeof line, "\"$BPT_PROGRAM\" train --data %s --out %s --stop-at 20 --steps %d " INTERRUPTED_SHAPE, interrupted_text,
             run, INTERRUPTED_STEPS);
    assert_int_equal(system(line), 0);
    snprintf(line, sizeof line, "ulimit -f 8; \"$BPT_PROGRAM\" train --out %s --resume --quiet 2>%s", run, test_path("message"));
    const int status = system(line);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    size_t length;
    char *message = test_read_file(test_path("message"), &length);
    assert_memory_equal(message, "bpt: error: ", 12);
    free(message);
    snprintf(line, sizeof line, "\"$BPT_PROGRAM\" train --out %s --resume --quiet", run);
    assert_int_equal(system(line), 0);
    interrupted_same_weights(interrupted_whole_run(), run);
}

// The folder of a trainer is taken away by `command` (its names in place of %s: that of the run and another one). What the trainer said is
// in *said.
static int train_without_folder(const char *name, const char *command, char run[512], const char *other, char **said) {
    char line[2048];
    size_t length;
    snprintf(interrupted_errors, sizeof interrupted_errors, "%s", test_path("errors"));
    const pid_t pid = interrupted_start_and_stop(name, 25, run);
    snprintf(line, sizeof line, command, run, other ? other : run);
    const int done = system(line);
    kill(pid, SIGCONT);
    const int status = interrupted_finish(pid);
    *said = test_read_file(interrupted_errors, &length);
    *interrupted_errors = 0;
    assert_int_equal(done, 0);
    return status;
}

static void a_renamed_run_goes_on_under_its_new_name(void **state) {
    (void)state;
    char old[512], new[512], renamed[600], *said;
    snprintf(new, sizeof new, "%s", test_path("new-name"));
    const int status = train_without_folder("old-name", "mv %s %s", old, new, &said);
    snprintf(renamed, sizeof renamed, "%s is now called ", old);
    if (status || !strstr(said, renamed) || !strstr(said, "new-name; the run goes on there")) fail_msg("%d: %s", status, said);
    free(said);
    assert_int_not_equal(access(old, F_OK), 0);
    assert_int_equal(interrupted_lines(new), interrupted_lines(interrupted_whole_run()));
    interrupted_same_weights(interrupted_whole_run(), new);
}

static void a_deleted_run_ends_the_trainer_and_does_not_come_back(void **state) {
    (void)state;
    static const char *const commands[] = {"rm -r %s", "rm -r %s; mkdir %s"};
    for (int i = 0; i < 2; ++i) {
        char run[512], inside[600], *said;
        const int status = train_without_folder("deleted", commands[i], run, NULL, &said);
        if (status != 1 || !strstr(said, "was deleted while it was in use") || !strstr(said, "could not be saved"))
            fail_msg("%d: %s", status, said);
        free(said);
        snprintf(inside, sizeof inside, "%s/metrics.jsonl", run);
        assert_int_equal(access(run, F_OK) == 0, i == 1);
        assert_int_not_equal(access(inside, F_OK), 0);
        if (i) assert_int_equal(rmdir(run), 0);  // nothing was put into the folder that has its name now
    }
}

static void a_run_whose_files_are_deleted_keeps_its_state(void **state) {
    (void)state;
    char run[512], latest[600], *said;
    const int status = train_without_folder("emptied", "rm -r %s/*", run, NULL, &said);
    if (status != 1 || !strstr(said, "were deleted while it was trained") || !strstr(said, " is saved")) fail_msg("%d: %s", status, said);
    free(said);
    snprintf(latest, sizeof latest, "%s/latest/model.safetensors", run);
    assert_int_equal(access(latest, R_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_signal_saves_and_exits_130_and_going_on_loses_nothing),
        cmocka_unit_test(two_signals_at_once_are_one),
        cmocka_unit_test(a_killed_run_goes_on_from_its_last_checkpoint),
        cmocka_unit_test(two_trainers_cannot_write_one_run),
        cmocka_unit_test(a_disk_that_fills_up_leaves_the_last_checkpoint),
        cmocka_unit_test(a_renamed_run_goes_on_under_its_new_name),
        cmocka_unit_test(a_deleted_run_ends_the_trainer_and_does_not_come_back),
        cmocka_unit_test(a_run_whose_files_are_deleted_keeps_its_state),
    };
    return cmocka_run_group_tests(tests, interrupted_set_up, NULL);
}
