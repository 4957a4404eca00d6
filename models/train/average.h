// The mean of the weights of a run's last checkpoints. Knows no device and no command line.
#ifndef BPT_TRAIN_AVERAGE_H
#define BPT_TRAIN_AVERAGE_H

#include "models/nn/params.h"
#include "models/train/checkpoint.h"

typedef struct {
    bpt_model_config_t config;
    bpt_params_t params;
    float *arena;           // [params.elements], the means: added in double in the order of the steps, rounded once
    bpt_run_state_t state;  // of the last of the checkpoints
    int64_t first_step;     // of the first
} bpt_average_t;

// The `last` >= 1 checkpoints with the highest steps, each checked as bpt_checkpoint_load does. BPT_ERR_INPUT: there are fewer, one is
// damaged or of another configuration, or a mean is not finite. Freed by the caller also after a failure.
bpt_status_t bpt_average_read(const bpt_run_t *run, int64_t last, bpt_average_t *out) BPT_MUST_USE;
void bpt_average_free(bpt_average_t *average);

#endif
