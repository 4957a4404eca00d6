// A Vulkan loader that misbehaves on demand and passes everything else on to the real one. Environment variables:
//   SHIM_OLD               the devices' drivers offer Vulkan 1.1
//   SHIM_BREAK_BUILD       no shader can be compiled
//   SHIM_MAX_BLOCK=BYTES   larger blocks of memory cannot be had
//   SHIM_BUDGET=BYTES      what the driver says is left of every heap of memory
//   SHIM_DRIVER=NUMBER     the drivers tell this number of their version, and say no more of it
//   SHIM_CRASH_DISPATCH    the process dies when it records a dispatch
//   SHIM_NOTE=FILE         writes there what Mesa's variables are when it is asked for devices
//   SHIM_RUNS_NOTHING      no dispatch is recorded
//   SHIM_WRONG             the last row of work-groups of every larger dispatch is not run
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <vulkan/vulkan_core.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(name)                 \
    static __typeof__(name) *real; \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)

static const char *variable(const char *name) { return getenv(name) ? getenv(name) : ""; }

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkEnumeratePhysicalDevices(VkInstance instance, uint32_t *count, VkPhysicalDevice *devices) {
    REAL(vkEnumeratePhysicalDevices);
    FILE *note = getenv("SHIM_NOTE") ? fopen(getenv("SHIM_NOTE"), "w") : NULL;
    if (note) {
        fprintf(note, "%s|%s|%s", variable("LP_NATIVE_VECTOR_WIDTH"), variable("MESA_SHADER_CACHE_DIR"),
                variable("MESA_SHADER_CACHE_DISABLE"));
        fclose(note);
    }
    return real(instance, count, devices);
}

EXPORT VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceProperties(VkPhysicalDevice device, VkPhysicalDeviceProperties *properties) {
    REAL(vkGetPhysicalDeviceProperties);
    const char *number = getenv("SHIM_DRIVER");
    real(device, properties);
    if (number) properties->driverVersion = (uint32_t)strtoul(number, NULL, 10);
    if (getenv("SHIM_OLD")) properties->apiVersion = VK_API_VERSION_1_1;
}

EXPORT VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceProperties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *properties) {
    REAL(vkGetPhysicalDeviceProperties2);
    const char *number = getenv("SHIM_DRIVER");
    real(device, properties);
    if (!number) return;
    properties->properties.driverVersion = (uint32_t)strtoul(number, NULL, 10);
    for (VkBaseOutStructure *p = (VkBaseOutStructure *)properties->pNext; p; p = p->pNext)
        if (p->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES)
            ((VkPhysicalDeviceVulkan12Properties *)p)->driverInfo[0] = '\0';
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

EXPORT VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceMemoryProperties2(VkPhysicalDevice device,
                                                                       VkPhysicalDeviceMemoryProperties2 *properties) {
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
                                                               const VkComputePipelineCreateInfo *infos,
                                                               const VkAllocationCallbacks *allocator, VkPipeline *pipelines) {
    REAL(vkCreateComputePipelines);
    return getenv("SHIM_BREAK_BUILD") ? VK_ERROR_INVALID_SHADER_NV : real(device, cache, count, infos, allocator, pipelines);
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                       const VkAllocationCallbacks *allocator, VkDeviceMemory *memory) {
    REAL(vkAllocateMemory);
    const char *most = getenv("SHIM_MAX_BLOCK");
    if (most && info->allocationSize > strtoull(most, NULL, 10)) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    return real(device, info, allocator, memory);
}

EXPORT VKAPI_ATTR void VKAPI_CALL vkCmdDispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
    REAL(vkCmdDispatch);
    if (getenv("SHIM_CRASH_DISPATCH")) {
        signal(SIGSEGV, SIG_DFL);  // also where a sanitizer would turn it into an exit
        raise(SIGSEGV);
    }
    if (getenv("SHIM_RUNS_NOTHING")) return;
    real(commands, x > 1 && getenv("SHIM_WRONG") ? x - 1 : x, y, z);
}
