// The output layer (see builder.h).
#include "models/blocks/builder.h"

void bpt_head_params(bpt_param_table_t *t, const bpt_model_config_t *c, int64_t inputs, int64_t outputs) {
    const int64_t hidden = c->d_mlp ? c->d_mlp : inputs;
    bpt_param_sort_t weight = bpt_param_linear(hidden), bias = bpt_param_bias(hidden);
    bpt_param_sort_t mlp = bpt_param_linear(inputs), mlp_bias = bpt_param_bias(inputs);
    weight.rows = bias.rows = BPT_ROWS_OF_OUTPUTS;
    mlp.rows = mlp_bias.rows = BPT_ROWS_OF_HEAD;
    if (c->d_mlp) {
        bpt_param_table_matrix(t, mlp, hidden, inputs, "", BPT_NAME_MLP);
        bpt_param_table_vector(t, mlp_bias, hidden, "", BPT_NAME_MLP_BIAS);
    }
    if (!c->tied) bpt_param_table_matrix(t, weight, outputs, hidden, "", BPT_NAME_HEAD);
    bpt_param_table_vector(t, bias, outputs, "", BPT_NAME_HEAD_BIAS);
}

static bpt_value_t head_weight(const bpt_builder_t *b) {
    return b->config->tied ? bpt_weight_factor(b->w, b->embed_scope, BPT_NAME_EMBED, 1) : bpt_weight_factor(b->w, "", BPT_NAME_HEAD, 1);
}

// What the last product reads: states, or the hidden layer above them, after dropout.
static bpt_value_t hidden(const bpt_builder_t *b, const bpt_states_t *s) {
    const bpt_random_t random = bpt_build_random(b, s->place);
    const bpt_value_t x = bpt_dropout(b->g, s->x.low, b->p_head, random);
    if (!b->config->d_mlp) return x;
    const bpt_value_t w = bpt_weight_factor(b->w, "", BPT_NAME_MLP, 1), bias = bpt_weight(b->w, "", BPT_NAME_MLP_BIAS);
    return bpt_dropout(b->g, bpt_relu(b->g, bpt_linear(b->g, x, w, bias)), b->p_head, random);
}

bpt_value_t bpt_head_logits(const bpt_builder_t *b, const bpt_states_t *s) {
    const bpt_value_t w = head_weight(b), bias = bpt_weight(b->w, "", BPT_NAME_HEAD_BIAS);
    return bpt_matmul(b->g, hidden(b, s), w,
                      (bpt_matmul_options_t){.transpose_b = true, .acc = BPT_NO_VALUE, .bias = bias, .dtype = BPT_F32});
}

bpt_xent_t bpt_head_loss(const bpt_builder_t *b, const bpt_states_t *s, bpt_value_t targets, bpt_value_t weights) {
    const bpt_value_t h = hidden(b, s), bias = bpt_weight(b->w, "", BPT_NAME_HEAD_BIAS);
    return bpt_xent(b->g, h, head_weight(b), bias, targets, weights, b->smoothing);
}
