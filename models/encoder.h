// The encoder shared by all models: embedding, layers of interval attention and feed-forward networks with LayerNorm behind the
// residual sum, and the heads (Ye et al. 2019, section 3; Vaswani et al. 2017). Builds graphs; knows no device.
//
// Rows: B sequences in buckets of n leaves: first B * n leaf rows, then the other nodes (bpt/ops.h, attention).
// Work that no output needs is left out: causal models have no spans that no leaf reads, roots of classifiers apart; spans are zero before
// the first layer; in the last layer of language models only leaves ask; in the last layer but one of classifiers only leaves and roots, in
// the last one only roots.
#ifndef BPT_MODELS_ENCODER_H
#define BPT_MODELS_ENCODER_H

#include "models/model.h"
#include "models/nn/weights.h"

typedef struct {
    const bpt_model_config_t *config;
    int64_t n, batch;
    bpt_dtype_t precision;
    bool dropout;
    bool logits;         // instead of a loss
    int64_t chunk_rows;  // what follows attention goes by so many rows at a time, where there are more; 0: all at once, as gradients need
    // Heads whose queries, keys and values exist at once are 1 / head_groups of all, a divisor; 1 with gradients.
    int32_t head_groups;
    int32_t first_head;  // deep supervision (lm): the layers first_head .. layers, counted from 1, have a loss; 0 = the last only
} bpt_encoder_options_t;

// What the host writes before a run; BPT_NO_VALUE where the options need none.
typedef struct {
    bpt_value_t tokens;     // u32 [B n]
    bpt_value_t positions;  // u32 [B n]: 0 .. n-1 in every sequence (absolute positions)
    bpt_value_t lengths;    // u32 [B]
    bpt_value_t targets;    // u32 [B n], classify [B]
    bpt_value_t weights;    // f32, as targets: what each nll counts in the loss
    bpt_value_t row_keys;   // u32 [R, 2] (dropout)
    bpt_value_t root_rows;  // u32 [B]: row of each root in the input of the last layer but one, BPT_NO_ROW where it is zero (classify)
    bpt_value_t root_keys;  // u32 [B, 2] (classify with dropout)
    bpt_value_t rng;        // u32 [2] (dropout)
    // u32 [head_groups, d]: where in W_o [d, d], seen as [d head_groups, d / head_groups], the columns of a group lie (head_groups > 1)
    bpt_value_t group_columns;
} bpt_encoder_inputs_t;

typedef struct {
    bpt_encoder_options_t options;
    bpt_intervals_t graph;
    int64_t leaf_rows, rows;  // B n, and all nodes
    bpt_encoder_inputs_t in;
    bpt_value_t loss;    // f32 [1], BPT_NO_VALUE with logits
    bpt_value_t nll;     // f32, as targets, of the last layer
    bpt_value_t logits;  // f32 [B n, V], classify [B, classes]; BPT_NO_VALUE with a loss
} bpt_encoder_t;

// Rows of a chunk for so many rows: large enough to keep a device busy, and not many chunks, as each is some nodes of the graph.
int64_t bpt_encoder_chunk_rows(int64_t rows);
// Groups of heads for so many rows: more than one where all heads' queries, keys and values would be larger than all else.
enum { BPT_MOST_HEAD_GROUPS = 16 };
int32_t bpt_encoder_head_groups(int64_t rows, int32_t heads);
// Appends the forward pass to the graph of `weights`.
bpt_status_t bpt_encoder_build(bpt_weights_t *weights, const bpt_encoder_options_t *options, bpt_encoder_t *encoder) BPT_MUST_USE;

#endif
