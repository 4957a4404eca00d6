// Which kernel runs where several compute the same: a rule by class of device, never a timing, so that runs repeat bit for bit.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu.h"

static bpt_gpu_tuning_t shipped(const bpt_device_info_t *info) {
    if (strcmp(info->type, "software")) return (bpt_gpu_tuning_t){0};
    // Mesa's rasterizer runs eight items side by side and pays for every load of each: large tiles in registers. OpenCL drivers for
    // processors make vectors of float4s.
    if (strstr(info->name, "llvmpipe")) return (bpt_gpu_tuning_t){.wide_rows = 16, .wide_columns = 4, .wide_group = 8};
    return (bpt_gpu_tuning_t){.wide_rows = 8, .wide_columns = 2, .wide_group = 8};
}

// BPT_TUNING=rows,columns,group overrides the rule for matmul_wide; 0,0,0 stands for products by tiles.
bpt_status_t bpt_gpu_tuning(const bpt_device_info_t *info, bpt_gpu_tuning_t *tuning) {
    const char *wanted = getenv("BPT_TUNING");
    char rest;
    *tuning = shipped(info);
    if (!wanted || !*wanted) return BPT_OK;
    const int read = sscanf(wanted, "%u,%u,%u%c", &tuning->wide_rows, &tuning->wide_columns, &tuning->wide_group, &rest);
    const bool tiles = tuning->wide_rows == 0, power = tuning->wide_group && !(tuning->wide_group & (tuning->wide_group - 1));
    const bool wide =
        tuning->wide_rows % 4 == 0 && tuning->wide_rows <= 64 && tuning->wide_columns >= 1 && tuning->wide_columns <= 8 && power;
    if (read == 3 && (tiles || wide)) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE,
                    "BPT_TUNING: '%s' must be rows,columns,group with rows a multiple of 4 up to 64 (0: tiles), columns from 1 to 8 "
                    "and group a power of two",
                    wanted);
}
