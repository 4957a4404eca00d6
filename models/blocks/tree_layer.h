// A layer of Tree Transformer (Nguyen et al. 2020): self-attention of the tokens and nodes of trees, in which the values of nodes are first
// accumulated over the branches below them, and a feed-forward network, each followed by a LayerNorm.
#ifndef BPT_MODELS_BLOCKS_TREE_LAYER_H
#define BPT_MODELS_BLOCKS_TREE_LAYER_H

#include "models/blocks/accumulate.h"
#include "models/blocks/table.h"

// The trees of a batch, for all layers.
typedef struct {
    bpt_table_graph_t graph;  // who reads whom
    bpt_forest_t forest;
    bpt_place_t place;  // of all rows
} bpt_tree_rows_t;

void bpt_tree_params(bpt_param_table_t *table, const bpt_model_config_t *config, const char *scope, int32_t layer);
bpt_stream_t bpt_tree_layer(const bpt_builder_t *b, const bpt_tree_rows_t *rows, bpt_stream_t x, int32_t layer);

#endif
