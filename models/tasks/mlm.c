// Masked language modelling (Devlin et al. 2019, BERT, 3.1): the state of each token that was hidden gives that token. Only these states go
// through the head.
#include "models/graph/encoder.h"
#include "models/tasks/task.h"

// Numbers of the own inputs: the rows of hidden tokens, what they were, what each counts; and for each row its place among them.
enum { PLACES, TARGETS, WEIGHTS, BACK };

static int64_t outputs(const bpt_model_config_t *config) { return config->vocab; }

static bpt_status_t check(const bpt_model_config_t *config) {
    if (!config->causal) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "a model of hidden tokens (mlm) reads the text on both sides of them, so it cannot be causal");
}

static void params(bpt_param_table_t *table, const bpt_model_config_t *config) {
    bpt_head_params(table, config, config->d_model, outputs(config));
}

// Hidden tokens that a micro-batch has room for.
static int64_t room(const bpt_encoder_t *e) {
    const int64_t most = bpt_batch_most_masked(&e->options.shape);
    return most < e->leaf_rows ? most : e->leaf_rows;
}

static void inputs(bpt_graph_t *g, bpt_encoder_t *e) {
    if (e->options.logits || e->options.states) return;
    bpt_encoder_add_task_input(g, e, PLACES, "masked_rows", BPT_U32, bpt_shape1(room(e)));
    bpt_encoder_add_task_input(g, e, TARGETS, "masked_targets", BPT_U32, bpt_shape1(room(e)));
    bpt_encoder_add_task_input(g, e, WEIGHTS, "masked_weights", BPT_F32, bpt_shape1(room(e)));
    bpt_encoder_add_task_input(g, e, BACK, "masked_places", BPT_U32, bpt_shape1(e->leaf_rows));
}

static bpt_status_t stage(const bpt_encoder_t *e, const bpt_batch_t *batch, float scale) {
    uint32_t *places = e->task_own[PLACES].data, *targets = e->task_own[TARGETS].data, *back = e->task_own[BACK].data;
    float *weights = e->task_own[WEIGHTS].numbers;
    const int64_t most = (int64_t)e->task_own[PLACES].count;
    int64_t hidden = 0;
    if (!places) return BPT_OK;
    for (int64_t i = 0; i < e->leaf_rows; ++i) {
        back[i] = BPT_NO_ROW;
        if (!(batch->weights[i] > 0)) continue;
        if (hidden == most)
            return bpt_fail(BPT_ERR_INPUT, "a batch has more hidden tokens than the %lld that 15 %% of its rows are", (long long)most);
        places[hidden] = (uint32_t)i;
        targets[hidden] = batch->targets[i];
        weights[hidden] = batch->weights[i] * scale;
        back[i] = (uint32_t)hidden++;
    }
    for (; hidden < most; ++hidden) places[hidden] = BPT_NO_ROW, targets[hidden] = 0, weights[hidden] = 0;
    return BPT_OK;
}

// Dropout before the head has the random numbers of the rows, so it comes before they are gathered.
static void build(const bpt_builder_t *b, bpt_encoder_t *e, const bpt_encoded_t *encoded) {
    if (e->options.logits) {
        bpt_encoder_classify(b, e, &encoded->tokens);
        return;
    }
    bpt_builder_t head = *b;
    head.p_head = 0;
    bpt_states_t hidden = encoded->tokens;
    const bpt_value_t states = bpt_dropout(b->g, hidden.x.low, b->p_head, bpt_build_random(b, hidden.place));
    hidden.x.low = bpt_gather(b->g, states, e->task_own[PLACES].value);
    const bpt_xent_t out = bpt_head_loss(&head, &hidden, e->task_own[TARGETS].value, e->task_own[WEIGHTS].value);
    e->nll = bpt_gather(b->g, bpt_view(b->g, out.nll, 0, bpt_shape2(room(e), 1)), e->task_own[BACK].value);
    e->loss = e->loss == BPT_NO_VALUE ? out.loss : bpt_add(b->g, e->loss, out.loss);
}

const bpt_task_spec_t bpt_task_mlm = {
    .name = "mlm",
    .model = "a model of hidden tokens",
    .counted = "hidden tokens",
    .reads = BPT_READS_WINDOWS,
    .wants = BPT_WANT_TOKENS,
    .per_token = true,
    .masks = true,
    .predicts_text = true,
    .may_tie = true,
    .outputs = outputs,
    .check = check,
    .params = params,
    .inputs = inputs,
    .stage = stage,
    .build = build,
    .looks = BPT_LOOKS_LOSS,
};
