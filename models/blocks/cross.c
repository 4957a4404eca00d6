// Cross-attention (see cross.h).
#include "models/blocks/cross.h"

#include <stdio.h>

enum { SCOPE_BYTES = 48 };

// In front of the names of what only the attention has: "decoder.layers.0.cross.".
static const char *scope_of(const char *prefix, char scope[SCOPE_BYTES]) {
    snprintf(scope, SCOPE_BYTES, "%s" BPT_NAME_CROSS, prefix);
    return scope;
}

void bpt_cross_params(bpt_param_table_t *t, const bpt_model_config_t *c, bool trees, const char *prefix) {
    static const char *const names[] = {BPT_NAME_CROSS_Q, BPT_NAME_CROSS_K, BPT_NAME_CROSS_V, BPT_NAME_CROSS_OUT};
    const int64_t d = c->d_model;
    char scope[SCOPE_BYTES];
    for (int i = 0; i < 4; ++i) {
        bpt_param_sort_t sort = bpt_param_hidden(d, d);
        sort.joined = i == 2;  // values directly behind keys
        bpt_param_table_matrix(t, sort, d, d, prefix, names[i]);
    }
    if (trees) bpt_accumulate_params(t, c, scope_of(prefix, scope));
    bpt_norm_params(t, c, prefix, BPT_NAME_CROSS_NORM);
}

bpt_value_t bpt_cross_key_value(const bpt_builder_t *b, const bpt_memory_t *m, const char *prefix) {
    char scope[SCOPE_BYTES];
    const bpt_value_t kv = bpt_linear(b->g, m->x, bpt_weight_factor(b->w, prefix, BPT_NAME_CROSS_K, 2), BPT_NO_VALUE);
    return m->forest.links == BPT_NO_VALUE ? kv : bpt_accumulate_nodes(b, &m->forest, m->x, kv, scope_of(prefix, scope));
}

static bpt_value_t attend(const bpt_builder_t *b, const bpt_memory_t *m, bpt_value_t x, const char *prefix) {
    const bpt_value_t q = bpt_linear(b->g, x, bpt_weight_factor(b->w, prefix, BPT_NAME_CROSS_Q, 1), BPT_NO_VALUE);
    const bpt_value_t kv = m->key_value == BPT_NO_VALUE ? bpt_cross_key_value(b, m, prefix) : m->key_value;
    const bpt_value_t attended = bpt_table_attention(b, &m->graph, b->config->d_model / b->config->heads, q, kv);
    return bpt_linear(b->g, attended, bpt_weight_factor(b->w, prefix, BPT_NAME_CROSS_OUT, 1), BPT_NO_VALUE);
}

// LN(x) of the rows from `first` on.
static bpt_stream_t norm_alone(const bpt_builder_t *b, bpt_value_t x, int64_t first, int64_t rows, const char *prefix) {
    const bpt_random_t none = {BPT_NO_VALUE, BPT_NO_VALUE};
    return bpt_build_norm(b, bpt_rows(b->g, x, first, rows), BPT_NO_VALUE, 0, none, prefix, BPT_NAME_CROSS_NORM);
}

bpt_stream_t bpt_cross(const bpt_builder_t *b, const bpt_memory_t *memory, bpt_stream_t x, bpt_place_t place, int64_t readers,
                       const char *prefix) {
    const int64_t others = place.rows - readers;
    if (!readers) return norm_alone(b, x.full, 0, others, prefix);
    const bpt_stream_t h = bpt_stream_first(b, x, readers);
    const bpt_random_t random = bpt_build_random(b, bpt_place_first(b, place.keys, readers));
    const bpt_value_t sum = attend(b, memory, h.low, prefix);
    const bpt_stream_t read = bpt_build_norm(b, sum, h.full, b->p_hidden, random, prefix, BPT_NAME_CROSS_NORM);
    if (!others) return read;
    const bpt_stream_t rest = norm_alone(b, x.full, readers, others, prefix);
    const bpt_value_t full[] = {read.full, rest.full}, low[] = {read.low, rest.low};
    bpt_stream_t out = {.full = bpt_join(b->g, BPT_F32, full, 2)};
    out.low = b->precision == BPT_F32 ? out.full : bpt_join(b->g, b->precision, low, 2);
    return out;
}
