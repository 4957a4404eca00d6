// Classification of whole texts: the state of a sequence gives the logits of the classes (Ye et al. 2019, 4.1).
#include "models/encoder.h"

static int64_t outputs(const bpt_model_config_t *config) { return config->classes; }

static void params(bpt_param_table_t *table, const bpt_model_config_t *config) { bpt_head_params(table, config, outputs(config)); }

static void build(const bpt_builder_t *b, bpt_encoder_t *e, const bpt_encoded_t *encoded) { bpt_encoder_classify(b, e, &encoded->pooled); }

const bpt_task_spec_t bpt_task_classify = {
    .name = "classify",
    .model = "a classifier",
    .counted = "examples",
    .reads = BPT_READS_EXAMPLES,
    .wants = BPT_WANT_POOLED,
    .labelled = true,
    .outputs = outputs,
    .params = params,
    .build = build,
};
