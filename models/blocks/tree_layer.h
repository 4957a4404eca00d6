// A layer of Tree Transformer (Nguyen et al. 2020): self-attention of the tokens and nodes of trees, in which the values of nodes are first
// accumulated over the branches below them, and a feed-forward network, each followed by a LayerNorm.
#ifndef BPT_MODELS_BLOCKS_TREE_LAYER_H
#define BPT_MODELS_BLOCKS_TREE_LAYER_H

#include "models/blocks/accumulate.h"
#include "models/blocks/table.h"

// Rows that a layer computes: all, or some of them.
typedef struct {
    bpt_states_t states;      // before the layer
    bpt_table_graph_t graph;  // which of all rows each reads
} bpt_tree_rows_t;

void bpt_tree_params(bpt_param_table_t *table, const bpt_model_config_t *config, const char *scope, int32_t layer);
// The states of `rows` behind the layer; x are all rows before it, tokens and nodes of the trees.
bpt_stream_t bpt_tree_layer(const bpt_builder_t *b, const bpt_forest_t *forest, bpt_stream_t x, const bpt_tree_rows_t *rows, int32_t layer);

#endif
