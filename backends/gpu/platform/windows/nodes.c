// GPUs have no device files on Windows (see backends/gpu/nodes.h): the drivers alone know.
#include "backends/gpu/nodes.h"

const char *const bpt_gpu_node_files = NULL;

bool bpt_gpu_may_be_there(void) { return true; }

bool bpt_gpu_node_opens(const char *path) { return (void)path, true; }

unsigned bpt_gpu_vendors(void) { return 0; }

void bpt_gpu_list_forbidden(bpt_device_info_t *infos, int capacity, int *count) { (void)infos, (void)capacity, (void)count; }
