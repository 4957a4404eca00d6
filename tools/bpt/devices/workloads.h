// What a device is asked to compute in use: training steps, an evaluation and logits of the model of each preset, and of what users may choose
// beside them, and decoding. Executes nothing of it that the device does not.
#ifndef BPT_TOOLS_WORKLOADS_H
#define BPT_TOOLS_WORKLOADS_H

#include "bpt/program.h"

// Records all of them on a device that only compiles (bpt_device_options_t.compile_only), in this precision.
bpt_status_t cli_workloads_record(bpt_device_t *device, bpt_dtype_t precision) BPT_MUST_USE;

// The program of one training step of a preset's model, of so many tokens, on a device: compiled, and not run. What a preset leaves to its
// data is chosen here: 256 bytes, 10,000 words, texts of 256 tokens.
bpt_status_t cli_workload_step(const char *preset, bpt_device_t *device, bpt_dtype_t precision, int64_t tokens,
                               bpt_status_t (*use)(void *user, bpt_program_t *program), void *user) BPT_MUST_USE;

#endif
