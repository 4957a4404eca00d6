// Graph and parameters of a configuration (see model.h).
#include "models/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

bpt_intervals_t bpt_model_intervals(const bpt_model_config_t *config, int64_t n) {
    switch (config->model) {
    case BPT_MODEL_SEGTREE: return bpt_segtree_intervals(config, n);
    case BPT_MODEL_TRANSFORMER: return bpt_transformer_intervals(config, n);
    case BPT_MODEL_BPT: break;
    }
    return bpt_bpt_intervals(config, n);
}

bpt_intervals_t bpt_model_needed_intervals(const bpt_model_config_t *config, int64_t n) {
    bpt_intervals_t graph = bpt_model_intervals(config, n);
    graph.trimmed = bpt_intervals_has_spans(&graph) && graph.causal;
    graph.root |= graph.trimmed && config->task == BPT_TASK_CLASSIFY;
    return graph;
}

bpt_status_t bpt_model_check_length(const bpt_model_config_t *config, int64_t n) {
    if (config->positions == BPT_POSITIONS_ABSOLUTE && n > config->max_positions)
        return bpt_fail(BPT_ERR_USAGE,
                        "%" PRId64 " tokens are more than the model's %d positions; give fewer, or train with a larger --max-positions", n,
                        config->max_positions);
    const bpt_intervals_t graph = bpt_model_intervals(config, n);
    return bpt_intervals_check(&graph);
}

// ---- parameters, with the initial values of the released code (PyTorch defaults outside the blocks, Glorot & Bengio 2010 inside)

typedef struct {
    bpt_params_t *params;
    bpt_status_t status;
} table_t;

typedef struct {
    bpt_param_group_t group;
    bpt_param_init_t init;
    double bound;
    bool joined;
} kind_t;

// rows 0: a vector of `columns`.
static void add(table_t *t, kind_t kind, int64_t rows, int64_t columns, const char *format, ...) {
    if (t->status != BPT_OK) return;
    bpt_param_t p = {.group = kind.group, .init = kind.init, .bound = kind.bound, .joined = kind.joined};
    p.rank = rows ? 2 : 1;
    p.shape[0] = rows ? rows : columns;
    p.shape[1] = rows ? columns : 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p.name, sizeof p.name, format, arguments);
    va_end(arguments);
    t->status = bpt_params_add(t->params, &p);
}

static kind_t normal(bool frozen) { return (kind_t){.group = frozen ? BPT_GROUP_FROZEN : BPT_GROUP_DECAY, .init = BPT_INIT_NORMAL}; }
static kind_t uniform(bpt_param_group_t group, double bound) { return (kind_t){.group = group, .init = BPT_INIT_UNIFORM, .bound = bound}; }
static kind_t linear(int64_t fan_in) { return uniform(BPT_GROUP_DECAY, 1 / sqrt((double)fan_in)); }
static kind_t bias(int64_t fan_in) { return uniform(BPT_GROUP_NO_DECAY, 1 / sqrt((double)fan_in)); }
static kind_t xavier(int64_t rows, int64_t columns) { return uniform(BPT_GROUP_DECAY, sqrt(6.0 / (double)(rows + columns))); }
static const kind_t one = {.group = BPT_GROUP_NO_DECAY, .init = BPT_INIT_ONE}, zero = {.group = BPT_GROUP_NO_DECAY, .init = BPT_INIT_ZERO};

static void add_norm(table_t *t, const char *prefix, const char *name, int64_t d) {
    add(t, one, 0, d, "%s%s.weight", prefix, name);
    add(t, zero, 0, d, "%s%s.bias", prefix, name);
}

static void add_attention(table_t *t, const bpt_model_config_t *c, bool freeze_rel, const char *prefix) {
    static const char *const names[] = {"q", "k", "v", "out"};
    const int64_t d = c->d_model;
    for (int i = 0; i < 4; ++i) {
        kind_t kind = xavier(d, d);
        kind.joined = i == 1 || i == 2;
        add(t, kind, d, d, "%sattn.%s_proj.weight", prefix, names[i]);
    }
    const bpt_intervals_t graph = bpt_model_intervals(c, 1);
    const int64_t rows = bpt_rel_rows(&graph), d_head = d / c->heads;
    kind_t kind = xavier(rows, d_head);
    if (freeze_rel) kind.group = BPT_GROUP_FROZEN;
    if (rows) add(t, kind, rows, d_head, "%sattn.rel_key.weight", prefix);
}

static void add_layer(table_t *t, const bpt_model_config_t *c, bool freeze_rel, int layer) {
    char prefix[32];
    snprintf(prefix, sizeof prefix, "layers.%d.", layer);
    add_attention(t, c, freeze_rel, prefix);
    add_norm(t, prefix, "attn_norm", c->d_model);
    add(t, xavier(c->d_ff, c->d_model), c->d_ff, c->d_model, "%sffn.fc1.weight", prefix);
    add(t, bias(c->d_model), 0, c->d_ff, "%sffn.fc1.bias", prefix);
    add(t, xavier(c->d_model, c->d_ff), c->d_model, c->d_ff, "%sffn.fc2.weight", prefix);
    add(t, bias(c->d_ff), 0, c->d_model, "%sffn.fc2.bias", prefix);
    add_norm(t, prefix, "ffn_norm", c->d_model);
}

static void add_embedding(table_t *t, const bpt_model_config_t *c, bool frozen) {
    const int64_t d = c->d_model;
    kind_t embed = c->tied ? linear(d) : normal(false);  // a tied matrix has the initial values of the head
    if (frozen) embed.group = BPT_GROUP_FROZEN;
    add(t, embed, c->vocab, c->d_embed, "embed.weight");
    if (c->d_embed != c->d_model) {
        add(t, linear(c->d_embed), d, c->d_embed, "embed_proj.weight");
        add(t, bias(c->d_embed), 0, d, "embed_proj.bias");
    }
    if (c->positions == BPT_POSITIONS_ABSOLUTE) add(t, normal(false), c->max_positions, d, "pos_embed.weight");
    add_norm(t, "", "embed_norm", d);
}

bpt_status_t bpt_model_params(const bpt_model_config_t *c, bpt_frozen_t frozen, bpt_params_t *out) {
    *out = (bpt_params_t){0};
    table_t t = {.params = out};
    const int64_t outputs = c->task == BPT_TASK_CLASSIFY ? c->classes : c->vocab;
    add_embedding(&t, c, frozen.embed);
    for (int i = 0; i < c->layers; ++i) add_layer(&t, c, frozen.rel, i);
    if (!c->tied) add(&t, linear(c->d_model), outputs, c->d_model, "head.weight");
    add(&t, bias(c->d_model), 0, outputs, "head.bias");
    if (t.status != BPT_OK)
        bpt_params_free(out);
    else
        bpt_params_layout(out);
    return t.status;
}
