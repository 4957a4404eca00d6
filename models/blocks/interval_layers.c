// Layers over the nodes of an attention graph (see interval_layers.h).
#include "models/blocks/interval_layers.h"

#include <stdio.h>

#include "bpt/alloc.h"
#include "bpt/lists.h"
#include "models/graph/encoder.h"

// Numbers of the own inputs.
enum {
    ROW_KEYS,   // u32 [R, 2] (dropout)
    ROOT_ROWS,  // u32 [B]: row of each root in the input of the last layer but one, BPT_NO_ROW where it is zero (roots)
    POOL_KEYS,  // u32 [B, 2]: of the states of whole texts (with dropout)
    TEXT_ROWS,  // u32 [B, 2]: the rows of each text's tokens (pooled from tokens)
    // Layers in which the N rows of tokens read M rows of a memory: in matching layers those of the other text of their pair, in a decoder
    // those of the text that is translated, and of the nodes of the tree over it
    OTHER,        // u32 [N, 1 or 2, 4]
    OTHER_BACK,   // u32 [M, 1, 2] (gradients)
    OTHER_CODES,  // u32 [M] (dropout of attention)
    ROTATIONS,    // f32 [R, head_dim] (rotary positions)
    ROOT_NODES    // u32 [B]: row of each root among all rows (roots with rotary positions)
};

// Layers are counted through: the matching ones stand behind the others.
static void prefix_of(const bpt_model_config_t *c, const char *scope, int32_t layer, char prefix[BPT_PREFIX_BYTES]) {
    if (layer < c->layers)
        bpt_self_prefix(scope, layer, prefix);
    else
        snprintf(prefix, BPT_PREFIX_BYTES, BPT_NAME_MATCH, layer - c->layers);
}

// ---- Parameters

static void params(bpt_param_table_t *t, const bpt_stack_t *stack, bool freeze_rel) {
    const bpt_model_config_t *c = &stack->config;
    const bpt_intervals_t graph = bpt_model_intervals(c, 1);
    for (int32_t i = 0; i < bpt_model_layers(c); ++i) {
        char prefix[BPT_PREFIX_BYTES];
        prefix_of(c, stack->scope, i, prefix);
        bpt_self_params(t, c, bpt_rel_rows(&graph), freeze_rel, prefix);
        if (stack->reads_memory || i >= c->layers) bpt_cross_params(t, c, stack->reads_trees, prefix);
    }
}

// ---- Graph

typedef struct {
    const bpt_builder_t *b;
    const bpt_encoder_t *e;
    bool pools;   // states of whole texts are wanted
    bool roots;   // and they are those of the roots
    bool tokens;  // states of tokens are wanted, or pooled
    bpt_memory_t memory;
    bool reading;  // the layer reads the memory
} layers_t;

// What goes from layer to layer: rows of leaves and, as long as somebody reads them, of spans; and roots, which are apart as soon as all
// other spans are done with.
typedef struct {
    bpt_stream_t x, roots;
} streams_t;

// Whether the layer at hand is computed by pieces, its gradients too.
static bool by_pieces_with_gradients(const layers_t *l) {
    return l->e->pieces.gradients && l->e->pieces.chunk_rows && !l->reading;  // pieces know no memory
}

static bool roots_read_leaves_alone(const bpt_encoder_t *e) { return !bpt_intervals_spans_read_themselves(&e->graph); }
static bool has_zero_spans(const layers_t *l, int layer) { return layer == 0 && l->e->rows > l->e->leaf_rows; }
static bpt_place_t pool_place(const layers_t *l) { return (bpt_place_t){l->e->own[POOL_KEYS].value, l->e->batch}; }

