// How many processors there are to compute on, and how many threads use them best.
#ifndef BPT_PROCESSORS_H
#define BPT_PROCESSORS_H

#include "bpt/status.h"

// The processors that this process may run on (taskset, containers); at least 1.
int bpt_processors(void);

// The number of threads of a device if nobody says another: OMP_NUM_THREADS, else as many as there are fast processors.
// BPT_ERR_USAGE where that variable is no number from 1 to BPT_MOST_THREADS.
bpt_status_t bpt_threads_by_default(int *out) BPT_MUST_USE;
enum { BPT_MOST_THREADS = 4096 };

// How many of these processors should compute together. A machine may have processors of several speeds, which Linux tells in
// FOLDER/cpuN/cpu_capacity (/sys/devices/system/cpu; 1024 is the fastest). Equal parts of a work are done when the slowest processor is
// done with its own, so the n fastest are worth n times the slowest of them, and the n with the largest worth is taken, of equal ones the
// smallest. Where a speed is not told, all processors count as equal.
int bpt_processors_worth(const char *folder, const int *numbers, int count);

#endif
