#include "support/library.h"

#include <stdlib.h>

#include "backends/gpu/device.h"

void test_take_library(bpt_device_t *device) {
    bpt_gpu_device_t *g = (bpt_gpu_device_t *)device;
    if (!bpt_gpu_tuning_parse("library", &g->tuning)) abort();
    bpt_gpu_tuning_complete(&g->base.info, &g->tuning);
    g->library_masks = true;
}
