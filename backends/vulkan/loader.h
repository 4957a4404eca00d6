// The Vulkan loader, opened at run time: nothing of Vulkan is needed to start the program. Knows no device.
#ifndef BPT_VULKAN_LOADER_H
#define BPT_VULKAN_LOADER_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "bpt/status.h"

// Every function that the backend calls, by its name without vk.
// clang-format off
#define BPT_VULKAN_FUNCTIONS(F)                                                                                                \
    F(GetInstanceProcAddr) F(EnumerateInstanceVersion) F(EnumerateInstanceLayerProperties)                                     \
    F(EnumerateInstanceExtensionProperties) F(CreateInstance) F(DestroyInstance) F(EnumeratePhysicalDevices)                   \
    F(GetPhysicalDeviceProperties) F(GetPhysicalDeviceProperties2) F(GetPhysicalDeviceFeatures2)                               \
    F(GetPhysicalDeviceMemoryProperties2) F(GetPhysicalDeviceQueueFamilyProperties) F(EnumerateDeviceExtensionProperties)      \
    F(CreateDevice) F(DestroyDevice) F(GetDeviceQueue) F(CreateSemaphore) F(DestroySemaphore) F(WaitSemaphores) F(QueueSubmit) \
    F(CreateCommandPool) F(DestroyCommandPool) F(AllocateCommandBuffers) F(FreeCommandBuffers) F(BeginCommandBuffer)           \
    F(EndCommandBuffer) F(CreateBuffer) F(DestroyBuffer) F(GetBufferMemoryRequirements) F(CreateBufferView)                    \
    F(DestroyBufferView) F(AllocateMemory) F(FreeMemory) F(BindBufferMemory) F(MapMemory) F(CreateShaderModule)                \
    F(DestroyShaderModule) F(CreateDescriptorSetLayout) F(DestroyDescriptorSetLayout) F(CreatePipelineLayout)                  \
    F(DestroyPipelineLayout) F(CreateComputePipelines) F(DestroyPipeline) F(CreateDescriptorPool) F(DestroyDescriptorPool)     \
    F(AllocateDescriptorSets) F(UpdateDescriptorSets) F(CreateQueryPool) F(DestroyQueryPool) F(GetQueryPoolResults)            \
    F(CmdBindPipeline) F(CmdBindDescriptorSets) F(CmdPushConstants) F(CmdDispatch) F(CmdPipelineBarrier) F(CmdCopyBuffer)      \
    F(CmdFillBuffer) F(CmdResetQueryPool) F(CmdWriteTimestamp) F(CreatePipelineCache) F(DestroyPipelineCache)                  \
    F(GetPipelineCacheData)
// clang-format on

typedef struct {
#define FUNCTION(name) PFN_vk##name name;
    BPT_VULKAN_FUNCTIONS(FUNCTION)
#undef FUNCTION
} bpt_vulkan_functions_t;

extern bpt_vulkan_functions_t bpt_vk;  // filled by bpt_vulkan_load

// Opens the loader, once in a process. BPT_VULKAN_LIBRARY names another library than libvulkan.so.1.
bpt_status_t bpt_vulkan_load(void) BPT_MUST_USE;

#endif
