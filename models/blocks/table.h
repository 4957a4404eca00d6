// Attention over a table (bpt/lists.h), between the products around it: one text for the ring and the relay of Star-Transformer and for
// cross-attention.
#ifndef BPT_MODELS_BLOCKS_TABLE_H
#define BPT_MODELS_BLOCKS_TABLE_H

#include "models/blocks/builder.h"

// Who reads whom, for all layers: Q queries, K keys.
typedef struct {
    bpt_value_t table, back;    // u32 [Q, slots, 4], [K, slots, 2]; back BPT_NO_VALUE: no gradients
    bpt_table_bounds_t bounds;  // of both
    bpt_value_t query_keys;     // u32 [Q, 2]: row keys (dropout); else BPT_NO_VALUE
    bpt_value_t key_codes;      // u32 [K] (dropout of attention); else BPT_NO_VALUE
} bpt_table_graph_t;

// All heads of the configuration, [Q, heads * head_dim]. q has so many columns, kv twice as many: keys, then values.
bpt_value_t bpt_table_attention(const bpt_builder_t *b, const bpt_table_graph_t *graph, int32_t head_dim, bpt_value_t q, bpt_value_t kv);

// Parameters PREFIX q_proj, k_proj, v_proj [A, d_model] and out_proj [d_model, A], each with .weight and .bias; A = heads * head_dim.
void bpt_table_params(bpt_param_table_t *table, const bpt_model_config_t *config, const char *prefix);
// x W^T + bias with those of `projection`; keys and values are one product (joined 2).
bpt_value_t bpt_table_project(const bpt_builder_t *b, bpt_value_t x, const char *prefix, const char *projection, int joined);

#endif
