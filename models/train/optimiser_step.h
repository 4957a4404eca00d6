// One optimiser step: micro-batches until the last one, then an update of the parameters. Knows no schedule, no log and no files.
#ifndef BPT_TRAIN_OPTIMISER_STEP_H
#define BPT_TRAIN_OPTIMISER_STEP_H

#include "models/run/runner.h"
#include "models/train/run_state.h"

typedef struct {
    bpt_runner_t *runner;
    bpt_batch_source_t *source;
    uint64_t seed;              // of dropout
    double beta1, beta2, clip;  // betas as the runner's; clip 0: none
    // Asked with the first micro-batch: the learning rate of the step, and the first layer that has a loss (encoder.h).
    bpt_status_t (*begin)(void *user, const bpt_batch_t *batch, double *lr, int32_t *first_head);
    void *user;
} bpt_optimiser_step_t;

typedef struct {
    double loss, lr, grad_norm;  // loss: the mean over what is scored; grad_norm: before clipping
    int64_t tokens;              // real leaves
    bool updated;                // false: a gradient in f16 was not finite, nothing was changed, the loss scale is halved
} bpt_step_result_t;

// The step after state->step; `state` then stands behind it: steps, tokens, epoch, losses, loss scale. BPT_ERR_NUMERIC when a loss or a
// gradient is not finite: the parameters and `state` are as before.
bpt_status_t bpt_optimiser_step(const bpt_optimiser_step_t *step, bpt_run_state_t *state, bpt_step_result_t *result) BPT_MUST_USE;

#endif
