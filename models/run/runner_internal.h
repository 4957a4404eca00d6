// Inside of a runner, shared by runner.c and the other runner_*.c.
#ifndef BPT_MODELS_RUNNER_INTERNAL_H
#define BPT_MODELS_RUNNER_INTERNAL_H

#include "bpt/buffer.h"
#include "bpt/link.h"
#include "bpt/spill.h"
#include "models/run/runner.h"

// Sums of gradients on their way from rank to rank (runner_ranks.c); made when first needed.
typedef struct {
    float *host;        // the trained part of the arena
    uint64_t *tickets;  // [buckets]
    bool *final;        // [buckets]: this rank has added all that it adds
    int64_t sent;       // buckets, in the order of bpt_bucket_at
} bpt_exchange_t;

typedef struct bpt_runner_link bpt_runner_link_t;

struct bpt_runner {
    bpt_model_config_t config;
    bpt_runner_options_t options;
    bpt_params_t params;
    struct bpt_device *device;
    bpt_workspace_t *workspace;
    bpt_spill_t *spill;                       // inputs of layers on disk; NULL: they stay in memory
    struct bpt_buffer *states[BPT_N_STATES];  // made when first needed
    bpt_model_step_t **steps;
    size_t n_steps, step_capacity;
    bool summed;  // the gradients of the last step are in the sums
    const char *const *labels;
    bool rounded;           // its parameters are what 8 bits stand for
    bool finite;            // all losses of the optimiser step so far
    bpt_runner_t **others;  // that answer together with it (bpt_runner_join), not owned
    size_t n_others, other_capacity;
    bpt_exchange_t exchange;
    bpt_runner_link_t *link;  // of the ranks' devices; NULL: sums go through host memory
};

// bpt_runner_evaluate without those that have joined it.
bpt_status_t bpt_runner_evaluate_alone(bpt_runner_t *runner, const bpt_batch_t *batch, float *nll, double *loss) BPT_MUST_USE;

// The program of a step, made when first needed.
bpt_status_t bpt_runner_step(bpt_runner_t *runner, const bpt_step_key_t *key, bpt_model_step_t **out) BPT_MUST_USE;
extern const bpt_step_key_t bpt_runner_apply_key;
bpt_status_t bpt_runner_read_scalar(bpt_program_t *program, bpt_value_t value, double *out) BPT_MUST_USE;
bpt_status_t bpt_runner_write_hyper(bpt_model_step_t *step, const bpt_update_t *update) BPT_MUST_USE;
// What a step says of its norm, by the sum of squares that the device clips with, which is an f32.
void bpt_runner_note_norm(double square_sum, const bpt_update_t *update, bpt_update_result_t *result);
// Clipping and update by the sums, of all parameters.
bpt_status_t bpt_runner_apply(bpt_runner_t *runner, const bpt_update_t *update, bpt_update_result_t *result) BPT_MUST_USE;
// A state whole on the host: to `out` [trained_elements], or to nowhere where it is NULL. With a sharded optimizer each rank has its own
// slices of it, and all ranks call it.
bpt_status_t bpt_runner_collect(bpt_runner_t *runner, bpt_step_state_t state, float *out) BPT_MUST_USE;
// And back: the own slices of `values`.
bpt_status_t bpt_runner_store_own(bpt_runner_t *runner, bpt_step_state_t state, const float *values) BPT_MUST_USE;

// Runs a program that marks the buckets of the sums, and sends each to the other ranks when it is final.
bpt_status_t bpt_runner_run_sending(bpt_runner_t *runner, bpt_program_t *program) BPT_MUST_USE;
void bpt_runner_free_exchange(bpt_runner_t *runner);

// ---- Devices that are connected (runner_link.c). All but _destroy are collective.
bpt_status_t bpt_runner_link_create(bpt_runner_t *runner) BPT_MUST_USE;  // runner->link, where the devices can be
void bpt_runner_link_destroy(bpt_runner_t *runner);
// Begins with the next bucket, in the order of bpt_bucket_at; at the end the sums of all are on the device, with a sharded optimizer those
// of the own slices.
bpt_status_t bpt_runner_link_begin(bpt_runner_t *runner, int64_t bucket) BPT_MUST_USE;
bpt_status_t bpt_runner_link_end(bpt_runner_t *runner) BPT_MUST_USE;
// The own slice of a bucket of a state goes to all others; all such slices have come when _wait returns.
bpt_status_t bpt_runner_link_share(bpt_runner_t *runner, bpt_step_state_t state, bpt_elements_t bucket) BPT_MUST_USE;
bpt_status_t bpt_runner_link_wait(bpt_runner_t *runner) BPT_MUST_USE;

// ---- Ranks that share each sequence (runner_split.c): what follows from options.split_sequence; the exchanges of a step's program; the
// evaluation of whole sequences from those of all ranges, as bpt_runner_evaluate gives it.
bpt_status_t bpt_runner_split(bpt_runner_t *runner) BPT_MUST_USE;
void bpt_runner_connect(const bpt_runner_t *runner, bpt_model_step_t *step);
bpt_status_t bpt_runner_join_evaluation(bpt_runner_t *runner, const bpt_model_step_t *step, float *nll, double *loss) BPT_MUST_USE;

// ---- Models that answer together (runner_together.c)
// Adds what the others make of a batch to the logits, or the nll (in `loss` too), of the first.
bpt_status_t bpt_together_logits(bpt_runner_t *runner, const bpt_batch_t *batch, float *logits) BPT_MUST_USE;
bpt_status_t bpt_together_evaluate(bpt_runner_t *runner, const bpt_batch_t *batch, float *nll, double *loss) BPT_MUST_USE;

size_t bpt_runner_state_bytes(const bpt_runner_t *runner, bpt_step_state_t state);
bpt_status_t bpt_runner_need_state(bpt_runner_t *runner, bpt_step_state_t state) BPT_MUST_USE;

#endif
