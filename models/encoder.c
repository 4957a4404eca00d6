// Builds the encoder's graph (see encoder.h).
#include "models/encoder.h"

#include <math.h>
#include <stdio.h>

// Rows between two layers: the f32 residual stream, and the same in the precision of products.
typedef struct {
    bpt_value_t full, low;
} stream_t;

// What a layer's LayerNorms and dropouts need to know of its rows.
typedef struct {
    bpt_value_t keys;  // row keys
    int64_t rows;
} place_t;

typedef struct {
    bpt_graph_t *g;
    bpt_weights_t *w;
    bpt_encoder_t *e;
    const bpt_model_config_t *c;
    bpt_dtype_t precision;
    float p_input, p_hidden, p_attention, p_head;
} builder_t;

static bpt_random_t random_of(const builder_t *b, const place_t *place) { return (bpt_random_t){place->keys, b->e->in.rng}; }

// The first `rows` of all rows.
static place_t first_rows(const builder_t *b, int64_t rows) {
    const bpt_value_t keys = b->e->in.row_keys;
    return (place_t){keys == BPT_NO_VALUE ? keys : bpt_rows(b->g, keys, 0, rows), rows};
}
static stream_t stream_rows(const builder_t *b, stream_t x, int64_t rows) {
    return (stream_t){bpt_rows(b->g, x.full, 0, rows), bpt_rows(b->g, x.low, 0, rows)};
}

static stream_t norm(const builder_t *b, bpt_value_t x, bpt_value_t residual, const place_t *place, float p, const char *prefix, const char *name) {
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    const bpt_value_t gamma = bpt_weight(b->w, prefix, weight), beta = bpt_weight(b->w, prefix, bias);
    stream_t y = {BPT_NO_VALUE, BPT_NO_VALUE};
    y.full = bpt_layernorm(b->g, x, residual, gamma, beta, p, random_of(b, place), b->precision, &y.low);
    return y;
}

// x = LayerNorm(dropout(embedding + position)) of the leaves.
static stream_t embed(const builder_t *b) {
    const bpt_encoder_inputs_t *in = &b->e->in;
    const place_t leaves = first_rows(b, b->e->leaf_rows);
    bpt_value_t x = bpt_gather(b->g, bpt_weight(b->w, "", "embed.weight"), in->tokens);
    if (b->c->d_embed != b->c->d_model)
        x = bpt_matmul(b->g, bpt_cast(b->g, x, b->precision), bpt_weight_low(b->w, "", "embed_proj.weight", 1),
                       (bpt_matmul_options_t){.transpose_b = true, .acc = BPT_NO_VALUE, .bias = bpt_weight(b->w, "", "embed_proj.bias"), .dtype = BPT_F32});
    if (in->positions != BPT_NO_VALUE) x = bpt_add(b->g, x, bpt_gather(b->g, bpt_weight(b->w, "", "pos_embed.weight"), in->positions));
    return norm(b, x, BPT_NO_VALUE, &leaves, b->p_input, "", "embed_norm");
}

static bpt_value_t project(const builder_t *b, bpt_value_t x, const char *prefix, const char *name, int joined) {
    return bpt_linear(b->g, x, bpt_weight_low(b->w, prefix, name, joined), BPT_NO_VALUE);
}

// One attention: which rows ask, which rows answer, and what the sum behind it adds to.
typedef struct {
    bpt_attention_attrs_t attrs;
    bpt_value_t q, kv, residual;
    place_t place;  // of the queries
} attention_t;

// All nodes ask. In the first layer only leaves are stored: the other nodes are zero, and so is their residual.
static void ask_all(const builder_t *b, bool first, stream_t x, const char *prefix, attention_t *a) {
    const bpt_encoder_t *e = b->e;
    a->attrs.queries = BPT_QUERIES_ALL;
    a->attrs.packed = true;
    a->attrs.zero_spans = first && e->rows > e->leaf_rows;
    a->q = a->kv = project(b, x.low, prefix, "attn.q_proj.weight", 3);
    a->residual = a->attrs.zero_spans ? bpt_add_rows(b->g, BPT_NO_VALUE, x.full, 0, e->rows) : x.full;
    a->place = first_rows(b, e->rows);
}

