// Graphs of incremental decoding (see decode.h): the encoder's layers over new nodes only, with cached keys and values.
#include <stdio.h>

#include "models/decode/decode_internal.h"
#include "models/nn/layers.h"

static bpt_value_t table_input(bpt_graph_t *g, const char *name, int64_t rows, int64_t slots) {
    return bpt_input(g, name, BPT_U32, (bpt_shape_t){3, {rows, slots, 4}});
}

static void make_inputs(bpt_graph_t *g, const decode_shape_t *s, decode_program_t *p) {
    const bpt_shape_t rows = bpt_shape1(p->rows);
    const bool absolute = s->config->positions == BPT_POSITIONS_ABSOLUTE;
    p->tokens = bpt_input(g, "tokens", BPT_U32, rows);
    p->positions = absolute ? bpt_input(g, "positions", BPT_U32, rows) : BPT_NO_VALUE;
    p->leaf = bpt_input(g, "leaf", BPT_U32, rows);
    p->nodes = bpt_input(g, "nodes", BPT_U32, rows);
    p->table = table_input(g, "table", p->rows, s->slots);
    p->last = bpt_input(g, "last", BPT_U32, bpt_shape1(s->sequences));
    p->last_table = table_input(g, "last_table", s->sequences, s->slots);
}

// Only one row of each sequence asks in the last layer: the one whose logits are wanted.
static bpt_stream_t layer(const bpt_layers_t *l, const decode_shape_t *s, const decode_program_t *p, bpt_value_t cache, int32_t index,
                          bpt_stream_t x) {
    const bool last = index == l->config->layers - 1;
    const int64_t row_bytes = 2 * (int64_t)l->config->d_model * (int64_t)bpt_dtype_size(s->precision);
    const bpt_random_t none = {BPT_NO_VALUE, BPT_NO_VALUE};
    char prefix[32];
    snprintf(prefix, sizeof prefix, "layers.%d.", index);
    const int64_t rows = s->sequences * s->nodes;
    const bpt_value_t kv = bpt_view(l->g, cache, (size_t)(index * rows * row_bytes), bpt_shape2(rows, 2 * l->config->d_model));
    bpt_scatter(l->g, kv, bpt_layer_project(l, x.low, prefix, "attn.k_proj.weight", 2), p->nodes);
    if (last) {
        x.full = bpt_gather(l->g, x.full, p->last);
        x.low = bpt_cast(l->g, x.full, s->precision);
    }
    bpt_attention_attrs_t attrs = bpt_layer_attention_attrs(l);
    attrs.graph.kind = BPT_GRAPH_TABLE;
    attrs.batch = 1;
    const bpt_intervals_t graph = bpt_model_intervals(l->config, 1);
    const bpt_attention_inputs_t in = {
        .q = bpt_layer_project(l, x.low, prefix, "attn.q_proj.weight", 1),
        .kv = kv,
        .rel = graph.rel_levels ? bpt_weight_low(l->w, prefix, "attn.rel_key.weight", 1) : BPT_NO_VALUE,
        .lengths = BPT_NO_VALUE,
        .row_keys = BPT_NO_VALUE,
        .rng = BPT_NO_VALUE,
        .table = last ? p->last_table : p->table,
    };
    const bpt_value_t sum = bpt_layer_project(l, bpt_attention(l->g, &attrs, &in), prefix, "attn.out_proj.weight", 1);
    return bpt_layer_feed_forward(l, bpt_layer_norm(l, sum, x.full, 0, none, prefix, "attn_norm"), none, prefix);
}

// The rows before the first layer: LayerNorm(embedding) of leaves, zero for spans.
static bpt_stream_t embed(const bpt_layers_t *l, const decode_program_t *p) {
    const bpt_random_t none = {BPT_NO_VALUE, BPT_NO_VALUE};
    const bpt_stream_t x = bpt_layer_norm(l, bpt_layer_embed(l, p->tokens, p->positions), BPT_NO_VALUE, 0, none, "", "embed_norm");
    const bpt_value_t leaves = bpt_gather(l->g, x.full, p->leaf);
    return (bpt_stream_t){leaves, bpt_cast(l->g, leaves, l->precision)};
}

static bpt_status_t build(bpt_graph_t *g, const decode_shape_t *s, decode_program_t *p) {
    const bpt_model_config_t *c = s->config;
    const bpt_shape_t arena = bpt_shape1(s->params->elements);
    bpt_weights_t w;
    bpt_weights_init(&w, g, s->params, bpt_state(g, "parameters", DECODE_PARAMS, BPT_F32, arena), BPT_F32);
    if (s->precision != BPT_F32) w.low = bpt_state(g, "parameters in low precision", DECODE_LOW, s->precision, arena);
    const bpt_value_t cache =
        bpt_state(g, "cache", DECODE_CACHE, s->precision, bpt_shape2(c->layers * s->sequences * s->nodes, 2 * c->d_model));
    const bpt_layers_t l = {.g = g, .w = &w, .config = c, .precision = s->precision};
    make_inputs(g, s, p);
    bpt_stream_t x = embed(&l, p);
    for (int32_t i = 0; i < c->layers; ++i) x = layer(&l, s, p, cache, i, x);
    p->logits = bpt_layer_logits(&l, x.low);
    bpt_graph_keep(g, p->logits);
    bpt_status_t status = w.status;
    bpt_weights_free(&w);
    if (status == BPT_OK) status = bpt_graph_fuse(g);
    return status == BPT_OK ? bpt_graph_eliminate(g) : status;
}

bpt_status_t bpt_decode_graph(const decode_shape_t *shape, decode_program_t *program, bpt_graph_t **graph) {
    bpt_graph_t *g;
    BPT_TRY(bpt_graph_create(&g));
    const bpt_status_t status = build(g, shape, program);
    if (status == BPT_OK)
        *graph = g;
    else
        bpt_graph_destroy(g);
    return status;
}

bpt_status_t bpt_decode_cast_graph(const decode_shape_t *s, bpt_graph_t **graph) {
    const bpt_shape_t arena = bpt_shape1(s->params->elements);
    BPT_TRY(bpt_graph_create(graph));
    bpt_graph_t *g = *graph;
    const bpt_value_t low = bpt_cast(g, bpt_state(g, "parameters", DECODE_PARAMS, BPT_F32, arena), s->precision);
    bpt_graph_place(g, low, bpt_state(g, "parameters in low precision", DECODE_LOW, s->precision, arena));
    const bpt_status_t status = bpt_graph_status(g);
    if (status != BPT_OK) bpt_graph_destroy(g);
    return status;
}
