// Layers of shared sequences (see split_layers.h).
#include "models/blocks/split_layers.h"

#include <string.h>

#include "bpt/alloc.h"
#include "models/blocks/halo.h"
#include "models/blocks/self.h"
#include "models/graph/encoder.h"

// Numbers of the own inputs.
enum {
    ROW_KEYS,   // u32 [own rows, 2] (dropout)
    KEY_CODES,  // u32 [key rows] (dropout of attention)
    GIVE,       // u32 [give rows]: own rows that other ranks take
    TABLE,      // u32 [own rows, slots, 4]
    BACK,       // u32 [key rows, slots, 2] (gradients)
    LAST_BACK,  // the same where leaves are the only queries
    ROTATIONS,  // f32 [key rows, head_dim] (rotary positions)
};

bpt_status_t bpt_split_check(const bpt_model_config_t *c, int ranks) {
    const bpt_kind_spec_t *kind = bpt_kind_of(c);
    const bpt_task_spec_t *task = bpt_task_of(c);
    if (!kind->split_layers)
        return bpt_fail(BPT_ERR_USAGE,
                        "model %s cannot share sequences among ranks: every token of it may read every other; leave out "
                        "--split-sequence",
                        kind->name);
    if (task->reads != BPT_READS_WINDOWS || task->wants != BPT_WANT_TOKENS || task->masks || c->match_layers)
        return bpt_fail(BPT_ERR_USAGE, "task %s cannot share sequences among ranks: --split-sequence is for language models", task->name);
    if (c->ngram_max) return bpt_fail(BPT_ERR_USAGE, "character n-grams of words cannot be shared among ranks: leave out --split-sequence");
    return ranks > 1 ? BPT_OK : bpt_fail(BPT_ERR_USAGE, "--split-sequence needs a team of several ranks: mpirun -n N bpt .. --team mpi");
}

// ---- Graph

// The states of all key rows: the own ones, and behind them what other ranks give.
static bpt_value_t with_halo(const bpt_builder_t *b, const bpt_encoder_t *e, bpt_value_t own) {
    const bpt_value_t given = bpt_gather(b->g, own, e->own[GIVE].value);
    const bpt_value_t parts[] = {own, bpt_exchange(b->g, bpt_cast(b->g, given, b->precision), e->halo->take_rows)};
    return bpt_join(b->g, b->precision, parts, 2);
}

static bpt_self_t queries_of(const bpt_builder_t *b, const bpt_encoder_t *e, bpt_stream_t x, bool last) {
    const bpt_halo_t *h = e->halo;
    const int64_t rows = last ? e->leaf_rows : h->own_rows;
    const bpt_stream_t queries = last ? bpt_stream_first(b, x, rows) : x;
    bpt_self_t s = {.attrs = bpt_self_attrs(b), .relative = e->graph.rel_levels > 0};
    s.attrs.graph.kind = BPT_INTERVALS_TABLE;
    s.attrs.bounds = last ? h->last_bounds : h->bounds;
    s.attrs.batch = 1;
    s.attrs.queries = BPT_QUERIES_ALL;
    s.place = bpt_place_first(b, e->in.row_keys, rows);
    s.in = (bpt_attention_inputs_t){.lengths = BPT_NO_VALUE,
                                    .row_keys = s.place.keys,
                                    .rng = e->in.rng,
                                    .table = bpt_view(b->g, e->own[TABLE].value, 0, bpt_shape3(rows, h->slots, 4)),
                                    .back = e->own[last ? LAST_BACK : BACK].value,
                                    .key_codes = e->own[KEY_CODES].value};
    s.x = queries.low;
    s.x_rotations = s.y_rotations = e->own[ROTATIONS].value;
    s.residual = queries.full;
    return s;
}

static bpt_stream_t layer(const bpt_builder_t *b, const bpt_encoder_t *e, bpt_stream_t x, int32_t number) {
    char prefix[BPT_PREFIX_BYTES];
    bpt_stream_t out;
    bpt_self_prefix(b->scope, number, prefix);
    const bpt_value_t read = with_halo(b, e, x.low);
    bpt_graph_region_begin(b->g);  // what is exchanged is not exchanged again
    bpt_self_t s = queries_of(b, e, bpt_stream_cast(b, bpt_stored_input(b, x)), number + 1 == b->config->layers);
    s.y = read;
    bpt_self_layer(b, &s, 1, prefix, &out);
    bpt_graph_region_end(b->g);
    return out;
}

