// Recorded dispatches: one command buffer with its descriptor sets and timestamps (internal.h).
#include <string.h>

#include "backends/vulkan/internal.h"
#include "bpt/alloc.h"

enum { FIRST_POOL_SETS = 32, MOST_POOL_SETS = 4096, BINDINGS_PER_SET = 8, TEXELS_PER_SET = 4, QUERIES_PER_POOL = 256 };

struct bpt_gpu_commands {
    bpt_vulkan_t *vulkan;
    VkCommandBuffer buffer;
    uint64_t ticket;          // of the last submission, 0 = none
    VkDescriptorPool *pools;  // the last one has room for free_sets, free_bindings and free_texels
    size_t n_pools, pools_capacity;
    uint32_t free_sets, free_bindings, free_texels;
    VkBufferView *views;  // of bindings that are texel buffers
    size_t n_views, views_capacity;
    bpt_gpu_dispatch_t last;  // what is bound in `buffer` when `set` is
    VkDescriptorSet set;
    VkQueryPool *queries;
    size_t n_queries, queries_capacity, n_marks;
};

bpt_status_t bpt_vulkan_commands_create(bpt_gpu_api_t *api, bpt_gpu_commands_t **out) {
    bpt_vulkan_t *v = (bpt_vulkan_t *)api;
    bpt_gpu_commands_t *c;
    BPT_TRY(bpt_alloc(1, sizeof *c, &c));
    c->vulkan = v;
    const VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = v->command_pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                  .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags =
                                                VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};  // submitted again before it has finished
    VkResult result = bpt_vk.AllocateCommandBuffers(v->device, &allocate, &c->buffer);
    if (result == VK_SUCCESS) result = bpt_vk.BeginCommandBuffer(c->buffer, &begin);
    if (result != VK_SUCCESS) {
        bpt_vulkan_commands_destroy(api, c);
        return bpt_vulkan_fail(v, result, "recording work");
    }
    bpt_vulkan_full_barrier(c->buffer);
    *out = c;
    return BPT_OK;
}

void bpt_vulkan_commands_destroy(bpt_gpu_api_t *api, bpt_gpu_commands_t *c) {
    bpt_vulkan_t *v = (bpt_vulkan_t *)api;
    if (!c) return;
    if (bpt_vulkan_idle(v)) {
        if (c->buffer) bpt_vk.FreeCommandBuffers(v->device, v->command_pool, 1, &c->buffer);
        for (size_t i = 0; i < c->n_pools; ++i) bpt_vk.DestroyDescriptorPool(v->device, c->pools[i], NULL);
        for (size_t i = 0; i < c->n_views; ++i) bpt_vk.DestroyBufferView(v->device, c->views[i], NULL);
        for (size_t i = 0; i < c->n_queries; ++i) bpt_vk.DestroyQueryPool(v->device, c->queries[i], NULL);
    }
    bpt_free(c->pools);
    bpt_free(c->views);
    bpt_free(c->queries);
    bpt_free(c);
}

// ---- Dispatches ------------------------------------------------------------------------------------------------------

// Every new pool holds twice as many sets as the one before.
static bpt_status_t add_pool(bpt_gpu_commands_t *c) {
    bpt_vulkan_t *v = c->vulkan;
    uint32_t sets = FIRST_POOL_SETS;
    for (size_t i = 0; i < c->n_pools && sets < MOST_POOL_SETS; ++i) sets *= 2;
    const uint32_t bindings = sets * BINDINGS_PER_SET, texels = v->physical.limits.max_texels ? sets * TEXELS_PER_SET : 0;
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, bindings}, {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, texels}};
    const VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = sets, .poolSizeCount = texels ? 2 : 1, .pPoolSizes = sizes};
    BPT_TRY(bpt_grow(&c->pools, c->n_pools, &c->pools_capacity, sizeof *c->pools));
    const VkResult result = bpt_vk.CreateDescriptorPool(v->device, &info, NULL, &c->pools[c->n_pools]);
    if (result != VK_SUCCESS) return bpt_vulkan_fail(v, result, "recording work");
    ++c->n_pools;
    c->free_sets = sets;
    c->free_bindings = bindings;
    c->free_texels = texels;
    return BPT_OK;
}

static bpt_status_t add_view(bpt_gpu_commands_t *c, const VkDescriptorBufferInfo *buffer, VkFormat format, VkBufferView *out) {
    const VkBufferViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                         .buffer = buffer->buffer,
                                         .format = format,
                                         .offset = buffer->offset,
                                         .range = buffer->range};
    BPT_TRY(bpt_grow(&c->views, c->n_views, &c->views_capacity, sizeof *c->views));
    const VkResult result = bpt_vk.CreateBufferView(c->vulkan->device, &info, NULL, out);
    if (result != VK_SUCCESS) return bpt_vulkan_fail(c->vulkan, result, "recording work");
    c->views[c->n_views++] = *out;
    return BPT_OK;
}

