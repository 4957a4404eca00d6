// Inside of a runner, shared by runner.c and the other runner_*.c.
#ifndef BPT_MODELS_RUNNER_INTERNAL_H
#define BPT_MODELS_RUNNER_INTERNAL_H

#include "bpt/buffer.h"
#include "models/runner.h"

struct bpt_runner {
    bpt_model_config_t config;
    bpt_runner_options_t options;
    bpt_params_t params;
    struct bpt_device *device;
    bpt_workspace_t *workspace;
    struct bpt_buffer *states[BPT_N_STATES];  // made when first needed
    bpt_model_step_t **steps;
    size_t n_steps, step_capacity;
    bool summed;  // the gradients of the last step are in the sums
    const char *const *labels;
    bool finite;    // all losses of the optimiser step so far
    float *bucket;  // on the host, for sums over ranks; made when first needed
};

// The program of a step, made when first needed.
bpt_status_t bpt_runner_step(bpt_runner_t *runner, const bpt_step_key_t *key, bpt_model_step_t **out) BPT_MUST_USE;
extern const bpt_step_key_t bpt_runner_apply_key;
bpt_status_t bpt_runner_read_scalar(bpt_program_t *program, bpt_value_t value, double *out) BPT_MUST_USE;
bpt_status_t bpt_runner_write_hyper(bpt_model_step_t *step, const bpt_update_t *update) BPT_MUST_USE;
// What a step says of its norm, by the sum of squares that the device clips with, which is an f32.
void bpt_runner_note_norm(double square_sum, const bpt_update_t *update, bpt_update_result_t *result);
// Clipping and Adam on the sums, of all parameters.
bpt_status_t bpt_runner_apply(bpt_runner_t *runner, const bpt_update_t *update, bpt_update_result_t *result) BPT_MUST_USE;
// A state of which each rank has its own slices, whole on the host: to `out` [trained_elements], or to nowhere where it is NULL. With a
// sharded optimizer all ranks call it.
bpt_status_t bpt_runner_collect(bpt_runner_t *runner, bpt_step_state_t state, float *out) BPT_MUST_USE;
// And back: the own slices of `values`.
bpt_status_t bpt_runner_store_own(bpt_runner_t *runner, bpt_step_state_t state, const float *values) BPT_MUST_USE;

// runner_split.c: what follows from options.split_sequence; the exchanges of a step's program; the evaluation of whole sequences from those
// of all ranges, as bpt_runner_evaluate gives it.
bpt_status_t bpt_runner_split(bpt_runner_t *runner) BPT_MUST_USE;
void bpt_runner_connect(const bpt_runner_t *runner, bpt_model_step_t *step);
bpt_status_t bpt_runner_join_evaluation(bpt_runner_t *runner, const bpt_model_step_t *step, float *nll, double *loss) BPT_MUST_USE;

size_t bpt_runner_state_bytes(const bpt_runner_t *runner, bpt_step_state_t state);
bpt_status_t bpt_runner_need_state(bpt_runner_t *runner, bpt_step_state_t state) BPT_MUST_USE;

#endif
