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

// What a number of BPT_LIMITS does to the limit.
typedef enum {
    LOWER,       // the smaller of both
    LOWER_AXES,  // of each axis
    LOWER_ANY,   // the same, where 0 is no limit
    REPLACE,     // by a power of two
    SWITCH_OFF,  // where it is 0
    AS_GPU,      // the same, and nothing is read as texels
} effect_t;

#define LIMIT(key, member, effect, least, most) \
    { key, offsetof(bpt_gpu_limits_t, member), sizeof((bpt_gpu_limits_t *)0)->member, effect, least, most }
static const struct {
    const char *key;
    size_t offset, bytes;
    effect_t effect;
    uint64_t least, most;  // numbers that mean something
} known_limits[] = {
    LIMIT("local", local_bytes, LOWER, 1, UINT64_MAX),
    LIMIT("groups", max_groups, LOWER_AXES, 1, UINT64_MAX),
    LIMIT("group_size", max_group_size, LOWER, 1, UINT64_MAX),
    LIMIT("binding", max_binding_bytes, LOWER, 1, UINT64_MAX),
    LIMIT("allocation", max_allocation_bytes, LOWER, 1, UINT64_MAX),
    LIMIT("memory", memory_bytes, LOWER, 1, UINT64_MAX),
    LIMIT("subgroup", subgroup_size, REPLACE, 0, 128),
    LIMIT("vector", vector_lanes, LOWER, 0, UINT64_MAX),
    LIMIT("texels", max_texels, LOWER, 0, UINT64_MAX),
    LIMIT("loops", max_loops, LOWER_ANY, 0, UINT32_MAX),
    LIMIT("f16", f16, SWITCH_OFF, 0, 1),
    LIMIT("software", software, AS_GPU, 0, 1),
};

static void lower32(uint32_t *limit, uint64_t value) {
    if (value < *limit) *limit = (uint32_t)value;
}
static void lower64(uint64_t *limit, uint64_t value) {
    if (value < *limit) *limit = value;
}

static void fake(bpt_gpu_limits_t *limits, size_t i, uint64_t value) {
    char *limit = (char *)limits + known_limits[i].offset;
    switch (known_limits[i].effect) {
    case LOWER: known_limits[i].bytes == sizeof(uint64_t) ? lower64((void *)limit, value) : lower32((void *)limit, value); break;
    case LOWER_AXES:
        for (int axis = 0; axis < 3; ++axis) lower32((uint32_t *)(void *)limit + axis, value);
        break;
    case LOWER_ANY:
        if (*(uint32_t *)(void *)limit == 0) *(uint32_t *)(void *)limit = (uint32_t)value;
        lower32((void *)limit, value);
        break;
    case REPLACE: *(uint32_t *)(void *)limit = (uint32_t)value; break;
    case AS_GPU: limits->max_texels = value ? limits->max_texels : 0;  // fall through
    case SWITCH_OFF: *(bool *)limit = *(bool *)limit && value; break;
    }
}

static size_t find(const char *key, size_t length) {
    size_t i = 0;
    while (i < BPT_COUNT(known_limits) && !bpt_env_is_word(key, length, known_limits[i].key)) ++i;
    return i;
}

static bpt_status_t refuse(const char *key, size_t length) {
    char known[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < BPT_COUNT(known_limits); ++i)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", known_limits[i].key);
    return bpt_fail(BPT_ERR_USAGE, "BPT_LIMITS: unknown limit '%.*s'; known are %s", (int)length, key, known);
}

static const char *wanted_of(size_t i) {
    if (known_limits[i].most == 1) return "0 or 1";
    return known_limits[i].effect == REPLACE ? "a power of two up to 128, or 0" : "a number from 1 on";
}

// One KEY=NUMBER.
static bpt_status_t lower_one(bpt_gpu_limits_t *limits, const char *item, size_t length) {
    const char *equals = memchr(item, '=', length);
    const size_t key_length = equals ? (size_t)(equals - item) : length, i = find(item, key_length);
    if (i == BPT_COUNT(known_limits)) return refuse(item, key_length);
    char *end = NULL;
    errno = 0;
    const bool digits = equals && equals[1] >= '0' && equals[1] <= '9';
    const uint64_t number = digits ? strtoull(equals + 1, &end, 10) : 0;
    if (!digits || end != item + length || errno)
        return bpt_fail(BPT_ERR_USAGE, "BPT_LIMITS: '%.*s' needs a whole number, as in local=16384", (int)length, item);
    const bool power = known_limits[i].effect != REPLACE || (number & (number - 1)) == 0;
    if (number < known_limits[i].least || number > known_limits[i].most || !power)
        return bpt_fail(BPT_ERR_USAGE, "BPT_LIMITS: '%.*s' is not possible; it must be %s", (int)length, item, wanted_of(i));
    fake(limits, i, number);
    return BPT_OK;
}

bpt_status_t bpt_gpu_limits_lower(bpt_gpu_limits_t *limits, const char *wanted) {
    size_t length;
    for (const char *item; (item = bpt_env_next_word(&wanted, &length));) BPT_TRY(lower_one(limits, item, length));
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
    if (bpt_env_disabled("matrix")) limits->mma = false;
    if (!limits->f16) limits->fragments = (bpt_fragments_t){0};
    return BPT_OK;
}
