// The threads of a device in host memory. The thread that calls is thread 0 of the team; the others wait for work. A thread that waits
// looks for a moment, in which work usually comes, then sleeps, so that a machine that also runs other programs loses little to threads
// that wait. OpenMP is not used for this: how long its threads spin (milliseconds by default) can only be set for the whole process, by
// environment variables that are read before main.
//
// In a team, OpenMP counts one thread (openmp.h): libraries that start threads of their own by it stay in the thread that calls them.
// A team does one thing at a time. Its functions are called by one thread at a time, never from within its own work.
#ifndef BPT_TEAM_H
#define BPT_TEAM_H

#include "bpt/status.h"

typedef struct bpt_team bpt_team_t;

// Starts threads - 1 threads. Signals go to the other threads of the process.
bpt_status_t bpt_team_create(int threads, bpt_team_t **out) BPT_MUST_USE;
void bpt_team_destroy(bpt_team_t *team);  // NULL is allowed
int bpt_team_threads(const bpt_team_t *team);
// The threads of all teams have numbers, those of one team from bpt_team_first() on, none more than one thread at a time; all that there are
// now are below bpt_team_numbers(). For what a library keeps for each thread.
int bpt_team_first(const bpt_team_t *team);
int bpt_team_numbers(void);

// body(context, i, thread) for every i in [0, n), once each, in any order. Every thread begins with a part of its own and then helps the
// others, so a thread that the system has put aside holds up no more than the index that it is at. `thread` is below
// bpt_team_threads(), and no two bodies run at the same time with the same one.
typedef void bpt_team_body_t(const void *context, int64_t i, int thread);
void bpt_team_for(bpt_team_t *team, int64_t n, bpt_team_body_t *body, const void *context);

// work(context, thread) on all of threads 0 .. threads - 1, at the same time, so that they can meet in bpt_team_barrier.
typedef void bpt_team_work_t(const void *context, int thread);
void bpt_team_run(bpt_team_t *team, int threads, bpt_team_work_t *work, const void *context);
void bpt_team_barrier(bpt_team_t *team);

#endif
