// Model configuration as JSON (see config_json.h).
#include "models/config_json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/log.h"
#include "models/config_names.h"

// ---- checks

enum { MAX_HEADS = 256, MAX_LAYERS = 1000, MAX_WIDTH = 1 << 20, MAX_K = 1 << 20, MAX_POSITIONS = 1 << 26 };

static bool uses_levels(const bpt_model_config_t *c) { return c->model == BPT_MODEL_BPT || c->model == BPT_MODEL_SEGTREE; }
static bool uses_window(const bpt_model_config_t *c) { return c->model == BPT_MODEL_TRANSFORMER && c->attention == BPT_ATTENTION_WINDOW; }

static bpt_status_t check_range(const char *name, int64_t value, int64_t min, int64_t max) {
    if (value >= min && value <= max) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "%s is %" PRId64 "; it must be %" PRId64 " to %" PRId64, name, value, min, max);
}

static bpt_status_t check_share(const char *name, float value) {
    if (value >= 0 && value < 1) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "%s is %g; a dropout rate must be at least 0 and less than 1", name, (double)value);
}

static bpt_status_t check_heads(const bpt_model_config_t *c) {
    BPT_TRY(check_range("heads", c->heads, 1, c->d_model < MAX_HEADS ? c->d_model : MAX_HEADS));  // ops.h: a dropout stream's room
    if (c->d_model % c->heads == 0) return BPT_OK;
    int32_t fewer = c->heads;
    while (c->d_model % fewer) --fewer;
    return bpt_fail(BPT_ERR_USAGE, "%d heads do not divide d_model = %d; choose %d heads or d_model = %d", c->heads, c->d_model, fewer,
                    c->d_model / c->heads * c->heads + c->heads);
}

static bpt_status_t check_task(const bpt_model_config_t *c) {
    BPT_TRY(check_range("vocab", c->vocab, 1, BPT_MAX_VOCAB));
    if (c->task == BPT_TASK_CLASSIFY) {
        BPT_TRY(check_range("classes", c->classes, 2, BPT_MAX_VOCAB));
        if (c->tied) return bpt_fail(BPT_ERR_USAGE, "a classifier cannot be tied: its head has classes, not words; leave tied out");
        return BPT_OK;
    }
    if (!c->causal) return bpt_fail(BPT_ERR_USAGE, "a language model must be causal, or it would see the words that it predicts");
    if (c->tied && c->d_embed != c->d_model)
        return bpt_fail(BPT_ERR_USAGE, "tied embeddings need d_embed = d_model, not %d and %d; make them equal or do not tie", c->d_embed,
                        c->d_model);
    return BPT_OK;
}

static bpt_status_t check_graph(const bpt_model_config_t *c) {
    if (c->model == BPT_MODEL_BPT) BPT_TRY(check_range("k", c->k, 1, MAX_K));
    if (c->model != BPT_MODEL_SEGTREE && c->span_self)
        return bpt_fail(BPT_ERR_USAGE, "span_self is for segtree: spans of other models do not read themselves; leave it out");
    if (uses_window(c)) BPT_TRY(check_range("window", c->window, 1, MAX_POSITIONS));
    if (c->positions == BPT_POSITIONS_ABSOLUTE) BPT_TRY(check_range("max_positions", c->max_positions, 1, MAX_POSITIONS));
    if (c->positions == BPT_POSITIONS_RELATIVE)
        BPT_TRY(check_range("rel_levels", c->rel_levels, 1, uses_levels(c) ? BPT_MAX_LEVELS : MAX_POSITIONS));
    return BPT_OK;
}

bpt_status_t bpt_model_config_check(const bpt_model_config_t *c) {
    BPT_TRY(check_range("layers", c->layers, 1, MAX_LAYERS));
    BPT_TRY(check_range("d_model", c->d_model, 1, MAX_WIDTH));
    BPT_TRY(check_range("d_embed", c->d_embed, 1, MAX_WIDTH));
    BPT_TRY(check_range("d_ff", c->d_ff, 1, MAX_WIDTH));
    BPT_TRY(check_heads(c));
    BPT_TRY(check_task(c));
    BPT_TRY(check_graph(c));
    BPT_TRY(check_share("dropout_input", c->dropout_input));
    BPT_TRY(check_share("dropout_hidden", c->dropout_hidden));
    BPT_TRY(check_share("dropout_attention", c->dropout_attention));
    return check_share("dropout_head", c->dropout_head);
}

