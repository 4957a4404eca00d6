// The devices of an instance and what they allow (internal.h).
#include <stdio.h>
#include <string.h>

#include "backends/vulkan/internal.h"
#include "backends/vulkan/matrix_header.h"
#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/platforms.h"

static bool has_extension(const VkExtensionProperties *extensions, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; ++i)
        if (!strcmp(extensions[i].extensionName, name)) return true;
    return false;
}

// Dedicated compute queues come first: long work in them does not stop a desktop from being drawn.
static void choose_queue(bpt_vulkan_physical_t *p) {
    VkQueueFamilyProperties families[32];
    uint32_t count = BPT_COUNT(families);
    int best = -1;
    bpt_vk.GetPhysicalDeviceQueueFamilyProperties(p->handle, &count, families);
    for (uint32_t i = 0; i < count; ++i) {
        if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) || !families[i].queueCount) continue;
        const int rank = !!families[i].timestampValidBits * 2 + !(families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT);
        if (rank <= best) continue;
        best = rank;
        p->queue_family = i;
        p->timestamp_bits = families[i].timestampValidBits;
    }
    if (best < 0) snprintf(p->reason, sizeof p->reason, "it has no queue for compute work");
}

static uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

// What the driver says a heap has left for this program. Some say more than the heap holds, some say nothing.
static uint64_t heap_room(uint64_t size, uint64_t budget) { return budget ? min_u64(size, budget) : size; }

// Memory: a device that shares the host's has all heaps that the host can map; another one its largest own heap.
static void know_memory(bpt_vulkan_physical_t *p, const VkDeviceSize *budgets) {
    const VkPhysicalDeviceType type = p->properties.deviceType;
    uint64_t shared = 0, shared_free = 0, own = 0, own_free = 0;
    uint32_t shared_heaps = 0;
    bool mappable = false;
    for (uint32_t i = 0; i < p->memory.memoryTypeCount; ++i) {
        const VkMemoryType *t = &p->memory.memoryTypes[i];
        const uint64_t bytes = p->memory.memoryHeaps[t->heapIndex].size, room = heap_room(bytes, budgets[t->heapIndex]);
        const bool host = t->propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                   device = t->propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
        mappable = mappable || (host && device);
        if (host && !(shared_heaps >> t->heapIndex & 1)) {
            shared_heaps |= 1u << t->heapIndex;
            shared += bytes;
            shared_free += room;
        }
        if (device && bytes > own) own = bytes, own_free = room;
    }
    p->mapped = !bpt_env_disabled("unified");
    p->limits.unified = mappable && p->mapped && (type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU || type == VK_PHYSICAL_DEVICE_TYPE_CPU);
    p->limits.memory_bytes = p->limits.unified ? shared : own;
    p->free_bytes = p->limits.unified ? shared_free : own_free;
}

static bool has_memory(const VkPhysicalDeviceMemoryProperties *memory) {
    for (uint32_t i = 0; i < memory->memoryHeapCount; ++i)
        if (memory->memoryHeaps[i].size) return true;
    return false;
}

// Mesa's devices without hardware have no memory, and some of them crash when they are asked what is left of it (RADV 22.3, APUs).
static void ask_memory(bpt_vulkan_physical_t *p, const VkExtensionProperties *extensions, uint32_t n_extensions) {
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    bpt_vk.GetPhysicalDeviceMemoryProperties2(p->handle, &all);
    if (has_memory(&all.memoryProperties) && has_extension(extensions, n_extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME)) {
        all.pNext = &budget;
        bpt_vk.GetPhysicalDeviceMemoryProperties2(p->handle, &all);
    }
    p->memory = all.memoryProperties;
    know_memory(p, budget.heapBudget);
}

static void know_features(bpt_vulkan_physical_t *p) {
    VkPhysicalDeviceVulkan12Features f12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceVulkan11Features f11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &f12};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &f11};
    bpt_vk.GetPhysicalDeviceFeatures2(p->handle, &features);
    p->limits.f16 = f11.storageBuffer16BitAccess && f12.shaderFloat16 && !bpt_env_disabled("f16");
    // lavapipe reads buffers item by item, with a check each, and texels of all items of a subgroup at a time. Kernels that do so also
    // write by 64 bits.
    if (p->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU && features.features.shaderInt64)
        p->limits.max_texels = p->properties.limits.maxTexelBufferElements;
    if (!f12.timelineSemaphore) snprintf(p->reason, sizeof p->reason, "its driver has no timeline semaphores");
}

