// Opening and closing a device, its queue and the waiting for it (internal.h).
#include <stdio.h>
#include <string.h>

#include "backends/vulkan/internal.h"
#include "backends/vulkan/matrix_header.h"
#include "backends/vulkan/vulkan.h"
#include "bpt/alloc.h"
#include "bpt/log.h"

static const uint64_t GRACE_NS = 10000000000;  // what bpt_vulkan_idle grants

static const char *result_name(VkResult result) {
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "no host memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "no device memory";
    case VK_ERROR_INITIALIZATION_FAILED: return "the driver could not start it";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "the driver lacks a feature that it had named";
    case VK_ERROR_TOO_MANY_OBJECTS: return "too many objects; are other programs using the device?";
    default: return NULL;
    }
}

bpt_status_t bpt_vulkan_fail(bpt_vulkan_t *vulkan, VkResult result, const char *what) {
    const char *device = vulkan->physical.properties.deviceName, *name = result_name(result);
    if (result == VK_ERROR_DEVICE_LOST) {
        vulkan->lost = true;
        return bpt_fail(
            BPT_ERR_DEVICE_LOST,
            "%s: %s: the driver gave the device up, most often because its watchdog ended work that ran too long; the kernel's log "
            "(dmesg) tells more",
            device, what);
    }
    const bool memory = result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY;
    const bpt_status_t code = memory ? BPT_ERR_NO_MEMORY : BPT_ERR_UNAVAILABLE;
    if (name) return bpt_fail(code, "%s: %s: %s", device, what, name);
    return bpt_fail(code, "%s: %s: Vulkan gives %d", device, what, (int)result);
}

static bpt_status_t create_device(bpt_vulkan_t *v) {
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = v->physical.queue_family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const bool subgroups = v->physical.subgroup_size > 0, matrix = v->physical.limits.fragments.rows > 0;
    const bool resources = v->compiles_only && v->physical.tells_resources;
    const char *extensions[3];
    uint32_t n_extensions = 0;
    if (subgroups) extensions[n_extensions++] = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
    if (matrix) extensions[n_extensions++] = VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
    if (resources) extensions[n_extensions++] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR, .pipelineExecutableInfo = VK_TRUE};
    VkPhysicalDeviceSubgroupSizeControlFeaturesEXT control = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT,
                                                              .pNext = bpt_vulkan_matrix_feature(&v->physical),
                                                              .subgroupSizeControl = VK_TRUE,
                                                              .computeFullSubgroups = VK_TRUE};
    VkPhysicalDeviceVulkan12Features f12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                            .pNext = subgroups ? &control : NULL,  // without subgroups there is no matrix either
                                            .timelineSemaphore = VK_TRUE,
                                            .shaderFloat16 = v->base.limits.f16,
                                            .vulkanMemoryModel = matrix,
                                            .vulkanMemoryModelDeviceScope = matrix};  // the barriers of the other kernels have it
    const VkPhysicalDeviceVulkan11Features f11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &f12, .storageBuffer16BitAccess = v->base.limits.f16};
    executables.pNext = (void *)&f11;
    const VkPhysicalDeviceFeatures features = {.shaderInt64 = v->base.limits.max_texels > 0};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = resources ? (const void *)&executables : &f11,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = n_extensions,
                                     .ppEnabledExtensionNames = extensions,
                                     .pEnabledFeatures = &features};
    const VkResult result = bpt_vk.CreateDevice(v->physical.handle, &info, NULL, &v->device);
    if (result != VK_SUCCESS) return bpt_vulkan_fail(v, result, "opening the device");
    bpt_vk.GetDeviceQueue(v->device, v->physical.queue_family, 0, &v->queue);
    return BPT_OK;
}

static bpt_status_t create_queue_objects(bpt_vulkan_t *v) {
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = v->physical.queue_family};
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkResult result = bpt_vk.CreateCommandPool(v->device, &pool, NULL, &v->command_pool);
    if (result == VK_SUCCESS) result = bpt_vk.CreateSemaphore(v->device, &semaphore, NULL, &v->timeline);
    if (result != VK_SUCCESS) return bpt_vulkan_fail(v, result, "preparing the queue");
    return bpt_vulkan_memory_create(&v->base, 256, &v->dummy);
}

static bpt_status_t choose(bpt_vulkan_t *v, int index) {
    bpt_vulkan_physical_t *list;
    int count;
    BPT_TRY(bpt_vulkan_physical_list(v->instance.handle, &list, &count));
    if (index >= 0 && index < count) v->physical = list[index];
    bpt_free(list);
    if (index < 0 || index >= count) return bpt_fail(BPT_ERR_UNAVAILABLE, "Vulkan has %d devices; there is no device %d", count, index);
    if (*v->physical.reason)
        return bpt_fail(BPT_ERR_UNAVAILABLE, "%s cannot be used: %s", v->physical.properties.deviceName, v->physical.reason);
    v->base.limits = v->physical.limits;
    v->base.limits.memory_bytes = v->physical.free_bytes;
    return BPT_OK;
}

