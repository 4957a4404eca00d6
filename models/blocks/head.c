// The output layer (see builder.h).
#include "models/blocks/builder.h"

void bpt_head_params(bpt_param_table_t *t, const bpt_model_config_t *c, int64_t outputs) {
    bpt_param_sort_t weight = bpt_param_linear(c->d_model), bias = bpt_param_bias(c->d_model);
    weight.rows = bias.rows = BPT_ROWS_OF_OUTPUTS;
    if (!c->tied) bpt_param_table_matrix(t, weight, outputs, c->d_model, "", BPT_NAME_HEAD);
    bpt_param_table_vector(t, bias, outputs, "", BPT_NAME_HEAD_BIAS);
}

static bpt_value_t head_weight(const bpt_builder_t *b) {
    return bpt_weight_low(b->w, "", b->config->tied ? BPT_NAME_EMBED : BPT_NAME_HEAD, 1);
}

bpt_value_t bpt_head_logits(const bpt_builder_t *b, bpt_value_t x) {
    const bpt_value_t w = head_weight(b), bias = bpt_weight(b->w, "", BPT_NAME_HEAD_BIAS);
    return bpt_matmul(b->g, x, w, (bpt_matmul_options_t){.transpose_b = true, .acc = BPT_NO_VALUE, .bias = bias, .dtype = BPT_F32});
}

bpt_xent_t bpt_head_loss(const bpt_builder_t *b, const bpt_states_t *s, bpt_value_t targets, bpt_value_t weights) {
    const bpt_value_t h = bpt_dropout(b->g, s->x.low, b->p_head, bpt_build_random(b, s->place));
    const bpt_value_t bias = bpt_weight(b->w, "", BPT_NAME_HEAD_BIAS);
    return bpt_xent(b->g, h, head_weight(b), bias, targets, weights, 0);
}
