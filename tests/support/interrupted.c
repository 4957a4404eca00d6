#include "support/interrupted.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpt/file.h"
#include "support/process.h"

enum { DEADLINE_SECONDS = 120 };

char interrupted_text[512];
char interrupted_errors[512];

int interrupted_set_up(void **state) {
    (void)state;
    static char bytes[20001];
    for (int i = 0; i < 20000; ++i) bytes[i] = (char)('a' + (i * 5 + i / 13) % 26);
    snprintf(interrupted_text, sizeof interrupted_text, "%s", test_file("text.txt", bytes));
    return 0;
}

pid_t interrupted_start(const char *run, bool resume) {
    const char *program = getenv("BPT_PROGRAM");
    char line[2048];
    snprintf(line, sizeof line, "exec \"%s\" train --data %s --out %s %s --steps %d " INTERRUPTED_SHAPE " >/dev/null %s%s", program,
             interrupted_text, run, resume ? "--resume" : "", INTERRUPTED_STEPS, *interrupted_errors ? "2>" : "", interrupted_errors);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        (void)!nice(5);  // on a busy machine this test should get its turn before the run has come to its end
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    return pid;
}

void interrupted_nap(void) { nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); }

int64_t interrupted_lines(const char *run) {
    char path[600];
    size_t length;
    snprintf(path, sizeof path, "%s/metrics.jsonl", run);
    char *bytes = test_read_file(path, &length);
    int64_t lines = 0;
    for (size_t i = 0; bytes && i < length; ++i) lines += bytes[i] == '\n';
    free(bytes);
    return lines;
}

bool interrupted_wait(pid_t pid, const char *run, int64_t lines) {
    const time_t end = time(NULL) + DEADLINE_SECONDS;
    while (interrupted_lines(run) < lines) {
        if (time(NULL) > end) fail_msg("no %d lines of metrics in %s after %d s", (int)lines, run, DEADLINE_SECONDS);
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid) return false;
        interrupted_nap();
    }
    return true;
}

int interrupted_finish(pid_t pid) {
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

pid_t interrupted_start_and_stop(const char *name, int64_t lines, char run[512]) {
    for (int tries = 0; tries < 5; ++tries) {
        int status = 0;
        snprintf(run, 512, "%s", test_path("%s-%d", name, tries));
        const pid_t pid = interrupted_start(run, false);
        if (!interrupted_wait(pid, run, lines) || kill(pid, SIGSTOP) || waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
            continue;
        if (interrupted_lines(run) < INTERRUPTED_STEPS / 2) return pid;
        kill(pid, SIGKILL);
        interrupted_finish(pid);
    }
    fail_msg("%s: five trainings were at their ends before they could be stopped", name);
    return 0;
}

bool interrupted_end_by(pid_t pid, int signal_number, int exit_status) {
    kill(pid, signal_number);
    const int got = interrupted_finish(pid);
    if (got) assert_int_equal(got, exit_status);
    return got;
}

int64_t interrupted_saved(const char *run) {
    char path[600], **names;
    size_t count;
    int64_t saved = 0;
    snprintf(path, sizeof path, "%s/checkpoints", run);
    assert_int_equal(bpt_folder_list(path, &names, &count), BPT_OK);
    for (size_t i = 0; i < count; ++i)
        if (!strncmp(names[i], "step-", 5) && strtoll(names[i] + 5, NULL, 10) > saved) saved = strtoll(names[i] + 5, NULL, 10);
    bpt_names_free(names, count);
    return saved;
}

static char *weights(const char *run, size_t *length) {
    char path[600];
    snprintf(path, sizeof path, "%s/checkpoints/step-%d/model.safetensors", run, INTERRUPTED_STEPS);
    char *bytes = test_read_file(path, length);
    if (!bytes) fail_msg("%s is missing", path);
    return bytes;
}

void interrupted_same_weights(const char *a, const char *b) {
    size_t n, m;
    char *x = weights(a, &n), *y = weights(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x), free(y);
}

const char *interrupted_whole_run(void) {
    static char run[512];
    if (*run) return run;
    snprintf(run, sizeof run, "%s", test_path("whole"));
    assert_int_equal(interrupted_finish(interrupted_start(run, false)), 0);
    return run;
}
