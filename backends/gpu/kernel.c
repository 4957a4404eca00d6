// The table of kernels (see kernel.h).
#include "backends/gpu/kernel.h"

const bpt_gpu_kernel_info_t bpt_gpu_kernels[BPT_GPU_KERNEL_COUNT] = {
#define BPT_GPU_VISIT "backends/gpu/kernel_info.h"
#include "backends/gpu/kernels.def"
#undef BPT_GPU_VISIT
};
