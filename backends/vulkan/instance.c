// Instances, one per open device (internal.h).
#include <string.h>

#include "backends/vulkan/internal.h"
#include "bpt/alloc.h"
#include "bpt/platforms.h"

// Loaders before 1.3.243 say so of a driver's file that they cannot read, too.
static bpt_status_t no_memory(void) {
    enum { MOST_FILES = 32 };
    bpt_driver_file_t *files;
    BPT_TRY(bpt_alloc(MOST_FILES, sizeof *files, &files));
    const int count = bpt_vulkan_loader.list(files, MOST_FILES);
    bpt_status_t status = BPT_OK;
    for (int i = 0; i < count && status == BPT_OK; ++i)
        if (*files[i].damage)
            status = bpt_fail(BPT_ERR_UNAVAILABLE, "the Vulkan loader gives up because the file of a driver, %s, %s; mend or remove it",
                              files[i].path, files[i].damage);
    bpt_free(files);
    return status == BPT_OK ? bpt_fail(BPT_ERR_NO_MEMORY, "Vulkan: no host memory for an instance") : status;
}

static bpt_status_t create_fail(VkResult result) {
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        return bpt_gpu_no_driver("Vulkan has no driver for any device of this machine", bpt_platform_remedy(BPT_NEED_VULKAN));
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY) return no_memory();
    return bpt_fail(BPT_ERR_UNAVAILABLE, "Vulkan cannot be started: vkCreateInstance gives %d", (int)result);
}

bpt_status_t bpt_vulkan_instance_create(bpt_vulkan_instance_t *out) {
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "bpt", .pEngineName = "bpt", .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    const bool validation = bpt_vulkan_validation_wanted();
    VkResult result;
    memset(out, 0, sizeof *out);
    BPT_TRY(bpt_vulkan_load());
    if (validation)
        BPT_TRY(bpt_vulkan_validation_create(&info, out, &result));
    else
        result = bpt_vk.CreateInstance(&info, NULL, &out->handle);
    if (result != VK_SUCCESS) return create_fail(result);
    const bpt_status_t status = validation ? bpt_vulkan_validation_hear(out) : BPT_OK;
    if (status != BPT_OK) bpt_vulkan_instance_destroy(out);
    return status;
}

void bpt_vulkan_instance_destroy(bpt_vulkan_instance_t *instance) {
    if (!instance->handle) return;
    bpt_vulkan_validation_end(instance);
    bpt_vk.DestroyInstance(instance->handle, NULL);
    instance->handle = NULL;
}
