// Model configuration as JSON (see config_json.h).
#include "models/config/config_json.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/log.h"
#include "models/config/config_keys.h"
#include "models/config/config_names.h"
#include "models/kinds/kind.h"

// ---- checks of several keys together

static bool has_head_dim(const bpt_model_config_t *c) { return bpt_config_key_applies(bpt_config_key_find("head_dim"), c); }

// That heads of d_model / heads columns are d_model.
static bpt_status_t check_division(const bpt_model_config_t *c) {
    if (c->d_model % c->heads == 0) return BPT_OK;
    int32_t fewer = c->heads;
    while (c->d_model % fewer) --fewer;
    return bpt_fail(BPT_ERR_USAGE, "%d heads %s d_model = %d; choose %d heads or d_model = %d%s", c->heads,
                    c->heads > c->d_model ? "are more than the columns of" : "do not divide", c->d_model, fewer,
                    c->d_model / c->heads * c->heads + c->heads, has_head_dim(c) ? ", or give head_dim" : "");
}

bpt_status_t bpt_model_config_fill_head_dim(bpt_model_config_t *c) {
    if (c->head_dim || c->heads < 1 || c->d_model < 1) return BPT_OK;  // bpt_model_config_check has the sentence
    BPT_TRY(check_division(c));
    c->head_dim = c->d_model / c->heads;
    return BPT_OK;
}

static bpt_status_t check_heads(const bpt_model_config_t *c) {
    if (has_head_dim(c)) return BPT_OK;
    BPT_TRY(check_division(c));
    if (c->positions != BPT_POSITIONS_ROTARY || c->d_model / c->heads % 2 == 0) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE,
                    "rotary positions turn pairs of columns, and %d heads of d_model = %d have %d columns each; choose an even number",
                    c->heads, c->d_model, c->d_model / c->heads);
}

static bpt_status_t check_tied(const bpt_model_config_t *c) {
    const bpt_task_spec_t *task = bpt_task_of(c);
    if (!c->tied) return BPT_OK;
    if (!task->may_tie) return bpt_fail(BPT_ERR_USAGE, "%s cannot be tied: its head has classes, not words; leave tied out", task->model);
    if (c->d_embed == c->d_model) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "tied embeddings need d_embed = d_model, not %d and %d; make them equal or do not tie", c->d_embed,
                    c->d_model);
}

static bpt_status_t check_task(const bpt_model_config_t *c) {
    const bpt_task_spec_t *task = bpt_task_of(c);
    BPT_TRY(bpt_kind_check_task(bpt_kind_of(c), task));
    BPT_TRY(bpt_kind_check_positions(bpt_kind_of(c), c->positions));
    if (task->labelled && c->classes < 2)
        return bpt_fail(BPT_ERR_USAGE, "classes is %lld; it must be 2 to %d", (long long)c->classes, BPT_MAX_VOCAB);
    if (task->check) BPT_TRY(task->check(c));
    if (bpt_kind_of(c)->check) BPT_TRY(bpt_kind_of(c)->check(c));
    if (c->ngram_max && c->ngram_min > c->ngram_max)
        return bpt_fail(BPT_ERR_USAGE, "ngram_min is %d and ngram_max %d; the shortest n-grams must not be longer than the longest",
                        c->ngram_min, c->ngram_max);
    if (bpt_task_pools(task)) BPT_TRY(bpt_kind_check_pool(bpt_kind_of(c), c->pool));
    if (task->causal && !c->causal)
        return bpt_fail(BPT_ERR_USAGE, "%s must be causal, or it would see the words that it predicts", task->model);
    return check_tied(c);
}

// A tree has few levels; distances in tokens may be large.
static bpt_status_t check_levels(const bpt_model_config_t *c) {
    if (c->positions != BPT_POSITIONS_RELATIVE || !bpt_kind_of(c)->levels || c->rel_levels <= BPT_MAX_LEVELS) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "rel_levels is %d; it must be 1 to %d", c->rel_levels, BPT_MAX_LEVELS);
}

bpt_status_t bpt_model_config_check(const bpt_model_config_t *c) {
    BPT_TRY(bpt_config_keys_check(c));
    BPT_TRY(check_heads(c));
    BPT_TRY(check_task(c));
    return check_levels(c);
}

