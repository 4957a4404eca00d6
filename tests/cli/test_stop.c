// `bpt stop`, SIGUSR1 and the file that both trainers and `bpt stop` know: a training ends after a step, saved, and goes on to the bits of
// one that nobody stopped. What is asked of nobody is refused, and what is left over stops nobody later.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/capability.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "support/interrupted.h"
#include "support/process.h"

static bool has_stop(const char *run) {
    char path[600];
    snprintf(path, sizeof path, "%s/stop", run);
    return bpt_file_exists(path);
}

static void make_stop(const char *run) {
    char path[600];
    snprintf(path, sizeof path, "%s/stop", run);
    test_write_file(path, "", 0);
}

// The trainer has stopped with its work saved, and another one makes the whole run of it.
static void expect_saved_end(pid_t pid, const char *run) {
    assert_int_equal(interrupted_finish(pid), 130);
    assert_false(has_stop(run));
    assert_true(interrupted_saved(run) >= 33);  // after the regular checkpoint of step 20
    assert_int_equal(interrupted_finish(interrupted_start(run, true)), 0);
    interrupted_same_weights(interrupted_whole_run(), run);
}

static void bpt_stop_saves_and_going_on_loses_nothing(void **state) {
    (void)state;
    char run[512];
    const pid_t pid = interrupted_start_and_stop("asked", 33, run);
    test_process_t first = test_run_to(0, "stop %s", run), again = test_run_to(0, "stop %s/", run);
    kill(pid, SIGCONT);
    if (!strstr(first.err, "is asked to stop") || !strstr(first.err, "bpt train --resume --out ")) fail_msg("%s", first.err);
    test_process_free(&first), test_process_free(&again);
    expect_saved_end(pid, run);
}

static void a_file_of_that_name_is_enough(void **state) {
    (void)state;
    char run[512];
    const pid_t pid = interrupted_start_and_stop("touched", 33, run);
    make_stop(run);
    kill(pid, SIGCONT);
    expect_saved_end(pid, run);
}

static void it_is_found_in_a_run_that_was_renamed(void **state) {
    (void)state;
    char run[512], renamed[512];
    const pid_t pid = interrupted_start_and_stop("before", 33, run);
    snprintf(renamed, sizeof renamed, "%s", test_path("after"));
    assert_int_equal(rename(run, renamed), 0);
    test_process_t p = test_run_to(0, "stop %s", renamed);
    kill(pid, SIGCONT);
    test_process_free(&p);
    expect_saved_end(pid, renamed);
}

// Batch systems send it to all processes of a job, and some send it more than once.
static void sigusr1_asks_however_often_it_comes(void **state) {
    (void)state;
    char run[512];
    const pid_t pid = interrupted_start_and_stop("signals", 33, run);
    kill(pid, SIGUSR1);
    kill(pid, SIGCONT);
    for (int status; waitpid(pid, &status, WNOHANG | WNOWAIT) == 0 && !kill(pid, SIGUSR1);) interrupted_nap();
    expect_saved_end(pid, run);
}

static void one_that_is_left_over_stops_nobody(void **state) {
    (void)state;
    char run[512];
    const pid_t pid = interrupted_start_and_stop("left", 33, run);
    make_stop(run);
    kill(pid, SIGKILL);
    assert_int_equal(interrupted_finish(pid), 128 + SIGKILL);
    assert_true(has_stop(run));
    snprintf(interrupted_errors, sizeof interrupted_errors, "%s", test_path("errors"));
    assert_int_equal(interrupted_finish(interrupted_start(run, true)), 0);
    size_t length;
    char *said = test_read_file(interrupted_errors, &length);
    *interrupted_errors = 0;
    if (!said || !strstr(said, "/stop was left over from a training that ended before it was obeyed")) fail_msg("%s", said ? said : "");
    free(said);
    assert_false(has_stop(run));
    interrupted_same_weights(interrupted_whole_run(), run);
}

// A folder that has nothing else is one where a run may begin.
static void one_in_an_empty_folder_keeps_no_run_from_beginning(void **state) {
    (void)state;
    char run[512];
    snprintf(run, sizeof run, "%s", test_path("empty"));
    assert_int_equal(bpt_folder_create(run), BPT_OK);
    make_stop(run);
    assert_int_equal(interrupted_finish(interrupted_start(run, false)), 0);
    assert_false(has_stop(run));
    interrupted_same_weights(interrupted_whole_run(), run);
}

static void what_is_not_trained_is_not_stopped(void **state) {
    (void)state;
    const char *run = interrupted_whole_run();
    test_refused(1, "is not being trained, so there is nothing to stop", "stop %s", run);
    assert_false(has_stop(run));
    test_refused(1, "is not a run: there is no such folder", "stop %s", test_path("nowhere"));
    assert_int_equal(bpt_folder_create(test_path("foreign")), BPT_OK);
    test_refused(1, "is not a run: it has no config.json", "stop %s", test_path("foreign"));
    assert_false(has_stop(test_path("foreign")));
    test_refused(2, "bpt stop needs RUN", "stop");
}

// As whoever may read the run and not write: permissions bind root too, once it has given up the right to pass over them.
static void a_run_of_others_is_left_alone(void **state) {
    (void)state;
    char run[512], line[1400];
    const pid_t pid = interrupted_start_and_stop("others", 33, run);
    snprintf(line, sizeof line, "exec \"$BPT_PROGRAM\" stop %s 2>%s", run, test_path("errors"));
    assert_int_equal(chmod(run, 0555), 0);
    const pid_t asks = fork();
    if (!asks) {
        prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    const int status = asks > 0 ? interrupted_finish(asks) : -1;
    chmod(run, 0755);
    kill(pid, SIGCONT);
    assert_int_equal(interrupted_finish(pid), 0);  // nobody stopped it
    size_t length;
    char *said = test_read_file(test_path("errors"), &length);
    if (status != 1 || !said || strncmp(said, "bpt: error: cannot ", 19) || !strstr(said, "Permission denied"))
        fail_msg("%d: %s", status, said);
    free(said);
    interrupted_same_weights(interrupted_whole_run(), run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bpt_stop_saves_and_going_on_loses_nothing), cmocka_unit_test(a_file_of_that_name_is_enough),
        cmocka_unit_test(it_is_found_in_a_run_that_was_renamed),     cmocka_unit_test(sigusr1_asks_however_often_it_comes),
        cmocka_unit_test(one_that_is_left_over_stops_nobody),        cmocka_unit_test(one_in_an_empty_folder_keeps_no_run_from_beginning),
        cmocka_unit_test(what_is_not_trained_is_not_stopped),        cmocka_unit_test(a_run_of_others_is_left_alone),
    };
    return cmocka_run_group_tests(tests, interrupted_set_up, NULL);
}
