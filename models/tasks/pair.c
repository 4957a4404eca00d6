// Classification of pairs of texts, such as natural language inference: one encoder reads both texts, and the head reads their states r1
// and r2 as [r1; r2; |r1 - r2|; r1 - r2] (Guo et al. 2019, 3.3; Mou et al. 2016).
#include "models/graph/encoder.h"
#include "models/tasks/accuracy.h"

// Numbers of the own inputs; P pairs.
enum {
    FIRST,     // u32 [P]: rows of the states of first texts
    SECOND,    // u32 [P]: of second texts
    FEATURES,  // u32 [4 P]: the rows of [r1; r2; |r1 - r2|; r1 - r2] in the order of the pairs
    KEYS       // u32 [P, 2]: row keys of pairs (dropout)
};
enum { BLOCKS = 4 };

static int64_t outputs(const bpt_model_config_t *config) { return config->classes; }

static bpt_status_t check(const bpt_model_config_t *config) {
    if (config->match_layers == 1 && config->pool == BPT_POOL_ROOT)
        return bpt_fail(BPT_ERR_USAGE, "match_layers is 1 and pool is root: in one layer no root learns what its tokens read in the other "
                                       "text; choose match_layers 2 or more, or pool max");
    if (config->d_mlp > 0) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "d_mlp is 0; a classifier of pairs compares two texts in a hidden layer, choose a width such as %d",
                    config->d_model);
}

static void params(bpt_param_table_t *table, const bpt_model_config_t *config) {
    bpt_head_params(table, config, (int64_t)BLOCKS * config->d_model, outputs(config));
}

static void inputs(bpt_graph_t *g, bpt_encoder_t *e) {
    const int64_t pairs = e->batch / 2;
    bpt_encoder_add_task_input(g, e, FIRST, "first_texts", BPT_U32, bpt_shape1(pairs));
    bpt_encoder_add_task_input(g, e, SECOND, "second_texts", BPT_U32, bpt_shape1(pairs));
    bpt_encoder_add_task_input(g, e, FEATURES, "features", BPT_U32, bpt_shape1(BLOCKS * pairs));
    if (e->options.dropout) bpt_encoder_add_task_input(g, e, KEYS, "pair_keys", BPT_U32, bpt_shape2(pairs, 2));
}

static bpt_status_t stage(const bpt_encoder_t *e, const bpt_batch_t *batch, float scale) {
    const uint32_t pairs = (uint32_t)(e->batch / 2);
    (void)scale;
    for (uint32_t p = 0; p < pairs; ++p) {
        e->task_own[FIRST].data[p] = 2 * p;
        e->task_own[SECOND].data[p] = 2 * p + 1;
        for (uint32_t i = 0; i < BLOCKS; ++i) e->task_own[FEATURES].data[BLOCKS * p + i] = i * pairs + p;
        if (!e->task_own[KEYS].data) continue;
        e->task_own[KEYS].data[2 * p] = 0;
        e->task_own[KEYS].data[2 * p + 1] = batch->sequences[2 * p];
    }
    return BPT_OK;
}

static void build(const bpt_builder_t *b, bpt_encoder_t *e, const bpt_encoded_t *encoded) {
    const int64_t pairs = e->batch / 2, d = b->config->d_model;
    const bpt_value_t r = encoded->pooled.x.full;
    const bpt_value_t first = bpt_gather(b->g, r, e->task_own[FIRST].value), second = bpt_gather(b->g, r, e->task_own[SECOND].value);
    const bpt_value_t difference = bpt_add(b->g, first, bpt_scale(b->g, second, -1));
    const bpt_value_t blocks[] = {first, second, bpt_abs(b->g, difference), difference};
    const bpt_value_t rows = bpt_gather(b->g, bpt_join(b->g, BPT_F32, blocks, BLOCKS), e->task_own[FEATURES].value);
    bpt_states_t features = {.place = {e->task_own[KEYS].value, pairs}};
    features.x.full = bpt_view(b->g, rows, 0, bpt_shape2(pairs, BLOCKS * d));
    features.x.low = bpt_cast(b->g, features.x.full, b->precision);
    bpt_encoder_classify(b, e, &features);
}

const bpt_task_spec_t bpt_task_pair = {
    .name = "pair",
    .model = "a classifier of pairs",
    .counted = "pairs",
    .reads = BPT_READS_EXAMPLES,
    .wants = BPT_WANT_POOLED,
    .texts = 2,
    .labelled = true,
    .mlp = true,
    .outputs = outputs,
    .check = check,
    .params = params,
    .inputs = inputs,
    .stage = stage,
    .build = build,
    .tallies = true,
    .looks = BPT_LOOKS_LOGITS,
    .measure = bpt_accuracy_measure,
    .metrics = bpt_accuracy_metrics,
    .finish = bpt_accuracy_finish,
};
