// Kernels as compute pipelines: SPIR-V with specialisation constants (internal.h). The numbers of the constants are those of
// shaders/include/vulkan.glsl: 0 the group's size, 1.. the kernel's constants, 64.. the element types of the bindings.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "backends/gpu/cache.h"
#include "backends/vulkan/internal.h"
#include "backends/vulkan/shaders.h"
#include "bpt/alloc.h"
#include "bpt/dtype.h"

enum { FIRST_CONSTANT = 1, FIRST_DTYPE = 64 };

static VkFormat texels_of(bpt_gpu_binding_kind_t kind) {
    return kind == BPT_GPU_BINDING_G   ? VK_FORMAT_R32_SFLOAT
           : kind == BPT_GPU_BINDING_T ? VK_FORMAT_R32G32B32A32_SFLOAT
                                       : VK_FORMAT_UNDEFINED;
}

static bpt_status_t layout_create(bpt_vulkan_t *v, bpt_gpu_kernel_t kernel, bool texels) {
    const bpt_gpu_kernel_info_t *info = &bpt_gpu_kernels[kernel];
    bpt_vulkan_layout_t *layout = &v->layouts[kernel][texels];
    VkDescriptorSetLayoutBinding bindings[BPT_GPU_MAX_BINDINGS];
    uint32_t n = 0;
    if (layout->pipeline) return BPT_OK;
    layout->n_texels = 0;
    for (; n < BPT_GPU_MAX_BINDINGS && info->bindings[n].name; ++n) {
        layout->texels[n] = texels ? texels_of(info->bindings[n].kind) : VK_FORMAT_UNDEFINED;
        if (layout->texels[n]) ++layout->n_texels;
        bindings[n] = (VkDescriptorSetLayoutBinding){.binding = n,
                                                     .descriptorType = layout->texels[n] ? VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER
                                                                                         : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                     .descriptorCount = 1,
                                                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    }
    layout->n_bindings = n;
    layout->params_bytes = info->params_bytes;
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = n, .pBindings = bindings};
    const VkPushConstantRange params = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = info->params_bytes};
    const VkPipelineLayoutCreateInfo pipeline = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                                 .setLayoutCount = 1,
                                                 .pSetLayouts = &layout->set,
                                                 .pushConstantRangeCount = 1,
                                                 .pPushConstantRanges = &params};
    VkResult result = VK_SUCCESS;
    if (!layout->set) result = bpt_vk.CreateDescriptorSetLayout(v->device, &set, NULL, &layout->set);
    if (result == VK_SUCCESS) result = bpt_vk.CreatePipelineLayout(v->device, &pipeline, NULL, &layout->pipeline);
    return result == VK_SUCCESS ? BPT_OK : bpt_vulkan_fail(v, result, "preparing a kernel's layout");
}

void bpt_vulkan_layouts_destroy(bpt_vulkan_t *v) {
    for (int i = 0; i < 2 * BPT_GPU_KERNEL_COUNT; ++i) {
        bpt_vk.DestroyPipelineLayout(v->device, v->layouts[i / 2][i % 2].pipeline, NULL);
        bpt_vk.DestroyDescriptorSetLayout(v->device, v->layouts[i / 2][i % 2].set, NULL);
    }
}

// Does the variant hold 16-bit elements? The element types of bindings of other kinds than F say nothing.
static bpt_status_t check_dtypes(const bpt_vulkan_t *v, const bpt_gpu_variant_t *variant, bool *f16) {
    const bpt_gpu_kernel_info_t *info = &bpt_gpu_kernels[variant->kernel];
    *f16 = false;
    for (int b = 0; b < BPT_GPU_MAX_BINDINGS && info->bindings[b].name; ++b) {
        *f16 = *f16 || info->bindings[b].kind == BPT_GPU_BINDING_E;
        if (!bpt_gpu_binding_is_typed(info->bindings[b].kind) || variant->dtypes[b] == BPT_F32) continue;
        if (variant->dtypes[b] != BPT_F16 || !v->physical.limits.f16)
            return bpt_fail(BPT_ERR_UNSUPPORTED, "%s: %s has %s elements, which it cannot read or write", v->physical.properties.deviceName,
                            info->bindings[b].name, bpt_dtype_name((bpt_dtype_t)variant->dtypes[b]));
        *f16 = true;
    }
    return BPT_OK;
}

