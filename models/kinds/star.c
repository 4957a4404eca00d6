// Star-Transformer (Guo et al. 2019): tokens are satellites in a ring, around one relay node that reads them all. Its graph are tables of
// ranges (bpt/lists.h) of 5 n + n + 1 edges a cycle, so that time and memory grow as the length.
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/lists.h"
#include "bpt/rng.h"
#include "models/blocks/star_cycle.h"
#include "models/graph/encoder.h"

// Numbers of the own inputs; N rows of tokens, B sequences.
enum {
    ROW_KEYS,    // u32 [N, 2] (dropout)
    RELAY_KEYS,  // u32 [B, 2] (dropout)
    TEXT_ROWS,   // u32 [B, 2]: the rows of each sequence
    RING,        // u32 [N, slots, 4]
    RING_BACK,   // u32 [2 N + B, slots, 2] (gradients)
    RING_CODES,  // u32 [2 N + B] (dropout of attention)
    RELAY,       // u32 [B, slots, 4]
    RELAY_BACK,  // u32 [N + B, slots, 2] (gradients)
    RELAY_CODES  // u32 [N + B] (dropout of attention)
};

// Node codes: satellite i is (0, i), its embedding (1, i), the relay (2, 0).
enum { SATELLITE, EMBEDDING, RELAY_NODE };

static const char *const keys[] = {"ring", "radical", "head_dim", NULL};

static void params(bpt_param_table_t *t, const bpt_stack_t *stack, bool freeze_rel) {
    (void)freeze_rel;
    for (int32_t i = 0; i < stack->config.layers; ++i) bpt_star_params(t, &stack->config, i);
}

// ---- Graph

static void inputs(bpt_graph_t *g, bpt_encoder_t *e) {
    const bpt_encoder_options_t *o = &e->options;
    const int64_t n = e->leaf_rows, ring_keys = 2 * n + e->batch, relay_keys = n + e->batch;
    const bool codes = o->dropout && o->config->dropout_attention > 0;
    bpt_encoder_add_input(g, e, TEXT_ROWS, "text_rows", bpt_shape2(e->batch, 2));
    bpt_encoder_add_input(g, e, RING, "ring", bpt_shape3(n, BPT_LISTS_RING_SLOTS, 4));
    bpt_encoder_add_input(g, e, RELAY, "relay", bpt_shape3(e->batch, BPT_LISTS_RELAY_SLOTS, 4));
    if (o->dropout) bpt_encoder_add_input(g, e, ROW_KEYS, "row_keys", bpt_shape2(n, 2));
    if (o->dropout) bpt_encoder_add_input(g, e, RELAY_KEYS, "relay_keys", bpt_shape2(e->batch, 2));
    if (o->gradients) bpt_encoder_add_input(g, e, RING_BACK, "ring_back", bpt_shape3(ring_keys, BPT_LISTS_RING_BACK_SLOTS, 2));
    if (o->gradients) bpt_encoder_add_input(g, e, RELAY_BACK, "relay_back", bpt_shape3(relay_keys, BPT_LISTS_RELAY_BACK_SLOTS, 2));
    if (codes) bpt_encoder_add_input(g, e, RING_CODES, "ring_codes", bpt_shape1(ring_keys));
    if (codes) bpt_encoder_add_input(g, e, RELAY_CODES, "relay_codes", bpt_shape1(relay_keys));
    e->in.row_keys = e->own[ROW_KEYS].value;
}

// A text is no longer than its bucket; packed, one may have all rows.
static int64_t longest(const bpt_encoder_t *e) { return e->n ? e->n : e->leaf_rows; }

static bpt_table_graph_t graph_of(const bpt_encoder_t *e, int table, int back, bpt_table_bounds_t bounds, int keys_of_queries, int codes) {
    return (bpt_table_graph_t){.table = e->own[table].value,
                               .back = e->own[back].value,
                               .bounds = bounds,
                               .query_keys = e->own[keys_of_queries].value,
                               .key_codes = e->own[codes].value};
}

static bpt_stream_t segment(const bpt_builder_t *b, const bpt_encoder_t *e, bpt_segment_kind_t kind, bpt_value_t x) {
    const bpt_value_t y = bpt_segment(b->g, kind, x, e->own[TEXT_ROWS].value);
    return (bpt_stream_t){y, bpt_cast(b->g, y, b->precision)};
}

