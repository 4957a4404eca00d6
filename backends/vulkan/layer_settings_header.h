// VK_EXT_layer_settings for Vulkan headers that are older than it (of before 2024), as the registry has it.
#ifndef BPT_VULKAN_LAYER_SETTINGS_HEADER_H
#define BPT_VULKAN_LAYER_SETTINGS_HEADER_H

#include "backends/vulkan/loader.h"

#ifndef VK_EXT_layer_settings
#define VK_EXT_LAYER_SETTINGS_EXTENSION_NAME "VK_EXT_layer_settings"
#define VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT ((VkStructureType)1000496000)

typedef enum { VK_LAYER_SETTING_TYPE_BOOL32_EXT = 0, VK_LAYER_SETTING_TYPE_MAX_ENUM_EXT = 0x7FFFFFFF } VkLayerSettingTypeEXT;

typedef struct {
    const char *pLayerName, *pSettingName;
    VkLayerSettingTypeEXT type;
    uint32_t valueCount;
    const void *pValues;
} VkLayerSettingEXT;

typedef struct {
    VkStructureType sType;
    const void *pNext;
    uint32_t settingCount;
    const VkLayerSettingEXT *pSettings;
} VkLayerSettingsCreateInfoEXT;
#endif

#endif
