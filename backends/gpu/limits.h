// What a device is taken to allow: less than its driver says, where a user, a test or a known fault of the driver wants it so. Knows no
// API.
#ifndef BPT_GPU_LIMITS_H
#define BPT_GPU_LIMITS_H

#include "backends/gpu/driver.h"

// BPT_LIMITS lowers what the device reports, BPT_DISABLE switches features off (limits.c); the same for a text like that of BPT_LIMITS.
bpt_status_t bpt_gpu_limits_fake(bpt_gpu_limits_t *limits);
bpt_status_t bpt_gpu_limits_lower(bpt_gpu_limits_t *limits, const char *text);
// Known faults of drivers, as limits (quirks.c); describing them appends to info->features.
bpt_status_t bpt_gpu_quirks_apply(const char *backend, const bpt_device_info_t *info, bpt_gpu_limits_t *limits);
void bpt_gpu_quirks_describe(const char *backend, bpt_device_info_t *info);

#endif
