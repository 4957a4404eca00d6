// A short proof that a device computes what the reference backend computes: every op and its gradient by itself, which names the op at
// fault, then one training step of small models of every kind. Knows backends only through core/include/bpt/backend.h.
#ifndef BPT_TOOLS_SELFTEST_H
#define BPT_TOOLS_SELFTEST_H

#include "bpt/backend.h"
#include "tools/bpt/devices/selftest_case.h"

enum { CLI_MAX_SELFTESTS = 80 };

typedef struct {
    int count, failed;
    char problem[512];  // why nothing could be tested, "" if it could
    cli_selftest_case_t result[CLI_MAX_SELFTESTS];
} cli_selftest_t;

// Runs all cases on device `index` of the backend; with `quick` a few ops that every model needs, in these widths. Never fails: what goes
// wrong is in *out.
void cli_selftest(const bpt_backend_t *backend, int index, bpt_dtype_t precision, int32_t threads, const cli_selftest_shape_t *quick,
                  cli_selftest_t *out);
// The first problem in words, "" if there is none. `why`: what became of the process that ran the cases, "" if it came to its end.
void cli_selftest_problem(const cli_selftest_t *selftest, const char *why, char *text, size_t bytes);

#endif
