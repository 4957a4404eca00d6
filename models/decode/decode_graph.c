// Graphs of incremental decoding (see decode.h): the encoder's layers (blocks/self.h) over new nodes only, with cached keys and values; and
// a layer of late spans (late_spans.h) by itself.
#include "models/decode/decode_graph.h"
#include "models/blocks/self.h"

static const bpt_random_t none = {BPT_NO_VALUE, BPT_NO_VALUE};

// A graph under construction.
typedef struct {
    const decode_shape_t *shape;
    bpt_weights_t weights;
    bpt_builder_t l;
    bpt_value_t cache;
} builder_t;

static bpt_value_t table_input(bpt_graph_t *g, const char *name, int64_t rows, int64_t slots) {
    return bpt_input(g, name, BPT_U32, (bpt_shape_t){3, {rows, slots, 4}});
}

static bpt_value_t cache_state(bpt_graph_t *g, const char *name, int state, const decode_shape_t *s) {
    return bpt_state(g, name, state, s->precision, bpt_shape2(s->config->layers * s->sequences * s->rows, 2 * s->config->d_model));
}

// Keys and values of a layer in a cache, [sequences * rows, 2d].
static bpt_value_t layer_of(bpt_graph_t *g, const decode_shape_t *s, bpt_value_t cache, int32_t layer) {
    const int64_t rows = s->sequences * s->rows, row_bytes = 2 * (int64_t)s->config->d_model * (int64_t)bpt_dtype_size(s->precision);
    return bpt_view(g, cache, (size_t)(layer * rows * row_bytes), bpt_shape2(rows, 2 * s->config->d_model));
}

static void begin(builder_t *b, bpt_graph_t *g, const decode_shape_t *s) {
    const bpt_model_config_t *c = s->config;
    const bpt_shape_t arena = bpt_shape1(s->params->elements);
    b->shape = s;
    bpt_weights_init(&b->weights, g, s->params, bpt_state(g, "parameters", DECODE_PARAMS, BPT_F32, arena), BPT_F32);
    if (s->precision != BPT_F32) b->weights.low = bpt_state(g, "parameters in low precision", DECODE_LOW, s->precision, arena);
    if (s->packed)
        b->weights.packed =
            bpt_state(g, "parameters of 8 bits", DECODE_PACKED, BPT_U32, bpt_shape1(bpt_params_packed_place(s->params, NULL)));
    b->cache = cache_state(g, "cache", DECODE_CACHE, s);
    b->l = (bpt_builder_t){.g = g,
                           .w = &b->weights,
                           .config = c,
                           .scope = s->stack->scope,
                           .embed_scope = s->stack->embed_scope,
                           .plain_embedding = s->stack->plain_embedding,
                           .scaled_embedding = s->stack->scaled_embedding,
                           .precision = s->precision,
                           .rng = BPT_NO_VALUE};
}

static bpt_status_t end(builder_t *b) {
    bpt_status_t status = b->weights.status;
    bpt_weights_free(&b->weights);
    if (status == BPT_OK) status = bpt_graph_fuse(b->l.g);
    return status == BPT_OK ? bpt_graph_eliminate(b->l.g) : status;
}

static bpt_value_t layer_cache(const builder_t *b, int32_t layer) { return layer_of(b->l.g, b->shape, b->cache, layer); }

static void cache_nodes(const builder_t *b, int32_t layer, bpt_stream_t x, bpt_value_t rotations, bpt_value_t nodes) {
    char prefix[BPT_PREFIX_BYTES];
    bpt_self_prefix(b->l.scope, layer, prefix);
    bpt_scatter(b->l.g, layer_cache(b, layer), bpt_self_key_value(&b->l, x.low, rotations, prefix), nodes);
}

static bpt_value_t queries(const builder_t *b, int32_t layer, bpt_stream_t x, bpt_value_t rotations) {
    char prefix[BPT_PREFIX_BYTES];
    bpt_self_prefix(b->l.scope, layer, prefix);
    return bpt_self_query(&b->l, x.low, rotations, prefix);
}