// ---- writing

static bpt_status_t set_size(json_t *o, const char *key, bool applies, int64_t value) {
    return applies ? bpt_json_set_int(o, key, value) : BPT_OK;
}

static bpt_status_t fill(json_t *o, const bpt_model_config_t *c) {
    BPT_TRY(bpt_json_set_text(o, "model", bpt_model_names[c->model]));
    BPT_TRY(bpt_json_set_text(o, "task", bpt_task_names[c->task]));
    BPT_TRY(bpt_json_set_int(o, "layers", c->layers));
    BPT_TRY(bpt_json_set_int(o, "d_model", c->d_model));
    BPT_TRY(bpt_json_set_int(o, "d_embed", c->d_embed));
    BPT_TRY(bpt_json_set_int(o, "d_ff", c->d_ff));
    BPT_TRY(bpt_json_set_int(o, "heads", c->heads));
    if (c->model == BPT_MODEL_TRANSFORMER) BPT_TRY(bpt_json_set_text(o, "attention", bpt_attention_names[c->attention]));
    BPT_TRY(set_size(o, "window", uses_window(c), c->window));
    BPT_TRY(set_size(o, "k", c->model == BPT_MODEL_BPT, c->k));
    BPT_TRY(bpt_json_set_bool(o, "causal", c->causal));
    if (c->model == BPT_MODEL_SEGTREE) BPT_TRY(bpt_json_set_bool(o, "span_self", c->span_self));
    if (c->model == BPT_MODEL_BPT) BPT_TRY(bpt_json_set_text(o, "rule", bpt_rule_names[c->reference_rule]));
    BPT_TRY(bpt_json_set_text(o, "positions", bpt_positions_names[c->positions]));
    BPT_TRY(set_size(o, "rel_levels", c->positions == BPT_POSITIONS_RELATIVE, c->rel_levels));
    BPT_TRY(set_size(o, "max_positions", c->positions == BPT_POSITIONS_ABSOLUTE, c->max_positions));
    BPT_TRY(bpt_json_set_int(o, "vocab", c->vocab));
    BPT_TRY(set_size(o, "classes", c->task == BPT_TASK_CLASSIFY, c->classes));
    BPT_TRY(bpt_json_set_bool(o, "tied", c->tied));
    BPT_TRY(bpt_json_set_float(o, "dropout_input", c->dropout_input));
    BPT_TRY(bpt_json_set_float(o, "dropout_hidden", c->dropout_hidden));
    BPT_TRY(bpt_json_set_float(o, "dropout_attention", c->dropout_attention));
    return bpt_json_set_float(o, "dropout_head", c->dropout_head);
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

bpt_status_t bpt_model_config_format(const bpt_model_config_t *config, char **out) {
    json_t *object;
    BPT_TRY(bpt_model_config_to_json(config, &object));
    const bpt_status_t status = bpt_json_format(object, 0, out);
    json_decref(object);
    return status;
}

// ---- reading

static const char *const known_keys[] = {
    "model",   "task", "layers",        "d_model",        "d_embed",           "d_ff",         "heads",         "attention",
    "window",  "k",    "causal",        "rule",           "positions",         "rel_levels",   "max_positions", "vocab",
    "classes", "tied", "dropout_input", "dropout_hidden", "dropout_attention", "dropout_head", "span_self",     NULL};

static void warn_of_unknown_keys(const json_t *object, const char *where) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        size_t i = 0;
        while (known_keys[i] && strcmp(known_keys[i], key)) ++i;
        if (!known_keys[i]) bpt_warn("%s: unknown key \"%s\" is ignored; a newer version may have written it", where, key);
    }
}

static bpt_status_t required(const json_t *o, const char *key) {
    return json_object_get(o, key) ? BPT_OK : bpt_fail(BPT_ERR_INPUT, "key \"%s\" is missing", key);
}

static bpt_status_t get_choice(const json_t *o, const char *key, const char *const *names, int *out) {
    const char *text = NULL;
    BPT_TRY(bpt_json_get_text(o, key, &text));
    if (!text) return BPT_OK;
    char what[40] = "key ";
    strcat(what, key);
    return bpt_name_parse(what, names, text, out);
}

// Sizes are read in any range: bpt_model_config_check has the better sentences.
static bpt_status_t get_size(const json_t *o, const char *key, bool needed, int32_t *out) {
    if (needed) BPT_TRY(required(o, key));
    return bpt_json_get_int32(o, key, INT32_MIN, INT32_MAX, out);
}

