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
    bpt_self_prefix(scope, layer, prefix);
    attention_prefix(prefix, attention);
    bpt_table_params(t, c, attention);
    bpt_accumulate_params(t, c, attention);
    bpt_self_finish_params(t, c, prefix);
}

bpt_stream_t bpt_tree_layer(const bpt_builder_t *b, const bpt_forest_t *forest, bpt_stream_t x, const bpt_tree_rows_t *rows,
                            int32_t layer) {
    char prefix[BPT_PREFIX_BYTES], attention[ATTENTION_BYTES];
    bpt_self_prefix(b->scope, layer, prefix);
    attention_prefix(prefix, attention);
    const bpt_value_t q = bpt_table_project(b, rows->states.x.low, attention, BPT_NAME_Q_PROJ, 1);
    const bpt_value_t kv = bpt_accumulate_nodes(b, forest, x.low, bpt_table_project(b, x.low, attention, BPT_NAME_K_PROJ, 2), attention);
    const bpt_value_t attended = bpt_table_attention(b, &rows->graph, b->config->head_dim, q, kv);
    const bpt_value_t out = bpt_table_project(b, attended, attention, BPT_NAME_OUT_PROJ, 1);
    return bpt_self_finish(b, out, rows->states.x.full, rows->states.place, NULL, 0, prefix);
}
