// bpt_model_config_t as JSON: the model part of config.json and the `config` metadata of a model file, the same keys in both.
// Knows nothing of tensors, optimisers or command lines.
//
// The keys are those of config_keys.def. A key that does not apply to the model is left out when writing and may be absent when
// reading.
#ifndef BPT_MODELS_CONFIG_JSON_H
#define BPT_MODELS_CONFIG_JSON_H

#include "bpt/json.h"
#include "models/config/config.h"

// One clear sentence (BPT_ERR_USAGE) for the first value that no model can have: heads that do not divide d_model, k < 1,
// tied with d_embed != d_model, ...
bpt_status_t bpt_model_config_check(const bpt_model_config_t *config) BPT_MUST_USE;

// The width of a head that nobody gave (head_dim 0): d_model / heads. BPT_ERR_USAGE where the heads do not divide d_model.
bpt_status_t bpt_model_config_fill_head_dim(bpt_model_config_t *config) BPT_MUST_USE;

// A new object with the keys that apply; released with json_decref.
bpt_status_t bpt_model_config_to_json(const bpt_model_config_t *config, json_t **out) BPT_MUST_USE;
// Adds a key whose value such an object may be silent about.
bpt_status_t bpt_model_config_tell(json_t *object, const char *key, const bpt_model_config_t *config) BPT_MUST_USE;
// From an object: absent keys take the defaults (d_embed = d_model, head_dim = d_model / heads, causal where the task needs it, the kind's
// positions, rule paper, not tied, no dropout); what has no default is required. Unknown keys are a warning that names `where`; wrong types
// and values are BPT_ERR_INPUT and name the key. The result is checked.
bpt_status_t bpt_model_config_from_json(const json_t *object, const char *where, bpt_model_config_t *config) BPT_MUST_USE;

// The model part of a run's config.json, which has other keys beside it.
bpt_status_t bpt_model_config_read(const char *path, bpt_model_config_t *config) BPT_MUST_USE;
// BPT_ERR_INPUT unless both are the same model: names the first key that differs, with its value in `a_path` and `b_path`.
bpt_status_t bpt_model_config_compare(const bpt_model_config_t *a, const char *a_path, const bpt_model_config_t *b,
                                      const char *b_path) BPT_MUST_USE;

// As text on one line (the metadata string). *out is freed with bpt_free.
bpt_status_t bpt_model_config_format(const bpt_model_config_t *config, char **out) BPT_MUST_USE;

#endif