static bpt_self_t begin(const layers_t *l, bpt_queries_t queries) {
    const bpt_encoder_t *e = l->e;
    bpt_self_t s = {.attrs = bpt_self_attrs(l->b), .relative = e->graph.rel_levels > 0};
    s.x_rotations = s.y_rotations = e->own[ROTATIONS].value;
    s.attrs.graph = e->graph;
    s.attrs.batch = e->batch;
    s.attrs.queries = queries;
    s.memory = l->reading ? &l->memory : NULL;
    s.readers = queries == BPT_QUERIES_ROOTS ? 0 : e->leaf_rows;
    s.in = (bpt_attention_inputs_t){.q = BPT_NO_VALUE,
                                    .kv = BPT_NO_VALUE,
                                    .rel = BPT_NO_VALUE,
                                    .lengths = e->in.lengths,
                                    .row_keys = e->in.row_keys,
                                    .rng = e->in.rng,
                                    .table = BPT_NO_VALUE};
    return s;
}

// All nodes are queries. In the first layer only leaves are stored: the other nodes are zero, and so is their residual.
static bpt_self_t all_nodes(const layers_t *l, int layer, bpt_stream_t x) {
    const bpt_encoder_t *e = l->e;
    bpt_self_t s = begin(l, BPT_QUERIES_ALL);
    s.attrs.zero_spans = has_zero_spans(l, layer);
    s.fresh = layer == 0;
    s.x = s.y = x.low;
    const bool expanded = s.attrs.zero_spans && !by_pieces_with_gradients(l);
    s.residual = expanded ? bpt_add_rows(l->b->g, BPT_NO_VALUE, x.full, 0, e->rows) : x.full;
    s.place = bpt_place_first(l->b, e->in.row_keys, e->rows);
    return s;
}

// Leaves are queries: in the last layer, or in the last but one where it is roots that are wanted.
static bpt_self_t leaves_only(const layers_t *l, int layer, bpt_stream_t x) {
    const bpt_encoder_t *e = l->e;
    const bpt_stream_t leaves = bpt_stream_first(l->b, x, e->leaf_rows);
    bpt_self_t s = begin(l, BPT_QUERIES_LEAVES);
    s.attrs.zero_spans = has_zero_spans(l, layer);
    s.fresh = layer == 0;
    s.x = s.y = x.low;
    s.x_rows = layer == 0 || e->rows == e->leaf_rows ? 0 : e->leaf_rows;
    s.residual = leaves.full;
    s.place = bpt_place_first(l->b, e->in.row_keys, e->leaf_rows);
    return s;
}

static bpt_stream_t take_roots(const layers_t *l, bpt_stream_t x) {
    const bpt_value_t roots = bpt_cast(l->b->g, bpt_gather(l->b->g, x.full, l->e->own[ROOT_ROWS].value), BPT_F32);
    return (bpt_stream_t){roots, bpt_cast(l->b->g, roots, l->b->precision)};
}

// Roots are queries. They read leaves only, so that the other nodes' keys and values need not exist.
static bpt_self_t roots_only(const layers_t *l, const streams_t *s, bool fresh) {
    bpt_self_t r = begin(l, BPT_QUERIES_ROOTS);
    r.attrs.zero_spans = l->e->rows > l->e->leaf_rows;
    r.fresh = fresh;
    r.x = s->roots.low;
    r.y = bpt_rows(l->b->g, s->x.low, 0, l->e->leaf_rows);
    r.y_rows = l->e->leaf_rows;
    if (r.x_rotations != BPT_NO_VALUE) r.x_rotations = bpt_gather(l->b->g, r.y_rotations, l->e->own[ROOT_NODES].value);
    r.residual = s->roots.full;
    r.place = pool_place(l);
    return r;
}

static void run_layer(const layers_t *l, bpt_self_t *sets, int count, const char *prefix, bpt_stream_t *out) {
    if (l->reading || (l->e->pieces.gradients && !by_pieces_with_gradients(l)))
        bpt_self_layer(l->b, sets, count, prefix, out);
    else
        bpt_pieces_layer(l->b, &l->e->pieces, sets, count, prefix, out);
}