static bpt_value_t attend(const builder_t *b, int32_t layer, bpt_value_t q, bpt_value_t rel, bpt_value_t table) {
    bpt_attention_attrs_t attrs = bpt_self_attrs(&b->l);
    attrs.graph.kind = BPT_INTERVALS_TABLE;
    attrs.batch = 1;
    const bpt_attention_inputs_t in = {.q = q,
                                       .kv = layer_cache(b, layer),
                                       .rel = rel,
                                       .lengths = BPT_NO_VALUE,
                                       .row_keys = BPT_NO_VALUE,
                                       .rng = BPT_NO_VALUE,
                                       .table = table,
                                       .back = BPT_NO_VALUE,
                                       .key_codes = BPT_NO_VALUE};
    return bpt_attention(b->l.g, &attrs, &in);
}

// The keys and values of a layer in the memory, [memory_rows, 2d].
static bpt_value_t memory_of(const builder_t *b, int32_t layer) {
    const decode_shape_t *s = b->shape;
    const bpt_shape_t rows = bpt_shape2(s->memory_rows, 2 * s->config->d_model);
    const bpt_shape_t all = bpt_shape2(s->config->layers * s->memory_rows, 2 * s->config->d_model);
    const int64_t bytes = bpt_shape_count(&rows) * (int64_t)bpt_dtype_size(s->precision);
    return bpt_view(b->l.g, bpt_state(b->l.g, "memory", DECODE_MEMORY, s->precision, all), (size_t)(layer * bytes), rows);
}

// What a layer makes of its `rows` rows x and what they read. memory_table: which rows of the memory they read; BPT_NO_VALUE: none.
static bpt_stream_t leave_layer(const builder_t *b, int32_t layer, bpt_value_t attention, bpt_value_t x, int64_t rows,
                                bpt_value_t memory_table) {
    char prefix[BPT_PREFIX_BYTES];
    const bool reads = memory_table != BPT_NO_VALUE;
    const bpt_memory_t memory = {.x = BPT_NO_VALUE,
                                 .forest = bpt_no_forest,
                                 .key_value = reads ? memory_of(b, layer) : BPT_NO_VALUE,
                                 .graph = {.table = memory_table,
                                           .back = BPT_NO_VALUE,
                                           .bounds = {.queries.edges = b->shape->memory_longest},
                                           .query_keys = BPT_NO_VALUE,
                                           .key_codes = BPT_NO_VALUE}};
    bpt_self_prefix(b->l.scope, layer, prefix);
    return bpt_self_finish(&b->l, bpt_self_out(&b->l, attention, prefix), x, (bpt_place_t){BPT_NO_VALUE, rows},
                           b->shape->stack->reads_memory ? &memory : NULL, reads ? rows : 0, prefix);
}

// ---- New nodes

static void make_inputs(bpt_graph_t *g, const decode_shape_t *s, decode_program_t *p) {
    const bpt_shape_t rows = bpt_shape1(p->rows);
    p->tokens = bpt_input(g, "tokens", BPT_U32, rows);
    p->positions = bpt_positions_input(g, s->config, p->rows);
    p->rotations = bpt_rotations_input(g, s->config, "rotations", p->rows);
    p->leaf = bpt_input(g, "leaf", BPT_U32, rows);
    p->nodes = bpt_input(g, "nodes", BPT_U32, rows);
    p->table = table_input(g, "table", p->rows, s->slots);
    p->last = bpt_input(g, "last", BPT_U32, bpt_shape1(p->asked));
    p->last_table = table_input(g, "last_table", p->asked, s->slots);
    p->memory_table = s->stack->reads_memory ? table_input(g, "memory_table", p->rows, s->memory_slots) : BPT_NO_VALUE;
    p->last_memory_table = s->stack->reads_memory ? table_input(g, "last_memory_table", p->asked, s->memory_slots) : BPT_NO_VALUE;
}

