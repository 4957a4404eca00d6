// A layer of Tree Transformer (see tree_layer.h).
#include "models/blocks/tree_layer.h"

#include <stdio.h>

#include "models/blocks/self.h"

enum { ATTENTION_BYTES = 48 };

static void attention_prefix(const char *prefix, char attention[ATTENTION_BYTES]) {
    snprintf(attention, ATTENTION_BYTES, "%s" BPT_NAME_ATTN, prefix);
}

void bpt_tree_params(bpt_param_table_t *t, const bpt_model_config_t *c, const char *scope, int32_t layer) {
    char prefix[BPT_PREFIX_BYTES], attention[ATTENTION_BYTES];
    const int64_t half = c->head_dim / 2;
    bpt_self_prefix(scope, layer, prefix);
    attention_prefix(prefix, attention);
    bpt_table_params(t, c, attention);
    bpt_param_table_matrix(t, bpt_param_glorot(c->heads, c->d_model), c->heads, c->d_model, prefix, BPT_NAME_LEAF_WEIGHT);
    bpt_param_table_vector(t, bpt_param_zero(), c->heads, prefix, BPT_NAME_LEAF_WEIGHT_BIAS);
    if (c->hier_embed) {
        bpt_param_table_matrix(t, bpt_param_linear(c->head_dim), c->vertical_max, half, prefix, BPT_NAME_VERTICAL);
        bpt_param_table_matrix(t, bpt_param_linear(c->head_dim), c->horizontal_max, half, prefix, BPT_NAME_HORIZONTAL);
    }
    bpt_self_finish_params(t, c, prefix);
}

// Keys of all rows, and values, those of nodes accumulated with a weight for each token and head.
static bpt_value_t keys_and_values(const bpt_builder_t *b, const bpt_tree_rows_t *rows, bpt_stream_t x, const char *prefix,
                                   const char *attention) {
    const bpt_model_config_t *c = b->config;
    const bpt_matmul_options_t options = {
        .transpose_b = true, .acc = BPT_NO_VALUE, .bias = bpt_weight(b->w, prefix, BPT_NAME_LEAF_WEIGHT_BIAS), .dtype = BPT_F32};
    const bpt_tree_values_attrs_t attrs = {.heads = c->heads, .head_dim = c->head_dim, .counts_leaf = c->up_norm == BPT_UP_NORM_PAPER};
    const bpt_value_t tokens = bpt_rows(b->g, x.low, 0, rows->tokens);
    const bpt_tree_values_inputs_t in = {
        .kv = bpt_table_project(b, x.low, attention, BPT_NAME_K_PROJ, 2),
        .weight = bpt_matmul(b->g, tokens, bpt_weight_low(b->w, prefix, BPT_NAME_LEAF_WEIGHT, 1), options),
        .vertical = c->hier_embed ? bpt_weight(b->w, prefix, BPT_NAME_VERTICAL) : BPT_NO_VALUE,
        .horizontal = c->hier_embed ? bpt_weight(b->w, prefix, BPT_NAME_HORIZONTAL) : BPT_NO_VALUE,
        .links = rows->links,
        .trees = rows->trees,
    };
    return bpt_tree_values(b->g, &attrs, &in);
}

bpt_stream_t bpt_tree_layer(const bpt_builder_t *b, const bpt_tree_rows_t *rows, bpt_stream_t x, int32_t layer) {
    char prefix[BPT_PREFIX_BYTES], attention[ATTENTION_BYTES];
    bpt_self_prefix(b->scope, layer, prefix);
    attention_prefix(prefix, attention);
    const bpt_value_t q = bpt_table_project(b, x.low, attention, BPT_NAME_Q_PROJ, 1);
    const bpt_value_t kv = keys_and_values(b, rows, x, prefix, attention);
    const bpt_value_t attended = bpt_table_attention(b, &rows->graph, b->config->head_dim, q, kv);
    const bpt_value_t out = bpt_table_project(b, attended, attention, BPT_NAME_OUT_PROJ, 1);
    return bpt_self_finish(b, out, x.full, rows->place, NULL, 0, prefix);
}
