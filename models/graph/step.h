// Programs of a model for one shape of micro-batch: training, evaluation, logits; and the update that ends accumulation.
// Writes a micro-batch into a program's inputs. Knows no schedule and no files; the runner owns the states.
#ifndef BPT_MODELS_STEP_H
#define BPT_MODELS_STEP_H

#include "bpt/batch.h"
#include "bpt/program.h"
#include "models/graph/encoder.h"
#include "models/optimizers/optimizer.h"
#include "models/run/split_batch.h"

// Buffers that outlive programs; the parts of the arena that are trained (params.h) but the parameters, which are whole.
typedef enum { BPT_STATE_PARAMS, BPT_STATE_GRADS, BPT_STATE_SUMS, BPT_STATE_M, BPT_STATE_V, BPT_N_STATES } bpt_step_state_t;

typedef enum {
    BPT_STEP_TRAIN,     // forward, backward, clipping, update
    BPT_STEP_MICRO,     // forward, backward, gradients added to the sums
    BPT_STEP_APPLY,     // clipping and update by the sums, or by the own part of them; has no shape
    BPT_STEP_MATRICES,  // of a sharded optimizer: what it does with whole matrices, behind that; has no shape
    BPT_STEP_NORM,      // of a sharded optimizer: the sum of squares of the own part of the sums; has no shape
    BPT_STEP_GRADIENT,  // as MICRO, without dropout
    BPT_STEP_EVALUATE,  // loss and nll, no dropout
    BPT_STEP_LOGITS,    // no dropout
    BPT_STEP_STATES,    // those of the last layer, no dropout and no head
    BPT_N_STEP_KINDS
} bpt_step_kind_t;

// What steps of a kind have and need.
typedef struct {
    bool model;    // a micro-batch goes through the model
    bool grads;    // and back
    bool dropout;  // with dropout: it is training
    bool sums;     // the sums of gradients are read or added to
    bool moments;  // those of the optimizer, of all numbers
} bpt_step_traits_t;
extern const bpt_step_traits_t bpt_step_traits[BPT_N_STEP_KINDS];

typedef struct {
    bpt_step_kind_t kind;
    bpt_batch_shape_t shape;
    int32_t first_head;  // encoder.h
} bpt_step_key_t;

typedef struct {
    bpt_dtype_t precision;
    bool recompute;
    bool half_inputs;  // with recompute: inputs of layers are stored in `precision`
    bool offload;      // with recompute: they may wait on disk
    bpt_optimizer_options_t optimizer;
    bpt_shard_t shard;  // of the optimizer: the part of the arena that is updated
    bpt_shard_t split;  // of each sequence: the range that is computed here (encoder.h)
    bool marked;        // a micro-batch's program marks each bucket of the sums (shard.h), by the number of the bucket
    // Of evaluation and logits (encoder.h); 0: chosen by the number of rows.
    int64_t chunk_rows;
    int32_t head_groups;
} bpt_step_options_t;

typedef struct {
    bpt_step_key_t key;
    bpt_program_t *program;
    bpt_encoder_t encoder;
    bpt_value_t hyper, keep, square_sum;  // square_sum: an input of a sharded update
    float *weights;                       // staging
    bpt_split_batch_t own;                // the same: the own range of a batch
    bpt_sinusoids_t sinusoids;
} bpt_model_step_t;

// Elements of a state's buffer.
int64_t bpt_step_state_elements(const bpt_params_t *params, const bpt_shard_t *shard, bpt_step_state_t state);

// The graph of a step, optimised and ready to be planned or compiled; *step has its values. The caller owns *graph and
// what step->encoder holds (bpt_encoder_free).
bpt_status_t bpt_step_graph(const bpt_model_config_t *config, const bpt_params_t *params, const bpt_step_options_t *options,
                            const bpt_step_key_t *key, bpt_model_step_t *step, bpt_graph_t **graph) BPT_MUST_USE;
bpt_status_t bpt_step_create(const bpt_model_config_t *config, const bpt_params_t *params, const bpt_step_options_t *options,
                             const bpt_step_key_t *key, bpt_workspace_t *workspace, struct bpt_buffer *const states[BPT_N_STATES],
                             bpt_model_step_t **out) BPT_MUST_USE;
void bpt_step_destroy(bpt_model_step_t *step);

// Writes the micro-batch; each weight times `weight_scale`. `rng` is the key of this micro-step's random numbers.
bpt_status_t bpt_step_write(bpt_model_step_t *step, const bpt_batch_t *batch, float weight_scale, uint64_t rng) BPT_MUST_USE;

#endif
