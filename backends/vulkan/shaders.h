// SPIR-V of every kernel, compiled and put together by the build (tools/cmake/bpt_kernel_texts.cmake). Knows no API.
#ifndef BPT_VULKAN_SHADERS_H
#define BPT_VULKAN_SHADERS_H

#include "backends/gpu/kernel.h"

typedef struct {
    const uint32_t *words;
    size_t bytes;
} bpt_vulkan_words_t;

// By whether it relies on subgroups, and whether it reads and writes 16-bit elements; and those that read texels, by whether they rely on
// subgroups. A kernel need not have them all.
typedef struct {
    bpt_vulkan_words_t variant[2][2], texels[2];
} bpt_vulkan_shader_t;

extern const char bpt_vulkan_shaders_by[];  // the compiler that made them, and its version
extern const bpt_vulkan_shader_t *const bpt_vulkan_shaders[BPT_GPU_KERNEL_COUNT];  // NULL: this build lacks it

#endif
