// Opens libvulkan.so.1 and looks up its functions (loader.h).
#include "backends/vulkan/loader.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/cache.h"
#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"

bpt_vulkan_functions_t bpt_vk;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char reason[768];  // why there is no loader, "" when there is

static void find(void *library, const char *name, void *target) {
    void *symbol = dlsym(library, name);
    memcpy(target, &symbol, sizeof symbol);
    if (!symbol && !*reason)
        snprintf(reason, sizeof reason, "the Vulkan loader is older than Vulkan 1.2 (it has no %s); update it: " BPT_VULKAN_PACKAGES, name);
}

// Mesa's rasterizer runs as many work-items side by side as its variable says, and half as many as AVX-512 has lanes when nobody says.
static void widen_rasterizer(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        (void)setenv("LP_NATIVE_VECTOR_WIDTH", "512", 0);
#endif
}

static bpt_status_t set_rasterizer_cache(long width) {
    char *folder, *path = NULL;
    BPT_TRY(bpt_cache_folder(&folder));
    bpt_status_t status = folder ? bpt_folders_create(folder) : BPT_OK;
    if (status == BPT_OK && folder) status = bpt_path_format(&path, "%s/mesa-%ld", folder, width);
    if (status == BPT_OK && path) (void)setenv("MESA_SHADER_CACHE_DIR", path, 0);
    if (!path) (void)setenv("MESA_SHADER_CACHE_DISABLE", "true", 0);
    bpt_free(path);
    bpt_free(folder);
    return status;
}

// The machine code that it keeps is for one width, but (Mesa 25.0) is found again by any: wrong numbers, or a crash. So each width has a
// folder of its own.
static void separate_rasterizer_caches(void) {
    const char *width = getenv("LP_NATIVE_VECTOR_WIDTH");
    if (!width || !*width) return;
    const bpt_status_t status = set_rasterizer_cache(strtol(width, NULL, 10));
    if (status == BPT_OK) return;
    bpt_debug("Mesa's cache: %s", bpt_error_message());
    bpt_error_clear();
}

static void load(void) {
    widen_rasterizer();
    separate_rasterizer_caches();
    const char *path = getenv("BPT_VULKAN_LIBRARY");
    void *library = dlopen(path && *path ? path : "libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed: drivers dislike that
    if (!library) {
        snprintf(reason, sizeof reason, "the Vulkan loader cannot be opened (%s); " BPT_VULKAN_PACKAGES, dlerror());
        return;
    }
#define FUNCTION(name) find(library, "vk" #name, &bpt_vk.name);
    BPT_VULKAN_FUNCTIONS(FUNCTION)
#undef FUNCTION
    uint32_t version = 0;
    if (*reason) return;
    if (bpt_vk.EnumerateInstanceVersion(&version) != VK_SUCCESS || version < VK_API_VERSION_1_2)
        snprintf(reason, sizeof reason, "the Vulkan loader offers Vulkan %u.%u, bpt needs 1.2; update it: " BPT_VULKAN_PACKAGES,
                 VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
}

bpt_status_t bpt_vulkan_load(void) {
    pthread_once(&once, load);
    return *reason ? bpt_fail(BPT_ERR_UNAVAILABLE, "%s", reason) : BPT_OK;
}
