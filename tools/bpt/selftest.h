// A short proof that a device computes what the reference backend computes: every op and its gradient by itself, which names the op at
// fault, then one training step of small models of every kind. Knows backends only through backends/backend.h.
#ifndef BPT_TOOLS_SELFTEST_H
#define BPT_TOOLS_SELFTEST_H

#include "backends/backend.h"

enum { CLI_MAX_SELFTESTS = 32 };

typedef struct {
    char name[48];     // of the case: "layernorm", "bpt lm"
    char detail[256];  // "" when it passed
    double deviation;  // largest, relative to the largest value of its tensor
} cli_selftest_case_t;

typedef struct {
    int count, failed;
    char problem[512];  // why nothing could be tested, "" if it could
    cli_selftest_case_t result[CLI_MAX_SELFTESTS];
} cli_selftest_t;

// Runs all cases on device `index` of the backend. Never fails: what goes wrong is in *out.
void cli_selftest(const bpt_backend_t *backend, int index, bpt_dtype_t precision, int32_t threads, cli_selftest_t *out);

// Largest deviation of one tensor beyond `slack`, relative to its largest value; infinite where b is not a number.
double cli_selftest_deviation(const float *a, const float *b, int64_t n, double slack);

#endif
