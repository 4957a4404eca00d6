// GCC's OpenMP, as a library such as OpenBLAS brings it into the process (include <cmocka.h> first).
#ifndef BPT_TEST_OPENMP_H
#define BPT_TEST_OPENMP_H

typedef struct {
    void *library;
    int (*get_max_threads)(void);
    void (*set_num_threads)(int threads);
} test_openmp_t;

// Skips the test where there is none.
test_openmp_t test_openmp(void);

#endif