// A kernel that relies on its subgroups asks for their size, the one that the driver takes by itself.
static void know_subgroups(bpt_vulkan_physical_t *p, const VkPhysicalDeviceSubgroupSizeControlPropertiesEXT *sizes) {
    VkPhysicalDeviceSubgroupSizeControlFeaturesEXT control = {.sType =
                                                                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &control};
    const uint32_t size = p->properties11.subgroupSize;
    bpt_vk.GetPhysicalDeviceFeatures2(p->handle, &features);
    if (!control.subgroupSizeControl || !control.computeFullSubgroups || size < sizes->minSubgroupSize || size > sizes->maxSubgroupSize ||
        !(sizes->requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT))
        return;
    p->subgroup_size = size;
    p->most_subgroups = sizes->maxComputeWorkgroupSubgroups;
    const VkSubgroupFeatureFlags operations = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
    p->shuffles = (p->properties11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
                  (p->properties11.subgroupSupportedOperations & operations) == operations && !bpt_env_disabled("subgroup");
}

static void know_limits(bpt_vulkan_physical_t *p, const VkExtensionProperties *extensions, uint32_t n_extensions) {
    VkPhysicalDeviceMaintenance4PropertiesKHR maintenance = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES_KHR};
    VkPhysicalDeviceSubgroupSizeControlPropertiesEXT subgroup = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT};
    VkPhysicalDevicePCIBusInfoPropertiesEXT pci = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT};
    p->properties12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
    p->properties11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
    p->properties11.pNext = &p->properties12;
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &p->properties11};
    if (has_extension(extensions, n_extensions, VK_KHR_MAINTENANCE_4_EXTENSION_NAME)) {
        maintenance.pNext = all.pNext;
        all.pNext = &maintenance;
    }
    if (has_extension(extensions, n_extensions, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) {
        subgroup.pNext = all.pNext;
        all.pNext = &subgroup;
    }
    if (has_extension(extensions, n_extensions, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME)) {
        pci.pNext = all.pNext;
        all.pNext = &pci;
        p->on_pci = true;
    }
    bpt_vk.GetPhysicalDeviceProperties2(p->handle, &all);
    p->pci = pci;
    p->properties11.pNext = p->properties12.pNext = NULL;
    const VkPhysicalDeviceLimits *l = &p->properties.limits;
    bpt_gpu_limits_t *out = &p->limits;
    for (int axis = 0; axis < 3; ++axis) out->max_groups[axis] = l->maxComputeWorkGroupCount[axis];
    out->max_group_size = (uint32_t)min_u64(l->maxComputeWorkGroupInvocations, l->maxComputeWorkGroupSize[0]);
    out->local_bytes = l->maxComputeSharedMemorySize;
    out->max_binding_bytes = l->maxStorageBufferRange;
    out->disjoint_writes = !bpt_vulkan_validation_wanted();  // it knows bindings only
    out->max_allocation_bytes = p->properties11.maxMemoryAllocationSize;
    if (maintenance.maxBufferSize) out->max_allocation_bytes = min_u64(out->max_allocation_bytes, maintenance.maxBufferSize);
    out->offset_alignment = (uint32_t)l->minStorageBufferOffsetAlignment;
    if (out->max_texels && l->minTexelBufferOffsetAlignment > out->offset_alignment)
        out->offset_alignment = (uint32_t)l->minTexelBufferOffsetAlignment;
    if (subgroup.minSubgroupSize && subgroup.minSubgroupSize == subgroup.maxSubgroupSize) out->subgroup_size = subgroup.minSubgroupSize;
    p->least_subgroup = subgroup.minSubgroupSize;
    if (subgroup.minSubgroupSize) know_subgroups(p, &subgroup);
}

