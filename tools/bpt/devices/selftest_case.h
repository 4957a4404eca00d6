// What a case of the self-test comes to (selftest.h).
#ifndef BPT_TOOLS_SELFTEST_CASE_H
#define BPT_TOOLS_SELFTEST_CASE_H

#include "bpt/status.h"

typedef struct {
    char name[48];        // of the case: "layernorm", "bpt lm"
    char detail[256];     // "" when it passed
    bpt_status_t status;  // of what could not be computed
    double deviation;     // largest, relative to the largest value of its tensor
} cli_selftest_case_t;

// Widths of the ops. Kernels are compiled for a width of heads: that of the model which runs next is no work lost.
typedef struct {
    int32_t d_model, heads;
} cli_selftest_shape_t;

// Largest deviation of one tensor beyond `slack`, relative to its largest value, or to `least` if that is more; infinite where b is not a
// number.
double cli_selftest_deviation(const float *a, const float *b, int64_t n, double slack, double least);

#endif
