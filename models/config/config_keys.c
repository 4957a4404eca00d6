// The table of keys, and what holds for all of them (see config_keys.h).
#include "models/config/config_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "models/config/config_names.h"
#include "models/kinds/kind.h"

enum { DEFAULT, REQUIRED, TACIT };
const bpt_config_key_t bpt_config_keys[] = {
#define BPT_KEY(group_, place, presence, name_, option_, type_, field, ...) \
    [place] = {.name = name_,                                               \
               .option = option_,                                           \
               .type = BPT_KEY_##type_,                                     \
               .offset = offsetof(bpt_model_config_t, field),               \
               .size = sizeof(((bpt_model_config_t *)0)->field),            \
               .required = (presence) == REQUIRED,                          \
               .tacit = (presence) == TACIT,                                \
               __VA_ARGS__},
#include "models/config/config_keys.def"
#undef BPT_KEY
};
const int bpt_config_key_count = BPT_COUNT(bpt_config_keys);

const bpt_config_key_t *bpt_config_key_find(const char *name) {
    for (int i = 0; i < bpt_config_key_count; ++i)
        if (!strcmp(bpt_config_keys[i].name, name)) return &bpt_config_keys[i];
    return NULL;
}

int64_t bpt_config_key_value(const bpt_config_key_t *key, const bpt_model_config_t *config) {
    const void *field = bpt_config_key_const(key, config);
    if (key->size == sizeof(int64_t)) return *(const int64_t *)field;
    return key->size == sizeof(bool) ? *(const bool *)field : *(const int32_t *)field;
}

// ---- When a key applies

static bool kind_has(const bpt_config_key_t *key, const bpt_model_config_t *config) {
    bool named = false;
    for (int kind = 0; kind < BPT_N_KINDS; ++kind) named |= bpt_kind_has_key(bpt_kinds[kind], key->name);
    return !named || bpt_kind_has_key(bpt_kind_of(config), key->name);
}

// "attention=window": that key applies and has that value.
static bool holds(const char *when, const bpt_model_config_t *config) {
    const char *value = strchr(when, '=');
    char name[40];
    snprintf(name, sizeof name, "%.*s", (int)(value - when), when);
    const bpt_config_key_t *key = bpt_config_key_find(name);
    return bpt_config_key_applies(key, config) && !strcmp(key->choices[bpt_config_key_value(key, config)], value + 1);
}

// Another key applies and is not 0.
static bool is_set(const char *name, const bpt_model_config_t *config) {
    const bpt_config_key_t *key = bpt_config_key_find(name);
    return bpt_config_key_applies(key, config) && bpt_config_key_value(key, config) != 0;
}

bool bpt_config_key_applies(const bpt_config_key_t *key, const bpt_model_config_t *config) {
    if (key->unless && is_set(key->unless, config)) return false;
    if (key->needs && !is_set(key->needs, config)) return false;
    return kind_has(key, config) && (!key->task || key->task(bpt_task_of(config))) && (!key->when || holds(key->when, config));
}

// ---- Checks

static bpt_status_t check_real(const bpt_config_key_t *key, double value) {
    if (value >= key->min && (key->open_max ? value < key->max : value <= key->max)) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "%s is %g; it must be at least %g and %s %g", key->name, value, key->min,
                    key->open_max ? "less than" : "at most", key->max);
}

static bpt_status_t check_whole(const bpt_config_key_t *key, int64_t value) {
    if ((double)value >= key->min && (double)value <= key->max) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "%s is %" PRId64 "; it must be %.0f to %.0f", key->name, value, key->min, key->max);
}

// A switch that is on asks for something: it is not ignored.
static bpt_status_t check_off(const bpt_config_key_t *key, const bpt_model_config_t *config) {
    if (key->type != BPT_KEY_BOOL || !bpt_config_key_value(key, config) || strcmp(key->fallback, "no")) return BPT_OK;
    char kinds[200] = "";
    for (int kind = 0; kind < BPT_N_KINDS; ++kind)
        if (bpt_kind_has_key(bpt_kinds[kind], key->name))
            snprintf(kinds + strlen(kinds), sizeof kinds - strlen(kinds), "%s%s", *kinds ? ", " : "", bpt_kinds[kind]->name);
    return bpt_fail(BPT_ERR_USAGE, "%s is for %s, and this is model %s: leave it out", key->name, kinds, bpt_kind_of(config)->name);
}

bpt_status_t bpt_config_keys_check(const bpt_model_config_t *config) {
    for (int i = 0; i < bpt_config_key_count; ++i) {
        const bpt_config_key_t *key = &bpt_config_keys[i];
        if (!bpt_config_key_applies(key, config))
            BPT_TRY(check_off(key, config));
        else if (key->type == BPT_KEY_REAL)
            BPT_TRY(check_real(key, (double)*(const float *)bpt_config_key_const(key, config)));
        else if (key->type == BPT_KEY_INT)
            BPT_TRY(check_whole(key, bpt_config_key_value(key, config)));
    }
    return BPT_OK;
}
