// One small call of every op and of its gradient on a device and on the reference backend: names the op that computes something
// else. Part of selftest.c.
#ifndef BPT_TOOLS_SELFTEST_OPS_H
#define BPT_TOOLS_SELFTEST_OPS_H

#include "bpt/backend.h"
#include "tools/bpt/devices/selftest_case.h"

int cli_selftest_ops_count(void);
bool cli_selftest_op_is_quick(int index);  // part of the test at a device's first use
// Runs case `index`. Never fails: what goes wrong is in *out.
void cli_selftest_op(int index, bpt_device_t *reference, bpt_device_t *device, bpt_dtype_t precision, const cli_selftest_shape_t *shape,
                     cli_selftest_case_t *out);

#endif
