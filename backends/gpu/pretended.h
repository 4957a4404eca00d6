// GPUs that Mesa pretends: its compilers work for them, and nothing that is submitted to them runs. Knows no API.
#ifndef BPT_GPU_PRETENDED_H
#define BPT_GPU_PRETENDED_H

#include "bpt/backend.h"

// Marks a device that is pretended (bpt_gpu_info_t): it is not usable, and its reason says what it is for.
void bpt_gpu_pretended_mark(bpt_device_info_t *info);
// Where the environment asks for such a device and there is none: what to do instead, else NULL.
const char *bpt_gpu_pretended_remedy(void);

#endif