// ---- writing

static bpt_status_t write_key(json_t *o, const bpt_config_key_t *key, const bpt_model_config_t *c) {
    switch (key->type) {
    case BPT_KEY_BOOL: return bpt_json_set_bool(o, key->name, bpt_config_key_value(key, c) != 0);
    case BPT_KEY_INT: return bpt_json_set_int(o, key->name, bpt_config_key_value(key, c));
    case BPT_KEY_REAL: return bpt_json_set_float(o, key->name, *(const float *)bpt_config_key_const(key, c));
    case BPT_KEY_CHOICE: return bpt_json_set_text(o, key->name, key->choices[bpt_config_key_value(key, c)]);
    }
    return BPT_OK;
}

static bool is_tacit(const bpt_config_key_t *key, const bpt_model_config_t *c) {
    if (!key->tacit) return false;
    return key->type == BPT_KEY_REAL ? !(*(const float *)bpt_config_key_const(key, c) > 0) : !bpt_config_key_value(key, c);
}

static bpt_status_t fill(json_t *o, const bpt_model_config_t *c) {
    for (int i = 0; i < bpt_config_key_count; ++i) {
        const bpt_config_key_t *key = &bpt_config_keys[i];
        if (!bpt_config_key_applies(key, c) || is_tacit(key, c)) continue;
        BPT_TRY(write_key(o, key, c));
    }
    return BPT_OK;
}

bpt_status_t bpt_model_config_to_json(const bpt_model_config_t *config, json_t **out) {
    json_t *object = json_object();
    if (!object) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a configuration");
    const bpt_status_t status = fill(object, config);
    if (status == BPT_OK)
        *out = object;
    else
        json_decref(object);
    return status;
}

bpt_status_t bpt_model_config_tell(json_t *object, const char *name, const bpt_model_config_t *config) {
    return write_key(object, bpt_config_key_find(name), config);
}

bpt_status_t bpt_model_config_format(const bpt_model_config_t *config, char **out) {
    json_t *object;
    BPT_TRY(bpt_model_config_to_json(config, &object));
    const bpt_status_t status = bpt_json_format(object, 0, out);
    json_decref(object);
    return status;
}

// ---- reading

static void warn_of_unknown_keys(const json_t *object, const char *where) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        if (!bpt_config_key_find(key)) bpt_warn("%s: unknown key \"%s\" is ignored; a newer version may have written it", where, key);
    }
}

static bpt_status_t read_choice(const json_t *o, const bpt_config_key_t *key, void *field) {
    const char *text = NULL;
    int value;
    char what[48];
    BPT_TRY(bpt_json_get_text(o, key->name, &text));
    if (!text) return BPT_OK;
    snprintf(what, sizeof what, "key %s", key->name);
    BPT_TRY(bpt_name_parse(what, key->choices, text, &value));
    if (key->size == sizeof(bool))
        *(bool *)field = value != 0;
    else
        *(int32_t *)field = value;
    return BPT_OK;
}

static bpt_status_t read_real(const json_t *o, const bpt_config_key_t *key, float *field) {
    double value = (double)*field;
    BPT_TRY(bpt_json_get_real(o, key->name, key->min, key->max, &value));
    *field = (float)value;
    return BPT_OK;
}

// Whole numbers are read in any range: bpt_model_config_check has the better sentences.
static bpt_status_t read_key(const json_t *o, const bpt_config_key_t *key, bpt_model_config_t *c) {
    void *field = bpt_config_key_field(key, c);
    if (key->required && bpt_config_key_applies(key, c) && !json_object_get(o, key->name))
        return bpt_fail(BPT_ERR_INPUT, "key \"%s\" is missing", key->name);
    switch (key->type) {
    case BPT_KEY_BOOL: return bpt_json_get_bool(o, key->name, field);
    case BPT_KEY_REAL: return read_real(o, key, field);
    case BPT_KEY_CHOICE: return read_choice(o, key, field);
    case BPT_KEY_INT: break;
    }
    return key->size == sizeof(int64_t) ? bpt_json_get_int(o, key->name, INT64_MIN, INT64_MAX, field)
                                        : bpt_json_get_int32(o, key->name, INT32_MIN, INT32_MAX, field);
}

