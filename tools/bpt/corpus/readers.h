// What a task reads, as far as the program is concerned: how texts become batches for training and for evaluation, and what follows for
// the options. One reader a file (read_<name>.c), one line in readers.def for each bpt_task_reads_t; tasks say which one is theirs.
#ifndef BPT_TOOLS_READERS_H
#define BPT_TOOLS_READERS_H

#include "tools/bpt/corpus/loaded.h"

// What a first pass over the data takes.
enum { CLI_SCAN_WORDS = 1 << 0, CLI_SCAN_LABELS = 1 << 1 };

typedef struct {
    bpt_unit_t unit;           // --unit where it is not given
    const char *batch_option;  // the option that makes a step smaller

    // What a model cannot read, in training as afterwards: options of data that do not go with it or with each other.
    bpt_status_t (*check_data)(const cli_data_options_t *data, const bpt_model_config_t *model);
    // Further combinations of options of `train` that cannot be; the options are filled in already.
    bpt_status_t (*check)(const cli_options_t *o);
    // What the options tell of the model's lengths (rel_levels, max_positions), before data are read. NULL: nothing.
    void (*fill_from_options)(cli_options_t *o);
    // The same, from the data; a text that is too long for the options is an error. NULL: nothing.
    bpt_status_t (*fill_from_data)(cli_options_t *o, const cli_corpus_t *corpus);

    // Data that are no text: makes all parts of the corpus, or the examples to be evaluated; *done = false: the data are text. NULL:
    // always.
    bpt_status_t (*make)(cli_options_t *o, cli_corpus_t *corpus, bool *done);
    bpt_status_t (*make_eval)(const cli_options_t *o, const bpt_paths_t *paths, const cli_trained_t *trained, cli_eval_data_t *data,
                              bool *done);

    // Whether the texts that are translated have a vocabulary of their own (corpus->source_vocab). NULL: there is one vocabulary.
    bool (*has_two_vocabularies)(const cli_options_t *o);
    // Opens corpus->split, and corpus->target where translations are in files of their own. NULL: the data are files or folders.
    bpt_status_t (*open_files)(const cli_options_t *o, cli_corpus_t *corpus);

    // Opens whole files of data as one text. NULL: the text is the files as they are.
    bpt_status_t (*open_text)(const cli_data_options_t *data, const bpt_model_config_t *model, const bpt_paths_t *paths, bpt_text_t **out);
    // Opens the parts of folders or files. NULL: the texts are the files as they are.
    bpt_status_t (*open_split)(const cli_data_options_t *data, const bpt_model_config_t *model, const bpt_paths_t *paths, bpt_split_t *out);
    // Opens the parts of files without parts, for this seed. NULL: they follow one another in the file, cut between lines, characters or
    // bytes.
    bpt_status_t (*cut_file)(const cli_data_options_t *data, const bpt_model_config_t *model, uint64_t seed, const bpt_paths_t *paths,
                             bpt_split_t *out);

    // Counts the words of a part of the data into the vocabularies of the corpus, and collects its labels, as far as they are wanted
    // (CLI_SCAN_WORDS, ..).
    bpt_status_t (*scan)(const cli_options_t *o, int part, unsigned what, cli_corpus_t *corpus);
    // Reads a part of the data into the corpus.
    bpt_status_t (*encode)(const cli_options_t *o, const bpt_range_t *text, int part, cli_corpus_t *corpus);
    // Makes corpus->train and, where there is something to validate on, corpus->valid.
    bpt_status_t (*open)(const cli_options_t *o, cli_corpus_t *corpus);
    // Makes data->source for a trained model.
    bpt_status_t (*open_eval)(const cli_options_t *o, const bpt_range_t *text, cli_trained_t *trained, cli_eval_data_t *data);
} cli_reader_t;

// The parts of folders or files.
bpt_status_t cli_split_open(const cli_data_options_t *data, const bpt_model_config_t *model, uint64_t seed, const bpt_paths_t *paths,
                            bpt_split_t *out) BPT_MUST_USE;
// Whether a trained model can read data as config.json of its run at `path` says; BPT_ERR_INPUT.
bpt_status_t cli_check_stored_data(const cli_data_options_t *stored, const bpt_model_config_t *model, const char *path) BPT_MUST_USE;

// The parts of one language of texts that are translated.
bpt_status_t cli_language_open(const cli_data_options_t *data, const bpt_model_config_t *model, const bpt_paths_t *paths,
                               const char *language, bpt_split_t *out) BPT_MUST_USE;
extern const cli_reader_t cli_reader_translations;  // of tasks with two sides

const cli_reader_t *cli_reader_of(const bpt_model_config_t *config);

#endif
