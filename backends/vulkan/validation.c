// The validation layer: what an instance asks of it, and hearing its messages (internal.h).
#include <stdio.h>
#include <string.h>

#include "backends/vulkan/internal.h"
#include "backends/vulkan/layer_settings_header.h"
#include "backends/vulkan/vulkan.h"
#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/log.h"
#include "bpt/platforms.h"

#define LAYER "VK_LAYER_KHRONOS_validation"

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

static bpt_status_t find_layer(void) {
    uint32_t count = 0;
    VkLayerProperties *layers = NULL;
    bool found = false;
    if (bpt_vk.EnumerateInstanceLayerProperties(&count, NULL) != VK_SUCCESS) count = 0;
    BPT_TRY(bpt_alloc(count, sizeof *layers, &layers));
    if (bpt_vk.EnumerateInstanceLayerProperties(&count, layers) < 0) count = 0;
    for (uint32_t i = 0; i < count; ++i) found = found || !strcmp(layers[i].layerName, LAYER);
    bpt_free(layers);
    if (found) return BPT_OK;
    return bpt_fail(BPT_ERR_UNAVAILABLE, "BPT_VULKAN_VALIDATION is set, but there is no " LAYER "; %s",
                    bpt_platform_remedy(BPT_NEED_VULKAN_LAYER));
}

static bpt_status_t takes_settings(bool *takes) {
    uint32_t count = 0;
    VkExtensionProperties *list = NULL;
    *takes = false;
    if (bpt_vk.EnumerateInstanceExtensionProperties(LAYER, &count, NULL) != VK_SUCCESS) count = 0;
    BPT_TRY(bpt_alloc(count, sizeof *list, &list));
    if (bpt_vk.EnumerateInstanceExtensionProperties(LAYER, &count, list) < 0) count = 0;
    for (uint32_t i = 0; i < count; ++i) *takes = *takes || !strcmp(list[i].extensionName, VK_EXT_LAYER_SETTINGS_EXTENSION_NAME);
    bpt_free(list);
    return BPT_OK;
}

static VkDebugUtilsMessengerCreateInfoEXT messenger_of(bpt_vulkan_instance_t *instance) {
    return (VkDebugUtilsMessengerCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
        .pfnUserCallback = hear,
        .pUserData = instance,
    };
}

// Layers of 1.4 report hazards of what shaders access only when told to: without the setting a missing barrier between two dispatches
// goes unseen. Older layers always report them, and know neither the setting nor, before 2024, the extension.
bpt_status_t bpt_vulkan_validation_create(const VkInstanceCreateInfo *plain, bpt_vulkan_instance_t *out, VkResult *result) {
    const char *layer = LAYER, *extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME,
                                                VK_EXT_LAYER_SETTINGS_EXTENSION_NAME};
    const VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_of(out);
    const VkBool32 on = VK_TRUE;
    const VkLayerSettingEXT setting = {LAYER, "syncval_shader_accesses_heuristic", VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, &on};
    const VkLayerSettingsCreateInfoEXT settings = {
        .sType = VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT, .pNext = &messenger, .settingCount = 1, .pSettings = &setting};
    const VkValidationFeatureEnableEXT enable = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                        .pNext = &messenger,
                                        .enabledValidationFeatureCount = 1,
                                        .pEnabledValidationFeatures = &enable};
    VkInstanceCreateInfo info = *plain;
    bool with_settings;
    BPT_TRY(find_layer());
    BPT_TRY(takes_settings(&with_settings));
    if (with_settings) features.pNext = &settings;
    info.pNext = &features;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &layer;
    info.enabledExtensionCount = (uint32_t)BPT_COUNT(extensions) - !with_settings;
    info.ppEnabledExtensionNames = extensions;
    *result = bpt_vk.CreateInstance(&info, NULL, &out->handle);
    return BPT_OK;
}

bpt_status_t bpt_vulkan_validation_hear(bpt_vulkan_instance_t *instance) {
    const VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_of(instance);
    const PFN_vkCreateDebugUtilsMessengerEXT create =
        (PFN_vkCreateDebugUtilsMessengerEXT)bpt_vk.GetInstanceProcAddr(instance->handle, "vkCreateDebugUtilsMessengerEXT");
    if (create && create(instance->handle, &messenger, NULL, &instance->messenger) == VK_SUCCESS) return BPT_OK;
    return bpt_fail(BPT_ERR_UNAVAILABLE, "BPT_VULKAN_VALIDATION is set, but the validation layer offers no way to hear its messages");
}

void bpt_vulkan_validation_end(bpt_vulkan_instance_t *instance) {
    if (!instance->messenger) return;
    const PFN_vkDestroyDebugUtilsMessengerEXT destroy =
        (PFN_vkDestroyDebugUtilsMessengerEXT)bpt_vk.GetInstanceProcAddr(instance->handle, "vkDestroyDebugUtilsMessengerEXT");
    destroy(instance->handle, instance->messenger, NULL);
}

bpt_status_t bpt_vulkan_instance_check(const bpt_vulkan_instance_t *instance) {
    if (atomic_load(&instance->messages) == 0) return BPT_OK;
    return bpt_fail(BPT_ERR_INTERNAL, "Vulkan validation: %s", instance->first_message);
}
