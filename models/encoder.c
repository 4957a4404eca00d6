// Builds the encoder's graph (see encoder.h).
#include "models/encoder.h"

#include <stdio.h>

#include "models/nn/layers.h"

// The rows that a LayerNorm or dropout works on: their number and row keys.
typedef struct {
    bpt_value_t keys;
    int64_t rows;
} place_t;

typedef struct {
    bpt_layers_t l;
    bpt_encoder_t *e;
} builder_t;

static bpt_random_t random_of(const builder_t *b, const place_t *place) { return (bpt_random_t){place->keys, b->e->in.rng}; }

// The first `rows` of all rows.
static place_t first_rows(const builder_t *b, int64_t rows) {
    const bpt_value_t keys = b->e->in.row_keys;
    return (place_t){keys == BPT_NO_VALUE ? keys : bpt_rows(b->l.g, keys, 0, rows), rows};
}
static bpt_stream_t stream_rows(const builder_t *b, bpt_stream_t x, int64_t rows) {
    return (bpt_stream_t){bpt_rows(b->l.g, x.full, 0, rows), bpt_rows(b->l.g, x.low, 0, rows)};
}

// x = LayerNorm(dropout(embedding + position)) of the leaves.
static bpt_stream_t embed(const builder_t *b) {
    const place_t leaves = first_rows(b, b->e->leaf_rows);
    const bpt_value_t x = bpt_layer_embed(&b->l, b->e->in.tokens, b->e->in.positions);
    return bpt_layer_norm(&b->l, x, BPT_NO_VALUE, b->l.p_input, random_of(b, &leaves), "", "embed_norm");
}

// One attention: which rows ask, which rows answer, and what the sum behind it adds to.
typedef struct {
    bpt_attention_attrs_t attrs;
    bpt_value_t asking, answering;  // the same: queries, keys and values lie in one tensor
    bpt_value_t residual;
    bool fresh;     // the residual is not (rows of) what the layer before made
    place_t place;  // of the queries
    const char *prefix;
    // Of each group of heads: what attention gave and, where there are several, the group's columns of W_o.
    bpt_value_t out[BPT_MOST_HEAD_GROUPS], columns[BPT_MOST_HEAD_GROUPS];
} attention_t;

// What goes from layer to layer: rows of leaves and, as long as somebody reads them, of spans; and roots, which classifiers have apart as
// soon as all other spans are done with.
typedef struct {
    bpt_stream_t x, roots;
} streams_t;

// All nodes ask. In the first layer only leaves are stored: the other nodes are zero, and so is their residual.
static void ask_all(const builder_t *b, bool first, bpt_stream_t x, attention_t *a) {
    const bpt_encoder_t *e = b->e;
    a->attrs.queries = BPT_QUERIES_ALL;
    a->attrs.zero_spans = first && e->rows > e->leaf_rows;
    a->asking = a->answering = x.low;
    a->residual = a->attrs.zero_spans ? bpt_add_rows(b->l.g, BPT_NO_VALUE, x.full, 0, e->rows) : x.full;
    a->place = first_rows(b, e->rows);
}

// Leaves ask: language models in their last layer, classifiers in the last but one.
static void ask_leaves(const builder_t *b, bool first, bpt_stream_t x, attention_t *a) {
    const bpt_encoder_t *e = b->e;
    const bpt_stream_t leaves = stream_rows(b, x, e->leaf_rows);
    a->attrs.queries = BPT_QUERIES_LEAVES;
    a->attrs.zero_spans = first && e->rows > e->leaf_rows;
    a->answering = x.low;
    a->asking = first || e->rows == e->leaf_rows ? x.low : leaves.low;
    a->residual = leaves.full;
    a->place = first_rows(b, e->leaf_rows);
}

static bpt_stream_t take_roots(const builder_t *b, bpt_stream_t x) {
    const bpt_value_t roots = bpt_gather(b->l.g, x.full, b->e->in.root_rows);
    return (bpt_stream_t){roots, bpt_cast(b->l.g, roots, b->l.precision)};
}

