// What a configuration means: its attention graph for a length and its parameters. Knows nothing of devices.
#ifndef BPT_MODELS_PARAMS_OF_H
#define BPT_MODELS_PARAMS_OF_H

#include "models/config/stack.h"
#include "models/nn/param_table.h"

// The attention graph for a bucket of n leaves, of kinds whose graph is a rule.
bpt_intervals_t bpt_model_intervals(const bpt_model_config_t *config, int64_t n);
// The same without nodes that no output needs: what models compute.
bpt_intervals_t bpt_model_needed_intervals(const bpt_model_config_t *config, int64_t n);

// Names in labels.txt: of the classes, of tasks with labels, or else those that nodes of trees begin with; 0: there are none.
int64_t bpt_model_labels(const bpt_model_config_t *config);

// All layers that tokens go through, those in which texts read each other among them.
static inline int32_t bpt_model_layers(const bpt_model_config_t *config) { return config->layers + config->match_layers; }

// The usual width of the feed-forward network: 4 d_model; with three matrices in place of two 8/3 of it, in whole eights, which are as many
// parameters (Shazeer 2020; LLaMA).
static inline int32_t bpt_model_default_d_ff(const bpt_model_config_t *config) {
    return config->ffn == BPT_FFN_SWIGLU ? (config->d_model + 2) / 3 * 8 : 4 * config->d_model;
}

int bpt_model_stacks(const bpt_model_config_t *config);
bpt_stack_t bpt_model_stack(const bpt_model_config_t *config, int side);
// The stack whose states the task takes.
bpt_stack_t bpt_model_last_stack(const bpt_model_config_t *config);

// The parameters of a stack's embedding (blocks/embed.c).
void bpt_embed_params(bpt_param_table_t *table, const bpt_stack_t *stack, bool frozen);

// Of the longest sequence that fits: absolute positions have a last row. 0: any length fits.
int64_t bpt_model_positions(const bpt_model_config_t *config);
// Whether each token reads a share of all others, so that the work for a text grows with the square of its length.
bool bpt_model_is_dense(const bpt_model_config_t *config);
// Checks that sequences of n leaves fit.
bpt_status_t bpt_model_check_length(const bpt_model_config_t *config, int64_t n) BPT_MUST_USE;

typedef struct {
    bool embed, rel;  // embed.weight and the tables of relative positions stay as they are
} bpt_frozen_t;

// The parameters of a checked configuration, laid out. Release with bpt_params_free.
bpt_status_t bpt_model_params(const bpt_model_config_t *config, bpt_frozen_t frozen, bpt_params_t *out) BPT_MUST_USE;

#endif
