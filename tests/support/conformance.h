// Runs case tables on every compiled-in backend and holds the results against ref. One named cmocka test per case and backend.
// On ref itself the comparison says nothing; guards, poison, replay and the suite's own checks do.
//
// Environment: BPT_CASE=text,text runs the tests whose name holds one of them, BPT_CASE='matmul a=f16[64,96] ..' or 'cpu/matmul ..' the op
// of a line (bpt/line.h), as a failing case prints it. BPT_CASE_EVERY=n runs a part of these; without either, or with
// BPT_CASE_EVERY=cover, a GPU in software takes the covering cases (support/cover.h). BPT_REQUIRE_BACKENDS=cpu,opencl makes a backend
// that is missing or has no usable device a failure (without it such a backend is only reported).
#ifndef BPT_TEST_CONFORMANCE_H
#define BPT_TEST_CONFORMANCE_H

#include "support/execute.h"

typedef struct {
    const char *name;                      // of the group
    const test_family_t *const *families;  // ends with NULL
    // More checks of a case that gave `result` on `device` (NULL: none).
    void (*extra)(bpt_device_t *device, const test_case_t *c, const test_data_t *result);
} test_suite_t;

// The return value of main.
int test_conformance_main(const test_suite_t *suite);

// True when the name passes BPT_CASE.
bool test_selected(const char *name);

#endif
