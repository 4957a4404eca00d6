// What drivers do and do not say: known faults of drivers, as limits to keep to. A row names the fault, what shows it and how to live with
// it; BPT_QUIRKS=0 does without them (to see whether a new version still needs them), BPT_LIMITS adds more. Knows no API.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu.h"

static const struct {
    const char *backend, *driver;  // the driver's text holds this
    const char *limits;            // as BPT_LIMITS
} quirks[] = {
    // Mesa's llvmpipe ends all loops of a work-item, without a word, after 65,535 rounds together (seen with 22.3).
    {"vulkan", "llvmpipe", "loops=65535"},
};

static bool applies(size_t row, const char *backend, const bpt_device_info_t *info) {
    return !strcmp(quirks[row].backend, backend) && strstr(info->driver, quirks[row].driver);
}

static bool wanted(void) {
    const char *text = getenv("BPT_QUIRKS");
    return !text || strcmp(text, "0") != 0;
}

bpt_status_t bpt_gpu_quirks_apply(const char *backend, const bpt_device_info_t *info, bpt_gpu_limits_t *limits) {
    for (size_t i = 0; i < BPT_COUNT(quirks) && wanted(); ++i)
        if (applies(i, backend, info)) BPT_TRY(bpt_gpu_limits_lower(limits, quirks[i].limits));
    return BPT_OK;
}

void bpt_gpu_quirks_describe(const char *backend, bpt_device_info_t *info) {
    for (size_t i = 0; i < BPT_COUNT(quirks) && wanted(); ++i) {
        const size_t used = strlen(info->features);
        if (applies(i, backend, info)) snprintf(info->features + used, sizeof info->features - used, " quirk:%s", quirks[i].limits);
    }
}
