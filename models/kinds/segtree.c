// SegTree-Transformer (Ye et al. 2019): the minimal disjoint cover of the sequence.
#include "models/blocks/interval_layers.h"

static const char *const keys[] = {"span_self", "d_ff", "ffn", "dropout_hidden", NULL};

static bpt_intervals_t intervals(const bpt_model_config_t *config, int64_t n) {
    return (bpt_intervals_t){
        .kind = BPT_INTERVALS_SEGTREE,
        .causal = config->causal,
        .span_self = config->span_self,
        .k = 1,
        .rel_levels = bpt_kind_relative_levels(config),
        .n = n,
    };
}

const bpt_kind_spec_t bpt_kind_segtree = {
    .name = "segtree",
    .title = "SegTree-Transformer",
    .keys = keys,
    .gives = BPT_WANT_TOKENS | BPT_WANT_POOLED,
    .translates = true,
    .decoder = BPT_MODEL_SEGTREE,
    .pools = 1u << BPT_POOL_ROOT | 1u << BPT_POOL_MEAN | 1u << BPT_POOL_MAX,
    .pool = BPT_POOL_ROOT,
    .positions = BPT_POSITIONS_RELATIVE,
    .levels = true,
    .rotary = true,
    .intervals = intervals,
    .rel_levels = bpt_kind_levels_of_tree,
    .layers = &bpt_interval_layers,
};
