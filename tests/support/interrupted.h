// A small training that tests interrupt, and what it would have come to if nobody had.
#ifndef BPT_TEST_INTERRUPTED_H
#define BPT_TEST_INTERRUPTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { INTERRUPTED_STEPS = 400 };
#define INTERRUPTED_SHAPE                                                                                                                  \
    "--backend cpu --threads 1 --quiet --layers 1 --d-model 16 --heads 2 --context 32 --batch-tokens 64 --save-every 20 --eval-every 100 " \
    "--log-every 1"

extern char interrupted_text[512];    // the data
extern char interrupted_errors[512];  // where trainers write their messages; "": among those of this test

int interrupted_set_up(void **state);  // of a group of tests

pid_t interrupted_start(const char *run, bool resume);
void interrupted_nap(void);
int64_t interrupted_lines(const char *run);  // of metrics
// Waits until the run has written `lines` lines of metrics; false when the process ended before.
bool interrupted_wait(pid_t pid, const char *run, int64_t lines);
int interrupted_finish(pid_t pid);  // its exit status
// A trainer that has written `lines` lines of metrics and is stopped in its first half. *run is its folder, of this name and the number of
// the try: one that was stopped too late is begun again.
pid_t interrupted_start_and_stop(const char *name, int64_t lines, char run[512]);
// Sends the signal; false where the run had come to its end before.
bool interrupted_end_by(pid_t pid, int signal_number, int exit_status);
int64_t interrupted_saved(const char *run);                   // step of the newest checkpoint
void interrupted_same_weights(const char *a, const char *b);  // at the end
const char *interrupted_whole_run(void);                      // of a trainer that nobody interrupted

#endif
