// A layer of self-attention (see self.h).
#include "models/blocks/self.h"

#include <math.h>
#include <stdio.h>

#include "models/blocks/chunks.h"
#include "models/blocks/rotations.h"

void bpt_self_prefix(const char *scope, int32_t layer, char prefix[BPT_PREFIX_BYTES]) {
    snprintf(prefix, BPT_PREFIX_BYTES, "%s" BPT_NAME_LAYER, scope, layer);
}

// ---- Parameters

static void attention_params(bpt_param_table_t *t, const bpt_model_config_t *c, int64_t rel_rows, bool freeze_rel, const char *prefix) {
    static const char *const names[] = {BPT_NAME_Q, BPT_NAME_K, BPT_NAME_V, BPT_NAME_OUT};
    const int64_t d = c->d_model, head_dim = d / c->heads;
    for (int i = 0; i < 4; ++i) {
        bpt_param_sort_t sort = bpt_param_hidden(d, d);
        sort.joined = i == 1 || i == 2;
        bpt_param_table_matrix(t, sort, d, d, prefix, names[i]);
    }
    bpt_param_sort_t rel = bpt_param_glorot(rel_rows, head_dim);
    if (freeze_rel) rel.group = BPT_GROUP_FROZEN;
    if (rel_rows) bpt_param_table_matrix(t, rel, rel_rows, head_dim, prefix, BPT_NAME_REL_KEY);
}

void bpt_self_params(bpt_param_table_t *t, const bpt_model_config_t *c, int64_t rel_rows, bool freeze_rel, const char *prefix) {
    attention_params(t, c, rel_rows, freeze_rel, prefix);
    bpt_self_finish_params(t, c, prefix);
}

void bpt_self_finish_params(bpt_param_table_t *t, const bpt_model_config_t *c, const char *prefix) {
    const int64_t d = c->d_model, ff = c->d_ff;
    const bool gated = c->ffn == BPT_FFN_SWIGLU;
    bpt_norm_params(t, c, prefix, BPT_NAME_ATTN_NORM);
    if (gated) bpt_param_table_matrix(t, bpt_param_hidden(ff, d), ff, d, prefix, BPT_NAME_GATE);
    bpt_param_table_matrix(t, bpt_param_hidden(ff, d), ff, d, prefix, BPT_NAME_FC1);
    if (!gated) bpt_param_table_vector(t, bpt_param_bias(d), ff, prefix, BPT_NAME_FC1_BIAS);
    bpt_param_table_matrix(t, bpt_param_hidden(d, ff), d, ff, prefix, BPT_NAME_FC2);
    if (!gated) bpt_param_table_vector(t, bpt_param_bias(ff), d, prefix, BPT_NAME_FC2_BIAS);
    bpt_norm_params(t, c, prefix, BPT_NAME_FFN_NORM);
}

// ---- The parts of a layer

// The rows of `joined` weights of queries, keys, values that belong to the builder's heads.
static bpt_value_t own_heads(const bpt_builder_t *b, bpt_value_t all, int joined) {
    if (b->head_groups <= 1) return all;
    const int64_t d = b->config->d_model, rows = d / b->head_groups;
    const bpt_value_t own = bpt_parts(b->g, b->precision, bpt_shape2(joined * rows, d));
    for (int i = 0; i < joined; ++i)
        bpt_graph_place(b->g, bpt_copy(b->g, bpt_rows(b->g, all, i * d + b->head_group * rows, rows)), bpt_rows(b->g, own, i * rows, rows));
    return own;
}

// x W^T of the builder's heads; `joined` weights as one.
static bpt_value_t project(const bpt_builder_t *b, bpt_value_t x, const char *prefix, const char *name, int joined) {
    return bpt_linear(b->g, x, own_heads(b, bpt_weight_factor(b->w, prefix, name, joined), joined), BPT_NO_VALUE);
}

bpt_value_t bpt_self_query(const bpt_builder_t *b, bpt_value_t x, bpt_value_t rotations, const char *prefix) {
    return bpt_rotate(b, project(b, x, prefix, BPT_NAME_Q, 1), rotations, 1);
}
bpt_value_t bpt_self_key_value(const bpt_builder_t *b, bpt_value_t y, bpt_value_t rotations, const char *prefix) {
    return bpt_rotate(b, project(b, y, prefix, BPT_NAME_K, 2), rotations, 1);
}
bpt_value_t bpt_self_query_key_value(const bpt_builder_t *b, bpt_value_t x, bpt_value_t rotations, const char *prefix) {
    return bpt_rotate(b, project(b, x, prefix, BPT_NAME_Q, 3), rotations, 2);
}
bpt_value_t bpt_self_rel(const bpt_builder_t *b, const char *prefix) { return bpt_weight_low(b->w, prefix, BPT_NAME_REL_KEY, 1); }
bpt_value_t bpt_self_out(const bpt_builder_t *b, bpt_value_t attended, const char *prefix) {
    return bpt_linear(b->g, attended, bpt_weight_factor(b->w, prefix, BPT_NAME_OUT, 1), BPT_NO_VALUE);
}

bpt_attention_attrs_t bpt_self_attrs(const bpt_builder_t *b) {
    const int32_t head_dim = b->config->d_model / b->config->heads;
    return (bpt_attention_attrs_t){
        .heads = b->config->heads, .head_dim = head_dim, .scale = 1 / sqrtf((float)head_dim), .p = b->p_attention};
}

// What stands behind W_o, of all rows: sum is its result, or where a memory has been read x goes into the feed-forward network as it is.
typedef struct {
    const bpt_builder_t *b;
    bpt_value_t sum, residual;
    bpt_stream_t x;
    bpt_place_t place;
    const char *prefix;
} behind_t;

