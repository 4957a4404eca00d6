// The graph of a model: embedding, layers of its kind, head of its task (Ye et al. 2019, section 3; Vaswani et al. 2017). Knows no device,
// and neither kinds nor tasks but by their lists.
//
// Rows: first those of the tokens of B sequences, in buckets of n or packed (bpt/batch.h), then those of other nodes (bpt/ops.h,
// attention).
#ifndef BPT_MODELS_ENCODER_H
#define BPT_MODELS_ENCODER_H

#include "bpt/batch.h"
#include "models/blocks/halo.h"
#include "models/blocks/pieces.h"
#include "models/blocks/rotations.h"
#include "models/blocks/sinusoids.h"
#include "models/config/params_of.h"
#include "models/kinds/kind.h"

typedef struct {
    const bpt_model_config_t *config;
    bpt_batch_shape_t shape;
    bpt_dtype_t precision;
    bool dropout;      // and smoothed labels: training
    bool logits;       // instead of a loss
    bool states;       // instead of both: those of the last layer, of tokens and of what the task wants
    bool gradients;    // will be asked for
    bool recompute;    // and layers are computed again for them
    bool half_inputs;  // of which the inputs are stored in the low precision
    bool offload;      // and may wait on disk
    // Pieces of a layer where there are no gradients, or layers are computed again (blocks/pieces.h); 0: chosen by the number of rows.
    int64_t chunk_rows;
    int32_t head_groups;
    int32_t first_head;  // deep supervision: the layers first_head .. layers, counted from 1, have a loss; 0 = the last only
    // Of a team that shares each sequence (blocks/split_layers.h): `shape` is that of the own range. size 0 or 1: sequences are whole.
    bpt_shard_t split;
} bpt_encoder_options_t;

// What the host writes before a run; BPT_NO_VALUE where the options need none.
typedef struct {
    bpt_value_t tokens;     // u32 [rows of tokens]
    bpt_value_t numbers;    // f32 [rows of tokens, d_input], in place of tokens where the model reads vectors
    bpt_ngrams_t ngrams;    // of the tokens, where the model reads them
    bpt_value_t positions;  // u32 [rows of tokens]: 0, 1, .. in every sequence (absolute); f32 [rows, d_model]: what they add (sinusoidal)
    bpt_value_t lengths;    // u32 [B]
    bpt_value_t targets;    // u32, as many as the task has; tasks with values have inputs of their own in place of these two
    bpt_value_t weights;    // f32, as targets: what each nll counts in the loss
    bpt_value_t row_keys;   // u32 [R, 2] (dropout): one of the kind's own, which begins with the tokens' rows
    bpt_value_t rng;        // u32 [2] (dropout)
} bpt_encoder_inputs_t;

// An input of the kind's or the task's own, and the host's array for it (bpt_encoder_allocate).
typedef struct {
    bpt_value_t value;
    union {
        uint32_t *data;  // u32
        float *numbers;  // f32
    };
    size_t count;
    bool constant;  // no batch changes it
} bpt_own_input_t;
enum { BPT_OWN_INPUTS = 11, BPT_TASK_INPUTS = 4 };

