// What building blocks share (see builder.h).
#include "models/blocks/builder.h"

#include <stdio.h>

bpt_place_t bpt_place_first(const bpt_builder_t *b, bpt_value_t row_keys, int64_t rows) {
    return (bpt_place_t){row_keys == BPT_NO_VALUE ? row_keys : bpt_rows(b->g, row_keys, 0, rows), rows};
}

bpt_stream_t bpt_stream_first(const bpt_builder_t *b, bpt_stream_t x, int64_t rows) {
    return (bpt_stream_t){bpt_rows(b->g, x.full, 0, rows), bpt_rows(b->g, x.low, 0, rows)};
}

bpt_stream_t bpt_stored_input(const bpt_builder_t *b, bpt_stream_t x) {
    if (!b->recompute) return x;
    const bpt_value_t stored = b->half_inputs ? x.low : x.full;
    if (b->offload) bpt_graph_offload(b->g, stored);
    return (bpt_stream_t){stored, stored};
}

bpt_stream_t bpt_stream_cast(const bpt_builder_t *b, bpt_stream_t x) {
    return (bpt_stream_t){bpt_cast(b->g, x.full, BPT_F32), bpt_cast(b->g, x.low, b->precision)};
}

bpt_random_t bpt_build_random(const bpt_builder_t *b, bpt_place_t place) { return (bpt_random_t){place.keys, b->rng}; }

void bpt_norm_params(bpt_param_table_t *table, const bpt_model_config_t *config, const char *prefix, const char *name) {
    bpt_param_table_norm(table, config->d_model, config->norm == BPT_NORM_LAYER, prefix, name);
}

bpt_stream_t bpt_build_norm(const bpt_builder_t *b, bpt_value_t x, bpt_value_t residual, float p, bpt_random_t random, const char *prefix,
                            const char *name) {
    char gamma[64], beta[64];
    snprintf(gamma, sizeof gamma, "%s%s", name, BPT_NAME_NORM_GAMMA);
    snprintf(beta, sizeof beta, "%s%s", name, BPT_NAME_NORM_BETA);
    const bpt_value_t scale = bpt_weight(b->w, prefix, gamma);
    bpt_stream_t y = bpt_no_stream;
    if (b->config->norm == BPT_NORM_RMS)
        y.full = bpt_rmsnorm(b->g, x, residual, scale, p, random, b->precision, &y.low);
    else
        y.full = bpt_layernorm(b->g, x, residual, scale, bpt_weight(b->w, prefix, beta), p, random, b->precision, &y.low);
    return y;
}
