// Limits and features as tests and users want them: BPT_LIMITS=local=16384,groups=65535,group_size=128,binding=134217728,f16=0 makes a
// device look smaller than it is (never larger), software=0 has a device in software worked on as a GPU;
// BPT_DISABLE=f16,... switches features off. A word that is not known and a value that means nothing are errors. Knows no API.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/backend.h"
#include "backends/gpu/limits.h"
#include "bpt/env.h"

// What may stand in BPT_LIMITS, and which numbers mean something.
static const struct {
    const char *key;
    uint64_t least, most;
} known_limits[] = {
    {"local", 1, UINT64_MAX},
    {"groups", 1, UINT64_MAX},
    {"group_size", 1, UINT64_MAX},
    {"binding", 1, UINT64_MAX},
    {"allocation", 1, UINT64_MAX},
    {"memory", 1, UINT64_MAX},
    {"subgroup", 0, 128},
    {"vector", 0, UINT64_MAX},
    {"texels", 0, UINT64_MAX},
    {"loops", 0, UINT32_MAX},
    {"f16", 0, 1},
    {"software", 0, 1},
};
enum { SUBGROUP = 6 };  // its place there

// Takes the next word off a list with commas; NULL at its end. Empty words are passed over.
static const char *next_word(const char **list, size_t *length) {
    while (*list && **list == ',') ++*list;
    if (!*list || !**list) return NULL;
    const char *word = *list;
    *length = strcspn(word, ",");
    *list = word + *length;
    return word;
}

static bool is_word(const char *word, size_t length, const char *known) { return strlen(known) == length && !memcmp(word, known, length); }

static void lower32(uint32_t *limit, uint64_t value) {
    if (value < *limit) *limit = (uint32_t)value;
}
static void lower64(uint64_t *limit, uint64_t value) {
    if (value < *limit) *limit = value;
}

static void fake(bpt_gpu_limits_t *limits, const char *key, uint64_t value) {
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
    else  // software
        limits->software = limits->software && value, limits->max_texels = value ? limits->max_texels : 0;
}

// One KEY=NUMBER.
static bpt_status_t lower_one(bpt_gpu_limits_t *limits, const char *item, size_t length) {
    const char *equals = memchr(item, '=', length);
    const size_t key_length = equals ? (size_t)(equals - item) : length;
    size_t i = 0;
    while (i < BPT_COUNT(known_limits) && !is_word(item, key_length, known_limits[i].key)) ++i;
    if (i == BPT_COUNT(known_limits))
        return bpt_fail(BPT_ERR_USAGE,
                        "BPT_LIMITS: unknown limit '%.*s'; known are local, groups, group_size, binding, allocation, memory, subgroup, "
                        "vector, texels, loops, f16, software",
                        (int)key_length, item);
    char *end = NULL;
    errno = 0;
    const bool digits = equals && equals[1] >= '0' && equals[1] <= '9';
    const uint64_t number = digits ? strtoull(equals + 1, &end, 10) : 0;
    if (!digits || end != item + length || errno)
        return bpt_fail(BPT_ERR_USAGE, "BPT_LIMITS: '%.*s' needs a whole number, as in local=16384", (int)length, item);
    const bool power = i != SUBGROUP || (number & (number - 1)) == 0;
    if (number < known_limits[i].least || number > known_limits[i].most || !power)
        return bpt_fail(BPT_ERR_USAGE, "BPT_LIMITS: '%.*s' is not possible; it must be %s", (int)length, item,
                        known_limits[i].most == 1 ? "0 or 1"
                        : i == SUBGROUP           ? "a power of two up to 128, or 0"
                                                  : "a number from 1 on");
    fake(limits, known_limits[i].key, number);
    return BPT_OK;
}

bpt_status_t bpt_gpu_limits_lower(bpt_gpu_limits_t *limits, const char *wanted) {
    size_t length;
    for (const char *item; (item = next_word(&wanted, &length));) BPT_TRY(lower_one(limits, item, length));
    return BPT_OK;
}

bpt_status_t bpt_gpu_environment(void) {
    bpt_gpu_limits_t nobody = {0};
    const char *wanted = getenv("BPT_LIMITS");
    BPT_TRY(bpt_gpu_limits_lower(&nobody, wanted ? wanted : ""));
    return bpt_env_check();
}

bpt_status_t bpt_gpu_limits_fake(bpt_gpu_limits_t *limits) {
    const char *wanted = getenv("BPT_LIMITS");
    if (wanted) BPT_TRY(bpt_gpu_limits_lower(limits, wanted));
    if (bpt_env_disabled("f16")) limits->f16 = false;
    if (bpt_env_disabled("matrix")) limits->matrix_units = false;
    if (!limits->f16) limits->matrix = (bpt_matrix_units_t){0};
    return BPT_OK;
}