// Only one row of each sequence asks in the last layer: the one whose logits are wanted.
static bpt_stream_t layer(const builder_t *b, const decode_program_t *p, int32_t index, bpt_stream_t x) {
    const bool last = index == b->l.config->layers - 1;
    char prefix[BPT_PREFIX_BYTES];
    bpt_self_prefix(b->l.scope, index, prefix);
    bpt_value_t rotations = p->rotations;
    cache_nodes(b, index, x, rotations, p->nodes);
    if (last) {
        if (rotations != BPT_NO_VALUE) rotations = bpt_gather(b->l.g, rotations, p->last);
        x.full = bpt_gather(b->l.g, x.full, p->last);
        x.low = bpt_cast(b->l.g, x.full, b->l.precision);
    }
    const bool relative = bpt_model_intervals(b->l.config, 1).rel_levels > 0;
    const bpt_value_t rel = relative ? bpt_self_rel(&b->l, prefix) : BPT_NO_VALUE;
    const bpt_value_t attended = attend(b, index, queries(b, index, x, rotations), rel, last ? p->last_table : p->table);
    return last ? leave_layer(b, index, attended, x.full, p->asked, p->last_memory_table)
                : leave_layer(b, index, attended, x.full, p->rows, p->memory_table);
}

// The rows before the first layer: LayerNorm(embedding) of leaves, zero for spans.
static bpt_stream_t embed(const bpt_builder_t *l, const decode_program_t *p) {
    const bpt_stream_t x = bpt_embed(l, p->tokens, NULL, p->positions, none);
    const bpt_value_t leaves = bpt_gather(l->g, x.full, p->leaf);
    return (bpt_stream_t){leaves, bpt_cast(l->g, leaves, l->precision)};
}

static bpt_status_t build(bpt_graph_t *g, const decode_shape_t *s, decode_program_t *p) {
    builder_t b;
    begin(&b, g, s);
    make_inputs(g, s, p);
    bpt_stream_t x = embed(&b.l, p);
    for (int32_t i = 0; i < s->config->layers; ++i) x = layer(&b, p, i, x);
    const bpt_states_t states = {.x = x, .place = {BPT_NO_VALUE, 0}};
    p->logits = bpt_head_logits(&b.l, &states);
    bpt_graph_keep(g, p->logits);
    return end(&b);
}

bpt_status_t bpt_decode_graph(const decode_shape_t *shape, decode_program_t *program, bpt_graph_t **graph) {
    BPT_TRY(bpt_graph_create(graph));
    const bpt_status_t status = build(*graph, shape, program);
    if (status != BPT_OK) bpt_graph_destroy(*graph);
    return status;
}

// ---- Late spans

static bpt_status_t build_reading(bpt_graph_t *g, const decode_shape_t *s, int32_t layer, decode_reading_t *p) {
    builder_t b;
    begin(&b, g, s);
    p->q = bpt_input(g, "q", s->precision, bpt_shape2(p->rows, s->config->d_model));
    p->table = table_input(g, "table", p->rows, 1);
    p->out = attend(&b, layer, p->q, BPT_NO_VALUE, p->table);
    p->lse = bpt_attention_lse(g, p->out);
    bpt_graph_keep(g, p->out);
    bpt_graph_keep(g, p->lse);
    return end(&b);
}

bpt_status_t bpt_decode_reading_graph(const decode_shape_t *shape, int32_t layer, decode_reading_t *program, bpt_graph_t **graph) {
    BPT_TRY(bpt_graph_create(graph));
    const bpt_status_t status = build_reading(*graph, shape, layer, program);
    if (status != BPT_OK) bpt_graph_destroy(*graph);
    return status;
}

static bpt_status_t build_entry(bpt_graph_t *g, const decode_shape_t *s, int32_t layer, decode_entry_t *p) {
    const bpt_shape_t rows = bpt_shape2(p->rows, s->config->d_model);
    builder_t b;
    begin(&b, g, s);
    p->x = bpt_input(g, "x", BPT_F32, rows);
    p->attention = layer ? bpt_input(g, "attention", s->precision, rows) : BPT_NO_VALUE;
    p->nodes = bpt_input(g, "nodes", BPT_U32, bpt_shape1(p->rows));
    p->rotations = bpt_rotations_input(g, s->config, "rotations", p->rows);
    const bpt_stream_t x = layer ? leave_layer(&b, layer - 1, p->attention, p->x, p->rows, BPT_NO_VALUE)
                                 : (bpt_stream_t){p->x, bpt_cast(g, p->x, s->precision)};
    cache_nodes(&b, layer, x, p->rotations, p->nodes);
    p->entered = p->q = BPT_NO_VALUE;
    if (layer + 1 < s->config->layers) {
        p->entered = x.full;
        p->q = queries(&b, layer, x, p->rotations);
        bpt_graph_keep(g, p->entered);
        bpt_graph_keep(g, p->q);
    }
    return end(&b);
}

