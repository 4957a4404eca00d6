// GPUs that Mesa pretends (see pretended.h). Two ways are known: up to Mesa 26.0 its driver for AMD has devices without hardware, and
// Mesa's drm-shim (Debian mesa-drm-shim) is loaded before all else and plays the kernel's part. Neither tells on the device, so the
// environment does.
#include "backends/gpu/pretended.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/info.h"

static const struct {
    const char *variable, *value;  // that holds this
    const char *driver;            // the text of the device's driver holds this
} ways[] = {
    {"RADV_FORCE_FAMILY", "", "radv"},
    {"LD_PRELOAD", "_noop_drm_shim", "Mesa"},
    {"LD_PRELOAD", "_noop_drm_shim", "rusticl"},
};

static const char *pretender(const bpt_device_info_t *info) {
    for (size_t i = 0; i < BPT_COUNT(ways); ++i) {
        const char *value = getenv(ways[i].variable);
        if (value && *value && strstr(value, ways[i].value) && strstr(info->driver, ways[i].driver)) return ways[i].variable;
    }
    return NULL;
}

void bpt_gpu_pretended_mark(bpt_device_info_t *info) {
    const char *variable = pretender(info);
    if (!variable || !info->usable || !strcmp(info->type, "software")) return;
    bpt_gpu_info_t gpu = bpt_gpu_info(info);
    gpu.pretended = true;
    bpt_gpu_info_set(info, &gpu);
    info->usable = false;
    snprintf(
        info->reason, sizeof info->reason,
        "%s has Mesa pretend this device, which runs nothing; `bpt doctor --compile` compiles for it. Unset %s for those that are here",
        variable, variable);
}

const char *bpt_gpu_pretended_remedy(void) {
    const char *family = getenv("RADV_FORCE_FAMILY");
    return family && *family ? "RADV_FORCE_FAMILY is set, but this Mesa has no devices without hardware (26.1 has none); its mesa-drm-shim "
                               "pretends GPUs: LD_PRELOAD=libamdgpu_noop_drm_shim.so AMDGPU_GPU_ID=navi21"
                             : NULL;
}
