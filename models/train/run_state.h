// state.json of a checkpoint: where training stands, beside the weights and the optimiser's moments. The order of batches and
// dropout are functions of seed and step, so nothing else is needed to go on exactly. It also lists the checksums of the files that
// belong together, so that damaged and mixed ones are found (checkpoint.h). Knows nothing of tensors.
#ifndef BPT_TRAIN_RUN_STATE_H
#define BPT_TRAIN_RUN_STATE_H

#include "bpt/checksum.h"

// An evaluation that an interruption left undone, to be made up for before the next step. One that the schedule asked for moves the plateau
// schedule, the one at the end of a sitting does not.
typedef enum { BPT_NO_EVALUATION, BPT_EVALUATION_AT_END, BPT_EVALUATION_OF_SCHEDULE } bpt_evaluation_left_t;

// What belongs to a checkpoint beside state.json. The last three are no files of their own but of config.json: the model, as the text that
// is also in the model file's metadata (bpt_model_config_format); how the model reads text, which versions listed that knew no checksum of
// the whole file; and the checksum by which config.json says what training began with (run_config.h).
typedef enum {
    BPT_RUN_MODEL,
    BPT_RUN_OPTIMIZER,
    BPT_RUN_VOCAB,
    BPT_RUN_SOURCE_VOCAB,
    BPT_RUN_SUBWORDS,
    BPT_RUN_LABELS,
    BPT_RUN_CONFIG,
    BPT_RUN_READING,
    BPT_RUN_ORIGIN,
    BPT_RUN_FILES
} bpt_run_file_t;
extern const char *const bpt_run_file_names[BPT_RUN_FILES];

typedef struct {
    bool known;                  // false: written by a version without checksums
    bool listed[BPT_RUN_FILES];  // false: there was no such file
    bpt_checksum_t sum[BPT_RUN_FILES];
} bpt_run_sums_t;

typedef struct {
    int64_t step;    // optimiser steps done
    int64_t tokens;  // real leaves seen
    double epoch;    // epochs done, e.g. 1.25
    double seconds;  // training time so far, over all resumptions
    uint64_t seed;
    double best_loss;         // of all evaluations: the lowest loss, or what --best-by names (minus it, where higher is better); INFINITY
                              // before the first
    int64_t best_step;        // its step, -1 before the first evaluation
    int64_t waited;           // evaluations of the schedule since then; counted where --patience is set
    double plateau_factor;    // what the plateau schedule has made of the learning rate, 1 at the start
    double plateau_best;      // the loss that the plateau schedule compares with, INFINITY at the start
    double loss_scale;        // of f16 training, 1 otherwise
    int64_t scale_steps;      // steps since the loss scale last changed
    int64_t skipped_steps;    // of all steps, those that changed nothing because the scaled gradient was not finite
    double window_loss;       // sum of the finite losses of the steps since the last regular line of metrics
    int64_t window_steps;     // their number
    int64_t evaluation_left;  // bpt_evaluation_left_t
    char version[32];         // of the library that wrote the file
    char data[256];           // fingerprint of the training data, "" = unknown
    bpt_run_sums_t sums;
} bpt_run_state_t;

// A run before its first step.
void bpt_run_state_init(bpt_run_state_t *state, uint64_t seed);
// FOLDER/state.json. Writing puts this library's version in place of state->version. The reader is strict: a missing or unknown
// key, a wrong type or value is BPT_ERR_INPUT and names file and key; so is a file that does not match its own checksum.
bpt_status_t bpt_run_state_write(const char *folder, const bpt_run_state_t *state) BPT_MUST_USE;
bpt_status_t bpt_run_state_read(const char *folder, bpt_run_state_t *state) BPT_MUST_USE;

#endif
