// Limits and features as tests and users want them: BPT_LIMITS=local=16384,groups=65535,group_size=128,binding=134217728,f16=0 makes a
// device look smaller than it is (never larger), software=0 has a device in software worked on as a GPU;
// BPT_DISABLE=f16,... switches features off. Knows no API.
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu.h"

static void lower32(uint32_t *limit, uint64_t value) {
    if (value < *limit) *limit = (uint32_t)value;
}
static void lower64(uint64_t *limit, uint64_t value) {
    if (value < *limit) *limit = value;
}

static bpt_status_t fake(bpt_gpu_limits_t *limits, const char *key, uint64_t value) {
    if (!strcmp(key, "local"))
        lower32(&limits->local_bytes, value);
    else if (!strcmp(key, "groups"))
        for (int axis = 0; axis < 3; ++axis) lower32(&limits->max_groups[axis], value);
    else if (!strcmp(key, "group_size"))
        lower32(&limits->max_group_size, value);
    else if (!strcmp(key, "binding"))
        lower64(&limits->max_binding_bytes, value);
    else if (!strcmp(key, "allocation"))
        lower64(&limits->max_allocation_bytes, value);
    else if (!strcmp(key, "memory"))
        lower64(&limits->memory_bytes, value);
    else if (!strcmp(key, "subgroup"))
        limits->subgroup_size = (uint32_t)value;
    else if (!strcmp(key, "vector"))
        lower32(&limits->vector_lanes, value);
    else if (!strcmp(key, "texels"))
        lower32(&limits->max_texels, value);
    else if (!strcmp(key, "loops"))
        limits->max_loops = limits->max_loops && limits->max_loops < value ? limits->max_loops : (uint32_t)value;
    else if (!strcmp(key, "f16"))
        limits->f16 = limits->f16 && value;
    else if (!strcmp(key, "software"))
        limits->software = limits->software && value, limits->max_texels = value ? limits->max_texels : 0;
    else
        return bpt_fail(BPT_ERR_USAGE,
                        "BPT_LIMITS: unknown limit '%s'; known are local, groups, group_size, binding, allocation, memory, subgroup, "
                        "vector, texels, loops, f16, software",
                        key);
    return BPT_OK;
}

bpt_status_t bpt_gpu_limits_lower(bpt_gpu_limits_t *limits, const char *wanted) {
    char text[512], *rest = NULL;
    if (strlen(wanted) >= sizeof text) return bpt_fail(BPT_ERR_USAGE, "BPT_LIMITS is longer than %zu characters", sizeof text - 1);
    strcpy(text, wanted);
    for (char *item = strtok_r(text, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(item, '='), *end = NULL;
        if (value) *value++ = '\0';
        const uint64_t number = value ? strtoull(value, &end, 10) : 0;
        if (!value || end == value || *end) return bpt_fail(BPT_ERR_USAGE, "BPT_LIMITS: '%s' needs a number, as in local=16384", item);
        BPT_TRY(fake(limits, item, number));
    }
    return BPT_OK;
}

bpt_status_t bpt_gpu_limits_fake(bpt_gpu_limits_t *limits) {
    const char *wanted = getenv("BPT_LIMITS"), *disabled = getenv("BPT_DISABLE");
    if (wanted) BPT_TRY(bpt_gpu_limits_lower(limits, wanted));
    if (disabled && strstr(disabled, "f16")) limits->f16 = false;
    if (disabled && strstr(disabled, "matrix")) limits->matrix_units = false;
    if (!limits->f16) limits->matrix = (bpt_matrix_units_t){0};
    return BPT_OK;
}