// Roots ask. They read leaves only, so that the other nodes' keys and values need not exist.
static void ask_roots(const builder_t *b, const streams_t *s, attention_t *a) {
    const bpt_encoder_t *e = b->e;
    a->attrs.queries = BPT_QUERIES_ROOTS;
    a->attrs.zero_spans = e->rows > e->leaf_rows;
    a->asking = s->roots.low;
    a->answering = bpt_rows(b->l.g, s->x.low, 0, e->leaf_rows);
    a->residual = s->roots.full;
    a->place = (place_t){e->in.root_keys, e->options.batch};
}

// x W^T for the heads of a group: their rows of each of the `joined` weights.
static bpt_value_t project(const builder_t *b, bpt_value_t x, const char *prefix, const char *name, int joined, int32_t group) {
    bpt_graph_t *g = b->l.g;
    const int64_t d = b->l.config->d_model, rows = d / b->e->options.head_groups;
    const bpt_value_t all = bpt_weight_low(b->l.w, prefix, name, joined);
    if (rows == d) return bpt_linear(g, x, all, BPT_NO_VALUE);
    const bpt_value_t own = bpt_parts(g, b->l.precision, bpt_shape2(joined * rows, d));
    for (int i = 0; i < joined; ++i)
        bpt_graph_place(g, bpt_copy(g, bpt_rows(g, all, i * d + group * rows, rows)), bpt_rows(g, own, i * rows, rows));
    return bpt_linear(g, x, own, BPT_NO_VALUE);
}

// Columns of W_o, [d, d / head_groups]: rows of a view of it.
static bpt_value_t columns_of_group(const builder_t *b, const char *prefix, int32_t group) {
    bpt_graph_t *g = b->l.g;
    const int64_t d = b->l.config->d_model, groups = b->e->options.head_groups;
    const bpt_value_t view = bpt_view(g, bpt_weight(b->l.w, prefix, "attn.out_proj.weight"), 0, bpt_shape2(d * groups, d / groups));
    const bpt_value_t ids = bpt_view(g, b->e->in.group_columns, (size_t)(group * d) * sizeof(uint32_t), bpt_shape1(d));
    return bpt_cast(g, bpt_gather(g, view, ids), b->l.precision);
}

static void attend_group(const builder_t *b, attention_t *a, int32_t group, bpt_value_t q, bpt_value_t kv) {
    const bpt_encoder_t *e = b->e;
    const bpt_attention_inputs_t in = {
        .q = q,
        .kv = kv,
        .rel = e->graph.rel_levels ? bpt_weight_low(b->l.w, a->prefix, "attn.rel_key.weight", 1) : BPT_NO_VALUE,
        .lengths = e->in.lengths,
        .row_keys = e->in.row_keys,
        .rng = e->in.rng,
        .table = BPT_NO_VALUE,
    };
    a->out[group] = bpt_attention(b->l.g, &a->attrs, &in);
    if (e->options.head_groups > 1) a->columns[group] = columns_of_group(b, a->prefix, group);
}

// Attention by groups of heads, one after the other, so that only one group's queries, keys and values exist. `roots` (or NULL) read
// what the leaves of `a` read.
static void attend(const builder_t *b, attention_t *a, attention_t *roots) {
    const bpt_encoder_t *e = b->e;
    a->attrs.packed = a->asking == a->answering && !roots;
    for (int32_t group = 0; group < e->options.head_groups; ++group) {
        const bpt_value_t q = project(b, a->asking, a->prefix, "attn.q_proj.weight", a->attrs.packed ? 3 : 1, group);
        const bpt_value_t kv = a->attrs.packed ? q : project(b, a->answering, a->prefix, "attn.k_proj.weight", 2, group);
        attend_group(b, a, group, q, kv);
        if (!roots) continue;
        const bpt_value_t root_q = project(b, roots->asking, roots->prefix, "attn.q_proj.weight", 1, group);
        attend_group(b, roots, group, root_q, bpt_rows(b->l.g, kv, 0, e->leaf_rows));
    }
}

// W_o of all heads, of rows [row, row + rows) of what attention gave.
static bpt_value_t join_heads(const builder_t *b, const attention_t *a, int64_t row, int64_t rows) {
    bpt_graph_t *g = b->l.g;
    const int32_t groups = b->e->options.head_groups;
    if (groups == 1) return bpt_layer_project(&b->l, bpt_rows(g, a->out[0], row, rows), a->prefix, "attn.out_proj.weight", 1);
    bpt_value_t sum = BPT_NO_VALUE;
    for (int32_t group = 0; group < groups; ++group) {
        const bpt_matmul_options_t options = {.transpose_b = true, .acc = sum, .bias = BPT_NO_VALUE, .dtype = BPT_F32};
        sum = bpt_matmul(g, bpt_rows(g, a->out[group], row, rows), a->columns[group], options);
    }
    return sum;
}