// The last layers where roots are wanted: the last one needs them and what they read, leaves. Where states of tokens are wanted as well,
// leaves are queries in the last one too, and all nodes, which these read, in the one before.
static void run_root_layer(const layers_t *l, int layer, streams_t *s, const char *prefix) {
    const bool taken = s->roots.full != BPT_NO_VALUE, last = layer == bpt_model_layers(l->b->config) - 1;
    bpt_stream_t out[2];
    if (!taken) s->roots = take_roots(l, s->x);
    const bpt_self_t roots = roots_only(l, s, !taken);
    if (last && !l->tokens) {
        bpt_self_t sets[] = {roots};
        run_layer(l, sets, 1, prefix, &s->roots);
        return;
    }
    bpt_self_t sets[] = {l->tokens && !last ? all_nodes(l, layer, s->x) : leaves_only(l, layer, s->x), roots};
    run_layer(l, sets, 2, prefix, out);
    s->x = out[0];
    s->roots = out[1];
}

// Where roots are wanted here, they read themselves as all spans do, and are nodes like the others to the end.
static void run_token_layer(const layers_t *l, int layer, streams_t *s, const char *prefix) {
    const bool last = layer == bpt_model_layers(l->b->config) - 1;
    bpt_self_t sets[] = {last && !l->roots ? leaves_only(l, layer, s->x) : all_nodes(l, layer, s->x)};
    run_layer(l, sets, 1, prefix, &s->x);
}

// Mean or maximum of each text's tokens, padding apart.
static bpt_stream_t pool_tokens(const layers_t *l, bpt_stream_t tokens) {
    const bpt_segment_kind_t kind = l->b->config->pool == BPT_POOL_MAX ? BPT_SEGMENT_MAX : BPT_SEGMENT_MEAN;
    const bpt_value_t x = bpt_segment(l->b->g, kind, tokens.full, l->e->own[TEXT_ROWS].value);
    return (bpt_stream_t){x, bpt_cast(l->b->g, x, l->b->precision)};
}

static bpt_encoded_t encoded(const layers_t *l, const streams_t *s) {
    const bpt_encoder_t *e = l->e;
    bpt_encoded_t out = {.tokens.x = bpt_no_stream, .relay.x = bpt_no_stream, .pooled.x = bpt_no_stream};
    if (l->roots) out.pooled = (bpt_states_t){s->roots, pool_place(l)};
    if (l->tokens)
        out.tokens = (bpt_states_t){bpt_stream_first(l->b, s->x, e->leaf_rows), bpt_place_first(l->b, e->in.row_keys, e->leaf_rows)};
    if (l->pools && !l->roots) out.pooled = (bpt_states_t){pool_tokens(l, out.tokens.x), pool_place(l)};
    return out;
}

// The stack whose tokens are read: the one before, or in matching layers this one.
static const bpt_encoder_t *read_stack(const bpt_encoder_t *e) { return e->source ? e->source : e; }

// Rows that are read: tokens, and behind them the nodes of trees over them.
static int64_t read_nodes(const bpt_encoder_t *e) { return e->stack.reads_trees ? e->options.shape.side[e->source->stack.side].nodes : 0; }
static int64_t read_rows(const bpt_encoder_t *e) { return read_stack(e)->leaf_rows + read_nodes(e); }
static int64_t read_slots(const bpt_encoder_t *e) { return e->stack.reads_trees ? 2 * BPT_LISTS_ALL_SLOTS : BPT_LISTS_ALL_SLOTS; }

// A token reads the other text, which is no longer than its bucket; a tree has at most as many nodes as tokens.
static bpt_table_bounds_t bounds_of_other_texts(const bpt_encoder_t *e) {
    return (bpt_table_bounds_t){.queries.edges = read_slots(e) * read_stack(e)->n, .keys.edges = e->n};
}

