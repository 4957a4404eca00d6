// Known faults of drivers that a program must know of before it loads them. Knows no API.
#ifndef BPT_GPU_QUIRKS_H
#define BPT_GPU_QUIRKS_H

#include "bpt/base.h"

// An environment variable that suits a driver.
typedef struct {
    const char *name, *value;
    // Not NULL: the value is a folder of the cache (cache.h), whose name is `value` with the number behind that the variable `per` holds,
    // if it holds one; without a cache the variable `instead` is to be true.
    const char *per, *instead;
} bpt_gpu_variable_t;

// Number `i`, from 0, for a driver with this text (bpt_device_info_t) on this processor. False: there is none.
bool bpt_gpu_quirks_variable(const char *backend, const char *driver, int i, bpt_gpu_variable_t *out);
// Number `i` of the names: what code a driver makes depends on them. NULL after the last.
const char *bpt_gpu_quirks_variable_name(int i);

#endif
