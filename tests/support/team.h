// Teams of processes that train together through the program (mpirun .. bpt train --team mpi): starting them, one small model of each
// task, comparing their runs. A failure ends the test. Runs lie in the test's scratch folder and are given by their names there.
#ifndef BPT_TEST_TEAM_H
#define BPT_TEST_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpt/alloc.h"
#include "support/process.h"

extern char team_program[600], team_mpirun_path[600];

// Whether bpt has its MPI module and there is an mpirun; to be called first. Where it has none, `team_say_missing` is the program's
// only test: skipped, or failed with BPT_REQUIRE_MPI=1.
bool team_can_start(void);
int team_say_missing(void);

// Environment variable BPT_ALL_TEAMS=1: every task on every API, and twenty ranks killed.
bool team_takes_all(void);

// Set-up and tear-down of a group of tests: data of all tasks; ranks that a failed test has left behind are killed.
int team_set_up(void **state);
int team_tear_down(void **state);

// Options of `bpt train` that all have.
#define TEAM_SHAPE "--layers 2 --d-model 16 --heads 2 --lr 0.003 --seed 5 --threads 1 --quiet --log-every 50 --eval-every 50 "

typedef struct {
    const char *name, *options;
} team_task_t;
enum { TEAM_TASKS = 6 };
extern const team_task_t team_tasks[TEAM_TASKS];  // the first: a language model
const char *team_options(size_t task);            // those of `bpt train`; valid until the next call

// ---- Running

// A script that rank 0 runs as `first`, the others as `others`.
const char *team_script(const char *first, const char *others);
test_process_t team_mpirun(const char *line);
// As `bpt ARGUMENTS`, by so many processes; " : " begins the arguments of a further one.
test_process_t team_run(int ranks, const char *arguments);
void team_succeed(int ranks, const char *format, ...) BPT_PRINTF(2, 3);
void team_train_alone(size_t task, const char *backend, const char *name, const char *more);
void team_train(int ranks, size_t task, const char *backend, const char *name, const char *more);
// It ends with this status and one error with these words, and has made no run "refused".
void team_refused(int status, const char *part, int ranks, const char *arguments);

// ---- Comparing runs

double team_last_loss(const char *run);  // of the evaluation at the end
// Whether these losses differ by at most `tolerance` of the other's.
void team_same_loss(const char *run, const char *other, double tolerance, const char *what);
void team_same_bits(const char *run, const char *other, const char *file);  // of the latest checkpoint
void team_remove(const char *name);

// ---- Processes

void team_nap(void);  // 5 ms
// The process of the `nth` rank of a run, found by its arguments; 0: there is none.
pid_t team_process(const char *run, int nth);

#endif
