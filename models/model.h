// What a configuration means: its attention graph for a length and its parameters. Knows nothing of devices.
#ifndef BPT_MODELS_MODEL_H
#define BPT_MODELS_MODEL_H

#include "models/config.h"
#include "models/nn/params.h"

// The attention graph for a bucket of n leaves, of kinds whose graph is a rule.
bpt_intervals_t bpt_model_intervals(const bpt_model_config_t *config, int64_t n);
// The same without nodes that no output needs: what models compute.
bpt_intervals_t bpt_model_needed_intervals(const bpt_model_config_t *config, int64_t n);

// All layers that tokens go through, those in which texts read each other among them.
static inline int32_t bpt_model_layers(const bpt_model_config_t *config) { return config->layers + config->match_layers; }

// Checks that sequences of n leaves fit (absolute positions have a last row).
bpt_status_t bpt_model_check_length(const bpt_model_config_t *config, int64_t n) BPT_MUST_USE;

typedef struct {
    bool embed, rel;  // embed.weight and the tables of relative positions stay as they are
} bpt_frozen_t;

// The parameters of a checked configuration, laid out. Release with bpt_params_free.
bpt_status_t bpt_model_params(const bpt_model_config_t *config, bpt_frozen_t frozen, bpt_params_t *out) BPT_MUST_USE;

#endif
