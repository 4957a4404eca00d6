// vocab.txt, source_vocab.txt, subword.model, labels.txt and what config.json says of reading text, of a run that is used or resumed, held
// against its checkpoint and its model. Knows no command.
#ifndef BPT_TOOLS_SIDE_FILES_H
#define BPT_TOOLS_SIDE_FILES_H

#include "bpt/safetensors.h"
#include "data/examples/examples.h"
#include "models/api/side_texts.h"
#include "tools/bpt/options/options.h"

// BPT_ERR_INPUT unless the file is the one that state.json lists, where it lists files, and has a line for each token (label) of the model.
bpt_status_t cli_run_vocab(const bpt_checkpoint_t *checkpoint, bpt_unit_t unit, bool lower, bpt_vocab_t **out) BPT_MUST_USE;
// Of the texts that are translated; *out NULL: they share the other one.
bpt_status_t cli_run_source_vocab(const bpt_checkpoint_t *checkpoint, bpt_unit_t unit, bool lower, bpt_vocab_t **out) BPT_MUST_USE;
bpt_status_t cli_run_labels(const bpt_checkpoint_t *checkpoint, bpt_labels_t *out) BPT_MUST_USE;
// `stored`: the options of the run's config.json.
bpt_status_t cli_check_reading(const bpt_checkpoint_t *checkpoint, const cli_options_t *stored) BPT_MUST_USE;
// The text of such a file as it stands, checked in the same way, freed with bpt_free; NULL when there is none and there should be none.
bpt_status_t cli_run_text(const bpt_checkpoint_t *checkpoint, bpt_run_file_t file, bpt_unit_t unit, bool lower, char **out) BPT_MUST_USE;
// subword.model, likewise: its bytes, and the same in base64.
bpt_status_t cli_run_subword_model(const bpt_checkpoint_t *checkpoint, char **model, size_t *bytes) BPT_MUST_USE;
bpt_status_t cli_run_subwords(const bpt_checkpoint_t *checkpoint, char **out) BPT_MUST_USE;
// What the metadata of a model file that is in no run say of reading text (unit, lower, eval-context) and examples (CLI_READING_KEY),
// checked, into `said`, options of `train`; a file from elsewhere may leave them out: then only numbers can be read.
#define CLI_READING_KEY "reading"  // the options that go with a model file, as JSON text; files of versions before have none
bpt_status_t cli_file_reading(const bpt_safetensors_t *file, cli_options_t *said) BPT_MUST_USE;
// Its vocabulary and labels, which must be of its model's sizes; NULL, empty where it has none.
bpt_status_t cli_file_vocab(const bpt_safetensors_t *file, const bpt_model_config_t *config, const cli_options_t *said,
                            bpt_vocab_t **out) BPT_MUST_USE;
bpt_status_t cli_file_source_vocab(const bpt_safetensors_t *file, const bpt_model_config_t *config, const cli_options_t *said,
                                   bpt_vocab_t **out) BPT_MUST_USE;
bpt_status_t cli_file_labels(const bpt_safetensors_t *file, const bpt_model_config_t *config, bpt_labels_t *out) BPT_MUST_USE;

#endif
