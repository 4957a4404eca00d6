// The Vulkan driver, as the rest of the program and the tests see it. Knows no op.
#ifndef BPT_VULKAN_H
#define BPT_VULKAN_H

#include "backends/gpu/driver.h"

extern const bpt_gpu_driver_t bpt_vulkan_driver;

// Under BPT_VULKAN_VALIDATION=1: messages of the validation layer in this process so far, those at closing a device included.
unsigned bpt_vulkan_validation_messages(void);

#endif