static bpt_status_t allocate_set(bpt_gpu_commands_t *c, const bpt_vulkan_layout_t *layout) {
    if (c->free_sets == 0 || c->free_bindings < layout->n_bindings || c->free_texels < layout->n_texels) BPT_TRY(add_pool(c));
    const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = c->pools[c->n_pools - 1],
                                              .descriptorSetCount = 1,
                                              .pSetLayouts = &layout->set};
    const VkResult result = bpt_vk.AllocateDescriptorSets(c->vulkan->device, &info, &c->set);
    if (result != VK_SUCCESS) return bpt_vulkan_fail(c->vulkan, result, "recording work");
    --c->free_sets;
    c->free_bindings -= layout->n_bindings - layout->n_texels;
    c->free_texels -= layout->n_texels;
    return BPT_OK;
}

static bpt_status_t make_set(bpt_gpu_commands_t *c, const bpt_gpu_dispatch_t *d, const bpt_vulkan_layout_t *layout) {
    bpt_vulkan_t *v = c->vulkan;
    VkDescriptorBufferInfo buffers[BPT_GPU_MAX_BINDINGS];
    VkWriteDescriptorSet writes[BPT_GPU_MAX_BINDINGS];
    VkBufferView views[BPT_GPU_MAX_BINDINGS];
    BPT_TRY(allocate_set(c, layout));
    for (uint32_t b = 0; b < layout->n_bindings; ++b) {
        const bpt_gpu_binding_t *binding = &d->bindings[b];
        const VkFormat texels = layout->texels[b];
        const VkDescriptorType type = texels ? VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        buffers[b] = binding->memory && binding->bytes
                         ? (VkDescriptorBufferInfo){binding->memory->buffer, binding->offset_bytes, binding->bytes}
                         : (VkDescriptorBufferInfo){v->dummy->buffer, 0, VK_WHOLE_SIZE};
        if (texels) BPT_TRY(add_view(c, &buffers[b], texels, &views[b]));
        writes[b] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = c->set,
                                           .dstBinding = b,
                                           .descriptorCount = 1,
                                           .descriptorType = type,
                                           .pBufferInfo = &buffers[b],
                                           .pTexelBufferView = &views[b]};
    }
    bpt_vk.UpdateDescriptorSets(v->device, layout->n_bindings, writes, 0, NULL);
    return BPT_OK;
}

static bool same_bindings(const bpt_gpu_dispatch_t *a, const bpt_gpu_dispatch_t *b, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
        if (a->bindings[i].memory != b->bindings[i].memory || a->bindings[i].offset_bytes != b->bindings[i].offset_bytes ||
            a->bindings[i].bytes != b->bindings[i].bytes)
            return false;
    return true;
}

// The lowering keeps to the limits; a dispatch that does not is a bug, and some drivers would run it without a word.
static bpt_status_t check(const bpt_vulkan_t *v, const bpt_gpu_dispatch_t *d, const bpt_vulkan_layout_t *layout) {
    const bpt_gpu_limits_t *limits = &v->physical.limits;
    const char *kernel = bpt_gpu_kernels[d->program->kernel].name;
    if (d->params_bytes != layout->params_bytes)
        return bpt_fail(BPT_ERR_INTERNAL, "kernel %s: %u bytes of parameters, not %u", kernel, d->params_bytes, layout->params_bytes);
    for (int axis = 0; axis < 3; ++axis)
        if (d->groups[axis] > limits->max_groups[axis])
            return bpt_fail(BPT_ERR_INTERNAL, "kernel %s: %u work-groups on axis %d; the device allows %u", kernel, d->groups[axis], axis,
                            limits->max_groups[axis]);
    for (uint32_t b = 0; b < layout->n_bindings; ++b) {
        const bpt_gpu_binding_t *binding = &d->bindings[b];
        if (!binding->memory) continue;
        if (binding->offset_bytes % limits->offset_alignment || binding->bytes > limits->max_binding_bytes ||
            binding->offset_bytes > binding->memory->bytes || binding->bytes > binding->memory->bytes - binding->offset_bytes)
            return bpt_fail(BPT_ERR_INTERNAL, "kernel %s: %s is bound to %zu bytes from %zu on of %zu, against the device's limits", kernel,
                            bpt_gpu_kernels[d->program->kernel].bindings[b].name, binding->bytes, binding->offset_bytes,
                            binding->memory->bytes);
    }
    return BPT_OK;
}