typedef struct {
    uint32_t values[1 + BPT_GPU_MAX_CONSTANTS + BPT_GPU_MAX_BINDINGS];
    VkSpecializationMapEntry entries[1 + BPT_GPU_MAX_CONSTANTS + BPT_GPU_MAX_BINDINGS];
    uint32_t count;
} specialisation_t;

static void specialise(specialisation_t *s, uint32_t id, uint32_t value) {
    s->values[s->count] = value;
    s->entries[s->count] = (VkSpecializationMapEntry){id, (uint32_t)(s->count * sizeof value), sizeof value};
    ++s->count;
}

// With `subgroups` the group consists of full subgroups of the device's one size.
static VkResult create_pipeline(bpt_vulkan_t *v, const bpt_gpu_variant_t *variant, bool subgroups, VkShaderModule module, VkPipeline *out) {
    const bpt_gpu_kernel_info_t *info = &bpt_gpu_kernels[variant->kernel];
    specialisation_t s = {.count = 0};
    specialise(&s, 0, variant->group_size);
    for (uint32_t c = 0; c < BPT_GPU_MAX_CONSTANTS && info->constants[c]; ++c) specialise(&s, FIRST_CONSTANT + c, variant->constants[c]);
    for (uint32_t b = 0; b < BPT_GPU_MAX_BINDINGS && info->bindings[b].name; ++b)
        if (bpt_gpu_binding_is_typed(info->bindings[b].kind)) specialise(&s, FIRST_DTYPE + b, variant->dtypes[b]);
    const VkSpecializationInfo specialisation = {s.count, s.entries, s.count * sizeof s.values[0], s.values};
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT size = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT,
        .requiredSubgroupSize = v->physical.subgroup_size};
    const VkComputePipelineCreateInfo pipeline = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .flags = v->compiles_only && v->physical.tells_resources ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR : 0,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .pNext = subgroups ? &size : NULL,
                  .flags = subgroups ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT : 0,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main",
                  .pSpecializationInfo = &specialisation},
        .layout = v->layouts[variant->kernel][variant->texels].pipeline,
    };
    return bpt_vk.CreateComputePipelines(v->device, v->pipelines, 1, &pipeline, NULL, out);
}

// Kernels for matrix units, which are asked for only where there are some, know no other way. Reductions have two, with the same bits: on
// GPUs their last folds go without barriers; in software that takes less time or more, by the width of the processor's vectors. Kernels
// that read texels in a group of one subgroup read once what all items want, and pass it on.
static bool by_subgroups(const bpt_vulkan_t *v, const bpt_gpu_variant_t *variant, bool f16) {
    const bpt_vulkan_shader_t *shader = bpt_vulkan_shaders[variant->kernel];
    if (bpt_gpu_kernels[variant->kernel].needs == BPT_GPU_NEEDS_FRAGMENTS) return true;
    if (!v->physical.shuffles) return false;
    if (variant->texels) return shader->texels[1].words && variant->group_size == v->physical.subgroup_size;
    return shader->variant[1][f16].words && !v->base.limits.software && variant->group_size % v->physical.subgroup_size == 0;
}

// The shader of a variant, and whether its group consists of full subgroups.
static bpt_status_t choose_shader(const bpt_vulkan_t *v, const bpt_gpu_variant_t *variant, bool *subgroups,
                                  const bpt_vulkan_words_t **words) {
    const bpt_vulkan_shader_t *shader = bpt_vulkan_shaders[variant->kernel];
    bool f16;
    BPT_TRY(check_dtypes(v, variant, &f16));
    *subgroups = by_subgroups(v, variant, f16);
    *words = variant->texels ? &shader->texels[*subgroups] : &shader->variant[*subgroups][f16];
    return BPT_OK;
}

bpt_status_t bpt_vulkan_compiler_source(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, void **source, size_t *bytes) {
    const bpt_vulkan_words_t *words;
    bool subgroups;
    BPT_TRY(choose_shader((bpt_vulkan_t *)api, variant, &subgroups, &words));
    BPT_TRY(bpt_alloc(words->bytes, 1, source));
    memcpy(*source, words->words, words->bytes);
    *bytes = words->bytes;
    return BPT_OK;
}

