// Hierarchical accumulation (Nguyen et al. 2020, 4.1): what attention reads of the nodes of trees. Keys stay as they are; the value of a
// node becomes the mean, over the tokens below it, of a token's weight times the mean of the values on the path from the token up to the
// node. To the values of nodes embeddings of the height above the token and of the token's place below the node are added. One text for the
// layers of an encoder and for cross-attention, each of which has parameters of its own.
#ifndef BPT_MODELS_BLOCKS_ACCUMULATE_H
#define BPT_MODELS_BLOCKS_ACCUMULATE_H

#include "models/blocks/builder.h"

// The trees of a batch: rows are those of `tokens` tokens, then those of nodes.
typedef struct {
    bpt_value_t links, trees;  // bpt_tree_values; links BPT_NO_VALUE: there are no trees
    int64_t tokens;
} bpt_forest_t;
static const bpt_forest_t bpt_no_forest = {BPT_NO_VALUE, BPT_NO_VALUE, 0};

// PREFIX leaf_weight.weight [heads, d_model], leaf_weight.bias [heads] and, with hier_embed, vertical.weight and horizontal.weight.
void bpt_accumulate_params(bpt_param_table_t *table, const bpt_model_config_t *config, const char *prefix);
// key_value [rows, 2 heads head_dim] of rows x, with the values of nodes accumulated; x are in the precision of products.
bpt_value_t bpt_accumulate_nodes(const bpt_builder_t *b, const bpt_forest_t *forest, bpt_value_t x, bpt_value_t key_value,
                                 const char *prefix);

#endif
