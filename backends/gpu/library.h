// Trust in a driver's library of products (library.c).
#ifndef BPT_GPU_LIBRARY_H
#define BPT_GPU_LIBRARY_H

#include "backends/gpu/device.h"

// Where a rule names the library: is it there, and does it compute what our own kernels do? A file's rule gives way to the shipped one, and
// that one to our own kernels, with a note; what was asked for is an error.
bpt_status_t bpt_gpu_library_check(bpt_gpu_device_t *device, bpt_gpu_rule_t *rule);

#endif
