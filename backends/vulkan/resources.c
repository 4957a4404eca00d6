// What the driver says of a compiled kernel (VK_KHR_pipeline_executable_properties). Every driver has names of its own for its numbers.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "backends/vulkan/internal.h"
#include "backends/vulkan/shaders.h"

enum { MOST_STATISTICS = 64 };

// The names that drivers give, and where their numbers belong.
static const struct {
    const char *name;
    size_t field;
} known[] = {
    // Mesa's RADV
    {"VGPRs", offsetof(bpt_gpu_resources_t, registers)},
    {"SGPRs", offsetof(bpt_gpu_resources_t, scalar_registers)},
    {"Spilled VGPRs", offsetof(bpt_gpu_resources_t, spilled)},
    {"Spilled SGPRs", offsetof(bpt_gpu_resources_t, spilled_scalars)},
    {"LDS size", offsetof(bpt_gpu_resources_t, local_bytes)},
    {"LDS Size", offsetof(bpt_gpu_resources_t, local_bytes)},
    {"Scratch size", offsetof(bpt_gpu_resources_t, scratch_bytes)},
    {"Scratch Size", offsetof(bpt_gpu_resources_t, scratch_bytes)},
    {"Subgroups per SIMD", offsetof(bpt_gpu_resources_t, waves)},
    {"Instructions", offsetof(bpt_gpu_resources_t, instructions)},
    {"Code size", offsetof(bpt_gpu_resources_t, code_bytes)},
    {"Code Size", offsetof(bpt_gpu_resources_t, code_bytes)},
    // Mesa's ANV; in Mesa 26.1 instructions and code are called as RADV calls them
    {"Instruction Count", offsetof(bpt_gpu_resources_t, instructions)},
    {"Max live registers", offsetof(bpt_gpu_resources_t, registers)},
    {"Spill Count", offsetof(bpt_gpu_resources_t, spilled)},
    {"Spills", offsetof(bpt_gpu_resources_t, spilled)},
    {"Scratch Memory Size", offsetof(bpt_gpu_resources_t, scratch_bytes)},
    {"Workgroup Memory Size", offsetof(bpt_gpu_resources_t, local_bytes)},
    {"Max dispatch width", offsetof(bpt_gpu_resources_t, subgroup)},
    // NVIDIA
    {"Register Count", offsetof(bpt_gpu_resources_t, registers)},
    {"Binary Size", offsetof(bpt_gpu_resources_t, code_bytes)},
    {"Stack Size", offsetof(bpt_gpu_resources_t, scratch_bytes)},
    {"Shared Memory Size", offsetof(bpt_gpu_resources_t, local_bytes)},
};

static int64_t number_of(const VkPipelineExecutableStatisticKHR *s) {
    switch (s->format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR: return s->value.i64;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR: return (int64_t)s->value.u64;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR: return (int64_t)s->value.f64;
    default: return s->value.b32;
    }
}

static void take(const VkPipelineExecutableStatisticKHR *s, bpt_gpu_resources_t *out) {
    for (size_t i = 0; i < BPT_COUNT(known); ++i)
        if (!strcmp(s->name, known[i].name)) *(int64_t *)((char *)out + known[i].field) = number_of(s);
}

// A compute pipeline is one executable; where a driver makes several (one for each SIMD width), the last one is the widest.
static VkResult ask(const bpt_vulkan_t *v, VkPipeline pipeline, bpt_gpu_resources_t *out) {
    const PFN_vkGetPipelineExecutablePropertiesKHR list =
        (PFN_vkGetPipelineExecutablePropertiesKHR)bpt_vk.GetInstanceProcAddr(v->instance.handle, "vkGetPipelineExecutablePropertiesKHR");
    const PFN_vkGetPipelineExecutableStatisticsKHR tell =
        (PFN_vkGetPipelineExecutableStatisticsKHR)bpt_vk.GetInstanceProcAddr(v->instance.handle, "vkGetPipelineExecutableStatisticsKHR");
    const VkPipelineInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline};
    VkPipelineExecutablePropertiesKHR executables[8];
    VkPipelineExecutableStatisticKHR statistics[MOST_STATISTICS];
    uint32_t n = BPT_COUNT(executables), count = MOST_STATISTICS;
    if (!list || !tell) return VK_ERROR_EXTENSION_NOT_PRESENT;
    for (uint32_t i = 0; i < n; ++i)
        executables[i] = (VkPipelineExecutablePropertiesKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR};
    for (uint32_t i = 0; i < count; ++i)
        statistics[i] = (VkPipelineExecutableStatisticKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR};
    VkResult result = list(v->device, &info, &n, executables);
    if (result < 0 || !n) return result;
    const VkPipelineExecutableInfoKHR which = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, .pipeline = pipeline, .executableIndex = n - 1};
    result = tell(v->device, &which, &count, statistics);
    if (executables[n - 1].subgroupSize) out->subgroup = executables[n - 1].subgroupSize;
    for (uint32_t i = 0; result >= 0 && i < count; ++i) take(&statistics[i], out);
    return result;
}

// The shaders' own compiler is a part of it.
bpt_status_t bpt_vulkan_compiler_name(bpt_gpu_api_t *api, char *text, size_t bytes) {
    const VkPhysicalDeviceVulkan12Properties *driver = &((const bpt_vulkan_t *)api)->physical.properties12;
    snprintf(text, bytes, "%s %s, %s", driver->driverName, driver->driverInfo, bpt_vulkan_shaders_by);
    return BPT_OK;
}

bpt_status_t bpt_vulkan_compiler_compile(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, bpt_gpu_resources_t *out) {
    bpt_vulkan_t *v = (bpt_vulkan_t *)api;
    bpt_gpu_program_t *program;
    BPT_TRY(bpt_vulkan_program_create(api, variant, &program));
    const VkResult result = v->physical.tells_resources ? ask(v, program->pipeline, out) : VK_SUCCESS;
    bpt_vulkan_program_destroy(api, program);
    return result < 0 ? bpt_vulkan_fail(v, result, "asking what a kernel takes") : BPT_OK;
}
