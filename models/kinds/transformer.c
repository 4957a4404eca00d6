// Transformer (Vaswani et al. 2017) with dense, windowed or sparse attention; where a state of the whole text is wanted, a virtual root
// reads it.
#include "models/blocks/interval_layers.h"

static const char *const keys[] = {"attention", "window", "tail", "d_ff", "ffn", "dropout_hidden", "match_layers", NULL};

static const bpt_intervals_kind_t graphs[] = {[BPT_ATTENTION_DENSE] = BPT_INTERVALS_DENSE,
                                              [BPT_ATTENTION_WINDOW] = BPT_INTERVALS_WINDOW,
                                              [BPT_ATTENTION_SPARSE] = BPT_INTERVALS_SPARSE};

static bool is_window(const bpt_model_config_t *config) { return config->attention == BPT_ATTENTION_WINDOW; }

static bpt_intervals_t intervals(const bpt_model_config_t *config, int64_t n) {
    return (bpt_intervals_t){
        .kind = graphs[config->attention],
        .causal = config->causal,
        .root = bpt_wants_root(config),
        .window = config->window,
        .stride = config->stride,
        .tail = config->tail,
        .rel_levels = bpt_kind_relative_levels(config),
        .n = n,
    };
}

// Distances 1 .. the farthest that a token reads; sparse attention has none (Child et al. 2019).
static int32_t rel_levels(const bpt_model_config_t *config, int64_t n) {
    if (config->attention == BPT_ATTENTION_SPARSE) return 0;
    const int64_t farthest = is_window(config) ? config->window : n - 1;
    return farthest < 1 ? 1 : (int32_t)farthest;
}

const bpt_kind_spec_t bpt_kind_transformer = {
    .name = "transformer",
    .title = "a plain Transformer",
    .keys = keys,
    .gives = BPT_WANT_TOKENS | BPT_WANT_POOLED,
    .translates = true,
    .decoder = BPT_MODEL_TRANSFORMER,
    .pools = 1u << BPT_POOL_ROOT | 1u << BPT_POOL_MEAN | 1u << BPT_POOL_MAX,
    .pool = BPT_POOL_ROOT,
    .positions = BPT_POSITIONS_ABSOLUTE,
    .rotary = true,
    .intervals = intervals,
    .rel_levels = rel_levels,
    .layers = &bpt_interval_layers,
};
