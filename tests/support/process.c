// Runs the program under test and keeps what it said (see process.h).
#include "support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

enum { MAX_ARGUMENTS = 128, MAX_PATH_BYTES = 512 };

static char *read_all(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = NULL;
    size_t used = 0, n;
    do {
        text = realloc(text, used + 65536 + 1);
        assert_non_null(text);
        n = fread(text + used, 1, 65536, file);
        used += n;
    } while (n);
    fclose(file);
    text[used] = 0;
    *length = used;
    return text;
}

test_process_t test_run(const char *const *arguments) {
    const char *program = getenv("BPT_PROGRAM");
    if (!program || !*program)
        fail_msg(
            "the environment variable BPT_PROGRAM is not set: ctest sets it to the program under test; by hand, BPT_PROGRAM=build/dev/bpt");
    const char *argv[MAX_ARGUMENTS + 2] = {program};
    for (int i = 0; arguments[i]; ++i) {
        assert_true(i < MAX_ARGUMENTS);
        argv[i + 1] = arguments[i];
    }
    char out[MAX_PATH_BYTES], err[MAX_PATH_BYTES];
    snprintf(out, sizeof out, "%s", test_path(".stdout"));
    snprintf(err, sizeof err, "%s", test_path(".stderr"));
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        const int in_fd = open("/dev/null", O_RDONLY), out_fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        const int err_fd = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (dup2(in_fd, 0) < 0 || dup2(out_fd, 1) < 0 || dup2(err_fd, 2) < 0) _exit(126);
        execv(program, (char *const *)argv);
        _exit(127);
    }
    int status;
    while (waitpid(pid, &status, 0) < 0) assert_int_equal(errno, EINTR);
    test_process_t process = {.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
    process.out = read_all(out, &process.out_length);
    process.err = read_all(err, &process.err_length);
    return process;
}

test_process_t test_run_line(const char *line) {
    char copy[4096];
    const char *arguments[MAX_ARGUMENTS + 1];
    int count = 0;
    assert_true(strlen(line) < sizeof copy);
    strcpy(copy, line);
    for (char *p = copy; *p;) {
        assert_true(count < MAX_ARGUMENTS);
        const char end = *p == '\'' ? '\'' : ' ';
        if (end == '\'') ++p;
        arguments[count++] = p;
        p += strcspn(p, end == '\'' ? "'" : " ");
        if (*p) *p++ = 0;
        p += strspn(p, " ");
    }
    arguments[count] = NULL;
    return test_run(arguments);
}

static test_process_t run_format(char line[4096], const char *format, va_list args) {
    vsnprintf(line, 4096, format, args);
    return test_run_line(line);
}

test_process_t test_run_to(int exit_status, const char *format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    test_process_t p = run_format(line, format, args);
    va_end(args);
    if (p.exit_status != exit_status) fail_msg("bpt %s: exit %d: %s", line, p.exit_status, p.err);
    return p;
}

void test_succeed(const char *format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    test_process_t p = run_format(line, format, args);
    va_end(args);
    if (p.exit_status) fail_msg("bpt %s: exit %d: %s", line, p.exit_status, p.err);
    test_process_free(&p);
}

void test_refused(int exit_status, const char *part, const char *format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    test_process_t p = run_format(line, format, args);
    va_end(args);
    if (p.exit_status != exit_status || !strstr(p.err, part))
        fail_msg("bpt %s: exit %d, '%s', wanted %d and '%s'", line, p.exit_status, p.err, exit_status, part);
    test_process_free(&p);
}

void test_process_free(test_process_t *process) {
    free(process->out);
    free(process->err);
}

const char *test_file(const char *name, const char *content) {
    const char *path = test_path("%s", name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, strlen(content), file), strlen(content));
    assert_int_equal(fclose(file), 0);
    return path;
}

double test_evaluate(const char *run, const char *more, const char *key) {
    test_process_t p = test_run_to(0, "eval %s --json --quiet --backend cpu --threads 1 %s", run, more);
    json_t *result = json_loads(p.out, 0, NULL);
    const json_t *value = json_object_get(result, key);
    if (!json_is_number(value)) fail_msg("no number %s in %s", key, p.out);
    const double number = json_number_value(value);
    json_decref(result);
    test_process_free(&p);
    return number;
}
