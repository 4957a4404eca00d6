// The Vulkan driver and the backend on top of it (vulkan.h).
#include "backends/vulkan/vulkan.h"

#include "backends/gpu/backend.h"
#include "backends/vulkan/internal.h"

static const bpt_gpu_compiler_t compiler = {.open = bpt_vulkan_compiler_open,
                                            .close = bpt_vulkan_close,
                                            .name = bpt_vulkan_compiler_name,
                                            .source = bpt_vulkan_compiler_source,
                                            .compile = bpt_vulkan_compiler_compile};

const bpt_gpu_driver_t bpt_vulkan_driver = {
    .compiler = &compiler,
    .enumerate = bpt_vulkan_enumerate,
    .open = bpt_vulkan_open,
    .close = bpt_vulkan_close,
    .memory_create = bpt_vulkan_memory_create,
    .memory_destroy = bpt_vulkan_memory_destroy,
    .write = bpt_vulkan_write,
    .read = bpt_vulkan_read,
    .program_create = bpt_vulkan_program_create,
    .program_destroy = bpt_vulkan_program_destroy,
    .commands_create = bpt_vulkan_commands_create,
    .commands_destroy = bpt_vulkan_commands_destroy,
    .dispatch = bpt_vulkan_dispatch,
    .barrier = bpt_vulkan_barrier,
    .mark = bpt_vulkan_mark,
    .finish = bpt_vulkan_finish,
    .submit = bpt_vulkan_submit,
    .wait = bpt_vulkan_wait,
    .marks = bpt_vulkan_marks,
};

BPT_GPU_BACKEND(vulkan, "compute shaders on any Vulkan 1.2 driver", NULL, BPT_VULKAN_LACKS);