typedef struct bpt_encoder {
    bpt_encoder_options_t options;  // whose configuration is that of the stack
    bpt_stack_t stack;
    // The stack before this one, whose states it reads: a decoder's encoder, owned; NULL: there is none.
    struct bpt_encoder *source;
    bool is_source;         // of another one: it has no head and no targets
    bpt_encoded_t encoded;  // a source: its states behind the last layer
    const bpt_kind_spec_t *kind;
    const bpt_layers_spec_t *layers;  // of the kind
    bpt_halo_t *halo;                 // of shared sequences, owned; else NULL
    const bpt_task_spec_t *task;
    uint32_t wants;  // BPT_WANT_*: states of the last layer that are used; the task's inputs() may add to it
    bpt_intervals_t graph;
    int64_t n, batch;         // tokens of a bucket (0: packed rows), and sequences
    int64_t leaf_rows, rows;  // of tokens, and of all nodes
    int64_t targets;
    bpt_pieces_t pieces;
    bpt_encoder_inputs_t in;
    bpt_own_input_t own[BPT_OWN_INPUTS];        // of the kind
    bpt_own_input_t task_own[BPT_TASK_INPUTS];  // of the task
    bpt_value_t loss;    // f32 [1]; BPT_NO_VALUE with logits or states, as the next two with what is given in their place
    bpt_value_t nll;     // f32, as targets, of the last layer
    bpt_value_t logits;  // f32 [targets, outputs of the task]
    // With states alone: f32 [rows of tokens, d], [B, d] where the kind has a relay, [B, d] where the task wants states of texts.
    bpt_value_t tokens, relay, pooled;
} bpt_encoder_t;

// Appends the forward pass to the graph of `weights`. *encoder stays where it is: it points into itself. Release with bpt_encoder_free,
// also after an error.
bpt_status_t bpt_encoder_build(bpt_weights_t *weights, const bpt_encoder_options_t *options, bpt_encoder_t *encoder) BPT_MUST_USE;
// The same of the first stack alone, where another one reads its states: `encoded` is there, and neither a head nor a loss.
bpt_status_t bpt_encoder_build_source(bpt_weights_t *weights, const bpt_encoder_options_t *options, bpt_encoder_t *encoder) BPT_MUST_USE;

// ---- For kinds
// An input u32 of this shape as the kind's number `which`.
void bpt_encoder_add_input(bpt_graph_t *g, bpt_encoder_t *encoder, int which, const char *name, bpt_shape_t shape);
// The rotations of so many rows as the kind's number `which`, f32 [rows, head_dim], which no batch changes; BPT_NO_VALUE: none.
void bpt_encoder_add_rotations(bpt_graph_t *g, bpt_encoder_t *encoder, int which, int64_t rows);
// Its row of a node.
void bpt_encoder_put_rotation(const bpt_encoder_t *encoder, int which, int64_t row, int64_t node);
// What the first layer reads: embedded tokens.
bpt_stream_t bpt_encoder_embed(const bpt_builder_t *b, const bpt_encoder_t *encoder);
// What layer `layer` (from 0) gives: the last one always, others where deep supervision wants them.
bool bpt_encoder_wants(const bpt_encoder_t *encoder, int32_t layer);
void bpt_encoder_emit(const bpt_builder_t *b, bpt_encoder_t *encoder, int32_t layer, const bpt_encoded_t *encoded);
// ---- For tasks
// An input u32 or f32 of this shape as the task's number `which`.
void bpt_encoder_add_task_input(bpt_graph_t *g, bpt_encoder_t *encoder, int which, const char *name, bpt_dtype_t dtype, bpt_shape_t shape);
// The head that today's tasks share: cross-entropy with the targets, or logits, of these states.
void bpt_encoder_classify(const bpt_builder_t *b, bpt_encoder_t *encoder, const bpt_states_t *states);

// ---- The host's side of the own inputs of kind and task
bpt_status_t bpt_encoder_allocate(bpt_encoder_t *encoder) BPT_MUST_USE;
void bpt_encoder_free(bpt_encoder_t *encoder);

// Writes what a stack and those before it read into the program of their graph: once what no batch changes, then every micro-batch. `rng`:
// the key of its random numbers. What the task reads is not written.
bpt_status_t bpt_encoder_write_constants(const bpt_encoder_t *encoder, bpt_program_t *program, bpt_sinusoids_t *sinusoids) BPT_MUST_USE;
bpt_status_t bpt_encoder_write(const bpt_encoder_t *encoder, bpt_program_t *program, bpt_sinusoids_t *sinusoids, const bpt_batch_t *batch,
                               const uint32_t rng[2]) BPT_MUST_USE;

#endif
