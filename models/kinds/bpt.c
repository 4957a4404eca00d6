// BP-Transformer (Ye et al. 2019): k nodes per level and side, positions relative to the query.
#include "models/blocks/interval_layers.h"
#include "models/blocks/split_layers.h"

static const char *const keys[] = {"k", "rule", "d_ff", "ffn", "dropout_hidden", "match_layers", NULL};

static bpt_intervals_t intervals(const bpt_model_config_t *config, int64_t n) {
    return (bpt_intervals_t){
        .kind = BPT_INTERVALS_BPT,
        .causal = config->causal,
        .reference_rule = config->reference_rule,
        .k = config->k,
        .rel_levels = bpt_kind_relative_levels(config),
        .n = n,
    };
}

const bpt_kind_spec_t bpt_kind_bpt = {
    .name = "bpt",
    .title = "BP-Transformer",
    .keys = keys,
    .gives = BPT_WANT_TOKENS | BPT_WANT_POOLED,
    .translates = true,
    .decoder = BPT_MODEL_BPT,
    .pools = 1u << BPT_POOL_ROOT | 1u << BPT_POOL_MEAN | 1u << BPT_POOL_MAX,
    .pool = BPT_POOL_ROOT,
    .positions = BPT_POSITIONS_RELATIVE,
    .levels = true,
    .rotary = true,
    .intervals = intervals,
    .rel_levels = bpt_kind_levels_of_tree,
    .layers = &bpt_interval_layers,
    .split_layers = &bpt_split_layers,
};
