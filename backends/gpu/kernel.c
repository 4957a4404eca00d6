// The table of kernels (see kernel.h).
#include "backends/gpu/kernel.h"

// Types of local arrays.
enum { BYTES_OF_int = 4, BYTES_OF_uint = 4, BYTES_OF_float = 4, BYTES_OF_int4 = 16, BYTES_OF_uint4 = 16, BYTES_OF_float4 = 16 };
#define BPT_GPU_VISIT "backends/gpu/kernel_locals.h"
#include "backends/gpu/kernels.def"
#undef BPT_GPU_VISIT

const bpt_gpu_kernel_info_t bpt_gpu_kernels[BPT_GPU_KERNEL_COUNT] = {
#define BPT_GPU_VISIT "backends/gpu/kernel_info.h"
#include "backends/gpu/kernels.def"
#undef BPT_GPU_VISIT
};