// The state of a text: the relay plus the largest satellite, number by number (section 3.3), or one of its relatives.
static bpt_stream_t pool(const bpt_builder_t *b, const bpt_encoder_t *e, const bpt_star_states_t *states) {
    const bpt_pool_t how = b->config->pool;
    if (how == BPT_POOL_RELAY) return states->relay;
    bpt_stream_t x = segment(b, e, how == BPT_POOL_MEAN ? BPT_SEGMENT_MEAN : BPT_SEGMENT_MAX, states->satellites.full);
    if (how != BPT_POOL_RELAY_MAX) return x;
    x.full = bpt_add(b->g, states->relay.full, x.full);
    x.low = bpt_cast(b->g, x.full, b->precision);
    return x;
}

static void build(const bpt_builder_t *b, bpt_encoder_t *e) {
    const bpt_stream_t tokens = bpt_encoder_embed(b, e);
    const bpt_table_bounds_t of_ring = bpt_lists_ring_bounds(e->leaf_rows, longest(e)), of_relay = bpt_lists_relay_bounds(longest(e));
    const bpt_table_graph_t ring = graph_of(e, RING, RING_BACK, of_ring, ROW_KEYS, RING_CODES);
    const bpt_table_graph_t star = graph_of(e, RELAY, RELAY_BACK, of_relay, RELAY_KEYS, RELAY_CODES);
    bpt_star_states_t states = {.satellites = tokens, .relay = segment(b, e, BPT_SEGMENT_MEAN, tokens.full)};
    for (int32_t i = 0; i < b->config->layers; ++i) {
        bpt_graph_region_begin(b->g);
        states = bpt_star_cycle(b, &ring, &star, tokens, &states, i);
        bpt_graph_region_end(b->g);
        if (!bpt_encoder_wants(e, i)) continue;
        bpt_encoded_t out = {.tokens = {states.satellites, bpt_place_first(b, e->in.row_keys, e->leaf_rows)},
                             .relay = {states.relay, {e->own[RELAY_KEYS].value, e->batch}}};
        out.pooled = (bpt_states_t){bpt_no_stream, {e->own[RELAY_KEYS].value, e->batch}};
        if (e->wants & BPT_WANT_POOLED) out.pooled.x = pool(b, e, &states);
        bpt_encoder_emit(b, e, i, &out);
    }
}

// ---- Inputs

static void stage_rows(const bpt_encoder_t *e, const bpt_side_t *side) {
    uint32_t *rows = e->own[TEXT_ROWS].data;
    for (int64_t s = 0; s < e->batch; ++s) {
        rows[2 * s] = side->start[s];
        rows[2 * s + 1] = side->start[s] + side->lengths[s];
    }
}

static void stage_keys(const bpt_encoder_t *e, const bpt_batch_t *batch) {
    const bpt_side_t *side = &batch->side[0];
    uint32_t *of_rows = e->own[ROW_KEYS].data, *of_relays = e->own[RELAY_KEYS].data;
    memset(of_rows, 0, e->own[ROW_KEYS].count * sizeof *of_rows);
    for (int64_t s = 0; s < e->batch; ++s) {
        for (uint32_t i = 0; i < side->lengths[s]; ++i) {
            of_rows[2 * (size_t)(side->start[s] + i)] = bpt_node_code(SATELLITE, i);
            of_rows[2 * (size_t)(side->start[s] + i) + 1] = batch->sequences[s];
        }
        of_relays[2 * s] = bpt_node_code(RELAY_NODE, 0);
        of_relays[2 * s + 1] = batch->sequences[s];
    }
}

static void stage_codes(const bpt_encoder_t *e, const bpt_side_t *side) {
    uint32_t *ring = e->own[RING_CODES].data, *relay = e->own[RELAY_CODES].data;
    const int64_t n = e->leaf_rows;
    memset(ring, 0, e->own[RING_CODES].count * sizeof *ring);
    memset(relay, 0, e->own[RELAY_CODES].count * sizeof *relay);
    for (int64_t s = 0; s < e->batch; ++s) {
        for (uint32_t i = 0; i < side->lengths[s]; ++i) {
            const int64_t row = (int64_t)side->start[s] + i;
            ring[row] = relay[row] = bpt_node_code(SATELLITE, i);
            ring[n + row] = bpt_node_code(EMBEDDING, i);
        }
        ring[2 * n + s] = relay[n + s] = bpt_node_code(RELAY_NODE, 0);
    }
}

