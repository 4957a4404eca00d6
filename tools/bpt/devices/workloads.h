// What a device is asked to compute in use: one training step, an evaluation and logits of the model of each preset, and decoding. Executes
// nothing of it that the device does not.
#ifndef BPT_TOOLS_WORKLOADS_H
#define BPT_TOOLS_WORKLOADS_H

#include "bpt/backend.h"

// Records all of them on a device that only compiles (bpt_device_options_t.compile_only), in this precision.
bpt_status_t cli_workloads_record(bpt_device_t *device, bpt_dtype_t precision) BPT_MUST_USE;

#endif
