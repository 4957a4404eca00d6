// What builds a model's graph: the graph, its parameters, the rates of dropout; rows of states and where their random numbers come from.
// Knows no attention graph and no task.
#ifndef BPT_MODELS_BLOCKS_BUILDER_H
#define BPT_MODELS_BLOCKS_BUILDER_H

#include "models/config/config.h"
#include "models/nn/names.h"
#include "models/nn/param_table.h"
#include "models/nn/weights.h"

typedef struct {
    bpt_graph_t *g;
    bpt_weights_t *w;
    const bpt_model_config_t *config;        // of the stack of layers (models/config/params_of.h)
    const char *scope, *embed_scope;         // in front of the names of its parameters and of its embedding's
    bool plain_embedding, scaled_embedding;  // models/kinds/kind.h
    bpt_dtype_t precision;
    float p_input, p_hidden, p_attention, p_head;  // dropout, 0 outside training
    float smoothing;                               // of labels, 0 outside training
    bpt_value_t rng;                               // BPT_NO_VALUE outside training
    // Attention's heads that exist at once are the group number `head_group` of `head_groups`; 0: all of them (pieces.h).
    int32_t head_groups, head_group;
    bool recompute;      // layers are computed again in the backward pass
    bool offload;        // and may wait on disk (bpt_graph_offload)
    bool half_inputs;    // their inputs are stored in the low precision
    int64_t chunk_rows;  // rows behind attention that exist at once (chunks.h); 0: all of them
} bpt_builder_t;

// Rows between two layers: the f32 residual stream, and the same in the precision of products. Rows that are stored once
// (bpt_stored_input) are both, in either precision.
typedef struct {
    bpt_value_t full, low;
} bpt_stream_t;
static const bpt_stream_t bpt_no_stream = {BPT_NO_VALUE, BPT_NO_VALUE};

// The rows that a LayerNorm or dropout works on: their number and row keys (BPT_NO_VALUE outside training).
typedef struct {
    bpt_value_t keys;
    int64_t rows;
} bpt_place_t;

// States of an encoder: rows and their place; absent: x is bpt_no_stream.
typedef struct {
    bpt_stream_t x;
    bpt_place_t place;
} bpt_states_t;

// The first `rows` rows of all that have these row keys; of a stream.
bpt_place_t bpt_place_first(const bpt_builder_t *b, bpt_value_t row_keys, int64_t rows);
bpt_stream_t bpt_stream_first(const bpt_builder_t *b, bpt_stream_t x, int64_t rows);
// What a layer that is computed again reads, so that its input is stored once: rows in f32, or rounded ones. Of other layers, x.
bpt_stream_t bpt_stored_input(const bpt_builder_t *b, bpt_stream_t x);
// Both precisions of it.
bpt_stream_t bpt_stream_cast(const bpt_builder_t *b, bpt_stream_t x);
bpt_random_t bpt_build_random(const bpt_builder_t *b, bpt_place_t place);

// Norm(dropout_p(x) + residual), a LayerNorm or RMSNorm as the configuration says, with the parameters PREFIX NAME.weight and .bias.
void bpt_norm_params(bpt_param_table_t *table, const bpt_model_config_t *config, const char *prefix, const char *name);
bpt_stream_t bpt_build_norm(const bpt_builder_t *b, bpt_value_t x, bpt_value_t residual, float p, bpt_random_t random, const char *prefix,
                            const char *name);

// ---- The embedding (embed.c; its parameters: models/config/params_of.h)
// Embedding (and projection) plus position, f32 [tokens, d_model]; positions (encoder.h) may be BPT_NO_VALUE. An id BPT_NO_ROW gives
// zeros. With d_input `tokens` are f32 [rows, d_input], which are projected.
bpt_value_t bpt_embed_rows(const bpt_builder_t *b, bpt_value_t tokens, bpt_value_t positions);
// N-grams of tokens: u32 [entries] rows of their embedding, and u32 [tokens, 2] the entries of each token. BPT_NO_VALUE: none.
typedef struct {
    bpt_value_t bag, ranges;
} bpt_ngrams_t;
// LayerNorm(dropout(embedding + position)), or without the LayerNorm: what the first layer reads.
bpt_stream_t bpt_embed(const bpt_builder_t *b, bpt_value_t tokens, const bpt_ngrams_t *ngrams, bpt_value_t positions, bpt_random_t random);

// ---- The head (head.c): logits = dropout(h) W^T + bias, with the embedding as W when tied. h are the states, or with d_mlp > 0
// relu(dropout(states) W_mlp^T + b_mlp).
void bpt_head_params(bpt_param_table_t *table, const bpt_model_config_t *config, int64_t inputs, int64_t outputs);
// f32 [rows, outputs].
bpt_value_t bpt_head_logits(const bpt_builder_t *b, const bpt_states_t *states);
// The weighted sum of the cross-entropies, of smoothed labels in training, and each of them without smoothing.
bpt_xent_t bpt_head_loss(const bpt_builder_t *b, const bpt_states_t *states, bpt_value_t targets, bpt_value_t weights);

#endif