static bpt_lists_t lists_of(const bpt_encoder_t *e, int table, int back, int64_t queries, int64_t all_keys, int64_t slots,
                            int64_t back_slots) {
    return (bpt_lists_t){.queries = queries,
                         .keys = all_keys,
                         .slots = slots,
                         .back_slots = back_slots,
                         .table = e->own[table].data,
                         .back = e->own[back].data};
}

static unsigned reads_of(const bpt_model_config_t *c) {
    return (c->ring ? BPT_SATELLITE_NEIGHBOURS : 0u) | (c->radical ? BPT_SATELLITE_RELAY : 0u);
}

static bpt_status_t stage_tables(const bpt_encoder_t *e, const bpt_side_t *side) {
    const bpt_model_config_t *c = e->options.config;
    const int64_t n = e->leaf_rows;
    const bpt_row_space_t rows = {.rows = n, .sequences = e->batch, .start = side->start, .length = side->lengths};
    const bpt_lists_t ring = lists_of(e, RING, RING_BACK, n, 2 * n + e->batch, BPT_LISTS_RING_SLOTS, BPT_LISTS_RING_BACK_SLOTS);
    const bpt_lists_t relay = lists_of(e, RELAY, RELAY_BACK, e->batch, n + e->batch, BPT_LISTS_RELAY_SLOTS, BPT_LISTS_RELAY_BACK_SLOTS);
    const bpt_table_bounds_t of_ring = bpt_lists_ring_bounds(n, longest(e)), of_relay = bpt_lists_relay_bounds(longest(e));
    BPT_TRY(bpt_lists_ring(&rows, reads_of(c), &ring));
    BPT_TRY(bpt_lists_relay(&rows, &relay));
    BPT_TRY(bpt_lists_check(&ring, &of_ring));
    return bpt_lists_check(&relay, &of_relay);
}

static bpt_status_t stage(const bpt_encoder_t *e, const bpt_batch_t *batch) {
    const bpt_side_t *side = &batch->side[0];
    stage_rows(e, side);
    if (e->own[ROW_KEYS].data) stage_keys(e, batch);
    if (e->own[RING_CODES].data) stage_codes(e, side);
    return stage_tables(e, side);
}

static const bpt_layers_spec_t layers = {
    .params = params,
    .inputs = inputs,
    .build = build,
    .stage = stage,
};

// Satellites, their embeddings, which read nothing, and the relay: 2 n + 1 nodes.
static bpt_status_t table(const bpt_model_config_t *c, int64_t n, bpt_lists_t *lists, bpt_lists_groups_t *groups) {
    const uint32_t start = 0, length = (uint32_t)n;
    const bpt_row_space_t rows = {.rows = n, .sequences = 1, .start = &start, .length = &length};
    *lists = (bpt_lists_t){.queries = n, .keys = 2 * n + 1, .slots = BPT_LISTS_RING_SLOTS};
    BPT_TRY(bpt_alloc((size_t)((2 * n + 1) * lists->slots * 4), sizeof *lists->table, &lists->table));
    BPT_TRY(bpt_lists_ring(&rows, reads_of(c), lists));
    uint32_t *relay = lists->table + (size_t)(2 * n * lists->slots) * 4;
    relay[0] = 0, relay[1] = (uint32_t)n;
    relay[4] = (uint32_t)(2 * n), relay[5] = (uint32_t)(2 * n + 1);
    lists->queries = lists->keys;
    *groups = (bpt_lists_groups_t){.title = "star graph", .count = 3, .group = {{"satellites", n}, {"embeddings", n}, {"relay", 1}}};
    return BPT_OK;
}

const bpt_kind_spec_t bpt_kind_star = {
    .name = "star",
    .title = "Star-Transformer",
    .keys = keys,
    .gives = BPT_WANT_TOKENS | BPT_WANT_RELAY | BPT_WANT_POOLED,
    .not_causal = "its relay node reads the whole text in every cycle, and each token reads the relay",
    .positions = BPT_POSITIONS_ABSOLUTE,
    .pools = 1u << BPT_POOL_RELAY_MAX | 1u << BPT_POOL_RELAY | 1u << BPT_POOL_MEAN | 1u << BPT_POOL_MAX,
    .pool = BPT_POOL_RELAY_MAX,
    .packed = true,
    .plain_embedding = true,
    .table = table,
    .layers = &layers,
};
