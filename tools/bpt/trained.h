// A trained model opened for use: checkpoint, configuration, vocabulary, device, parameters. Knows no command.
#ifndef BPT_TOOLS_TRAINED_H
#define BPT_TOOLS_TRAINED_H

#include "backends/backend.h"
#include "models/runner.h"
#include "models/train/run_dir.h"
#include "tools/bpt/options.h"

typedef struct {
    bpt_run_t *run;
    char *folder;               // of the checkpoint
    bpt_model_config_t config;  // from the model file's metadata
    cli_options_t stored;       // the run's config.json, as of `train`
    bpt_unit_t unit;
    bpt_vocab_t *vocab;  // NULL: token numbers only
    char **labels;       // classify: names of the classes, NULL when the run has none
    size_t n_labels;
    bpt_device_t *device;
    bpt_runner_t *runner;
} cli_trained_t;

// The run that is the first argument, at --checkpoint, on the device of the global options.
bpt_status_t cli_trained_open(const cli_options_t *o, cli_trained_t *out) BPT_MUST_USE;
void cli_trained_close(cli_trained_t *trained);

// What opening a run needs first, for commands that use no device: run, folder, config, stored, unit.
bpt_status_t cli_trained_open_files(const cli_options_t *o, cli_trained_t *out) BPT_MUST_USE;

// A name for class `index`: its label, or its number ("class 3") when the run has no labels.
const char *cli_trained_label(const cli_trained_t *trained, int64_t index, char *buffer, size_t bytes);

#endif