bpt_status_t bpt_decode_entry_graph(const decode_shape_t *shape, int32_t layer, decode_entry_t *program, bpt_graph_t **graph) {
    BPT_TRY(bpt_graph_create(graph));
    const bpt_status_t status = build_entry(*graph, shape, layer, program);
    if (status != BPT_OK) bpt_graph_destroy(*graph);
    return status;
}

// ---- A cache that grows

bpt_status_t bpt_decode_copy_graph(const decode_shape_t *from, const decode_shape_t *to, decode_copy_t *p, bpt_graph_t **graph) {
    BPT_TRY(bpt_graph_create(graph));
    bpt_graph_t *g = *graph;
    const bpt_value_t old = cache_state(g, "cache so far", 0, from), new = cache_state(g, "cache", 1, to);
    p->from = bpt_input(g, "from", BPT_U32, bpt_shape1(p->rows));
    p->to = bpt_input(g, "to", BPT_U32, bpt_shape1(p->rows));
    for (int32_t i = 0; i < from->config->layers; ++i)
        bpt_scatter(g, layer_of(g, to, new, i), bpt_gather(g, layer_of(g, from, old, i), p->from), p->to);
    const bpt_status_t status = bpt_graph_status(g);
    if (status != BPT_OK) bpt_graph_destroy(g);
    return status;
}

bpt_status_t bpt_decode_fork_graph(const decode_shape_t *s, decode_copy_t *p, bpt_graph_t **graph) {
    BPT_TRY(bpt_graph_create(graph));
    bpt_graph_t *g = *graph;
    const bpt_value_t cache = cache_state(g, "cache", DECODE_CACHE, s);
    p->from = bpt_input(g, "from", BPT_U32, bpt_shape1(p->rows));
    p->to = bpt_input(g, "to", BPT_U32, bpt_shape1(p->rows));
    for (int32_t i = 0; i < s->config->layers; ++i) {
        const bpt_value_t rows = layer_of(g, s, cache, i);
        bpt_scatter(g, rows, bpt_gather(g, rows, p->from), p->to);
    }
    const bpt_status_t status = bpt_graph_status(g);
    if (status != BPT_OK) bpt_graph_destroy(g);
    return status;
}

// ---- A memory

static bpt_status_t build_memory(builder_t *b, const bpt_model_config_t *config, decode_encoder_t *p) {
    const bpt_encoder_options_t options = {.config = config, .shape = p->shape, .precision = b->shape->precision};
    BPT_TRY(bpt_encoder_build_source(&b->weights, &options, &p->encoder));
    const bpt_encoded_t *read = &p->encoder.encoded;
    const bool trees = b->shape->stack->reads_trees;
    const bpt_memory_t memory = {.x = trees ? read->vertices.x.low : read->tokens.x.low, .forest = trees ? read->forest : bpt_no_forest};
    for (int32_t i = 0; i < b->shape->config->layers; ++i) {
        char prefix[BPT_PREFIX_BYTES];
        bpt_self_prefix(b->l.scope, i, prefix);
        const bpt_value_t made = bpt_cross_key_value(&b->l, &memory, prefix);
        bpt_graph_place(b->l.g, made, bpt_rows(b->l.g, memory_of(b, i), 0, p->encoder.leaf_rows + p->shape.side[0].nodes));
    }
    return bpt_graph_status(b->l.g);
}

bpt_status_t bpt_decode_encoder_graph(const decode_shape_t *shape, const bpt_model_config_t *config, decode_encoder_t *program,
                                      bpt_graph_t **graph) {
    builder_t b;
    BPT_TRY(bpt_graph_create(graph));
    begin(&b, *graph, shape);
    const bpt_status_t built = build_memory(&b, config, program), status = end(&b);
    if (built == BPT_OK && status == BPT_OK) return BPT_OK;
    bpt_graph_destroy(*graph);
    return built == BPT_OK ? status : built;
}

// ---- Parameters in low precision

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
