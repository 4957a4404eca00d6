// The OpenMP of libraries that are opened at run time, such as OpenBLAS. bpt itself has none: its threads are those of team.h. A library
// that starts threads by OpenMP asks how many the calling thread has; where bpt calls, that must be one, and behind the call the number
// that the host process has chosen.
#ifndef BPT_OPENMP_H
#define BPT_OPENMP_H

enum { BPT_OPENMP_MOST = 4 };  // kinds of OpenMP in one process: GCC's, LLVM's, Intel's

typedef struct {
    int count, threads[BPT_OPENMP_MOST];
} bpt_openmp_numbers_t;

// From now on the OpenMP that this library was linked with, if any, is told too. `library`: of bpt/library.h.
void bpt_openmp_know(void *library);
// In the calling thread, every OpenMP has one thread; `before` holds what it had.
void bpt_openmp_alone(bpt_openmp_numbers_t *before);
void bpt_openmp_restore(const bpt_openmp_numbers_t *before);

#endif
