// Cross-attention between the two blocks of a layer (Vaswani et al. 2017, 3.1; Ye et al. 2019, 3.3): rows h, which were through
// self-attention, read rows m of a memory, such as those of another text behind its encoder, and become
//   LN(h + dropout(W_o attention(W_q h, W_k m, W_v m)))
// Who reads what is a table (bpt/lists.h). Rows that read nothing, such as spans, become LN(h). Where the memory has nodes of trees behind
// its tokens (Nguyen et al. 2020, 4.3), one softmax is over both, and the values of nodes are accumulated by the layer (accumulate.h).
#ifndef BPT_MODELS_BLOCKS_CROSS_H
#define BPT_MODELS_BLOCKS_CROSS_H

#include "models/blocks/accumulate.h"
#include "models/blocks/table.h"

typedef struct {
    bpt_value_t x;            // [K, d_model], in the precision of products
    bpt_forest_t forest;      // the trees of which these are the rows
    bpt_value_t key_value;    // [K, 2 d_model]: of this layer, where they were computed before (decoding); else BPT_NO_VALUE
    bpt_table_graph_t graph;  // which of these rows each of the Q readers reads
} bpt_memory_t;

// The weights [d_model, d_model] and the LayerNorm, behind a layer's prefix; with `trees` those of accumulation too.
void bpt_cross_params(bpt_param_table_t *table, const bpt_model_config_t *config, bool trees, const char *prefix);
// W_k x | W_v x of the memory's rows, [K, 2 d_model].
bpt_value_t bpt_cross_key_value(const bpt_builder_t *b, const bpt_memory_t *memory, const char *prefix);
// The first `readers` rows of x read the memory: 0, or Q.
bpt_stream_t bpt_cross(const bpt_builder_t *b, const bpt_memory_t *memory, bpt_stream_t x, bpt_place_t place, int64_t readers,
                       const char *prefix);

#endif
