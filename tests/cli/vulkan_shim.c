// A Vulkan loader that misbehaves on demand and passes everything else on to the real one. Environment variables:
//   SHIM_OLD               the devices' drivers offer Vulkan 1.1
//   SHIM_BREAK_BUILD       no shader can be compiled
//   SHIM_MAX_BLOCK=BYTES   larger blocks of memory cannot be had
//   SHIM_BUDGET=BYTES      what the driver says is left of every heap of memory
//   SHIM_WRONG             the last row of work-groups of every larger dispatch is not run
#include <dlfcn.h>
#include <stdlib.h>
#include <vulkan/vulkan_core.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(name)                 \
    static __typeof__(name) *real; \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)

EXPORT VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceProperties(VkPhysicalDevice device, VkPhysicalDeviceProperties *properties) {
    REAL(vkGetPhysicalDeviceProperties);
    real(device, properties);
    if (getenv("SHIM_OLD")) properties->apiVersion = VK_API_VERSION_1_1;
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkEnumerateDeviceExtensionProperties(VkPhysicalDevice device, const char *layer, uint32_t *count,
                                                                          VkExtensionProperties *list) {
    REAL(vkEnumerateDeviceExtensionProperties);
    const uint32_t capacity = *count;
    if (!getenv("SHIM_BUDGET")) return real(device, layer, count, list);
    const VkResult result = real(device, layer, count, list);
    if (list && *count < capacity)
        list[*count] = (VkExtensionProperties){.extensionName = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, .specVersion = 1};
    ++*count;
    return result;
}

EXPORT VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceMemoryProperties2(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2 *properties) {
    REAL(vkGetPhysicalDeviceMemoryProperties2);
    const char *budget = getenv("SHIM_BUDGET");
    VkPhysicalDeviceMemoryBudgetPropertiesEXT *asked = properties->pNext;
    if (budget) properties->pNext = NULL;
    real(device, properties);
    properties->pNext = asked;
    if (budget && asked)
        for (uint32_t i = 0; i < VK_MAX_MEMORY_HEAPS; ++i) asked->heapBudget[i] = strtoull(budget, NULL, 10);
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkCreateComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                              const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *allocator,
                                                              VkPipeline *pipelines) {
    REAL(vkCreateComputePipelines);
    return getenv("SHIM_BREAK_BUILD") ? VK_ERROR_INVALID_SHADER_NV : real(device, cache, count, infos, allocator, pipelines);
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *allocator,
                                                      VkDeviceMemory *memory) {
    REAL(vkAllocateMemory);
    const char *most = getenv("SHIM_MAX_BLOCK");
    if (most && info->allocationSize > strtoull(most, NULL, 10)) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    return real(device, info, allocator, memory);
}

EXPORT VKAPI_ATTR void VKAPI_CALL vkCmdDispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
    REAL(vkCmdDispatch);
    real(commands, x > 1 && getenv("SHIM_WRONG") ? x - 1 : x, y, z);
}
