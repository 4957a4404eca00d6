// Names of the choices in models/config/config.h, as the command line and the files spell them: one table each, indexed by the enum and
// ended by NULL.
#ifndef BPT_MODELS_CONFIG_NAMES_H
#define BPT_MODELS_CONFIG_NAMES_H

#include "models/config/config.h"

extern const char *const bpt_task_names[];         // lm, classify
extern const char *const bpt_model_names[];        // bpt, segtree, transformer
extern const char *const bpt_attention_names[];    // dense, window, sparse
extern const char *const bpt_pool_names[];         // root, mean, max
extern const char *const bpt_positions_names[];    // relative, absolute, none, sinusoidal, rotary
extern const char *const bpt_norm_names[];         // layer, rms
extern const char *const bpt_ffn_names[];          // relu, swiglu
extern const char *const bpt_shared_names[];       // none, target, all
extern const char *const bpt_rule_names[];         // paper, reference: index 1 is reference_rule
extern const char *const bpt_up_norm_names[];      // paper, code
extern const char *const bpt_vertex_loss_names[];  // root, all
extern const char *const bpt_schedule_names[];     // constant, cosine, noam, exponential, plateau, inverse-sqrt, warmup-stable-decay
extern const char *const bpt_best_by_names[];      // "loss", and the metrics of all tasks
extern const char *const bpt_optimizer_names[];    // optimizers/optimizers.def
extern const char *const bpt_precision_names[];    // f32, bf16, f16
extern const char *const bpt_weights_names[];      // f32, q8: by bpt_weights_form_t

// Index of `text` in `names`; BPT_ERR_USAGE says what `what` ("--schedule", "key \"rule\"") may be.
bpt_status_t bpt_name_parse(const char *what, const char *const *names, const char *text, int *out) BPT_MUST_USE;

#endif
