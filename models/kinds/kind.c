// The list of model kinds (see kind.h).
#include "models/kinds/kind.h"

#include <stdio.h>
#include <string.h>

#include "models/config/config_names.h"

#define BPT_KIND(id, name) extern const bpt_kind_spec_t bpt_kind_##name;
#include "models/kinds/kinds.def"
#undef BPT_KIND

const bpt_kind_spec_t *const bpt_kinds[] = {
#define BPT_KIND(id, name) [BPT_MODEL_##id] = &bpt_kind_##name,
#include "models/kinds/kinds.def"
#undef BPT_KIND
};

const bpt_kind_spec_t *bpt_kind_find(const char *name) {
    for (int i = 0; i < BPT_N_KINDS; ++i)
        if (!strcmp(bpt_kinds[i]->name, name)) return bpt_kinds[i];
    return NULL;
}

int bpt_kind_list(char *text, size_t bytes) {
    size_t used = 0;
    for (int i = 0; i < BPT_N_KINDS && used < bytes; ++i)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s (%s)",
                                 !i                    ? ""
                                 : i + 1 < BPT_N_KINDS ? ", "
                                                       : " or ",
                                 bpt_kinds[i]->title, bpt_kinds[i]->name);
    return (int)used;
}

int32_t bpt_kind_relative_levels(const bpt_model_config_t *config) {
    return config->positions == BPT_POSITIONS_RELATIVE ? config->rel_levels : 0;
}

int32_t bpt_kind_levels_of_tree(const bpt_model_config_t *config, int64_t n) {
    (void)config;
    return bpt_default_rel_levels(n);
}

bool bpt_kind_has_key(const bpt_kind_spec_t *kind, const char *key) {
    for (const char *const *own = kind->keys; *own; ++own)
        if (!strcmp(*own, key)) return true;
    return false;
}

bool bpt_kind_packs(const bpt_model_config_t *config) { return bpt_kind_of(config)->packed && bpt_task_sides(bpt_task_of(config)) < 2; }

bpt_status_t bpt_kind_check_task(const bpt_kind_spec_t *kind, const bpt_task_spec_t *task) {
    static const char *const states[] = {"tokens", "relays", "whole texts"};
    const bool translates = bpt_task_sides(task) > 1;
    if ((task->causal || (translates && !kind->translates)) && kind->not_causal)
        return bpt_fail(BPT_ERR_USAGE, "model %s cannot be %s: %s; choose another model", kind->name, task->model, kind->not_causal);
    if (kind->trees && task->per_token && !translates)
        return bpt_fail(BPT_ERR_USAGE,
                        "model %s cannot be %s: its trees have labels of whole texts, not one for each token; choose another model",
                        kind->name, task->model);
    for (int i = 0; i < 3; ++i)
        if (task->wants & ~kind->gives & 1u << i)
            return bpt_fail(BPT_ERR_USAGE, "model %s cannot do task %s, which takes states of %s: it has none; choose another model",
                            kind->name, task->name, states[i]);
    return BPT_OK;
}

bpt_status_t bpt_kind_check_pool(const bpt_kind_spec_t *kind, bpt_pool_t pool) {
    if (kind->pools >> pool & 1) return BPT_OK;
    char choices[100] = "";
    for (int i = 0; bpt_pool_names[i]; ++i)
        if (kind->pools >> i & 1)
            snprintf(choices + strlen(choices), sizeof choices - strlen(choices), "%s%s", *choices ? ", " : "", bpt_pool_names[i]);
    return bpt_fail(BPT_ERR_USAGE, "model %s has no pool %s; choose one of %s", kind->name, bpt_pool_names[pool], choices);
}

bpt_status_t bpt_kind_check_positions(const bpt_kind_spec_t *kind, bpt_positions_t positions) {
    if (positions == BPT_POSITIONS_ROTARY && !kind->rotary)
        return bpt_fail(BPT_ERR_USAGE, "model %s has no rotary positions; choose another --positions", kind->name);
    if (positions != BPT_POSITIONS_RELATIVE || kind->rel_levels) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "model %s has no relative positions; choose positions absolute, sinusoidal or none", kind->name);
}
