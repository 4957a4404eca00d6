// How files of examples and of running text are read: what the options of the data say, for a model and a file.
#ifndef BPT_TOOLS_EXAMPLE_OPTIONS_H
#define BPT_TOOLS_EXAMPLE_OPTIONS_H

#include "data/examples/examples.h"
#include "tools/bpt/options/options.h"

// `known`: the labels of the model, if it is trained. `path`: of the file, whose name may say its format; NULL: none.
bpt_status_t cli_examples_options(const cli_data_options_t *data, const bpt_model_config_t *model, bpt_unit_t unit,
                                  const bpt_labels_t *known, const char *path, bpt_examples_options_t *out) BPT_MUST_USE;
// Whether a file is a table whose first line may have the names of its columns, which are counted or named by options.
bool cli_examples_is_table(const cli_data_options_t *data, const bpt_model_config_t *model, bpt_unit_t unit, const char *path);
// BPT_ERR_USAGE where every phrase is to be an example (--subtrees) and files of the format have no phrases.
bpt_status_t cli_examples_check_subtrees(const cli_data_options_t *data, const bpt_model_config_t *model,
                                         bpt_format_id_t format) BPT_MUST_USE;
// Of the options of a run's data those that are given anew for a file that its model reads.
void cli_examples_given(const cli_options_t *o, cli_data_options_t *data);
// For a file that a trained model reads: takes out of the options of its run what goes with files of other formats, such as the numbers of
// columns where this file has none. What a person gives stays.
void cli_examples_fit(const cli_options_t *o, const bpt_model_config_t *model, bpt_unit_t unit, const char *path, cli_data_options_t *data);

// How files of running text are read, which is as they are unless --format says another way; `field`: the name of the field of the text.
bpt_status_t cli_running_options(const cli_data_options_t *data, const bpt_model_config_t *model, const char *field,
                                 bpt_running_t *out) BPT_MUST_USE;
// Says that a file is read as it is, where its name says a format with texts in it.
void cli_running_warn(const char *path);

#endif
