// A layer of self-attention (Ye et al. 2019, 3.2; Vaswani et al. 2017, 3): rows x read rows y of the layer before and become
//   h  = LN(x + dropout(W_o attention(W_q x, W_k y, W_v y)))
//   x' = LN(h + dropout(W_2 dropout(relu(W_1 h + b_1)) + b_2)), or with SwiGLU (Shazeer 2020) LN(h + dropout(W_2 dropout(u))) of
//   u  = swish(W_g h) * W_1 h
// where h may go through cross-attention first (cross.h). LN is a LayerNorm or an RMSNorm. With rotary positions W_q x and W_k y are
// rotated (rotations.h). The encoder and incremental decoding are made of it. Knows no attention graph.
#ifndef BPT_MODELS_BLOCKS_SELF_H
#define BPT_MODELS_BLOCKS_SELF_H

#include "models/blocks/builder.h"
#include "models/blocks/cross.h"

enum { BPT_PREFIX_BYTES = 32 };
void bpt_self_prefix(const char *scope, int32_t layer, char prefix[BPT_PREFIX_BYTES]);
// rel_rows: rows of the table of relative positions, 0: there is none.
void bpt_self_params(bpt_param_table_t *table, const bpt_model_config_t *config, int64_t rel_rows, bool freeze_rel, const char *prefix);

// ---- The parts of a layer
// W_q x; W_k y | W_v y; W_q x | W_k x | W_v x, queries and keys rotated. rotations: a row for each row of x or y, or more; BPT_NO_VALUE:
// none.
bpt_value_t bpt_self_query(const bpt_builder_t *b, bpt_value_t x, bpt_value_t rotations, const char *prefix);
bpt_value_t bpt_self_key_value(const bpt_builder_t *b, bpt_value_t y, bpt_value_t rotations, const char *prefix);
bpt_value_t bpt_self_query_key_value(const bpt_builder_t *b, bpt_value_t x, bpt_value_t rotations, const char *prefix);
bpt_value_t bpt_self_rel(const bpt_builder_t *b, const char *prefix);                        // the table of relative positions
bpt_value_t bpt_self_out(const bpt_builder_t *b, bpt_value_t attended, const char *prefix);  // W_o
// Heads and scale of the attention, and dropout; graph, batch and queries are the caller's.
bpt_attention_attrs_t bpt_self_attrs(const bpt_builder_t *b);
// Parameters of what follows W_o.
void bpt_self_finish_params(bpt_param_table_t *table, const bpt_model_config_t *config, const char *prefix);
// What follows W_o: both norms and the feed-forward network between them. residual: x; BPT_NO_VALUE: zeros. The first `readers` rows
// read `memory` between the attention and the feed-forward network; NULL: there is none.
bpt_stream_t bpt_self_finish(const bpt_builder_t *b, bpt_value_t sum, bpt_value_t residual, bpt_place_t place, const bpt_memory_t *memory,
                             int64_t readers, const char *prefix);

// ---- A layer of an encoder
typedef struct {
    bpt_attention_attrs_t attrs;
    bpt_attention_inputs_t in;             // but for q, kv and rel
    bool relative;                         // scores have relative positions
    bpt_value_t x, y;                      // in any precision; the same: one product gives queries, keys and values
    bpt_value_t x_rotations, y_rotations;  // of x and of y, the first rows of these; BPT_NO_VALUE: none
    int64_t x_rows, y_rows;                // of x that are queries and of y that are read, the first ones; 0: all
    bpt_value_t residual;                  // x in f32, for pieces in any precision; rows beyond its own are zero
    bool fresh;                            // the residual is not (rows of) what the layer before made
    bpt_place_t place;                     // of x
    const bpt_memory_t *memory;            // read between the attention and the feed-forward network; NULL: there is none
    int64_t readers;                       // of the rows x, the first ones: those that read it
    bpt_value_t attended;                  // set by bpt_self_attend
} bpt_self_t;

// Attention of each of the `count` sets of rows x, which all read the y of the first one.
void bpt_self_attend(const bpt_builder_t *b, bpt_self_t *sets, int count, const char *prefix);
// The layer for these sets: out[i] is x' of sets[i].
void bpt_self_layer(const bpt_builder_t *b, bpt_self_t *sets, int count, const char *prefix, bpt_stream_t *out);

#endif
