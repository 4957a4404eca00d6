// Runs the program under test (environment variable BPT_PROGRAM) and keeps what it said.
#ifndef BPT_TEST_PROCESS_H
#define BPT_TEST_PROCESS_H

#include <stddef.h>

#include "support/scratch.h"

typedef struct {
    int exit_status;  // 128 + signal number when a signal ended it
    char *out, *err;  // NUL-terminated, never NULL
    size_t out_length, err_length;
} test_process_t;

// Arguments after the program's name, the last one NULL. Fails the test when the program cannot be run.
test_process_t test_run(const char *const *arguments);
// The same from one string: arguments separated by single blanks, with text in '..' kept together.
test_process_t test_run_line(const char *line);
// The same from a format; fails the test unless the program ends with this status.
test_process_t test_run_to(int exit_status, const char *format, ...) BPT_PRINTF(2, 3);
// The same, for what it does alone: it must succeed.
void test_succeed(const char *format, ...) BPT_PRINTF(1, 2);
// Fails the test unless the program ends with this status and its errors hold this part.
void test_refused(int exit_status, const char *part, const char *format, ...) BPT_PRINTF(3, 4);
void test_process_free(test_process_t *process);
// The number `key` of what `bpt eval RUN --json`, with more options, says on the cpu; fails the test where there is none.
double test_evaluate(const char *run, const char *more, const char *key);

// Writes a file into test_scratch_dir() and returns its path.
const char *test_file(const char *name, const char *content);

#endif