// Spans are zero before the first layer.
static bpt_stream_t with_spans(const bpt_builder_t *b, const bpt_encoder_t *e, bpt_stream_t tokens) {
    const bpt_value_t all = bpt_add_rows(b->g, BPT_NO_VALUE, tokens.full, 0, e->halo->own_rows);
    return (bpt_stream_t){all, bpt_cast(b->g, all, b->precision)};
}

static void build(const bpt_builder_t *b, bpt_encoder_t *e) {
    if (!e->halo) return;  // the graph has failed
    bpt_stream_t x = with_spans(b, e, bpt_encoder_embed(b, e));
    for (int32_t i = 0; i < b->config->layers; ++i) {
        x = layer(b, e, x, i);
        if (!bpt_encoder_wants(e, i)) continue;
        const bpt_states_t states = {bpt_stream_first(b, x, e->leaf_rows), bpt_place_first(b, e->in.row_keys, e->leaf_rows)};
        bpt_encoder_emit(b, e, i, &(bpt_encoded_t){.tokens = states, .relay.x = bpt_no_stream, .pooled.x = bpt_no_stream});
    }
}

// ---- Inputs

static void inputs(bpt_graph_t *g, bpt_encoder_t *e) {
    const bpt_encoder_options_t *o = &e->options;
    if (bpt_graph_fail(g, bpt_halo_create(&e->graph, e->batch, &o->split, &e->halo)) != BPT_OK) return;
    const bpt_halo_t *h = e->halo;
    e->rows = h->own_rows;
    if (o->dropout) bpt_encoder_add_input(g, e, ROW_KEYS, "row_keys", bpt_shape2(h->own_rows, 2));
    if (o->dropout && o->config->dropout_attention > 0) bpt_encoder_add_input(g, e, KEY_CODES, "key_codes", bpt_shape1(h->key_rows));
    bpt_encoder_add_rotations(g, e, ROTATIONS, h->key_rows);
    bpt_encoder_add_input(g, e, GIVE, "rows_given", bpt_shape1(h->give_rows));
    bpt_encoder_add_input(g, e, TABLE, "keys_of_rows", bpt_shape3(h->own_rows, h->slots, 4));
    if (o->gradients && o->config->layers > 1)
        bpt_encoder_add_input(g, e, BACK, "readers_of_rows", bpt_shape3(h->key_rows, h->back_slots, 2));
    if (o->gradients) bpt_encoder_add_input(g, e, LAST_BACK, "leaves_that_read", bpt_shape3(h->key_rows, h->last_slots, 2));
    e->in.row_keys = e->own[ROW_KEYS].value;
}

static void put_code(void *user, int64_t row, int64_t sequence, int64_t node) {
    const bpt_encoder_t *e = user;
    uint32_t *keys = e->own[ROW_KEYS].data, *codes = e->own[KEY_CODES].data;
    (void)sequence;
    if (keys && row < e->halo->own_rows) keys[2 * row] = bpt_intervals_node_code(&e->graph, node);
    if (codes) codes[row] = bpt_intervals_node_code(&e->graph, node);
    bpt_encoder_put_rotation(e, ROTATIONS, row, node);
}

static void stage_constants(const bpt_encoder_t *e) {
    memcpy(e->own[GIVE].data, e->halo->give, (size_t)e->halo->give_rows * sizeof *e->halo->give);
    bpt_halo_visit(e->halo, put_code, (void *)e);
}

typedef struct {
    const bpt_encoder_t *e;
    const uint32_t *sequences;
} staged_t;

static void put_sequence(void *user, int64_t row, int64_t sequence, int64_t node) {
    const staged_t *s = user;
    (void)node;
    if (row < s->e->halo->own_rows) s->e->own[ROW_KEYS].data[2 * row + 1] = s->sequences[sequence];
}

static bpt_status_t stage(const bpt_encoder_t *e, const bpt_batch_t *batch) {
    const bpt_halo_t *h = e->halo;
    staged_t staged = {e, batch->sequences};
    if (e->own[ROW_KEYS].data) bpt_halo_visit(h, put_sequence, &staged);
    uint32_t *table = e->own[TABLE].data, *back = e->own[BACK].data, *last = e->own[LAST_BACK].data;
    BPT_TRY(bpt_halo_write(h, batch->side[e->stack.side].whole_lengths, table, back, last));
    const bpt_lists_t all = {
        .queries = h->own_rows, .keys = h->key_rows, .slots = h->slots, .back_slots = h->back_slots, .table = table, .back = back};
    return bpt_lists_check(&all, &h->bounds);
}

const bpt_layers_spec_t bpt_split_layers = {
    .inputs = inputs,
    .build = build,
    .stage_constants = stage_constants,
    .stage = stage,
};
