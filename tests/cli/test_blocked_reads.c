// Input that never comes (a pipe that nobody writes to, a silent standard input): the first Ctrl-C or SIGTERM ends every command that waits
// for it, with status 130 and no word of training or saving.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/process.h"

enum { DEADLINE_SECONDS = 30 };
#define TINY "--backend ref --quiet --layers 1 --d-model 8 --heads 2 --batch-tokens 1024 --steps 2"

static char text[512], lm[512], classifier[512], fifo[512], answers[512], errors[512];

static void run(const char *line) {
    test_process_t p = test_run_line(line);
    if (p.exit_status) fail_msg("bpt %s: exit %d: %s", line, p.exit_status, p.err);
    test_process_free(&p);
}

static int prepare(void **state) {
    (void)state;
    char line[2048], examples[512];
    static char bytes[2001], lines[2001];
    for (int i = 0; i < 2000; ++i) bytes[i] = (char)(i % 45 == 44 ? '\n' : i % 9 == 8 ? ' ' : 'a' + (i * 5 + i / 13) % 26);
    snprintf(text, sizeof text, "%s", test_file("text.txt", bytes));
    for (int i = 0; i < 60; ++i) strcat(lines, i % 2 ? "good\tfine play\n" : "bad\tdull film\n");
    snprintf(examples, sizeof examples, "%s", test_file("examples.tsv", lines));
    snprintf(lm, sizeof lm, "%s", test_path("lm"));
    snprintf(classifier, sizeof classifier, "%s", test_path("classifier"));
    snprintf(fifo, sizeof fifo, "%s", test_path("fifo"));
    snprintf(answers, sizeof answers, "%s", test_path("answers"));
    snprintf(errors, sizeof errors, "%s", test_path("errors"));
    snprintf(line, sizeof line, "train --data %s --out %s --context 16 " TINY, text, lm);
    run(line);
    snprintf(line, sizeof line, "train --task classify --data %s --out %s " TINY, examples, classifier);
    run(line);
    return mkfifo(fifo, 0600);
}

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); }

static void expect_it_runs(pid_t pid, const char *path, time_t end) {
    int status;
    size_t length;
    if (waitpid(pid, &status, WNOHANG) == pid)
        fail_msg("the program has ended before it read %s: %s", path, test_read_file(errors, &length));
    if (time(NULL) <= end) return;
    kill(pid, SIGKILL);
    fail_msg("%s is not read after %d s", path, DEADLINE_SECONDS);
}

// Writes one byte to the pipe and returns, with the pipe open, when the program has taken it and so waits for the next.
static int let_it_wait(pid_t pid, const char *path) {
    const time_t end = time(NULL) + DEADLINE_SECONDS;
    int fd, left = 1;
    while ((fd = open(path, O_WRONLY | O_NONBLOCK)) < 0) {
        assert_int_equal(errno, ENXIO);  // nobody reads yet
        expect_it_runs(pid, path, end);
        nap();
    }
    assert_int_equal(write(fd, " ", 1), 1);
    while (!ioctl(fd, FIONREAD, &left) && left) {
        expect_it_runs(pid, path, end);
        nap();
    }
    return fd;
}

