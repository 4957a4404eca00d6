// Inside of a trainer, shared by trainer.c and trainer_run.c.
#ifndef BPT_TRAIN_TRAINER_INTERNAL_H
#define BPT_TRAIN_TRAINER_INTERNAL_H

#include "models/train/trainer.h"

struct bpt_trainer {
    bpt_trainer_options_t options;
    bpt_model_config_t model;
    bpt_train_config_t train;
    bpt_run_t *run;  // to write; NULL: another rank writes, or nobody
    double epochs;   // of the whole schedule
    bpt_runner_t *runner;
    bpt_run_state_t state;
    int32_t first_head;  // what the programs were made for
    int64_t saved_step;  // -1: nothing saved yet
    struct {
        double start;
        int64_t tokens;
    } window;  // for the throughput since the last line of this process; losses are in state
};

// Makes the program of the largest shape for the active heads of an epoch.
bpt_status_t bpt_trainer_prepare(bpt_trainer_t *trainer, int64_t epoch) BPT_MUST_USE;
bpt_status_t bpt_trainer_save(bpt_trainer_t *trainer, bool is_best) BPT_MUST_USE;
// Training ends because of `status`, whose message is set: the steps since the last checkpoint are saved if there is room for them, and the
// message says what became of them. Returns `status`.
bpt_status_t bpt_trainer_rescue(bpt_trainer_t *trainer, bool is_best, bpt_status_t status) BPT_MUST_USE;

#endif
