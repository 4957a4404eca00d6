// A short proof that a device computes what the reference backend computes: one training step of small models of every kind, with
// every op that training uses. Knows backends only through backends/backend.h.
#ifndef BPT_TOOLS_SELFTEST_H
#define BPT_TOOLS_SELFTEST_H

#include "backends/backend.h"

enum { CLI_MAX_SELFTESTS = 16 };

typedef struct {
    char name[48];     // of the case: "bpt lm"
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

#endif
