// The CUDA C++ text of every kernel, put together by the build (tools/cmake/embed_texts.cmake): cl/dialect/cuda.h, the kernel's .inc and
// its .cl. The element types, the constants and the group size come as -D options. Knows no API.
#ifndef BPT_CUDA_TEXTS_H
#define BPT_CUDA_TEXTS_H

#include "backends/gpu/kernel.h"

extern const char *const bpt_gpu_cuda_text[BPT_GPU_KERNEL_COUNT];

#endif
