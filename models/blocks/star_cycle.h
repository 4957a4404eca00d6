// A cycle of Star-Transformer (Guo et al. 2019, section 3.1): satellites H, one for each token, in a ring, and a relay s for each sequence.
//   h_i' = LN(relu(attention of h_i over h_{i-1}, h_i, h_{i+1}, e_i, s))       the ring: all satellites at once
//   s'   = LN(relu(attention of s over s and all h'))                          the star
// E are the embeddings, the same in every cycle. Neighbours are not copied: attention reads ranges of the rows [H; E; s] (bpt/lists.h).
// There is no residual and no feed-forward block; q, k, v and out have biases. A = heads * head_dim may differ from d_model.
#ifndef BPT_MODELS_BLOCKS_STAR_CYCLE_H
#define BPT_MODELS_BLOCKS_STAR_CYCLE_H

#include "models/blocks/table.h"

typedef struct {
    bpt_stream_t satellites, relay;  // [N, d], [B, d]
} bpt_star_states_t;

void bpt_star_params(bpt_param_table_t *table, const bpt_model_config_t *config, int32_t cycle);
bpt_star_states_t bpt_star_cycle(const bpt_builder_t *b, const bpt_table_graph_t *ring, const bpt_table_graph_t *star,
                                 bpt_stream_t embeddings, const bpt_star_states_t *states, int32_t cycle);

#endif