bpt_status_t bpt_vulkan_program_create(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out) {
    bpt_vulkan_t *v = (bpt_vulkan_t *)api;
    bool subgroups;
    const bpt_vulkan_words_t *words;
    bpt_gpu_program_t *program;
    VkShaderModule module;
    BPT_TRY(choose_shader(v, variant, &subgroups, &words));
    if (variant->group_size < 1 || variant->group_size > v->physical.limits.max_group_size)
        return bpt_fail(BPT_ERR_UNSUPPORTED, "%s: a work-group of %u items; the device allows %u", v->physical.properties.deviceName,
                        variant->group_size, v->physical.limits.max_group_size);
    BPT_TRY(layout_create(v, variant->kernel, variant->texels));
    if (subgroups && variant->group_size > v->physical.subgroup_size * v->physical.most_subgroups)
        return bpt_fail(BPT_ERR_UNSUPPORTED, "%s: a work-group of %u items in subgroups of %u; the device allows %u subgroups",
                        v->physical.properties.deviceName, variant->group_size, v->physical.subgroup_size, v->physical.most_subgroups);
    const VkShaderModuleCreateInfo module_info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = words->bytes, .pCode = words->words};
    BPT_TRY(bpt_alloc(1, sizeof *program, &program));
    program->kernel = variant->kernel;
    program->layout = &v->layouts[variant->kernel][variant->texels];
    VkResult result = bpt_vk.CreateShaderModule(v->device, &module_info, NULL, &module);
    if (result == VK_SUCCESS) {
        result = create_pipeline(v, variant, subgroups, module, &program->pipeline);
        bpt_vk.DestroyShaderModule(v->device, module, NULL);
    }
    if (result == VK_SUCCESS) {
        *out = program;
        return BPT_OK;
    }
    bpt_free(program);
    if (result == VK_ERROR_DEVICE_LOST || result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY)
        return bpt_vulkan_fail(v, result, "compiling a kernel");
    return bpt_fail(BPT_ERR_UNSUPPORTED, "%s: the driver's compiler refuses it (Vulkan gives %d)", v->physical.properties.deviceName,
                    (int)result);
}

void bpt_vulkan_program_destroy(bpt_gpu_api_t *api, bpt_gpu_program_t *program) {
    bpt_vulkan_t *v = (bpt_vulkan_t *)api;
    if (!program) return;
    if (bpt_vulkan_idle(v)) bpt_vk.DestroyPipeline(v->device, program->pipeline, NULL);
    bpt_free(program);
}

// ---- What the driver has compiled, from one process to the next ------------------------------------------------------

static bpt_cache_key_t pipelines_key(const bpt_vulkan_t *v) {
    const VkPhysicalDeviceProperties *p = &v->physical.properties;
    char driver[64], uuid[2 * VK_UUID_SIZE + 1];
    snprintf(driver, sizeof driver, "%x %x %x", p->vendorID, p->deviceID, p->driverVersion);
    for (size_t i = 0; i < VK_UUID_SIZE; ++i) snprintf(uuid + 2 * i, 3, "%02x", p->pipelineCacheUUID[i]);
    const char *const parts[] = {p->deviceName, driver, uuid};
    return bpt_cache_key("vulkan", parts, (int)BPT_COUNT(parts));
}

void bpt_vulkan_pipelines_load(bpt_vulkan_t *v) {
    const bpt_cache_key_t key = pipelines_key(v);
    void *data = NULL;
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    if (bpt_cache_get(&key, &data, &info.initialDataSize)) info.pInitialData = data;
    v->pipelines_bytes = info.initialDataSize;
    if (bpt_vk.CreatePipelineCache(v->device, &info, NULL, &v->pipelines) != VK_SUCCESS) v->pipelines = VK_NULL_HANDLE;
    bpt_free(data);
}

void bpt_vulkan_pipelines_save(bpt_vulkan_t *v) {
    const bpt_cache_key_t key = pipelines_key(v);
    size_t bytes = 0;
    void *data;
    const bool ask = v->pipelines && !v->lost && bpt_vk.GetPipelineCacheData(v->device, v->pipelines, &bytes, NULL) == VK_SUCCESS;
    if (ask && bytes != v->pipelines_bytes && bpt_alloc(bytes, 1, &data) == BPT_OK) {
        if (bpt_vk.GetPipelineCacheData(v->device, v->pipelines, &bytes, data) == VK_SUCCESS) bpt_cache_put(&key, data, bytes);
        bpt_free(data);
    }
    bpt_vk.DestroyPipelineCache(v->device, v->pipelines, NULL);
}
