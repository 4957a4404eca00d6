// The pieces that the encoder and incremental decoding share. Builds graphs from named parameters; knows no attention graph.
#ifndef BPT_MODELS_NN_LAYERS_H
#define BPT_MODELS_NN_LAYERS_H

#include "models/config.h"
#include "models/nn/weights.h"

// Rows between two layers: the f32 residual stream, and the same in the precision of products.
typedef struct {
    bpt_value_t full, low;
} bpt_stream_t;

typedef struct {
    bpt_graph_t *g;
    bpt_weights_t *w;
    const bpt_model_config_t *config;
    bpt_dtype_t precision;
    float p_input, p_hidden, p_attention, p_head;  // dropout, 0 outside training
} bpt_layers_t;

// Embedding (and projection) plus position, f32 [tokens, d_model]; positions may be BPT_NO_VALUE. An id BPT_NO_ROW gives zeros.
bpt_value_t bpt_layer_embed(const bpt_layers_t *l, bpt_value_t tokens, bpt_value_t positions);
// LayerNorm(dropout_p(x) + residual) with the parameters PREFIX NAME.weight and .bias.
bpt_stream_t bpt_layer_norm(const bpt_layers_t *l, bpt_value_t x, bpt_value_t residual, float p, bpt_random_t random, const char *prefix,
                            const char *name);
// x W^T without bias; `joined` weights as one.
bpt_value_t bpt_layer_project(const bpt_layers_t *l, bpt_value_t x, const char *prefix, const char *name, int joined);
// h = LN(x + dropout(W_2 dropout(relu(W_1 x + b_1)) + b_2))
bpt_stream_t bpt_layer_feed_forward(const bpt_layers_t *l, bpt_stream_t x, bpt_random_t random, const char *prefix);
// Attributes of the attention of any layer, but for graph, batch and queries.
bpt_attention_attrs_t bpt_layer_attention_attrs(const bpt_layers_t *l);
// The head's weight (the embedding when tied), in the precision of products.
bpt_value_t bpt_layer_head_weight(const bpt_layers_t *l);
// f32 [rows of h, vocab or classes]
bpt_value_t bpt_layer_logits(const bpt_layers_t *l, bpt_value_t h);

#endif
