// The OpenCL C text of every kernel, put together by the build (tools/cmake/embed_opencl.cmake): cl/dialect/opencl.h, the kernel's .inc and
// its .cl. The element types, the constants and the group size come as -D options. Knows no API.
#ifndef BPT_OPENCL_TEXTS_H
#define BPT_OPENCL_TEXTS_H

#include "backends/gpu/kernel.h"

extern const char *const bpt_gpu_opencl_text[BPT_GPU_KERNEL_COUNT];

#endif
