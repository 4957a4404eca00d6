// BP-Transformer (Ye et al. 2019): k nodes per level and side, positions relative to the query. Knows only its graph.
#include "models/model.h"

bpt_intervals_t bpt_bpt_intervals(const bpt_model_config_t *config, int64_t n) {
    return (bpt_intervals_t){
        .kind = BPT_GRAPH_BPT,
        .causal = config->causal,
        .reference_rule = config->reference_rule,
        .k = config->k,
        .rel_levels = config->positions == BPT_POSITIONS_RELATIVE ? config->rel_levels : 0,
        .n = n,
    };
}
