// Units for products of small matrices (VK_KHR_cooperative_matrix): what a device has of them, and switching them on (internal.h). A build
// may lack the kernels for them (shaders/README.md); then they are only noted.
#include "backends/vulkan/internal.h"
#include "backends/vulkan/matrix_header.h"
#include "backends/vulkan/shaders.h"
#include "bpt/alloc.h"

// What cl/matrix/matmul_matrix.cl can use: f16 operands, f32 sums, by vectors of eight.
static bool suits(const VkCooperativeMatrixPropertiesKHR *m) {
    return m->AType == VK_COMPONENT_TYPE_FLOAT16_KHR && m->BType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
           m->CType == VK_COMPONENT_TYPE_FLOAT32_KHR && m->ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR && !m->saturatingAccumulation &&
           m->scope == VK_SCOPE_SUBGROUP_KHR && m->MSize % 8 == 0 && m->NSize % 8 == 0 && m->KSize % 8 == 0 && m->MSize <= 32 &&
           m->NSize <= 32 && m->KSize <= 32;
}

// Of the sizes that suit the one with most products, the first of equals.
static void choose(const VkCooperativeMatrixPropertiesKHR *list, uint32_t count, uint32_t subgroup, bpt_fragments_t *out) {
    for (uint32_t i = 0; i < count; ++i) {
        const VkCooperativeMatrixPropertiesKHR *m = &list[i];
        if (!suits(m) || m->MSize * m->NSize * m->KSize <= out->rows * out->columns * out->depth) continue;
        *out = (bpt_fragments_t){.rows = m->MSize, .columns = m->NSize, .depth = m->KSize, .subgroup = subgroup};
    }
}

static bool has_feature(VkPhysicalDevice handle) {
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
    VkPhysicalDeviceVulkan12Features f12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &matrix};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &f12};
    bpt_vk.GetPhysicalDeviceFeatures2(handle, &features);
    return matrix.cooperativeMatrix && f12.vulkanMemoryModel && f12.vulkanMemoryModelDeviceScope;
}

bpt_status_t bpt_vulkan_matrix_know(VkInstance instance, bpt_vulkan_physical_t *p) {
    const PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR ask =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)bpt_vk.GetInstanceProcAddr(
            instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    VkCooperativeMatrixPropertiesKHR *list;
    uint32_t count = 0;
    if (!ask || !has_feature(p->handle) || ask(p->handle, &count, NULL) != VK_SUCCESS) return BPT_OK;
    BPT_TRY(bpt_alloc(count, sizeof *list, &list));
    for (uint32_t i = 0; i < count; ++i) list[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    if (ask(p->handle, &count, list) >= 0) choose(list, count, p->subgroup_size, &p->limits.fragments);
    bpt_free(list);
    if (!bpt_vulkan_shaders[BPT_GPU_matmul_matrix]) {
        p->matrix_left_out = p->limits.fragments.rows > 0;
        p->limits.fragments = (bpt_fragments_t){0};
    }
    return BPT_OK;
}

void *bpt_vulkan_matrix_feature(const bpt_vulkan_physical_t *p) {
    static VkPhysicalDeviceCooperativeMatrixFeaturesKHR feature = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, .cooperativeMatrix = VK_TRUE};
    return p->limits.fragments.rows ? &feature : NULL;
}
