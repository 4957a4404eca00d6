// Which kernel runs where several compute the same: a rule by class of device, never a timing, so that runs repeat bit for bit.
#include <string.h>

#include "backends/gpu/gpu.h"

bpt_gpu_tuning_t bpt_gpu_tuning(const bpt_device_info_t *info) {
    if (strcmp(info->type, "software")) return (bpt_gpu_tuning_t){0};
    // Mesa's rasterizer runs eight items side by side and pays for every load of each: large tiles in registers. OpenCL drivers for
    // processors make vectors of float4s.
    if (strstr(info->name, "llvmpipe")) return (bpt_gpu_tuning_t){.wide_rows = 16, .wide_columns = 4, .wide_group = 8};
    return (bpt_gpu_tuning_t){.wide_rows = 8, .wide_columns = 2, .wide_group = 8};
}
