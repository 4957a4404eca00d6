// SPIR-V of every kernel, compiled and put together by the build (tools/cmake/bpt_kernel_texts.cmake). Knows no API.
#ifndef BPT_VULKAN_SHADERS_H
#define BPT_VULKAN_SHADERS_H

#include "backends/gpu/kernel.h"

typedef struct {
    const uint32_t *f32;
    size_t f32_bytes;
    const uint32_t *f16;  // reads and writes 16-bit elements too
    size_t f16_bytes;
} bpt_vulkan_shader_t;

extern const bpt_vulkan_shader_t *const bpt_vulkan_shaders[BPT_GPU_KERNEL_COUNT];

#endif
