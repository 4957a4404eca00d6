// Device memory, mapped into the host's address space or reached by copies (internal.h).
#include <string.h>

#include "backends/vulkan/internal.h"
#include "bpt/alloc.h"

enum {
    UNCACHED_READ_BYTES = 4096,  // up to here reading uncached memory is quicker than a copy
    HOST_BYTES = 64,             // such small blocks lie on the host, which then reads and writes them without a submission: the word that
                                 // every wait asks for (backends/gpu/list.c)
};
static const uint64_t COPY_TIMEOUT_NS = 60000000000;
static const double MIB = 1 << 20;

typedef enum { FOR_DEVICE, FOR_STAGING } purpose_t;

// How good a type of memory is; 0 = unfit.
static int type_rank(const bpt_vulkan_t *v, uint32_t type, purpose_t purpose) {
    const VkMemoryType *t = &v->physical.memory.memoryTypes[type];
    const VkMemoryPropertyFlags flags = t->propertyFlags, plain = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                                                                  VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                                                  VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    const bool host = (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) && (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    const bool cached = flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT, device = flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    const bool whole = v->physical.memory.memoryHeaps[t->heapIndex].size >= v->physical.limits.memory_bytes;  // not a small window
    if (flags & ~plain) return 0;
    if (purpose == FOR_STAGING) return host ? 1 + 2 * cached + !device : 0;
    if (v->physical.limits.unified) return host ? 1 + 2 * device + cached : 0;
    return device ? 1 + (host && whole && v->physical.mapped) + !host : 0;
}

// Allocates of the best type that has room.
static VkResult allocate(bpt_vulkan_t *v, bpt_gpu_memory_t *m, purpose_t purpose) {
    VkMemoryRequirements needs;
    VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    bpt_vk.GetBufferMemoryRequirements(v->device, m->buffer, &needs);
    for (uint32_t untried = needs.memoryTypeBits; result == VK_ERROR_OUT_OF_DEVICE_MEMORY;) {
        int best = -1;
        for (int type = 0; type < (int)v->physical.memory.memoryTypeCount; ++type)
            if ((untried >> type & 1) && type_rank(v, (uint32_t)type, purpose) > (best < 0 ? 0 : type_rank(v, (uint32_t)best, purpose)))
                best = type;
        if (best < 0) return result;
        untried &= ~(1u << best);
        const VkMemoryAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = (uint32_t)best};
        result = bpt_vk.AllocateMemory(v->device, &info, NULL, &m->memory);
        if (result != VK_SUCCESS) continue;
        const VkMemoryPropertyFlags flags = v->physical.memory.memoryTypes[best].propertyFlags;
        m->allocated_bytes = needs.size;
        m->cached = flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
        v->memory_bytes += needs.size;
        void *mapped = NULL;  // where the host may but cannot map, copies do
        if ((flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) && (purpose == FOR_STAGING || v->physical.mapped) &&
            bpt_vk.MapMemory(v->device, m->memory, 0, VK_WHOLE_SIZE, 0, &mapped) == VK_SUCCESS)
            m->mapped = mapped;
        if (purpose == FOR_STAGING && !mapped) return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    return result;
}

static bpt_status_t create(bpt_vulkan_t *v, size_t bytes, purpose_t purpose, bpt_gpu_memory_t **out) {
    bpt_gpu_memory_t *m;
    BPT_TRY(bpt_alloc(1, sizeof *m, &m));
    m->bytes = bytes;
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = (bytes ? bytes + 3 : 4) & ~(size_t)3,  // vkCmdFillBuffer writes whole words
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    };
    VkResult result = bpt_vk.CreateBuffer(v->device, &info, NULL, &m->buffer);
    if (result == VK_SUCCESS) result = allocate(v, m, purpose);
    if (result == VK_SUCCESS) result = bpt_vk.BindBufferMemory(v->device, m->buffer, m->memory, 0);
    if (result == VK_SUCCESS) {
        *out = m;
        return BPT_OK;
    }
    bpt_vulkan_memory_destroy(&v->base, m);
    return bpt_vulkan_fail(v, result, "allocating memory");
}

// ---- Copies ----------------------------------------------------------------------------------------------------------

static bpt_status_t transfer_begin(bpt_vulkan_t *v, VkCommandBuffer *out) {
    const VkCommandBufferAllocateInfo allocate_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                       .commandPool = v->command_pool,
                                                       .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                       .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkResult result = bpt_vk.AllocateCommandBuffers(v->device, &allocate_info, out);
    if (result != VK_SUCCESS) return bpt_vulkan_fail(v, result, "preparing a copy");
    result = bpt_vk.BeginCommandBuffer(*out, &begin);
    if (result == VK_SUCCESS) {
        bpt_vulkan_full_barrier(*out);
        return BPT_OK;
    }
    bpt_vk.FreeCommandBuffers(v->device, v->command_pool, 1, out);
    return bpt_vulkan_fail(v, result, "preparing a copy");
}