// Language model, last layer: leaves ask.
static void ask_leaves(const builder_t *b, bool first, stream_t x, const char *prefix, attention_t *a) {
    const bpt_encoder_t *e = b->e;
    const stream_t leaves = stream_rows(b, x, e->leaf_rows);
    a->attrs.queries = BPT_QUERIES_LEAVES;
    a->attrs.zero_spans = first && e->rows > e->leaf_rows;
    a->attrs.packed = first || e->rows == e->leaf_rows;
    if (a->attrs.packed) {
        a->q = a->kv = project(b, x.low, prefix, "attn.q_proj.weight", 3);
    } else {
        a->q = project(b, leaves.low, prefix, "attn.q_proj.weight", 1);
        a->kv = project(b, x.low, prefix, "attn.k_proj.weight", 2);
    }
    a->residual = leaves.full;
    a->place = first_rows(b, e->leaf_rows);
}

// Classifier, last layer: roots ask. They read leaves only, so that the other nodes' keys and values need not exist.
static void ask_roots(const builder_t *b, stream_t x, const char *prefix, attention_t *a) {
    const bpt_encoder_t *e = b->e;
    const bpt_value_t roots = bpt_gather(b->g, x.full, e->in.root_rows);
    a->attrs.queries = BPT_QUERIES_ROOTS;
    a->attrs.zero_spans = e->rows > e->leaf_rows;
    a->q = project(b, bpt_cast(b->g, roots, b->precision), prefix, "attn.q_proj.weight", 1);
    a->kv = project(b, bpt_rows(b->g, x.low, 0, e->leaf_rows), prefix, "attn.k_proj.weight", 2);
    a->residual = roots;
    a->place = (place_t){e->in.root_keys, e->options.batch};
}

// h = LN(x + dropout(W_o attention(x)))
static stream_t attend(const builder_t *b, int layer, stream_t x, const char *prefix, place_t *place) {
    const bpt_encoder_t *e = b->e;
    const bpt_model_config_t *c = b->c;
    const bool first = layer == 0, last = layer == c->layers - 1;
    attention_t a = {.attrs = {.graph = e->graph, .batch = e->options.batch, .heads = c->heads, .head_dim = c->d_model / c->heads, .p = b->p_attention}};
    a.attrs.scale = 1 / sqrtf((float)a.attrs.head_dim);
    if (!last) ask_all(b, first, x, prefix, &a);
    else if (c->task == BPT_TASK_CLASSIFY) ask_roots(b, x, prefix, &a);
    else ask_leaves(b, first, x, prefix, &a);
    const bpt_attention_inputs_t in = {
        .q = a.q,
        .kv = a.kv,
        .rel = e->graph.rel_levels ? bpt_weight_low(b->w, prefix, "attn.rel_key.weight", 1) : BPT_NO_VALUE,
        .lengths = e->in.lengths,
        .row_keys = e->in.row_keys,
        .rng = e->in.rng,
        .table = BPT_NO_VALUE,
    };
    const bpt_value_t sum = bpt_attention(b->g, &a.attrs, &in);
    *place = a.place;
    return norm(b, project(b, sum, prefix, "attn.out_proj.weight", 1), a.residual, place, b->p_hidden, prefix, "attn_norm");
}

// h = LN(x + dropout(W_2 dropout(relu(W_1 x + b_1)) + b_2))
static stream_t feed_forward(const builder_t *b, stream_t x, const char *prefix, const place_t *place) {
    bpt_value_t h = bpt_linear(b->g, x.low, bpt_weight_low(b->w, prefix, "ffn.fc1.weight", 1), bpt_weight(b->w, prefix, "ffn.fc1.bias"));
    h = bpt_dropout(b->g, bpt_relu(b->g, h), b->p_hidden, random_of(b, place));
    h = bpt_linear(b->g, h, bpt_weight_low(b->w, prefix, "ffn.fc2.weight", 1), bpt_weight(b->w, prefix, "ffn.fc2.bias"));
    return norm(b, h, x.full, place, b->p_hidden, prefix, "ffn_norm");
}