// The states of tokens that are read: x of this stack behind the layers that read nothing, or what the stack before gave.
static bpt_memory_t memory_of(const layers_t *l, bpt_value_t x) {
    const bpt_encoder_t *e = l->e;
    const bpt_encoded_t *read = e->source ? &e->source->encoded : NULL;
    const bool trees = e->stack.reads_trees;
    return (bpt_memory_t){.x = trees  ? read->vertices.x.low
                               : read ? read->tokens.x.low
                                      : bpt_rows(l->b->g, x, 0, e->leaf_rows),
                          .forest = trees ? read->forest : bpt_no_forest,
                          .key_value = BPT_NO_VALUE,
                          .graph = {.table = e->own[OTHER].value,
                                    .back = e->own[OTHER_BACK].value,
                                    .bounds = bounds_of_other_texts(e),
                                    .query_keys = bpt_place_first(l->b, e->in.row_keys, e->leaf_rows).keys,
                                    .key_codes = trees ? read->codes : e->own[OTHER_CODES].value}};
}

// What a layer reads; x: what the layer before gave. The embedding is computed again with the first layer. Pieces cast rows piece by piece.
static bpt_stream_t input_of(const layers_t *l, int layer, bpt_stream_t x) {
    const bpt_stream_t in = layer ? bpt_stored_input(l->b, x) : bpt_encoder_embed(l->b, l->e);
    if (!by_pieces_with_gradients(l)) return bpt_stream_cast(l->b, in);
    return layer ? in : (bpt_stream_t){in.full, in.full};
}

static void build(const bpt_builder_t *b, bpt_encoder_t *e) {
    const int32_t layers = bpt_model_layers(b->config);
    layers_t l = {.b = b, .e = e, .pools = (e->wants & BPT_WANT_POOLED) != 0, .roots = bpt_wants_root(b->config)};
    l.tokens = (e->wants & BPT_WANT_TOKENS) || (l.pools && !l.roots);
    streams_t s = {.x = bpt_no_stream, .roots = bpt_no_stream};
    for (int32_t i = 0; i < layers; ++i) {
        char prefix[BPT_PREFIX_BYTES];
        prefix_of(b->config, b->scope, i, prefix);
        if (i == (e->source ? 0 : b->config->layers)) {
            l.memory = memory_of(&l, s.x.low);
            l.reading = true;
        }
        bpt_graph_region_begin(b->g);
        s.x = input_of(&l, i, s.x);
        if (l.roots && roots_read_leaves_alone(e) && i >= layers - 2)
            run_root_layer(&l, i, &s, prefix);
        else
            run_token_layer(&l, i, &s, prefix);
        bpt_graph_region_end(b->g);
        if (!bpt_encoder_wants(e, i)) continue;
        if (l.roots && !roots_read_leaves_alone(e)) s.roots = take_roots(&l, s.x);
        const bpt_encoded_t out = encoded(&l, &s);
        bpt_encoder_emit(b, e, i, &out);
    }
}

// ---- Inputs

static void inputs(bpt_graph_t *g, bpt_encoder_t *e) {
    const bpt_encoder_options_t *o = &e->options;
    const bool pools = (e->wants & BPT_WANT_POOLED) != 0, roots = bpt_wants_root(o->config);
    if (o->dropout) bpt_encoder_add_input(g, e, ROW_KEYS, "row_keys", bpt_shape2(e->rows, 2));
    if (roots) bpt_encoder_add_input(g, e, ROOT_ROWS, "root_rows", bpt_shape1(e->batch));
    if (pools && o->dropout) bpt_encoder_add_input(g, e, POOL_KEYS, "pool_keys", bpt_shape2(e->batch, 2));
    bpt_encoder_add_rotations(g, e, ROTATIONS, e->rows);
    if (roots && o->config->positions == BPT_POSITIONS_ROTARY) bpt_encoder_add_input(g, e, ROOT_NODES, "root_nodes", bpt_shape1(e->batch));
    if (pools && !roots) bpt_encoder_add_input(g, e, TEXT_ROWS, "text_rows", bpt_shape2(e->batch, 2));
    const int64_t read = e->source || o->config->match_layers ? read_rows(e) : 0;
    const bool codes = o->dropout && o->config->dropout_attention > 0 && !e->stack.reads_trees;  // trees have their own
    if (read) bpt_encoder_add_input(g, e, OTHER, "other_text", bpt_shape3(e->leaf_rows, read_slots(e), 4));
    if (read && o->gradients) bpt_encoder_add_input(g, e, OTHER_BACK, "other_text_back", bpt_shape3(read, BPT_LISTS_ALL_BACK_SLOTS, 2));
    if (read && codes) bpt_encoder_add_input(g, e, OTHER_CODES, "other_text_codes", bpt_shape1(read));
    e->in.row_keys = e->own[ROW_KEYS].value;
}

