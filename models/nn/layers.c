// Pieces of a layer as graphs (see layers.h).
#include "models/nn/layers.h"

#include <math.h>
#include <stdio.h>

bpt_value_t bpt_layer_embed(const bpt_layers_t *l, bpt_value_t tokens, bpt_value_t positions) {
    bpt_value_t x = bpt_gather(l->g, bpt_weight(l->w, "", "embed.weight"), tokens);
    if (l->config->d_embed != l->config->d_model) {
        const bpt_matmul_options_t options = {
            .transpose_b = true, .acc = BPT_NO_VALUE, .bias = bpt_weight(l->w, "", "embed_proj.bias"), .dtype = BPT_F32};
        x = bpt_matmul(l->g, bpt_cast(l->g, x, l->precision), bpt_weight_low(l->w, "", "embed_proj.weight", 1), options);
    }
    if (positions == BPT_NO_VALUE) return x;
    return bpt_add(l->g, x, bpt_gather(l->g, bpt_weight(l->w, "", "pos_embed.weight"), positions));
}

bpt_stream_t bpt_layer_norm(const bpt_layers_t *l, bpt_value_t x, bpt_value_t residual, float p, bpt_random_t random, const char *prefix,
                            const char *name) {
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    const bpt_value_t gamma = bpt_weight(l->w, prefix, weight), beta = bpt_weight(l->w, prefix, bias);
    bpt_stream_t y = {BPT_NO_VALUE, BPT_NO_VALUE};
    y.full = bpt_layernorm(l->g, x, residual, gamma, beta, p, random, l->precision, &y.low);
    return y;
}

bpt_value_t bpt_layer_project(const bpt_layers_t *l, bpt_value_t x, const char *prefix, const char *name, int joined) {
    return bpt_linear(l->g, x, bpt_weight_low(l->w, prefix, name, joined), BPT_NO_VALUE);
}

bpt_stream_t bpt_layer_feed_forward(const bpt_layers_t *l, bpt_stream_t x, bpt_random_t random, const char *prefix) {
    bpt_value_t h = bpt_linear(l->g, x.low, bpt_weight_low(l->w, prefix, "ffn.fc1.weight", 1), bpt_weight(l->w, prefix, "ffn.fc1.bias"));
    h = bpt_dropout(l->g, bpt_relu(l->g, h), l->p_hidden, random);
    h = bpt_linear(l->g, h, bpt_weight_low(l->w, prefix, "ffn.fc2.weight", 1), bpt_weight(l->w, prefix, "ffn.fc2.bias"));
    return bpt_layer_norm(l, h, x.full, l->p_hidden, random, prefix, "ffn_norm");
}

bpt_attention_attrs_t bpt_layer_attention_attrs(const bpt_layers_t *l) {
    const int32_t head_dim = l->config->d_model / l->config->heads;
    return (bpt_attention_attrs_t){
        .heads = l->config->heads, .head_dim = head_dim, .scale = 1 / sqrtf((float)head_dim), .p = l->p_attention};
}

bpt_value_t bpt_layer_head_weight(const bpt_layers_t *l) {
    return bpt_weight_low(l->w, "", l->config->tied ? "embed.weight" : "head.weight", 1);
}

bpt_value_t bpt_layer_logits(const bpt_layers_t *l, bpt_value_t h) {
    const bpt_value_t w = bpt_layer_head_weight(l), bias = bpt_weight(l->w, "", "head.bias");
    return bpt_matmul(l->g, h, w, (bpt_matmul_options_t){.transpose_b = true, .acc = BPT_NO_VALUE, .bias = bias, .dtype = BPT_F32});
}
