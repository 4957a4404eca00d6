// Opens libvulkan.so.1 and looks up its functions (loader.h).
#include "backends/vulkan/loader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/library.h"
#include "bpt/platforms.h"

bpt_vulkan_functions_t bpt_vk;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char reason[768];  // why there is no loader, "" when there is

static void find(void *library, const char *name, void *target) {
    void *symbol = bpt_library_symbol(library, name);
    memcpy(target, &symbol, sizeof symbol);
    if (!symbol && !*reason)
        snprintf(reason, sizeof reason, "the Vulkan loader is older than Vulkan 1.2 (it has no %s); update it: %s", name,
                 bpt_platform_remedy(BPT_NEED_VULKAN_LOADER));
}

static void load(void) {
    void *library = bpt_library_open(BPT_LIBRARY_VULKAN, getenv("BPT_VULKAN_LIBRARY"));
    if (!library) {
        snprintf(reason, sizeof reason, "the Vulkan loader cannot be opened (%s); %s", bpt_library_error(),
                 bpt_platform_remedy(BPT_NEED_VULKAN_LOADER));
        return;
    }
#define FUNCTION(name) find(library, "vk" #name, &bpt_vk.name);
    BPT_VULKAN_FUNCTIONS(FUNCTION)
#undef FUNCTION
    uint32_t version = 0;
    if (*reason) return;
    if (bpt_vk.EnumerateInstanceVersion(&version) != VK_SUCCESS || version < VK_API_VERSION_1_2)
        snprintf(reason, sizeof reason, "the Vulkan loader offers Vulkan %u.%u, bpt needs 1.2; update it: %s",
                 VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version), bpt_platform_remedy(BPT_NEED_VULKAN_LOADER));
}

bpt_status_t bpt_vulkan_load(void) {
    pthread_once(&once, load);
    return *reason ? bpt_fail(BPT_ERR_UNAVAILABLE, "%s", reason) : BPT_OK;
}