// Row of node `node` of sequence s among all rows.
static int64_t row_of(const bpt_encoder_t *e, int64_t s, int64_t node) {
    const int64_t n = e->n, batch = e->batch, others = e->rows / batch - n;
    return node < n ? s * n + node : batch * n + s * others + node - n;
}

// Node codes and rotations.
static void stage_constants(const bpt_encoder_t *e) {
    const int64_t nodes = e->rows / e->batch;
    uint32_t *keys = e->own[ROW_KEYS].data;
    for (int64_t s = 0; keys && s < e->batch; ++s)
        for (int64_t node = 0; node < nodes; ++node) keys[2 * row_of(e, s, node)] = bpt_intervals_node_code(&e->graph, node);
    for (int64_t s = 0; e->own[ROTATIONS].data && s < e->batch; ++s)
        for (int64_t node = 0; node < nodes; ++node) bpt_encoder_put_rotation(e, ROTATIONS, row_of(e, s, node), node);
    const bpt_encoder_t *read = read_stack(e);
    uint32_t *codes = e->own[OTHER_CODES].data;
    for (int64_t row = 0; codes && row < read->leaf_rows; ++row) codes[row] = bpt_intervals_node_code(&read->graph, row % read->n);
}

static void stage_keys(const bpt_encoder_t *e, const bpt_batch_t *batch) {
    const int64_t nodes = e->rows / e->batch;
    for (int64_t s = 0; s < e->batch; ++s)
        for (int64_t node = 0; node < nodes; ++node) e->own[ROW_KEYS].data[2 * row_of(e, s, node) + 1] = batch->sequences[s];
}

// The root by true length. Of two layers or less, roots are taken before the first one, where only leaves have rows.
static void stage_roots(const bpt_encoder_t *e, const bpt_batch_t *batch) {
    const bool leaves_only = bpt_model_layers(e->options.config) <= 2 && roots_read_leaves_alone(e);
    for (int64_t s = 0; s < e->batch; ++s) {
        const int64_t root = bpt_root_node(&e->graph, batch->side[e->stack.side].lengths[s]);
        e->own[ROOT_ROWS].data[s] = leaves_only && root >= e->n ? BPT_NO_ROW : (uint32_t)row_of(e, s, root);
        if (e->own[ROOT_NODES].data) e->own[ROOT_NODES].data[s] = (uint32_t)row_of(e, s, root);
    }
}

// A text without a root of its own has the node code of its first token.
static void stage_pool_keys(const bpt_encoder_t *e, const bpt_batch_t *batch) {
    const bool roots = e->own[ROOT_ROWS].data != NULL;
    uint32_t *keys = e->own[POOL_KEYS].data;
    for (int64_t s = 0; s < e->batch; ++s) {
        keys[2 * s] = bpt_intervals_node_code(&e->graph, roots ? bpt_root_node(&e->graph, batch->side[e->stack.side].lengths[s]) : 0);
        keys[2 * s + 1] = batch->sequences[s];
    }
}

static void stage_texts(const bpt_encoder_t *e, const bpt_batch_t *batch) {
    uint32_t *rows = e->own[TEXT_ROWS].data;
    for (int64_t s = 0; s < e->batch; ++s) {
        rows[2 * s] = (uint32_t)row_of(e, s, 0);
        rows[2 * s + 1] = rows[2 * s] + batch->side[e->stack.side].lengths[s];
    }
}

