// A model on a device: its parameters and optimiser state, and what can be done with one micro-batch. Knows no schedule, data
// source or run directory.
#ifndef BPT_MODELS_RUNNER_H
#define BPT_MODELS_RUNNER_H

#include "models/graph/step.h"

typedef struct {
    bpt_step_options_t step;  // `shard` and `split` follow from the ranks and the two options behind them
    bpt_frozen_t frozen;
    bpt_weights_form_t weights;  // what parameters become when they are made or loaded; in 8 bits they are for use, not for training
    const char *offload;         // the folder where inputs of layers wait (step.offload); NULL: none. Not needed behind bpt_runner_create
    bpt_ranks_t *ranks;          // that train this model together, each with a runner of its own; NULL: this process alone. Not owned
    bool shard_optimizer;        // each rank has a part of the optimizer's moments (models/nn/shard.h)
    bool split_sequence;  // each rank computes its own range of every sequence, instead of sequences of its own (blocks/halo.h): all ranks
                          // are given all micro-batches
} bpt_runner_options_t;

typedef struct bpt_runner bpt_runner_t;

// `config` is copied. Parameters are zero until init or load. Programs are compiled when their shape is first seen. With ranks all of them
// call it, and fail together.
bpt_status_t bpt_runner_create(const bpt_model_config_t *config, const bpt_runner_options_t *options, struct bpt_device *device,
                               bpt_runner_t **out) BPT_MUST_USE;
void bpt_runner_destroy(bpt_runner_t *runner);
const bpt_model_config_t *bpt_runner_config(const bpt_runner_t *runner);
const bpt_params_t *bpt_runner_params(const bpt_runner_t *runner);
// Names of the outputs, where the task has labels: for metrics that depend on them. Borrowed; NULL: unknown, as at first.
void bpt_runner_set_labels(bpt_runner_t *runner, const char *const *labels);
const char *const *bpt_runner_labels(const bpt_runner_t *runner);
bpt_dtype_t bpt_runner_precision(const bpt_runner_t *runner);
bpt_weights_form_t bpt_runner_weights(const bpt_runner_t *runner);
struct bpt_device *bpt_runner_device(const bpt_runner_t *runner);
bpt_ranks_t *bpt_runner_ranks(const bpt_runner_t *runner);
bool bpt_runner_is_linked(const bpt_runner_t *runner);  // the ranks' devices exchange memory without their hosts
// Whether ranks share each sequence. Then every rank's loss of a training step is that of its range, and evaluations are those of whole
// sequences on all ranks; logits, states and gradients are not to be asked for.
bool bpt_runner_splits(const bpt_runner_t *runner);
// To whom micro-batches are dealt out: micro-batch i is that of `rank`, where i modulo `size` is it. One rank has all where it is alone, or
// ranks share each sequence.
bpt_shard_t bpt_runner_turn(const bpt_runner_t *runner);
// Rows of states and of their gradients that this rank has given to others for shared sequences, and their bytes.
void bpt_runner_exchanged(const bpt_runner_t *runner, uint64_t *rows, uint64_t *bytes);
struct bpt_buffer *bpt_runner_state(const bpt_runner_t *runner, bpt_step_state_t state);
uint64_t bpt_runner_device_bytes(const bpt_runner_t *runner);  // states and workspace

// ---- Parameters
bpt_status_t bpt_runner_init(bpt_runner_t *runner, uint64_t seed) BPT_MUST_USE;
// Files: strictly of this configuration (its metadata are not read here: bpt_model_file_config). `non_finite`: numbers that are not finite
// are taken, not refused. *sum is that of the file; NULL: not wanted.
bpt_status_t bpt_runner_load(bpt_runner_t *runner, const char *path, bool non_finite, bpt_checksum_t *sum) BPT_MUST_USE;
bpt_status_t bpt_runner_save(bpt_runner_t *runner, const char *path, bpt_checksum_t *sum) BPT_MUST_USE;
bpt_status_t bpt_runner_save_to(bpt_runner_t *runner, bpt_safetensors_writer_t *writer) BPT_MUST_USE;  // which may have other metadata
bpt_status_t bpt_runner_load_moments(bpt_runner_t *runner, const char *path, bool non_finite, bpt_checksum_t *sum) BPT_MUST_USE;
// With a sharded optimizer every rank calls it, and the one that has a path gets the parts of all and writes them.
bpt_status_t bpt_runner_save_moments(bpt_runner_t *runner, const char *path, bpt_checksum_t *sum) BPT_MUST_USE;
// For a new run: the weights of another model's file. Row i of the embedding is row tokens[i] of the file's, row i of the head row
// outputs[i]; -1: an initial value from `seed`; NULL: the same rows. What is taken and what is new is said. `non_finite` as above.
// `other_task`: what the head has beside its outputs, and the file has not, begins with initial values too.
typedef struct {
    const int64_t *tokens, *outputs;
    bool other_task;
} bpt_taken_rows_t;
bpt_status_t bpt_runner_take(bpt_runner_t *runner, const char *path, const bpt_taken_rows_t *rows, uint64_t seed,
                             bool non_finite) BPT_MUST_USE;
bpt_status_t bpt_runner_set(bpt_runner_t *runner, const char *name, const float *values) BPT_MUST_USE;  // one whole parameter
bpt_status_t bpt_runner_get(bpt_runner_t *runner, const char *name, float *values) BPT_MUST_USE;
// What a task knows of the model when it measures and decodes (models/tasks/task.h), as the weights are now; out->weights is freed with
// bpt_free.
bpt_status_t bpt_runner_task_model(bpt_runner_t *runner, bpt_task_model_t *out) BPT_MUST_USE;