// Adds the head on x (leaves or roots): a loss, or the logits.
static void head(const builder_t *b, stream_t x, const place_t *place) {
    bpt_encoder_t *e = b->e;
    const bpt_value_t h = bpt_dropout(b->g, x.low, b->p_head, random_of(b, place));
    const bpt_value_t w = bpt_weight_low(b->w, "", b->c->tied ? "embed.weight" : "head.weight", 1), bias = bpt_weight(b->w, "", "head.bias");
    if (e->options.logits) {
        e->logits = bpt_matmul(b->g, h, w, (bpt_matmul_options_t){.transpose_b = true, .acc = BPT_NO_VALUE, .bias = bias, .dtype = BPT_F32});
        return;
    }
    const bpt_xent_t x_ent = bpt_xent(b->g, h, w, bias, e->in.targets, e->in.weights);
    e->nll = x_ent.nll;
    e->loss = e->loss == BPT_NO_VALUE ? x_ent.loss : bpt_add(b->g, e->loss, x_ent.loss);
}

static void run_layers(const builder_t *b) {
    bpt_encoder_t *e = b->e;
    const int32_t layers = b->c->layers, first_head = e->options.first_head ? e->options.first_head : layers;
    stream_t x = embed(b);
    for (int32_t i = 0; i < layers; ++i) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "layers.%d.", i);
        place_t place;
        bpt_graph_region_begin(b->g);
        x = attend(b, i, x, prefix, &place);
        x = feed_forward(b, x, prefix, &place);
        bpt_graph_region_end(b->g);
        if (i + 1 < first_head) continue;
        if (i + 1 == layers) {
            head(b, x, &place);
        } else {
            const place_t leaves = first_rows(b, e->leaf_rows);
            head(b, stream_rows(b, x, e->leaf_rows), &leaves);
        }
    }
    if (e->loss != BPT_NO_VALUE && first_head < layers) e->loss = bpt_scale(b->g, e->loss, 1 / (float)(layers - first_head + 1));
}

static bpt_encoder_inputs_t make_inputs(bpt_graph_t *g, const bpt_encoder_t *e) {
    const bpt_encoder_options_t *o = &e->options;
    const bool classify = o->config->task == BPT_TASK_CLASSIFY;
    const int64_t outputs = classify ? o->batch : e->leaf_rows;
    const bpt_value_t none = BPT_NO_VALUE;
    return (bpt_encoder_inputs_t){
        .tokens = bpt_input(g, "tokens", BPT_U32, bpt_shape1(e->leaf_rows)),
        .positions = o->config->positions == BPT_POSITIONS_ABSOLUTE ? bpt_input(g, "positions", BPT_U32, bpt_shape1(e->leaf_rows)) : none,
        .lengths = bpt_input(g, "lengths", BPT_U32, bpt_shape1(o->batch)),
        .targets = o->logits ? none : bpt_input(g, "targets", BPT_U32, bpt_shape1(outputs)),
        .weights = o->logits ? none : bpt_input(g, "weights", BPT_F32, bpt_shape1(outputs)),
        .row_keys = o->dropout ? bpt_input(g, "row_keys", BPT_U32, bpt_shape2(e->rows, 2)) : none,
        .root_rows = classify ? bpt_input(g, "root_rows", BPT_U32, bpt_shape1(o->batch)) : none,
        .root_keys = classify && o->dropout ? bpt_input(g, "root_keys", BPT_U32, bpt_shape2(o->batch, 2)) : none,
        .rng = o->dropout ? bpt_input(g, "rng", BPT_U32, bpt_shape1(2)) : none,
    };
}

bpt_status_t bpt_encoder_build(bpt_weights_t *weights, const bpt_encoder_options_t *options, bpt_encoder_t *out) {
    const bpt_model_config_t *c = options->config;
    BPT_TRY(bpt_model_check_length(c, options->n));
    bpt_encoder_t *e = out;
    *e = (bpt_encoder_t){.options = *options, .graph = bpt_model_intervals(c, options->n), .loss = BPT_NO_VALUE, .nll = BPT_NO_VALUE, .logits = BPT_NO_VALUE};
    e->leaf_rows = options->batch * options->n;
    e->rows = options->batch * bpt_node_count(&e->graph);
    e->in = make_inputs(weights->graph, e);
    const float on = options->dropout ? 1 : 0;
    const builder_t b = {
        .g = weights->graph,
        .w = weights,
        .e = e,
        .c = c,
        .precision = options->precision,
        .p_input = on * c->dropout_input,
        .p_hidden = on * c->dropout_hidden,
        .p_attention = on * c->dropout_attention,
        .p_head = on * c->dropout_head,
    };
    run_layers(&b);
    BPT_TRY(weights->status);
    return bpt_graph_status(weights->graph);
}