// Sequences 2p and 2p + 1 are a pair; a decoder's sequence s reads sequence s of the side before.
static bpt_status_t write_other_texts(const bpt_encoder_t *e, const bpt_side_t *side, const bpt_side_t *other, const bpt_lists_t *lists) {
    const size_t sequences = (size_t)e->batch, pair = e->source ? 0 : 1;
    uint32_t *others;  // where the other text of each starts; its length
    BPT_TRY(bpt_alloc(2 * sequences, sizeof *others, &others));
    for (size_t s = 0; s < sequences; ++s) {
        others[s] = other->start[s ^ pair];
        others[sequences + s] = other->lengths[s ^ pair];
    }
    const bpt_row_space_t rows = {lists->queries, e->batch, side->start, side->lengths};
    const bpt_row_space_t read = {lists->keys, e->batch, others, others + sequences};
    const bpt_status_t status = bpt_lists_all(&rows, &read, lists);
    bpt_free(others);
    return status;
}

// A decoder's sequence s reads the tokens and the nodes of sequence s of the side before.
static bpt_status_t write_trees(const bpt_encoder_t *e, const bpt_side_t *side, const bpt_side_t *other, const bpt_lists_t *lists) {
    const bpt_row_space_t rows = {lists->queries, e->batch, side->start, side->lengths};
    const bpt_row_space_t read[] = {{e->source->leaf_rows, e->batch, other->start, other->lengths},
                                    {read_nodes(e), e->batch, other->node_start, other->node_counts}};
    return bpt_lists_all_of(&rows, read, 2, lists);
}

// Documents: a segment of the decoder's side reads the segment of the same number.
static bpt_status_t write_segments(const bpt_side_t *side, const bpt_side_t *other, int64_t segments, const bpt_lists_t *lists) {
    const bpt_row_space_t rows = {lists->queries, segments, side->segment_start, side->segment_lengths};
    const bpt_row_space_t read = {lists->keys, segments, other->segment_start, other->segment_lengths};
    uint32_t *same;
    BPT_TRY(bpt_alloc((size_t)segments, sizeof *same, &same));
    for (int64_t t = 0; t < segments; ++t) same[t] = (uint32_t)t;
    const bpt_status_t status = bpt_lists_aligned(&rows, &read, same, lists);
    bpt_free(same);
    return status;
}

static bpt_status_t stage_other_texts(const bpt_encoder_t *e, const bpt_batch_t *batch) {
    const bpt_encoder_t *of = read_stack(e);
    const bpt_side_t *side = &batch->side[e->stack.side], *other = &batch->side[of->stack.side];
    const bpt_lists_t lists = {.queries = e->leaf_rows,
                               .keys = read_rows(e),
                               .slots = read_slots(e),
                               .back_slots = BPT_LISTS_ALL_BACK_SLOTS,
                               .table = e->own[OTHER].data,
                               .back = e->own[OTHER_BACK].data};
    const bool segments = e->source && batch->first_segment;
    if (segments && e->stack.reads_trees)
        return bpt_fail(BPT_ERR_USAGE, "model %s translates each text by itself: it has no trees over documents", of->kind->name);
    if (e->stack.reads_trees)
        BPT_TRY(write_trees(e, side, other, &lists));
    else
        BPT_TRY(segments ? write_segments(side, other, batch->segments, &lists) : write_other_texts(e, side, other, &lists));
    const bpt_table_bounds_t bounds = bounds_of_other_texts(e);
    return bpt_lists_check(&lists, &bounds);
}

static bpt_status_t stage(const bpt_encoder_t *e, const bpt_batch_t *batch) {
    if (e->own[ROW_KEYS].data) stage_keys(e, batch);
    if (e->own[ROOT_ROWS].data) stage_roots(e, batch);
    if (e->own[POOL_KEYS].data) stage_pool_keys(e, batch);
    if (e->own[TEXT_ROWS].data) stage_texts(e, batch);
    if (e->own[OTHER].data) BPT_TRY(stage_other_texts(e, batch));
    return BPT_OK;
}

const bpt_layers_spec_t bpt_interval_layers = {
    .params = params,
    .inputs = inputs,
    .build = build,
    .stage_constants = stage_constants,
    .stage = stage,
};