static bpt_status_t know(VkInstance instance, VkPhysicalDevice handle, bpt_vulkan_physical_t *p) {
    VkExtensionProperties *extensions = NULL;
    uint32_t n_extensions = 0;
    p->handle = handle;
    bpt_vk.GetPhysicalDeviceProperties(handle, &p->properties);
    if (p->properties.apiVersion < VK_API_VERSION_1_2) {
        snprintf(p->reason, sizeof p->reason,
                 "its driver offers Vulkan %u.%u, bpt needs 1.2: update the driver (mesa-vulkan-drivers, or the vendor's)",
                 VK_API_VERSION_MAJOR(p->properties.apiVersion), VK_API_VERSION_MINOR(p->properties.apiVersion));
        return BPT_OK;
    }
    if (bpt_vk.EnumerateDeviceExtensionProperties(handle, NULL, &n_extensions, NULL) != VK_SUCCESS) n_extensions = 0;
    BPT_TRY(bpt_alloc(n_extensions, sizeof *extensions, &extensions));
    if (bpt_vk.EnumerateDeviceExtensionProperties(handle, NULL, &n_extensions, extensions) < 0) n_extensions = 0;
    ask_memory(p, extensions, n_extensions);
    know_features(p);
    know_limits(p, extensions, n_extensions);
    p->tells_resources = has_extension(extensions, n_extensions, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    const bool matrix = has_extension(extensions, n_extensions, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    bpt_free(extensions);
    choose_queue(p);
    // lavapipe 26.1 crashes on them with 16 items side by side.
    const bool crashes = p->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU && p->subgroup_size > 8;
    return matrix && !crashes && p->subgroup_size && p->limits.f16 && !bpt_env_disabled("matrix") ? bpt_vulkan_matrix_know(instance, p)
                                                                                                  : BPT_OK;
}

static int type_rank(const bpt_vulkan_physical_t *p) {
    switch (p->properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 1;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 3;
    default: return 2;
    }
}

bpt_status_t bpt_vulkan_physical_list(VkInstance instance, bpt_vulkan_physical_t **out, int *count) {
    VkPhysicalDevice handles[64];
    uint32_t n = BPT_COUNT(handles);
    bpt_vulkan_physical_t *list;
    const VkResult result = bpt_vk.EnumeratePhysicalDevices(instance, &n, handles);
    if (result < 0)
        return bpt_fail(BPT_ERR_UNAVAILABLE, "Vulkan cannot list the devices: vkEnumeratePhysicalDevices gives %d", (int)result);
    BPT_TRY(bpt_alloc(n, sizeof *list, &list));
    for (uint32_t i = 0; i < n; ++i) {
        bpt_vulkan_physical_t p = {0};
        const bpt_status_t status = know(instance, handles[i], &p);
        if (status != BPT_OK) {
            bpt_free(list);
            return status;
        }
        uint32_t at = i;  // a stable insertion
        for (; at > 0 && type_rank(&list[at - 1]) > type_rank(&p); --at) list[at] = list[at - 1];
        list[at] = p;
    }
    *out = list;
    *count = (int)n;
    return BPT_OK;
}

static void describe_features(const bpt_vulkan_physical_t *p, char *text, size_t bytes) {
    const uint32_t version = p->properties.apiVersion;
    const bpt_fragments_t *m = &p->limits.fragments;
    size_t used = (size_t)snprintf(text, bytes, "vulkan-%u.%u", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
    if (p->limits.f16) used += (size_t)snprintf(text + used, bytes - used, " f16");
    if (m->rows) used += (size_t)snprintf(text + used, bytes - used, " matrix-%ux%ux%u", m->rows, m->columns, m->depth);
    if (p->matrix_left_out) used += (size_t)snprintf(text + used, bytes - used, " matrix-not-in-this-build");
    if (p->properties11.subgroupSize) used += (size_t)snprintf(text + used, bytes - used, " subgroup-%u", p->properties11.subgroupSize);
    if (p->timestamp_bits) used += (size_t)snprintf(text + used, bytes - used, " timestamps");
    if (p->limits.unified) (void)snprintf(text + used, bytes - used, " unified");
}

static void describe(const bpt_vulkan_physical_t *p, bpt_device_info_t *info) {
    static const char *const types[] = {"discrete", "integrated", "other", "software"};
    *info = (bpt_device_info_t){.memory_bytes = p->limits.memory_bytes,
                                .max_buffer_bytes = p->limits.max_allocation_bytes,
                                .f16 = p->limits.f16,
                                .usable = !*p->reason};
    const bpt_gpu_info_t gpu = {.max_binding_bytes = p->limits.max_binding_bytes,
                                .binding_alignment = p->limits.offset_alignment,
                                .max_group_size = p->limits.max_group_size,
                                .max_local_bytes = p->limits.local_bytes,
                                .fragments = p->limits.fragments,
                                .subgroup_size = p->properties11.subgroupSize,
                                .least_subgroup = p->least_subgroup};
    bpt_gpu_info_set(info, &gpu);
    snprintf(info->name, sizeof info->name, "%.*s", (int)sizeof info->name - 1, p->properties.deviceName);
    if (p->on_pci)
        snprintf(info->pci, sizeof info->pci, "%04x:%02x:%02x.%x", p->pci.pciDomain & 0xffff, p->pci.pciBus & 0xff, p->pci.pciDevice & 0xff,
                 p->pci.pciFunction & 0xf);
    if (*p->properties12.driverInfo)
        snprintf(info->driver, sizeof info->driver, "%.63s %.63s", p->properties12.driverName, p->properties12.driverInfo);
    else  // every vendor packs the number in its own way
        snprintf(info->driver, sizeof info->driver, "%.63s version %#x", p->properties12.driverName, p->properties.driverVersion);
    snprintf(info->type, sizeof info->type, "%s", types[type_rank(p)]);
    snprintf(info->reason, sizeof info->reason, "%s", p->reason);
    snprintf(info->bf16_reason, sizeof info->bf16_reason, "the Vulkan backend computes in f32 and f16");
    describe_features(p, info->features, sizeof info->features);
}

bpt_status_t bpt_vulkan_enumerate(bpt_device_info_t *infos, int capacity, int *count) {
    bpt_vulkan_instance_t instance;
    bpt_vulkan_physical_t *list = NULL;
    *count = 0;
    BPT_TRY(bpt_vulkan_instance_create(&instance));
    bpt_status_t status = bpt_vulkan_physical_list(instance.handle, &list, count);
    for (int i = 0; status == BPT_OK && i < *count && i < capacity; ++i) describe(&list[i], &infos[i]);
    bpt_free(list);
    bpt_vulkan_instance_destroy(&instance);
    if (status != BPT_OK) return status;
    bpt_gpu_list_forbidden(infos, capacity, count);
    if (*count == 0) return bpt_gpu_no_driver("Vulkan finds no device", bpt_platform_remedy(BPT_NEED_VULKAN));
    return bpt_vulkan_instance_check(&instance);
}
