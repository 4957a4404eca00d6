// Instances, one per open device, and the validation layer (internal.h).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/vulkan/internal.h"
#include "backends/vulkan/vulkan.h"
#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/log.h"

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"

static atomic_uint all_messages;

unsigned bpt_vulkan_validation_messages(void) { return atomic_load(&all_messages); }

static VKAPI_ATTR VkBool32 VKAPI_CALL hear(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT types,
                                           const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
    bpt_vulkan_instance_t *instance = user;
    (void)severity;
    (void)types;
    atomic_fetch_add(&all_messages, 1);
    if (atomic_fetch_add(&instance->messages, 1) == 0)
        snprintf(instance->first_message, sizeof instance->first_message, "%s", data->pMessage);
    bpt_log(BPT_LOG_ERROR, "Vulkan validation: %s", data->pMessage);
    return VK_FALSE;
}

bool bpt_vulkan_validation_wanted(void) {
    const char *wanted = bpt_env_text("BPT_VULKAN_VALIDATION");
    return wanted && strcmp(wanted, "0");
}

static bpt_status_t validation_find(void) {
    uint32_t count = 0;
    VkLayerProperties *layers = NULL;
    bool found = false;
    if (bpt_vk.EnumerateInstanceLayerProperties(&count, NULL) != VK_SUCCESS) count = 0;
    BPT_TRY(bpt_alloc(count, sizeof *layers, &layers));
    if (bpt_vk.EnumerateInstanceLayerProperties(&count, layers) < 0) count = 0;
    for (uint32_t i = 0; i < count; ++i) found = found || !strcmp(layers[i].layerName, VALIDATION_LAYER);
    bpt_free(layers);
    if (found) return BPT_OK;
    return bpt_fail(BPT_ERR_UNAVAILABLE, "BPT_VULKAN_VALIDATION is set, but there is no " VALIDATION_LAYER
                                         "; install Debian vulkan-validationlayers, Fedora or Arch vulkan-validation-layers");
}

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
        return bpt_gpu_no_driver("Vulkan has no driver for any device of this machine", BPT_VULKAN_PACKAGES);
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY) return no_memory();
    return bpt_fail(BPT_ERR_UNAVAILABLE, "Vulkan cannot be started: vkCreateInstance gives %d", (int)result);
}

bpt_status_t bpt_vulkan_instance_create(bpt_vulkan_instance_t *out) {
    memset(out, 0, sizeof *out);
    BPT_TRY(bpt_vulkan_load());
    const bool validation = bpt_vulkan_validation_wanted();
    if (validation) BPT_TRY(validation_find());
    const char *layer = VALIDATION_LAYER, *extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
    const VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
        .pfnUserCallback = hear,
        .pUserData = out,
    };
    const VkValidationFeatureEnableEXT enable = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    const VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                              .pNext = &messenger,
                                              .enabledValidationFeatureCount = 1,
                                              .pEnabledValidationFeatures = &enable};
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "bpt", .pEngineName = "bpt", .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pNext = validation ? &features : NULL,
                                       .pApplicationInfo = &application,
                                       .enabledLayerCount = validation ? 1 : 0,
                                       .ppEnabledLayerNames = &layer,
                                       .enabledExtensionCount = validation ? BPT_COUNT(extensions) : 0,
                                       .ppEnabledExtensionNames = extensions};
    const VkResult result = bpt_vk.CreateInstance(&info, NULL, &out->handle);
    if (result != VK_SUCCESS) return create_fail(result);
    if (!validation) return BPT_OK;
    const PFN_vkCreateDebugUtilsMessengerEXT create =
        (PFN_vkCreateDebugUtilsMessengerEXT)bpt_vk.GetInstanceProcAddr(out->handle, "vkCreateDebugUtilsMessengerEXT");
    if (create && create(out->handle, &messenger, NULL, &out->messenger) == VK_SUCCESS) return BPT_OK;
    bpt_vulkan_instance_destroy(out);
    return bpt_fail(BPT_ERR_UNAVAILABLE, "BPT_VULKAN_VALIDATION is set, but the validation layer offers no way to hear its messages");
}

void bpt_vulkan_instance_destroy(bpt_vulkan_instance_t *instance) {
    if (!instance->handle) return;
    if (instance->messenger) {
        const PFN_vkDestroyDebugUtilsMessengerEXT destroy =
            (PFN_vkDestroyDebugUtilsMessengerEXT)bpt_vk.GetInstanceProcAddr(instance->handle, "vkDestroyDebugUtilsMessengerEXT");
        destroy(instance->handle, instance->messenger, NULL);
    }
    bpt_vk.DestroyInstance(instance->handle, NULL);
    instance->handle = NULL;
}

bpt_status_t bpt_vulkan_instance_check(const bpt_vulkan_instance_t *instance) {
    if (atomic_load(&instance->messages) == 0) return BPT_OK;
    return bpt_fail(BPT_ERR_INTERNAL, "Vulkan validation: %s", instance->first_message);
}
