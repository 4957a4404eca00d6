// Hierarchical accumulation (see accumulate.h).
#include "models/blocks/accumulate.h"

void bpt_accumulate_params(bpt_param_table_t *t, const bpt_model_config_t *c, const char *prefix) {
    const int64_t half = c->head_dim / 2;
    bpt_param_table_matrix(t, bpt_param_hidden(c->heads, c->d_model), c->heads, c->d_model, prefix, BPT_NAME_LEAF_WEIGHT);
    bpt_param_table_vector(t, bpt_param_zero(), c->heads, prefix, BPT_NAME_LEAF_WEIGHT_BIAS);
    if (!c->hier_embed) return;
    bpt_param_table_matrix(t, bpt_param_linear(c->head_dim), c->vertical_max, half, prefix, BPT_NAME_VERTICAL);
    bpt_param_table_matrix(t, bpt_param_linear(c->head_dim), c->horizontal_max, half, prefix, BPT_NAME_HORIZONTAL);
}

bpt_value_t bpt_accumulate_nodes(const bpt_builder_t *b, const bpt_forest_t *forest, bpt_value_t x, bpt_value_t key_value,
                                 const char *prefix) {
    const bpt_model_config_t *c = b->config;
    const bpt_matmul_options_t options = {
        .transpose_b = true, .acc = BPT_NO_VALUE, .bias = bpt_weight(b->w, prefix, BPT_NAME_LEAF_WEIGHT_BIAS), .dtype = BPT_F32};
    const bpt_tree_values_attrs_t attrs = {.heads = c->heads, .head_dim = c->head_dim, .counts_leaf = c->up_norm == BPT_UP_NORM_PAPER};
    const bpt_value_t tokens = bpt_rows(b->g, x, 0, forest->tokens);
    const bpt_tree_values_inputs_t in = {
        .kv = key_value,
        .weight = bpt_matmul(b->g, tokens, bpt_weight_factor(b->w, prefix, BPT_NAME_LEAF_WEIGHT, 1), options),
        .vertical = c->hier_embed ? bpt_weight(b->w, prefix, BPT_NAME_VERTICAL) : BPT_NO_VALUE,
        .horizontal = c->hier_embed ? bpt_weight(b->w, prefix, BPT_NAME_HORIZONTAL) : BPT_NO_VALUE,
        .links = forest->links,
        .trees = forest->trees,
    };
    return bpt_tree_values(b->g, &attrs, &in);
}