static bpt_status_t open_device(int index, bool compiles_only, bpt_gpu_api_t **out) {
    bpt_vulkan_t *v;
    bpt_status_t status;
    BPT_TRY(bpt_alloc(1, sizeof *v, &v));
    v->base.driver = &bpt_vulkan_driver;
    v->compiles_only = compiles_only;
    BPT_TRY_GOTO(bpt_vulkan_instance_create(&v->instance), failed);
    BPT_TRY_GOTO(choose(v, index), failed);
    BPT_TRY_GOTO(create_device(v), failed);
    if (!compiles_only) {
        BPT_TRY_GOTO(create_queue_objects(v), failed);
        bpt_vulkan_pipelines_load(v);
    }
    BPT_TRY_GOTO(bpt_vulkan_instance_check(&v->instance), failed);
    *out = &v->base;
    return BPT_OK;
failed:
    bpt_vulkan_close(&v->base);
    return status;
}

bpt_status_t bpt_vulkan_open(int index, bpt_gpu_api_t **out) { return open_device(index, false, out); }

bpt_status_t bpt_vulkan_compiler_open(int index, const char *target, bpt_gpu_api_t **out) {
    (void)target;
    return open_device(index, true, out);
}

void bpt_vulkan_close(bpt_gpu_api_t *api) {
    if (!api) return;
    bpt_vulkan_t *v = (bpt_vulkan_t *)api;
    const bool idle = bpt_vulkan_idle(v);
    bpt_vulkan_memory_destroy(api, v->dummy);
    bpt_vulkan_memory_destroy(api, v->staging);
    if (!idle) {
        bpt_log(BPT_LOG_WARN, "%s still works; its memory is kept until this process ends", v->physical.properties.deviceName);
        return;  // `v` stays: the validation layer may still speak to it
    }
    if (v->device) {
        bpt_vulkan_pipelines_save(v);
        bpt_vulkan_layouts_destroy(v);
        bpt_vk.DestroySemaphore(v->device, v->timeline, NULL);
        bpt_vk.DestroyCommandPool(v->device, v->command_pool, NULL);
        bpt_vk.DestroyDevice(v->device, NULL);
    }
    bpt_vulkan_instance_destroy(&v->instance);
    bpt_free(v);
}

bool bpt_vulkan_idle(bpt_vulkan_t *v) {
    if (v->finished == v->submitted) return true;
    const VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &v->timeline, .pValues = &v->submitted};
    v->stuck = bpt_vk.WaitSemaphores(v->device, &info, v->stuck ? 0 : GRACE_NS) == VK_TIMEOUT;
    if (!v->stuck) v->finished = v->submitted;  // or lost: nothing runs on a lost device
    return !v->stuck;
}

void bpt_vulkan_full_barrier(VkCommandBuffer commands) {
    const VkAccessFlags writes = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    const VkAccessFlags reads = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_HOST_READ_BIT;
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = writes, .dstAccessMask = reads | writes};
    bpt_vk.CmdPipelineBarrier(commands, stages, stages | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
}

bpt_status_t bpt_vulkan_queue_submit(bpt_vulkan_t *v, VkCommandBuffer commands, uint64_t *ticket) {
    if (v->lost) return bpt_fail(BPT_ERR_DEVICE_LOST, "%s was lost earlier; open it again", v->physical.properties.deviceName);
    const uint64_t value = v->submitted + 1;
    const VkTimelineSemaphoreSubmitInfo timeline = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, .signalSemaphoreValueCount = 1, .pSignalSemaphoreValues = &value};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &timeline,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands,
                               .signalSemaphoreCount = 1,
                               .pSignalSemaphores = &v->timeline};
    const VkResult result = bpt_vk.QueueSubmit(v->queue, 1, &info, VK_NULL_HANDLE);
    if (result != VK_SUCCESS) return bpt_vulkan_fail(v, result, "submitting work");
    *ticket = v->submitted = value;
    return BPT_OK;
}

bpt_status_t bpt_vulkan_wait(bpt_gpu_api_t *api, uint64_t ticket, uint64_t timeout_ns) {
    bpt_vulkan_t *v = (bpt_vulkan_t *)api;
    const VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &v->timeline, .pValues = &ticket};
    const VkResult result = bpt_vk.WaitSemaphores(v->device, &info, timeout_ns);
    if (result == VK_TIMEOUT) {
        v->lost = true;
        return bpt_fail(BPT_ERR_DEVICE_LOST, "%s did not finish its work within %g s, and no watchdog of its driver ended it",
                        v->physical.properties.deviceName, (double)timeout_ns * 1e-9);
    }
    if (result != VK_SUCCESS) return bpt_vulkan_fail(v, result, "waiting for work");
    if (ticket > v->finished) v->finished = ticket;
    return bpt_vulkan_instance_check(&v->instance);
}