bpt_status_t bpt_vulkan_dispatch(bpt_gpu_commands_t *c, const bpt_gpu_dispatch_t *d) {
    const bpt_vulkan_layout_t *layout = d->program->layout;
    BPT_TRY(check(c->vulkan, d, layout));
    const bool bound = c->set && c->last.program->layout == layout && same_bindings(&c->last, d, layout->n_bindings);
    if (!bound) BPT_TRY(make_set(c, d, layout));
    if (!bound) bpt_vk.CmdBindDescriptorSets(c->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, layout->pipeline, 0, 1, &c->set, 0, NULL);
    if (!bound || c->last.program != d->program) bpt_vk.CmdBindPipeline(c->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, d->program->pipeline);
    bpt_vk.CmdPushConstants(c->buffer, layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0, d->params_bytes, d->params);
    bpt_vk.CmdDispatch(c->buffer, d->groups[0], d->groups[1], d->groups[2]);
    c->last = *d;
    return BPT_OK;
}

bpt_status_t bpt_vulkan_barrier(bpt_gpu_commands_t *c) {
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    bpt_vk.CmdPipelineBarrier(c->buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0,
                              NULL, 0, NULL);
    return BPT_OK;
}

bpt_status_t bpt_vulkan_finish(bpt_gpu_commands_t *c) {
    bpt_vulkan_full_barrier(c->buffer);
    const VkResult result = bpt_vk.EndCommandBuffer(c->buffer);
    return result == VK_SUCCESS ? BPT_OK : bpt_vulkan_fail(c->vulkan, result, "recording work");
}

bpt_status_t bpt_vulkan_submit(bpt_gpu_api_t *api, bpt_gpu_commands_t *c, uint64_t *ticket) {
    BPT_TRY(bpt_vulkan_queue_submit((bpt_vulkan_t *)api, c->buffer, ticket));
    c->ticket = *ticket;
    return BPT_OK;
}

// ---- Marks -----------------------------------------------------------------------------------------------------------

bpt_status_t bpt_vulkan_mark(bpt_gpu_commands_t *c) {
    bpt_vulkan_t *v = c->vulkan;
    const uint32_t number = (uint32_t)(c->n_marks % QUERIES_PER_POOL);
    if (!v->physical.timestamp_bits)
        return bpt_fail(BPT_ERR_UNSUPPORTED, "%s has no timestamps, so single ops cannot be timed", v->physical.properties.deviceName);
    if (number == 0) {
        const VkQueryPoolCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = QUERIES_PER_POOL};
        BPT_TRY(bpt_grow(&c->queries, c->n_queries, &c->queries_capacity, sizeof *c->queries));
        const VkResult result = bpt_vk.CreateQueryPool(v->device, &info, NULL, &c->queries[c->n_queries]);
        if (result != VK_SUCCESS) return bpt_vulkan_fail(v, result, "recording work");
        bpt_vk.CmdResetQueryPool(c->buffer, c->queries[c->n_queries++], 0, QUERIES_PER_POOL);
    }
    bpt_vk.CmdWriteTimestamp(c->buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, c->queries[c->n_queries - 1], number);
    ++c->n_marks;
    return BPT_OK;
}

bpt_status_t bpt_vulkan_marks(bpt_gpu_commands_t *c, double *seconds, int capacity, int *count) {
    bpt_vulkan_t *v = c->vulkan;
    const uint32_t bits = v->physical.timestamp_bits;
    const uint64_t mask = bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    const double tick_s = v->physical.properties.limits.timestampPeriod * 1e-9;
    uint64_t ticks[QUERIES_PER_POOL], origin = 0;
    *count = (int)c->n_marks;
    if (!c->ticket) return bpt_fail(BPT_ERR_USAGE, "marks of work that was never submitted");
    for (size_t done = 0, part; done < c->n_marks && done < (size_t)capacity; done += part) {
        part = c->n_marks - done < QUERIES_PER_POOL ? c->n_marks - done : QUERIES_PER_POOL;
        const VkResult result = bpt_vk.GetQueryPoolResults(v->device, c->queries[done / QUERIES_PER_POOL], 0, (uint32_t)part,
                                                           part * sizeof *ticks, ticks, sizeof *ticks, VK_QUERY_RESULT_64_BIT);
        if (result == VK_NOT_READY) return bpt_fail(BPT_ERR_USAGE, "marks of work that has not finished");
        if (result != VK_SUCCESS) return bpt_vulkan_fail(v, result, "reading timestamps");
        if (done == 0) origin = ticks[0];
        for (size_t i = 0; i < part && done + i < (size_t)capacity; ++i) seconds[done + i] = (double)((ticks[i] - origin) & mask) * tick_s;
    }
    return BPT_OK;
}