static bpt_status_t transfer_end(bpt_vulkan_t *v, VkCommandBuffer commands) {
    uint64_t ticket;
    bpt_vulkan_full_barrier(commands);
    const VkResult result = bpt_vk.EndCommandBuffer(commands);
    bpt_status_t status = result == VK_SUCCESS ? BPT_OK : bpt_vulkan_fail(v, result, "preparing a copy");
    if (status == BPT_OK) status = bpt_vulkan_queue_submit(v, commands, &ticket);
    if (status == BPT_OK) status = bpt_vulkan_wait(&v->base, ticket, COPY_TIMEOUT_NS);
    if (bpt_vulkan_idle(v)) bpt_vk.FreeCommandBuffers(v->device, v->command_pool, 1, &commands);
    return status;
}

static bpt_status_t copy(bpt_vulkan_t *v, const bpt_gpu_memory_t *from, size_t from_offset, const bpt_gpu_memory_t *to, size_t to_offset,
                         size_t bytes) {
    VkCommandBuffer commands;
    BPT_TRY(transfer_begin(v, &commands));
    bpt_vk.CmdCopyBuffer(commands, from->buffer, to->buffer, 1, &(VkBufferCopy){from_offset, to_offset, bytes});
    return transfer_end(v, commands);
}

static bpt_status_t clear(bpt_vulkan_t *v, const bpt_gpu_memory_t *m) {
    VkCommandBuffer commands;
    if (m->mapped && v->physical.limits.unified) {
        memset(m->mapped, 0, m->bytes);
        return BPT_OK;
    }
    BPT_TRY(transfer_begin(v, &commands));
    bpt_vk.CmdFillBuffer(commands, m->buffer, 0, VK_WHOLE_SIZE, 0);
    return transfer_end(v, commands);
}

static bpt_status_t check_range(const bpt_gpu_memory_t *m, size_t offset, size_t bytes) {
    if (offset <= m->bytes && bytes <= m->bytes - offset) return BPT_OK;
    return bpt_fail(BPT_ERR_INTERNAL, "Vulkan: bytes %zu to %zu of device memory that has %zu", offset, offset + bytes, m->bytes);
}

static bpt_status_t need_staging(bpt_vulkan_t *v) {
    return v->staging ? BPT_OK : create(v, VULKAN_STAGING_BYTES, FOR_STAGING, &v->staging);
}

// ---- The driver's functions ------------------------------------------------------------------------------------------

bpt_status_t bpt_vulkan_memory_create(bpt_gpu_api_t *api, size_t bytes, bpt_gpu_memory_t **out) {
    bpt_vulkan_t *v = (bpt_vulkan_t *)api;
    const uint64_t most = api->limits.max_allocation_bytes;  // not every driver refuses by itself
    bpt_gpu_memory_t *m;
    if (bytes > most)
        return bpt_fail(BPT_ERR_NO_MEMORY, "%s: a block of %.1f MiB is needed, the device allows %.1f MiB in one block",
                        v->physical.properties.deviceName, (double)bytes / MIB, (double)most / MIB);
    BPT_TRY(create(v, bytes, bytes <= HOST_BYTES ? FOR_STAGING : FOR_DEVICE, &m));
    const bpt_status_t status = clear(v, m);
    if (status == BPT_OK)
        *out = m;
    else
        bpt_vulkan_memory_destroy(api, m);
    return status;
}

void bpt_vulkan_memory_destroy(bpt_gpu_api_t *api, bpt_gpu_memory_t *m) {
    bpt_vulkan_t *v = (bpt_vulkan_t *)api;
    if (!m) return;
    if (bpt_vulkan_idle(v)) {
        bpt_vk.DestroyBuffer(v->device, m->buffer, NULL);
        bpt_vk.FreeMemory(v->device, m->memory, NULL);
        v->memory_bytes -= m->allocated_bytes;
    }
    bpt_free(m);
}

bpt_status_t bpt_vulkan_write(bpt_gpu_api_t *api, bpt_gpu_memory_t *m, size_t offset, const void *source, size_t bytes) {
    bpt_vulkan_t *v = (bpt_vulkan_t *)api;
    BPT_TRY(check_range(m, offset, bytes));
    if (bytes == 0) return BPT_OK;
    if (m->mapped) {
        memcpy(m->mapped + offset, source, bytes);
        return BPT_OK;
    }
    BPT_TRY(need_staging(v));
    for (size_t done = 0, part; done < bytes; done += part) {
        part = bytes - done < VULKAN_STAGING_BYTES ? bytes - done : VULKAN_STAGING_BYTES;
        memcpy(v->staging->mapped, (const uint8_t *)source + done, part);
        BPT_TRY(copy(v, v->staging, 0, m, offset + done, part));
    }
    return BPT_OK;
}

bpt_status_t bpt_vulkan_read(bpt_gpu_api_t *api, bpt_gpu_memory_t *m, size_t offset, void *target, size_t bytes) {
    bpt_vulkan_t *v = (bpt_vulkan_t *)api;
    BPT_TRY(check_range(m, offset, bytes));
    if (bytes == 0) return BPT_OK;
    if (m->mapped && (m->cached || bytes <= UNCACHED_READ_BYTES)) {
        memcpy(target, m->mapped + offset, bytes);
        return BPT_OK;
    }
    BPT_TRY(need_staging(v));
    for (size_t done = 0, part; done < bytes; done += part) {
        part = bytes - done < VULKAN_STAGING_BYTES ? bytes - done : VULKAN_STAGING_BYTES;
        BPT_TRY(copy(v, m, offset + done, v->staging, 0, part));
        memcpy((uint8_t *)target + done, v->staging->mapped, part);
    }
    return BPT_OK;
}
