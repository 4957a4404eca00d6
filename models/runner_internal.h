// Inside of a runner, shared by runner.c and runner_file.c.
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
    bool finite;  // all losses of the optimiser step so far
};

size_t bpt_runner_state_bytes(const bpt_runner_t *runner, bpt_step_state_t state);
bpt_status_t bpt_runner_need_state(bpt_runner_t *runner, bpt_step_state_t state) BPT_MUST_USE;

#endif