// ---- Training: one micro-batch; the last one of an optimiser step also updates the parameters.
typedef struct {
    uint64_t rng;        // key of the micro-step's random numbers
    float lr, clip;      // clip 0: none
    float bias1, bias2;  // 1 - beta^t
    float loss_scale;    // 1 but for f16
    int32_t first_head;  // encoder.h
    bool sends;          // the last micro-batch of this rank in a step of several: its sums go to the others while it is computed
} bpt_update_t;

typedef struct {
    double loss;       // this micro-batch's share of the step's mean loss
    double grad_norm;  // before clipping; of the whole step, when batch->last
    bool updated;      // false: not the last micro-batch, or a gradient was not finite and nothing was changed
} bpt_update_result_t;

bpt_status_t bpt_runner_train(bpt_runner_t *runner, const bpt_batch_t *batch, const bpt_update_t *update,
                              bpt_update_result_t *result) BPT_MUST_USE;
// The end of an optimiser step of several ranks, each of which has trained on its micro-batches with batch->last false (none: `idle`): adds
// the gradients of all and updates the parameters, which are then the same on every rank. Gradients that bpt_update_t.sends has sent are
// only waited for.
bpt_status_t bpt_runner_update_together(bpt_runner_t *runner, const bpt_update_t *update, bool idle,
                                        bpt_update_result_t *result) BPT_MUST_USE;
// Instead of it, on all ranks: the step is passed over.
bpt_status_t bpt_runner_pass_over(bpt_runner_t *runner) BPT_MUST_USE;
// BPT_ERR_UNSUPPORTED on every rank where the parameters of one are not those of rank 0, bit for bit; `why` ends the message.
bpt_status_t bpt_runner_compare_parameters(bpt_runner_t *runner, const char *why) BPT_MUST_USE;
// Compiles what training needs for a shape, so that the first step is not slower and memory runs out early. `alone`: one micro-batch a
// step.
bpt_status_t bpt_runner_prepare(bpt_runner_t *runner, const bpt_batch_shape_t *shape, int32_t first_head, bool alone) BPT_MUST_USE;
// BPT_ERR_NUMERIC that names the first parameter whose gradient is not finite, or the loss when that is not; `step` begins the message.
bpt_status_t bpt_runner_explain(bpt_runner_t *runner, int64_t step, double loss) BPT_MUST_USE;

// ---- Evaluation, without dropout
// nll as batch->targets (0 where the weight is 0); NULL: not wanted. *loss = sum of weights * nll.
bpt_status_t bpt_runner_evaluate(bpt_runner_t *runner, const bpt_batch_t *batch, float *nll, double *loss) BPT_MUST_USE;
// [targets, outputs of the task]; a task with targets for each token has one for each row.
bpt_status_t bpt_runner_logits(bpt_runner_t *runner, const bpt_batch_t *batch, float *logits) BPT_MUST_USE;
// The states behind the last layer (of a translator its encoder's, of the first side): of tokens [rows, d]; of whole texts [batch, d],
// where the task takes these; of relays [batch, d], where the kind has them. NULL: not wanted.
typedef struct {
    float *tokens, *pooled, *relay;
} bpt_runner_states_t;
bpt_status_t bpt_runner_states(bpt_runner_t *runner, const bpt_batch_t *batch, const bpt_runner_states_t *out) BPT_MUST_USE;
// Adds the gradient of sum weights * nll to the sums (first: starts them); *loss as above.
bpt_status_t bpt_runner_gradient(bpt_runner_t *runner, const bpt_batch_t *batch, bool first, double *loss) BPT_MUST_USE;
// Writes the sums times `scale` as safetensors under the parameters' names; BPT_ERR_NUMERIC when one is not finite.
bpt_status_t bpt_runner_save_gradient(bpt_runner_t *runner, double scale, const char *path) BPT_MUST_USE;
// The sums, in the layout of the trained part of the arena (params.h).
bpt_status_t bpt_runner_read_gradient(bpt_runner_t *runner, float *out) BPT_MUST_USE;

// ---- Several models that answer as one
// An ensemble: the probability of an answer is the mean of the probabilities that they give it, as of
// Lakshminarayanan et al. 2017; of predicted numbers it is their mean. The mean is that of the probabilities, not of their logarithms: the
// models are then one distribution (a mixture), whose loss is never above the mean of their losses (Jensen), each nll of a target or a
// sequence follows from theirs alone, and one model that is sure of a mistake does not decide. The models may be of different kinds and
// sizes; they read the same tokens. Logits of a runner that others have joined are logarithms of such means.
// From now on evaluations and logits of `runner`, and decoders that are made on it, are those of both. `other` is borrowed and must outlive
// it. BPT_ERR_USAGE: they do different tasks, read or give different things, or have a CRF, whose answers are not those of single tokens.
// States and gradients stay those of `runner` alone, and nothing is trained.
bpt_status_t bpt_runner_join(bpt_runner_t *runner, bpt_runner_t *other) BPT_MUST_USE;
int bpt_runner_others(const bpt_runner_t *runner);
bpt_runner_t *bpt_runner_other(const bpt_runner_t *runner, int which);
// Of all of them: whether they read packed rows (models/kinds/kind.h); the fewest positions, 0: any number of tokens.
bool bpt_runner_packs(const bpt_runner_t *runner);
int64_t bpt_runner_positions(const bpt_runner_t *runner);

// ---- Plans and timings
// The memory plan of a step, without device memory; a map of it to `map` unless NULL.
bpt_status_t bpt_runner_plan(bpt_runner_t *runner, const bpt_step_key_t *key, bpt_plan_summary_t *summary, FILE *map) BPT_MUST_USE;
// The compiled program of a step (for timings), owned by the runner.
bpt_status_t bpt_runner_program(bpt_runner_t *runner, const bpt_step_key_t *key, bpt_program_t **out) BPT_MUST_USE;

#endif
