// What drivers do and do not say: known faults of drivers, as limits to keep to, and environment variables that suit them. A row names the
// fault, what shows it and how to live with it; BPT_DISABLE=quirks does without them (to see whether a new version still needs them),
// BPT_LIMITS adds more limits. Knows no API.
#include "backends/gpu/quirks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/limits.h"
#include "bpt/env.h"

// ---- Limits
static const struct {
    const char *backend, *driver;  // the driver's text holds this
    const char *limits;            // as BPT_LIMITS
} quirks[] = {
    // Mesa's llvmpipe ends all loops of a work-item, without a word, after 65,535 rounds together (seen with 22.3).
    {"vulkan", "llvmpipe", "loops=65535"},
};

static bool applies(size_t row, const char *backend, const bpt_device_info_t *info) {
    return !strcmp(quirks[row].backend, backend) && strstr(info->driver, quirks[row].driver);
}

static bool wanted(void) { return !bpt_env_disabled("quirks"); }

bpt_status_t bpt_gpu_quirks_apply(const char *backend, const bpt_device_info_t *info, bpt_gpu_limits_t *limits) {
    for (size_t i = 0; i < BPT_COUNT(quirks) && wanted(); ++i)
        if (applies(i, backend, info)) BPT_TRY(bpt_gpu_limits_lower(limits, quirks[i].limits));
    return BPT_OK;
}

void bpt_gpu_quirks_describe(const char *backend, bpt_device_info_t *info) {
    for (size_t i = 0; i < BPT_COUNT(quirks) && wanted(); ++i) {
        const size_t used = strlen(info->features);
        if (applies(i, backend, info)) snprintf(info->features + used, sizeof info->features - used, " quirk:%s", quirks[i].limits);
    }
}

// ---- Variables
// A driver reads them when it is loaded, so a program sets them before, and the library never does.
static const struct {
    const char *backend, *driver;  // the driver's text holds this
    const char *version;           // NULL, or what comes before the number of the version in the text
    int below;                     // the versions that the row is for
    bool avx512;                   // on such processors only
    bpt_gpu_variable_t variable;
} variables[] = {
    // lavapipe takes vectors of 256 bits by itself; with 512 products are 1.3 to 1.4 times as fast. Mesa 26.1 overruns its stack with them.
    {"vulkan", "llvmpipe", "Mesa ", 26, true, {"LP_NATIVE_VECTOR_WIDTH", "512", NULL, NULL}},
    // The machine code that it keeps is for one width, but (Mesa 25.0) is found again by any: wrong numbers, or a crash.
    {"vulkan", "llvmpipe", NULL, 0, false, {"MESA_SHADER_CACHE_DIR", "mesa-", "LP_NATIVE_VECTOR_WIDTH", "MESA_SHADER_CACHE_DISABLE"}},
    // Intel's OpenCL for processors crashes, or its compiler does, on what newer ones have (seen with gather and pointwise).
    {"opencl", "Intel(R) OpenCL 2024.16.1", NULL, 0, true, {"CL_CONFIG_CPU_TARGET_ARCH", "skx", NULL, NULL}},
};

static bool has_avx512(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

static bool has_version(const char *driver, const char *before, int below) {
    const char *at = before ? strstr(driver, before) : NULL;
    int version;
    return !before || (at && sscanf(at + strlen(before), "%d", &version) == 1 && version < below);
}

static bool suits(size_t row, const char *backend, const char *driver) {
    return !strcmp(variables[row].backend, backend) && strstr(driver, variables[row].driver) &&
           has_version(driver, variables[row].version, variables[row].below) && (!variables[row].avx512 || has_avx512());
}

bool bpt_gpu_quirks_variable(const char *backend, const char *driver, int i, bpt_gpu_variable_t *out) {
    for (size_t row = 0; row < BPT_COUNT(variables) && wanted(); ++row) {
        if (!suits(row, backend, driver) || i--) continue;
        *out = variables[row].variable;
        return true;
    }
    return false;
}

const char *bpt_gpu_quirks_variable_name(int i) { return i < (int)BPT_COUNT(variables) ? variables[i].variable.name : NULL; }
