// A cycle of Star-Transformer (see star_cycle.h).
#include "models/blocks/star_cycle.h"

#include <stdio.h>

enum { PREFIX_BYTES = 48, NAME_BYTES = 24 };

int64_t bpt_star_width(const bpt_model_config_t *c) { return (int64_t)c->heads * c->head_dim; }

// "layers.CYCLE.PART"
static void prefix_of(int32_t cycle, const char *part, char prefix[PREFIX_BYTES]) {
    const int used = snprintf(prefix, PREFIX_BYTES, BPT_NAME_LAYER, cycle);
    snprintf(prefix + used, (size_t)(PREFIX_BYTES - used), "%s", part);
}

static const char *name_of(const char *projection, const char *what, char name[NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "%s%s", projection, what);
    return name;
}

// ---- Parameters

static void attention_params(bpt_param_table_t *t, const bpt_model_config_t *c, const char *prefix) {
    static const char *const into[] = {BPT_NAME_Q_PROJ, BPT_NAME_K_PROJ, BPT_NAME_V_PROJ};
    const int64_t d = c->d_model, width = bpt_star_width(c);
    char name[NAME_BYTES];
    for (int i = 0; i < 3; ++i) {
        bpt_param_sort_t weight = bpt_param_glorot(width, d);
        weight.joined = i == 2;  // values directly behind keys
        bpt_param_table_matrix(t, weight, width, d, prefix, name_of(into[i], BPT_NAME_WEIGHT, name));
    }
    for (int i = 0; i < 3; ++i) {
        bpt_param_sort_t bias = bpt_param_zero();
        bias.joined = i == 2;
        bpt_param_table_vector(t, bias, width, prefix, name_of(into[i], BPT_NAME_BIAS, name));
    }
    bpt_param_table_matrix(t, bpt_param_glorot(d, width), d, width, prefix, name_of(BPT_NAME_OUT_PROJ, BPT_NAME_WEIGHT, name));
    bpt_param_table_vector(t, bpt_param_zero(), d, prefix, name_of(BPT_NAME_OUT_PROJ, BPT_NAME_BIAS, name));
}

void bpt_star_params(bpt_param_table_t *t, const bpt_model_config_t *c, int32_t cycle) {
    char prefix[PREFIX_BYTES];
    prefix_of(cycle, BPT_NAME_RING, prefix);
    attention_params(t, c, prefix);
    prefix_of(cycle, BPT_NAME_STAR, prefix);
    attention_params(t, c, prefix);
    prefix_of(cycle, "", prefix);
    bpt_param_table_norm(t, c->d_model, prefix, BPT_NAME_RING_NORM);
    bpt_param_table_norm(t, c->d_model, prefix, BPT_NAME_STAR_NORM);
}

// ---- Graph

// x W^T + bias; keys and values are one product (joined 2).
static bpt_value_t project(const bpt_builder_t *b, bpt_value_t x, const char *prefix, const char *projection, int joined) {
    char weight[NAME_BYTES], bias[NAME_BYTES];
    return bpt_linear(b->g, x, bpt_weight_low(b->w, prefix, name_of(projection, BPT_NAME_WEIGHT, weight), joined),
                      bpt_weight_joined(b->w, prefix, name_of(projection, BPT_NAME_BIAS, bias), joined));
}
static bpt_value_t key_value(const bpt_builder_t *b, bpt_value_t x, const char *prefix) {
    return project(b, x, prefix, BPT_NAME_K_PROJ, 2);
}

// relu(W_o attention(queries of x, rows of kv)), without the LayerNorm.
static bpt_value_t attend(const bpt_builder_t *b, const bpt_table_graph_t *graph, bpt_value_t x, bpt_value_t kv, const char *prefix) {
    const int32_t head_dim = (int32_t)(bpt_star_width(b->config) / b->config->heads);
    const bpt_value_t q = project(b, x, prefix, BPT_NAME_Q_PROJ, 1);
    return bpt_relu(b->g, project(b, bpt_table_attention(b, graph, head_dim, q, kv), prefix, BPT_NAME_OUT_PROJ, 1));
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