// h = LN(x + dropout(W_o attention(x))), feed-forward behind it, of rows [row, row + place->rows).
static bpt_stream_t finish_rows(const builder_t *b, const attention_t *a, int64_t row, const place_t *place) {
    const bpt_value_t x = bpt_rows(b->l.g, a->residual, row, place->rows), sum = join_heads(b, a, row, place->rows);
    const bpt_stream_t h = bpt_layer_norm(&b->l, sum, x, b->l.p_hidden, random_of(b, place), a->prefix, "attn_norm");
    return bpt_layer_feed_forward(&b->l, h, random_of(b, place), a->prefix);
}

// The same by chunks of rows, so that no more than a chunk of the hidden layer exists, which is four times as wide as all else. The
// result takes the place of the rows that it is added to.
static bpt_stream_t finish_chunks(const builder_t *b, const attention_t *a) {
    bpt_graph_t *g = b->l.g;
    const int64_t chunk = b->e->options.chunk_rows;
    const bpt_shape_t shape = bpt_shape2(a->place.rows, b->l.config->d_model);
    bpt_stream_t all = {.full = a->fresh ? bpt_parts(g, BPT_F32, shape) : a->residual};
    all.low = b->l.precision == BPT_F32 ? all.full : bpt_parts(g, b->l.precision, shape);
    if (a->fresh) bpt_graph_place(g, a->residual, all.full);
    for (int64_t row = 0; row < a->place.rows; row += chunk) {
        const place_t place = {BPT_NO_VALUE, a->place.rows - row < chunk ? a->place.rows - row : chunk};
        const bpt_stream_t x = finish_rows(b, a, row, &place);
        bpt_graph_place(g, x.full, bpt_rows(g, all.full, row, place.rows));
        if (all.low != all.full) bpt_graph_place(g, x.low, bpt_rows(g, all.low, row, place.rows));
    }
    return all;
}

int64_t bpt_encoder_chunk_rows(int64_t rows) {
    enum { USUAL = 65536, MOST_CHUNKS = 16, TILE = 512 };
    const int64_t wanted = (rows + USUAL - 1) / USUAL, chunks = wanted < MOST_CHUNKS ? wanted : MOST_CHUNKS;
    return ((rows + chunks - 1) / chunks + TILE - 1) / TILE * TILE;
}

int32_t bpt_encoder_head_groups(int64_t rows, int32_t heads) {
    enum { USUAL = 1 << 19 };  // rows of all heads
    int32_t best = 1;
    for (int32_t groups = 1; groups <= heads && groups <= BPT_MOST_HEAD_GROUPS && rows / best > USUAL; ++groups)
        if (heads % groups == 0) best = groups;
    return best;
}

// What follows attention.
static bpt_stream_t finish(const builder_t *b, const attention_t *a) {
    const bpt_encoder_t *e = b->e;
    if (e->options.chunk_rows && a->place.rows > e->options.chunk_rows) return finish_chunks(b, a);
    return finish_rows(b, a, 0, &a->place);
}

static attention_t begin_attention(const builder_t *b, bool fresh, const char *prefix) {
    const bpt_encoder_t *e = b->e;
    attention_t a = {.attrs = bpt_layer_attention_attrs(&b->l), .fresh = fresh, .prefix = prefix};
    a.attrs.graph = e->graph;
    a.attrs.batch = e->options.batch;
    a.attrs.heads /= e->options.head_groups;
    return a;
}

// The last layers of a classifier: the last one needs its roots and what they read, leaves.
static void run_last_layers(const builder_t *b, int layer, streams_t *s, const char *prefix) {
    const bool taken = s->roots.full != BPT_NO_VALUE, last = layer == b->l.config->layers - 1;
    attention_t leaves = begin_attention(b, layer == 0, prefix), roots = begin_attention(b, !taken, prefix);
    if (!taken) s->roots = take_roots(b, s->x);
    ask_roots(b, s, &roots);
    if (last) {
        attend(b, &roots, NULL);
    } else {
        ask_leaves(b, layer == 0, s->x, &leaves);
        attend(b, &leaves, &roots);
        s->x = finish(b, &leaves);
    }
    s->roots = finish(b, &roots);
}

