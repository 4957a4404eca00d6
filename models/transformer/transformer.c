// Transformer (Vaswani et al. 2017) with dense or windowed attention; a classifier reads a virtual root. Knows only its graph.
#include "models/model.h"

bpt_intervals_t bpt_transformer_intervals(const bpt_model_config_t *config, int64_t n) {
    return (bpt_intervals_t){
        .kind = config->attention == BPT_ATTENTION_WINDOW ? BPT_GRAPH_WINDOW : BPT_GRAPH_DENSE,
        .causal = config->causal,
        .root = config->task == BPT_TASK_CLASSIFY,
        .window = config->window,
        .rel_levels = config->positions == BPT_POSITIONS_RELATIVE ? config->rel_levels : 0,
        .n = n,
    };
}