static bpt_status_t get_share(const json_t *o, const char *key, float *out) {
    double value = *out;
    BPT_TRY(bpt_json_get_real(o, key, 0, 1, &value));
    *out = (float)value;
    return BPT_OK;
}

static bpt_status_t read_kind(const json_t *o, bpt_model_config_t *c) {
    int model = 0, task = 0, attention = BPT_ATTENTION_DENSE, rule = 0;
    BPT_TRY(required(o, "model"));
    BPT_TRY(required(o, "task"));
    BPT_TRY(get_choice(o, "model", bpt_model_names, &model));
    BPT_TRY(get_choice(o, "task", bpt_task_names, &task));
    BPT_TRY(get_choice(o, "attention", bpt_attention_names, &attention));
    BPT_TRY(get_choice(o, "rule", bpt_rule_names, &rule));
    int positions = model == BPT_MODEL_TRANSFORMER ? BPT_POSITIONS_ABSOLUTE : BPT_POSITIONS_RELATIVE;
    BPT_TRY(get_choice(o, "positions", bpt_positions_names, &positions));
    *c = (bpt_model_config_t){.model = (bpt_model_kind_t)model,
                              .task = (bpt_task_t)task,
                              .attention = (bpt_transformer_attention_t)attention,
                              .positions = (bpt_positions_t)positions,
                              .reference_rule = rule == 1,
                              .causal = task == BPT_TASK_LM};
    BPT_TRY(bpt_json_get_bool(o, "causal", &c->causal));
    BPT_TRY(bpt_json_get_bool(o, "span_self", &c->span_self));
    return bpt_json_get_bool(o, "tied", &c->tied);
}

static bpt_status_t read_sizes(const json_t *o, bpt_model_config_t *c) {
    BPT_TRY(get_size(o, "layers", true, &c->layers));
    BPT_TRY(get_size(o, "d_model", true, &c->d_model));
    c->d_embed = c->d_model;
    BPT_TRY(get_size(o, "d_embed", false, &c->d_embed));
    BPT_TRY(get_size(o, "d_ff", true, &c->d_ff));
    BPT_TRY(get_size(o, "heads", true, &c->heads));
    BPT_TRY(get_size(o, "k", c->model == BPT_MODEL_BPT, &c->k));
    BPT_TRY(get_size(o, "window", uses_window(c), &c->window));
    BPT_TRY(get_size(o, "rel_levels", c->positions == BPT_POSITIONS_RELATIVE, &c->rel_levels));
    BPT_TRY(get_size(o, "max_positions", c->positions == BPT_POSITIONS_ABSOLUTE, &c->max_positions));
    BPT_TRY(required(o, "vocab"));
    BPT_TRY(bpt_json_get_int(o, "vocab", INT64_MIN, INT64_MAX, &c->vocab));
    if (c->task == BPT_TASK_CLASSIFY) BPT_TRY(required(o, "classes"));
    return bpt_json_get_int(o, "classes", INT64_MIN, INT64_MAX, &c->classes);
}

static bpt_status_t read_all(const json_t *o, bpt_model_config_t *c) {
    if (!json_is_object(o)) return bpt_fail(BPT_ERR_INPUT, "the model's configuration is not a JSON object");
    BPT_TRY(read_kind(o, c));
    BPT_TRY(read_sizes(o, c));
    BPT_TRY(get_share(o, "dropout_input", &c->dropout_input));
    BPT_TRY(get_share(o, "dropout_hidden", &c->dropout_hidden));
    BPT_TRY(get_share(o, "dropout_attention", &c->dropout_attention));
    BPT_TRY(get_share(o, "dropout_head", &c->dropout_head));
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

bpt_status_t bpt_model_config_parse(const char *text, const char *where, bpt_model_config_t *config) {
    json_t *object;
    BPT_TRY(bpt_json_parse(text, strlen(text), where, &object));
    const bpt_status_t status = bpt_model_config_from_json(object, where, config);
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
    for (int i = 0; status == BPT_OK && known_keys[i]; ++i) {
        const json_t *of_a = json_object_get(in_a, known_keys[i]), *of_b = json_object_get(in_b, known_keys[i]);
        if (of_a == of_b || json_equal(of_a, of_b)) continue;  // the same pointer: absent from both
        status = fail_key(known_keys[i], of_a, a_path, of_b, b_path);
    }
    json_decref(in_a);
    json_decref(in_b);
    return status;
}