// What a key has where the file is silent, as far as it follows from kind and task.
static void set_defaults(bpt_model_config_t *c) {
    c->positions = bpt_kind_of(c)->positions;
    c->pool = bpt_kind_of(c)->pool;
    c->causal = bpt_task_of(c)->causal;
}

static bpt_status_t read_keys(const json_t *o, bool early, bpt_model_config_t *c) {
    for (int i = 0; i < bpt_config_key_count; ++i)
        if (bpt_config_keys[i].early == early) BPT_TRY(read_key(o, &bpt_config_keys[i], c));
    return BPT_OK;
}

// Kind and task come first: defaults of other keys, and whether they apply, follow from them.
static bpt_status_t read_all(const json_t *o, bpt_model_config_t *c) {
    *c = (bpt_model_config_t){0};
    if (!json_is_object(o)) return bpt_fail(BPT_ERR_INPUT, "the model's configuration is not a JSON object");
    for (int i = 0; i < bpt_config_key_count; ++i)
        if (bpt_config_keys[i].type == BPT_KEY_BOOL)
            *(bool *)bpt_config_key_field(&bpt_config_keys[i], c) = !strcmp(bpt_config_keys[i].fallback, "yes");
    BPT_TRY(read_keys(o, true, c));
    set_defaults(c);
    BPT_TRY(read_keys(o, false, c));
    if (!json_object_get(o, "d_embed")) c->d_embed = c->d_model;
    if (!json_object_get(o, "head_dim")) BPT_TRY(bpt_model_config_fill_head_dim(c));
    return bpt_model_config_check(c);
}

static bpt_status_t read_part(const json_t *object, const char *where, bpt_model_config_t *config) {
    bpt_status_t status = read_all(object, config);
    if (status == BPT_ERR_USAGE) status = BPT_ERR_INPUT;  // the same mistake, but in a file
    return bpt_context(status, "%s", where);
}

bpt_status_t bpt_model_config_from_json(const json_t *object, const char *where, bpt_model_config_t *config) {
    BPT_TRY(read_part(object, where, config));
    warn_of_unknown_keys(object, where);
    return BPT_OK;
}

bpt_status_t bpt_model_config_read(const char *path, bpt_model_config_t *config) {
    json_t *object;
    BPT_TRY(bpt_json_read(path, &object));
    const bpt_status_t status = read_part(object, path, config);
    json_decref(object);
    return status;
}

// ---- comparing

static bpt_status_t value_text(const json_t *value, char **out) {
    return value ? bpt_json_format(value, 0, out) : bpt_strdup("absent", out);
}

static bpt_status_t fail_key(const char *key, const json_t *a, const char *a_path, const json_t *b, const char *b_path) {
    char *in_a, *in_b;
    BPT_TRY(value_text(a, &in_a));
    bpt_status_t status = value_text(b, &in_b);
    if (status == BPT_OK) {
        status = bpt_fail(BPT_ERR_INPUT,
                          "key \"%s\" is %s in %s and %s in %s; these files do not belong together: copy both from the "
                          "same run",
                          key, in_a, a_path, in_b, b_path);
        bpt_free(in_b);
    }
    bpt_free(in_a);
    return status;
}

bpt_status_t bpt_model_config_compare(const bpt_model_config_t *a, const char *a_path, const bpt_model_config_t *b, const char *b_path) {
    json_t *in_a, *in_b = NULL;
    BPT_TRY(bpt_model_config_to_json(a, &in_a));
    bpt_status_t status = bpt_model_config_to_json(b, &in_b);
    for (int i = 0; status == BPT_OK && i < bpt_config_key_count; ++i) {
        const json_t *of_a = json_object_get(in_a, bpt_config_keys[i].name), *of_b = json_object_get(in_b, bpt_config_keys[i].name);
        if (of_a == of_b || json_equal(of_a, of_b)) continue;  // the same pointer: absent from both
        status = fail_key(bpt_config_keys[i].name, of_a, a_path, of_b, b_path);
    }
    json_decref(in_a);
    json_decref(in_b);
    return status;
}
