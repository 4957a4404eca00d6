// Translation: an encoder reads a text, and a decoder, which is causal and reads the encoder's states, predicts each token of the text's
// translation from those before it (Vaswani et al. 2017; Ye et al. 2019, 3.3 and 4.3).
#include "models/graph/encoder.h"
#include "models/tasks/task.h"

static int64_t outputs(const bpt_model_config_t *config) { return config->vocab; }

static bpt_status_t check(const bpt_model_config_t *config) {
    if (config->causal)
        return bpt_fail(BPT_ERR_USAGE,
                        "causal is yes; in a translator it says whether the encoder is causal, which reads the whole text: leave "
                        "causal out (the decoder always is)");
    if (config->shared == BPT_SHARED_ALL && config->source_vocab != config->vocab)
        return bpt_fail(BPT_ERR_USAGE,
                        "shared is all, and the vocabularies have %lld and %lld entries: they must be one; choose shared target",
                        (long long)config->source_vocab, (long long)config->vocab);
    if (config->d_embed == config->d_model) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "d_embed is %d and d_model %d; a translator needs both to be the same: leave d_embed out",
                    config->d_embed, config->d_model);
}

// The head is that of the decoder.
static void params(bpt_param_table_t *table, const bpt_model_config_t *config) {
    const bpt_stack_t decoder = bpt_model_last_stack(config);
    bpt_head_params(table, &decoder.config, config->d_model, outputs(config));
}

static void build(const bpt_builder_t *b, bpt_encoder_t *e, const bpt_encoded_t *encoded) { bpt_encoder_classify(b, e, &encoded->tokens); }

static const bpt_metric_t metrics[] = {{.name = "bleu", .higher = true, .written = true}, {0}};

const bpt_task_spec_t bpt_task_translate = {
    .name = "translate",
    .model = "a translator",
    .counted = "tokens",
    .reads = BPT_READS_EXAMPLES,
    .wants = BPT_WANT_TOKENS,
    .sides = 2,
    .per_token = true,
    .predicts_text = true,
    .generates = true,
    .outputs = outputs,
    .check = check,
    .params = params,
    .build = build,
    .looks = BPT_LOOKS_LOSS,
    .metrics = metrics,
};