static void run_layer(const builder_t *b, int layer, streams_t *s, const char *prefix) {
    const int behind = b->l.config->layers - 1 - layer;
    const bool classifies = b->l.config->task == BPT_TASK_CLASSIFY;
    if (classifies && behind <= 1) {
        run_last_layers(b, layer, s, prefix);
        return;
    }
    attention_t a = begin_attention(b, layer == 0, prefix);
    if (behind > 0)
        ask_all(b, layer == 0, s->x, &a);
    else
        ask_leaves(b, layer == 0, s->x, &a);
    attend(b, &a, NULL);
    s->x = finish(b, &a);
}

// Adds the head on x (leaves or roots): a loss, or the logits.
static void head(const builder_t *b, bpt_stream_t x, const place_t *place) {
    bpt_encoder_t *e = b->e;
    const bpt_value_t h = bpt_dropout(b->l.g, x.low, b->l.p_head, random_of(b, place));
    if (e->options.logits) {
        e->logits = bpt_layer_logits(&b->l, h);
        return;
    }
    const bpt_value_t bias = bpt_weight(b->l.w, "", "head.bias");
    const bpt_xent_t out = bpt_xent(b->l.g, h, bpt_layer_head_weight(&b->l), bias, e->in.targets, e->in.weights, 0);
    e->nll = out.nll;
    e->loss = e->loss == BPT_NO_VALUE ? out.loss : bpt_add(b->l.g, e->loss, out.loss);
}

static void run_layers(const builder_t *b) {
    bpt_encoder_t *e = b->e;
    const int32_t layers = b->l.config->layers, first_head = e->options.first_head ? e->options.first_head : layers;
    const place_t leaves = first_rows(b, e->leaf_rows), roots = {e->in.root_keys, e->options.batch};
    streams_t s = {.x = embed(b), .roots = {BPT_NO_VALUE, BPT_NO_VALUE}};
    for (int32_t i = 0; i < layers; ++i) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "layers.%d.", i);
        bpt_graph_region_begin(b->l.g);
        run_layer(b, i, &s, prefix);
        bpt_graph_region_end(b->l.g);
        if (i + 1 < first_head) continue;
        if (b->l.config->task == BPT_TASK_CLASSIFY)
            head(b, s.roots, &roots);
        else
            head(b, i + 1 < layers ? stream_rows(b, s.x, e->leaf_rows) : s.x, &leaves);
    }
    if (e->loss != BPT_NO_VALUE && first_head < layers) e->loss = bpt_scale(b->l.g, e->loss, 1 / (float)(layers - first_head + 1));
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
        .group_columns = o->head_groups > 1 ? bpt_input(g, "group_columns", BPT_U32, bpt_shape2(o->head_groups, o->config->d_model)) : none,
    };
}

bpt_status_t bpt_encoder_build(bpt_weights_t *weights, const bpt_encoder_options_t *options, bpt_encoder_t *encoder) {
    bpt_encoder_t *e = encoder;
    const bpt_model_config_t *c = options->config;
    *e = (bpt_encoder_t){.options = *options, .graph = bpt_model_needed_intervals(c, options->n)};
    BPT_TRY(bpt_intervals_check(&e->graph));
    e->loss = e->nll = e->logits = BPT_NO_VALUE;
    e->leaf_rows = options->batch * options->n;
    e->rows = options->batch * bpt_node_count(&e->graph);
    e->in = make_inputs(weights->graph, e);
    const float on = options->dropout ? 1 : 0;
    const builder_t b = {
        .l = {.g = weights->graph,
              .w = weights,
              .config = c,
              .precision = options->precision,
              .p_input = on * c->dropout_input,
              .p_hidden = on * c->dropout_hidden,
              .p_attention = on * c->dropout_attention,
              .p_head = on * c->dropout_head},
        .e = e,
    };
    run_layers(&b);
    BPT_TRY(weights->status);
    return bpt_graph_status(weights->graph);
}
