// SegTree-Transformer (Ye et al. 2019): the minimal disjoint cover of the sequence. Knows only its graph.
#include "models/model.h"

bpt_intervals_t bpt_segtree_intervals(const bpt_model_config_t *config, int64_t n) {
    return (bpt_intervals_t){
        .kind = BPT_GRAPH_SEGTREE,
        .causal = config->causal,
        .span_self = config->span_self,
        .k = 1,
        .rel_levels = config->positions == BPT_POSITIONS_RELATIVE ? config->rel_levels : 0,
        .n = n,
    };
}
