// Trains a model: steps of accumulated micro-batches, schedules, evaluation, logs, checkpoints, exact resumption.
// Knows no command line and no file format of data.
#ifndef BPT_TRAIN_TRAINER_H
#define BPT_TRAIN_TRAINER_H

#include "models/train/checkpoint.h"
#include "models/train/metrics.h"

typedef struct {
    const bpt_model_config_t *model;  // copied
    const bpt_train_config_t *train;  // copied; steps 0 is resolved from epochs
    struct bpt_device *device;
    bpt_batch_source_t *train_data, *valid_data;  // valid_data may be NULL: no evaluation
    bpt_run_t *run;                               // created or resumed; NULL: nothing is written
    bool resume;                                  // go on from run's latest checkpoint
    // Ranks that train together, each with a trainer of the same options; NULL: this process alone. Rank 0 writes the run, others may have
    // one to resume from. A failure is the same on all ranks where bpt_trainer_failed_together says so; else the others wait for this one
    // and are to be ended (bpt_ranks_abort).
    bpt_ranks_t *ranks;
    bool shard_optimizer;            // runner.h
    bool split_sequence;             // the same
    const bpt_checkpoint_t *init;    // weights to start from, NULL: initial values from train->seed
    const char *init_file;           // or a model file that is in no run
    bpt_taken_rows_t init_rows;      // which of their rows
    const char *data;                // fingerprint of the data; a resumed run must have the same. NULL: unknown
    const bpt_run_origin_t *origin;  // of config.json, to be listed. NULL: it has none
    bool characters;                 // lm: evaluations have bits per character, else perplexity
    const double *unknown_share;     // of the validation data, for the lines of metrics; NULL: not known
    // Called after every line of metrics, of training and of evaluations (line->eval), once it is written. May be NULL.
    void (*on_line)(void *user, const bpt_metrics_line_t *line);
    bool (*should_stop)(void *user);  // asked before every step and in evaluations; true: save, BPT_ERR_INTERRUPTED. May be NULL.
    // The metric that best_by names, where it is one of written texts (models/tasks/task.h): called in every evaluation, on every rank, for
    // a number that is the same on all of them, without touching the parameters. BPT_ERR_INTERRUPTED on all ranks: the evaluation was left.
    // NULL: best_by must be another one.
    bpt_status_t (*score_texts)(void *user, bpt_runner_t *runner, double *score);
    void *user;
} bpt_trainer_options_t;

typedef struct bpt_trainer bpt_trainer_t;

// Loads or initialises the parameters (BPT_ERR_USAGE when a resumed run is behind its end already), and compiles the program of the largest
// shape; others follow when first seen.
bpt_status_t bpt_trainer_create(const bpt_trainer_options_t *options, bpt_trainer_t **out) BPT_MUST_USE;
void bpt_trainer_destroy(bpt_trainer_t *trainer);
bpt_runner_t *bpt_trainer_runner(bpt_trainer_t *trainer);  // for word vectors before the first step, evaluation after the last
const bpt_run_state_t *bpt_trainer_state(const bpt_trainer_t *trainer);
const bpt_train_config_t *bpt_trainer_config(const bpt_trainer_t *trainer);  // with steps resolved

// To the end (train->steps, or stop_at). BPT_ERR_INTERRUPTED after a saved stop; BPT_ERR_NUMERIC when a loss or gradient is not
// finite: the parameters are those of the step before. Nothing is allocated between logs but on a first-seen shape.
bpt_status_t bpt_trainer_run(bpt_trainer_t *trainer) BPT_MUST_USE;

// Whether the patience of the configuration is at its end: the training ends before its last step.
bool bpt_trainer_waited_enough(const bpt_trainer_t *trainer);

// Whether training with this configuration needs `score_texts`.
bool bpt_trainer_scores_texts(const bpt_model_config_t *model, const bpt_train_config_t *train);

// Whether a failure of bpt_trainer_run with this status comes to every rank: a stop, a loss that is not finite.
bool bpt_trainer_failed_together(bpt_status_t status);

// What bpt_trainer_create makes of a train configuration; for benchmarks and plans.
bpt_runner_options_t bpt_trainer_runner_options(const bpt_train_config_t *train);
// Optimiser steps of the configuration: steps, or else epochs * steps_per_epoch; BPT_ERR_USAGE when neither is given.
bpt_status_t bpt_trainer_resolve_steps(bpt_train_config_t *train, int64_t steps_per_epoch) BPT_MUST_USE;
// The step after which a run ends: stop_at or steps.
int64_t bpt_trainer_end(const bpt_train_config_t *train);
// Size of a checkpoint's files.
uint64_t bpt_trainer_checkpoint_bytes(const bpt_params_t *params);

#endif