static int finish(pid_t pid) {
    const time_t end = time(NULL) + DEADLINE_SECONDS;
    int status;
    while (waitpid(pid, &status, WNOHANG) != pid) {
        if (time(NULL) > end) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -1;
        }
        nap();
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void wait_for_answer(pid_t pid, const char *path) {
    const time_t end = time(NULL) + DEADLINE_SECONDS;
    for (size_t length = 0; !length; nap()) {
        free(test_read_file(answers, &length));
        expect_it_runs(pid, path, end);
    }
}

// `bpt LINE`, which reads the pipe `path`, is interrupted while it waits. With `first`, a line that it answers before, it must have done
// so.
static void expect_an_end_after(const char *first, const char *line, const char *path, int signal_number) {
    char command[4096];
    size_t length;
    snprintf(command, sizeof command, "exec \"%s\" %s >%s 2>%s", getenv("BPT_PROGRAM"), line, answers, errors);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    const int writer = let_it_wait(pid, path);
    if (first) {
        assert_int_equal(write(writer, first, strlen(first)), (ssize_t)strlen(first));
        wait_for_answer(pid, path);
    }
    kill(pid, signal_number);
    const int status = finish(pid);
    close(writer);
    char *said = test_read_file(errors, &length);
    if (status != 130 || !strstr(said, "bpt: stopped") || strstr(said, "sav") || strstr(said, "checkpoint"))
        fail_msg("bpt %s: exit %d: %s", line, status, said);
    free(said);
}

static void expect_an_end(const char *line, const char *path, int signal_number) { expect_an_end_after(NULL, line, path, signal_number); }

static void the_first_signal_ends_a_command_that_waits_for_its_input(void **state) {
    (void)state;
    char line[2048];
    const int signals[] = {SIGINT, SIGTERM};
    const char *run_name = test_path("new");
    for (int s = 0; s < 2; ++s) {
        snprintf(line, sizeof line, "train --data %s --out %s " TINY, fifo, run_name);
        expect_an_end(line, fifo, signals[s]);
        snprintf(line, sizeof line, "train --data %s --config %s --out %s " TINY, text, fifo, run_name);
        expect_an_end(line, fifo, signals[s]);
        snprintf(line, sizeof line, "train --data %s --unit word --vectors %s --out %s " TINY, text, fifo, run_name);
        expect_an_end(line, fifo, signals[s]);
        snprintf(line, sizeof line, "eval %s --data %s --backend ref", lm, fifo);
        expect_an_end(line, fifo, signals[s]);
        snprintf(line, sizeof line, "generate %s --prompts %s --backend ref", lm, fifo);
        expect_an_end(line, fifo, signals[s]);
        snprintf(line, sizeof line, "classify %s %s --backend ref", classifier, fifo);
        expect_an_end(line, fifo, signals[s]);
        snprintf(line, sizeof line, "classify %s --backend ref <%s", classifier, fifo);
        expect_an_end(line, fifo, signals[s]);
    }
    assert_int_not_equal(access(run_name, F_OK), 0);
}

// Between two lines a filter waits as it did before the first, though it has computed in between.
static void the_first_signal_ends_a_filter_that_waits_for_its_next_line(void **state) {
    (void)state;
    static const char *const lines[] = {"classify %s %s --backend ref", "generate %s --prompts %s --max-tokens 3 --backend ref",
                                        "generate %s --interactive --max-tokens 3 --backend ref <%s"};
    const int signals[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 3; ++i)
        for (int s = 0; s < 2; ++s) {
            char line[2048];
            snprintf(line, sizeof line, lines[i], i ? lm : classifier, fifo);
            expect_an_end_after("fine\n", line, fifo, signals[s]);
        }
}

// A file of the run that is a pipe.
static void the_first_signal_ends_a_command_that_waits_for_a_run(void **state) {
    (void)state;
    static const char *const names[] = {"config.json", "metrics.jsonl", "vocab.txt"};
    static const char *const lines[] = {"eval %s --data %s --backend ref", "plot %s --out %s.svg", "generate %s --backend ref --prompt %s"};
    for (int i = 0; i < 3; ++i) {
        char line[2048], path[600], away[640];
        snprintf(path, sizeof path, "%s/%s", lm, names[i]);
        snprintf(away, sizeof away, "%s.away", path);
        snprintf(line, sizeof line, lines[i], lm, text);
        assert_int_equal(rename(path, away), 0);
        assert_int_equal(mkfifo(path, 0600), 0);
        expect_an_end(line, path, SIGINT);
        assert_int_equal(rename(away, path), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_signal_ends_a_command_that_waits_for_its_input),
        cmocka_unit_test(the_first_signal_ends_a_filter_that_waits_for_its_next_line),
        cmocka_unit_test(the_first_signal_ends_a_command_that_waits_for_a_run),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
