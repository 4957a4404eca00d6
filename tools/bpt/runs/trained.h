// A trained model opened for use: checkpoint, configuration, vocabulary, device, parameters. Knows no command.
#ifndef BPT_TOOLS_TRAINED_H
#define BPT_TOOLS_TRAINED_H

#include "tools/bpt/corpus/loaded.h"

// The run that is the first argument, at --checkpoint, on the device of the global options; and those of --with, at their best checkpoint,
// which answer together with it (bpt_runner_join).
bpt_status_t cli_trained_open(const cli_options_t *o, cli_trained_t *out) BPT_MUST_USE;
void cli_trained_close(cli_trained_t *trained);

// Room for the tokens of a text that the model is given: its positions, and --longest or what suits the model.
bpt_room_t cli_trained_room(const cli_options_t *o, const cli_trained_t *trained);

// What opening a run needs first, for commands that use no device: run, checkpoint, config, stored, unit.
bpt_status_t cli_trained_open_files(const cli_options_t *o, cli_trained_t *out) BPT_MUST_USE;
// The same for a run named by its path; checkpoint NULL: best, else latest.
bpt_status_t cli_trained_open_run(const char *path, const char *checkpoint, cli_trained_t *out) BPT_MUST_USE;
// A file of `bpt export`: config, stored, unit, vocabulary and labels; there is no run and no checkpoint.
bpt_status_t cli_trained_open_exported(const char *path, cli_trained_t *out) BPT_MUST_USE;
// Its vocabulary and labels.
bpt_status_t cli_trained_open_texts(const cli_options_t *o, cli_trained_t *trained) BPT_MUST_USE;
// Where there is no vocabulary: ids below the model's, or bytes. Where labels have no names: their numbers.
bpt_status_t cli_trained_plain_vocab(cli_trained_t *trained) BPT_MUST_USE;
bpt_status_t cli_trained_number_labels(cli_trained_t *trained) BPT_MUST_USE;

#endif
