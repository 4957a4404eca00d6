// A cycle of Star-Transformer (see star_cycle.h).
#include "models/blocks/star_cycle.h"

#include <stdio.h>

enum { PREFIX_BYTES = 48 };

// "layers.CYCLE.PART"
static void prefix_of(int32_t cycle, const char *part, char prefix[PREFIX_BYTES]) {
    const int used = snprintf(prefix, PREFIX_BYTES, BPT_NAME_LAYER, cycle);
    snprintf(prefix + used, (size_t)(PREFIX_BYTES - used), "%s", part);
}

// ---- Parameters

void bpt_star_params(bpt_param_table_t *t, const bpt_model_config_t *c, int32_t cycle) {
    char prefix[PREFIX_BYTES];
    prefix_of(cycle, BPT_NAME_RING, prefix);
    bpt_table_params(t, c, prefix);
    prefix_of(cycle, BPT_NAME_STAR, prefix);
    bpt_table_params(t, c, prefix);
    prefix_of(cycle, "", prefix);
    bpt_norm_params(t, c, prefix, BPT_NAME_RING_NORM);
    bpt_norm_params(t, c, prefix, BPT_NAME_STAR_NORM);
}

// ---- Graph

static bpt_value_t key_value(const bpt_builder_t *b, bpt_value_t x, const char *prefix) {
    return bpt_table_project(b, x, prefix, BPT_NAME_K_PROJ, 2);
}

// relu(W_o attention(queries of x, rows of kv)), without the LayerNorm.
static bpt_value_t attend(const bpt_builder_t *b, const bpt_table_graph_t *graph, bpt_value_t x, bpt_value_t kv, const char *prefix) {
    const bpt_value_t q = bpt_table_project(b, x, prefix, BPT_NAME_Q_PROJ, 1);
    const bpt_value_t attended = bpt_table_attention(b, graph, b->config->head_dim, q, kv);
    return bpt_relu(b->g, bpt_table_project(b, attended, prefix, BPT_NAME_OUT_PROJ, 1));
}

static bpt_stream_t norm(const bpt_builder_t *b, bpt_value_t x, int32_t cycle, const char *name) {
    char prefix[PREFIX_BYTES];
    prefix_of(cycle, "", prefix);
    return bpt_build_norm(b, x, BPT_NO_VALUE, 0, (bpt_random_t){BPT_NO_VALUE, BPT_NO_VALUE}, prefix, name);
}

bpt_star_states_t bpt_star_cycle(const bpt_builder_t *b, const bpt_table_graph_t *ring, const bpt_table_graph_t *star,
                                 bpt_stream_t embeddings, const bpt_star_states_t *old, int32_t cycle) {
    char prefix[PREFIX_BYTES];
    bpt_star_states_t out;
    prefix_of(cycle, BPT_NAME_RING, prefix);
    // The first satellites are the embeddings, whose keys and values are computed once.
    const bpt_value_t of_states = key_value(b, old->satellites.low, prefix);
    const bpt_value_t of_embeddings = old->satellites.low == embeddings.low ? of_states : key_value(b, embeddings.low, prefix);
    const bpt_value_t read_by_ring[] = {of_states, of_embeddings, key_value(b, old->relay.low, prefix)};
    const bpt_value_t ring_kv = bpt_join(b->g, b->precision, read_by_ring, 3);
    out.satellites = norm(b, attend(b, ring, old->satellites.low, ring_kv, prefix), cycle, BPT_NAME_RING_NORM);
    prefix_of(cycle, BPT_NAME_STAR, prefix);
    const bpt_value_t read_by_relay[] = {key_value(b, out.satellites.low, prefix), key_value(b, old->relay.low, prefix)};
    const bpt_value_t relay_kv = bpt_join(b->g, b->precision, read_by_relay, 2);
    out.relay = norm(b, attend(b, star, old->relay.low, relay_kv, prefix), cycle, BPT_NAME_STAR_NORM);
    return out;
}
