// A trained model opened for use: checkpoint, configuration, vocabulary, device, parameters. Knows no command.
#ifndef BPT_TOOLS_TRAINED_H
#define BPT_TOOLS_TRAINED_H

#include "bpt/backend.h"
#include "data/examples.h"
#include "models/train/checkpoint.h"
#include "tools/bpt/options/options.h"

typedef struct {
    bpt_run_t *run;
    bpt_checkpoint_t checkpoint;
    bpt_model_config_t config;  // the checkpoint's
    cli_options_t stored;       // the run's config.json, as of `train`
    bpt_unit_t unit;
    bpt_vocab_t *vocab;         // of the run, or of --unit ids
    bpt_vocab_t *source_vocab;  // of the texts that are translated; NULL: the same
    bpt_labels_t labels;        // names of classes, or of labels that nodes begin with; their numbers when the run has no labels.txt
    bpt_device_t *device;
    bpt_runner_t *runner;
} cli_trained_t;

// The run that is the first argument, at --checkpoint, on the device of the global options.
bpt_status_t cli_trained_open(const cli_options_t *o, cli_trained_t *out) BPT_MUST_USE;
void cli_trained_close(cli_trained_t *trained);

// Room for the tokens of a text that the model is given: its positions, and --longest or what suits the model.
bpt_room_t cli_trained_room(const cli_options_t *o, const cli_trained_t *trained);

// What opening a run needs first, for commands that use no device: run, checkpoint, config, stored, unit.
bpt_status_t cli_trained_open_files(const cli_options_t *o, cli_trained_t *out) BPT_MUST_USE;
// The same for a run named by its path; checkpoint NULL: best, else latest.
bpt_status_t cli_trained_open_run(const char *path, const char *checkpoint, cli_trained_t *out) BPT_MUST_USE;
// Its vocabulary and labels.
bpt_status_t cli_trained_open_texts(const cli_options_t *o, cli_trained_t *trained) BPT_MUST_USE;
// Where there is no vocabulary: ids below the model's, or bytes. Where labels have no names: their numbers.
bpt_status_t cli_trained_plain_vocab(cli_trained_t *trained) BPT_MUST_USE;
bpt_status_t cli_trained_number_labels(cli_trained_t *trained) BPT_MUST_USE;

#endif