static bpt_place_t place_of(const behind_t *l, int64_t row, int64_t rows) {
    return (bpt_place_t){l->place.keys == BPT_NO_VALUE ? BPT_NO_VALUE : bpt_rows(l->b->g, l->place.keys, row, rows), rows};
}

// W x, and its bias where the feed-forward network has them.
static bpt_value_t feed(const bpt_builder_t *b, bpt_value_t x, const char *prefix, const char *weight, const char *bias) {
    const bool biased = bias && b->config->ffn != BPT_FFN_SWIGLU;
    return bpt_linear(b->g, x, bpt_weight_factor(b->w, prefix, weight, 1), biased ? bpt_weight(b->w, prefix, bias) : BPT_NO_VALUE);
}

static bpt_stream_t feed_forward(const bpt_builder_t *b, bpt_stream_t x, bpt_random_t random, const char *prefix) {
    bpt_value_t h = feed(b, x.low, prefix, BPT_NAME_FC1, BPT_NAME_FC1_BIAS);
    if (b->config->ffn == BPT_FFN_SWIGLU)
        h = bpt_mul(b->g, bpt_swish(b->g, feed(b, x.low, prefix, BPT_NAME_GATE, NULL)), h);
    else
        h = bpt_relu(b->g, h);
    h = feed(b, bpt_dropout(b->g, h, b->p_hidden, random), prefix, BPT_NAME_FC2, BPT_NAME_FC2_BIAS);
    return bpt_build_norm(b, h, x.full, b->p_hidden, random, prefix, BPT_NAME_FFN_NORM);
}

static bpt_stream_t finish_attention(const bpt_builder_t *b, bpt_value_t sum, bpt_value_t residual, bpt_random_t random,
                                     const char *prefix) {
    return bpt_build_norm(b, sum, residual, b->p_hidden, random, prefix, BPT_NAME_ATTN_NORM);
}

static bpt_stream_t feed_rows(const void *part, int64_t row, int64_t rows) {
    const behind_t *l = part;
    bpt_graph_t *g = l->b->g;
    const bpt_stream_t x = {bpt_rows(g, l->x.full, row, rows), bpt_rows(g, l->x.low, row, rows)};
    return feed_forward(l->b, x, bpt_build_random(l->b, place_of(l, row, rows)), l->prefix);
}

static bpt_stream_t finish_rows(const void *part, int64_t row, int64_t rows) {
    const behind_t *l = part;
    bpt_graph_t *g = l->b->g;
    const bpt_random_t random = bpt_build_random(l->b, place_of(l, row, rows));
    const bpt_value_t residual = l->residual == BPT_NO_VALUE ? l->residual : bpt_rows(g, l->residual, row, rows);
    const bpt_stream_t h = finish_attention(l->b, bpt_rows(g, l->sum, row, rows), residual, random, l->prefix);
    return feed_forward(l->b, h, random, l->prefix);
}

bpt_stream_t bpt_self_finish(const bpt_builder_t *b, bpt_value_t sum, bpt_value_t residual, bpt_place_t place, const bpt_memory_t *memory,
                             int64_t readers, const char *prefix) {
    behind_t l = {.b = b, .sum = sum, .residual = residual, .place = place, .prefix = prefix};
    if (!memory) return bpt_chunks(b, place.rows, place.rows, BPT_NO_VALUE, finish_rows, &l);
    const bpt_stream_t h = finish_attention(b, sum, residual, bpt_build_random(b, place), prefix);
    l.x = bpt_cross(b, memory, h, place, readers, prefix);
    return bpt_chunks(b, place.rows, place.rows, BPT_NO_VALUE, feed_rows, &l);
}

// ---- A layer of an encoder

static void attend(const bpt_builder_t *b, bpt_self_t *s, bpt_value_t q, bpt_value_t kv, const char *prefix) {
    bpt_attention_inputs_t in = s->in;
    in.q = q;
    in.kv = kv;
    in.rel = s->relative ? bpt_self_rel(b, prefix) : BPT_NO_VALUE;
    s->attended = bpt_attention(b->g, &s->attrs, &in);
}

void bpt_self_attend(const bpt_builder_t *b, bpt_self_t *sets, int count, const char *prefix) {
    const bool packed = sets->x == sets->y && count == 1 && !sets->x_rows;
    const bpt_value_t y = bpt_cast(b->g, sets->y, b->precision);
    bpt_value_t kv = BPT_NO_VALUE;
    for (int i = 0; i < count; ++i) {
        bpt_self_t *s = &sets[i];
        const bpt_value_t all = s->x == sets->y ? y : bpt_cast(b->g, s->x, b->precision);
        const bpt_value_t x = s->x_rows ? bpt_rows(b->g, all, 0, s->x_rows) : all;
        const bpt_value_t q =
            packed ? bpt_self_query_key_value(b, x, s->x_rotations, prefix) : bpt_self_query(b, x, s->x_rotations, prefix);
        if (i == 0) kv = packed ? q : bpt_self_key_value(b, y, s->y_rotations, prefix);
        s->attrs.packed = packed;
        attend(b, s, q, s->y_rows ? bpt_rows(b->g, kv, 0, s->y_rows) : kv, prefix);
    }
}

void bpt_self_layer(const bpt_builder_t *b, bpt_self_t *sets, int count, const char *prefix, bpt_stream_t *out) {
    bpt_self_attend(b, sets, count, prefix);
    for (int i = 0; i < count; ++i) {
        const bpt_self_t *s = &sets[i];
        out[i] = bpt_self_finish(b, bpt_self_out(b, s->attended, prefix), s->residual, s->place, s->memory, s->readers, prefix);
    }
}
