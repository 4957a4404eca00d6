// The device files of GPUs, and who may open them. Knows no API.
#ifndef BPT_GPU_NODES_H
#define BPT_GPU_NODES_H

#include "bpt/backend.h"

// The makers of the GPUs that have a device file, as bits.
enum { BPT_GPU_AMD = 1, BPT_GPU_INTEL = 2, BPT_GPU_OTHER = 4 };
unsigned bpt_gpu_vendors(void);
// Whether there is a device file of a GPU, or it cannot be known without asking the drivers.
bool bpt_gpu_may_be_there(void);
// Whether this user may open a device file.
bool bpt_gpu_node_opens(const char *path);
// The device files of GPUs, as a pattern of the shell; NULL where the system has none.
extern const char *const bpt_gpu_node_files;
// Appends the GPUs that this user may not open, which drivers therefore pass over, each by its file and with the remedy.
void bpt_gpu_list_forbidden(bpt_device_info_t *infos, int capacity, int *count);
// BPT_ERR_UNAVAILABLE: "<what>; " and the first GPU that may not be opened, with the remedy, else what to install.
bpt_status_t bpt_gpu_no_driver(const char *what, const char *install) BPT_MUST_USE;

#endif
