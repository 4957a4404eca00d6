// Language modelling: each token's state predicts the token behind it (Ye et al. 2019, 4.2).
#include "models/graph/encoder.h"
#include "models/tasks/task.h"

static int64_t outputs(const bpt_model_config_t *config) { return config->vocab; }

static void params(bpt_param_table_t *table, const bpt_model_config_t *config) {
    bpt_head_params(table, config, config->d_model, outputs(config));
}

static void build(const bpt_builder_t *b, bpt_encoder_t *e, const bpt_encoded_t *encoded) { bpt_encoder_classify(b, e, &encoded->tokens); }

const bpt_task_spec_t bpt_task_lm = {
    .name = "lm",
    .model = "a language model",
    .counted = "tokens",
    .reads = BPT_READS_WINDOWS,
    .wants = BPT_WANT_TOKENS,
    .per_token = true,
    .causal = true,
    .predicts_text = true,
    .may_tie = true,
    .deep_supervision = true,
    .generates = true,
    .outputs = outputs,
    .params = params,
    .build = build,
    .looks = BPT_LOOKS_LOSS,
};
