// What is loaded: the data of a training run, a trained model, data to evaluate it on. Who opens them: corpus.h, trained.h, eval_data.h.
#ifndef BPT_TOOLS_LOADED_H
#define BPT_TOOLS_LOADED_H

#include "bpt/backend.h"
#include "data/examples/examples.h"
#include "data/examples/fingerprint.h"
#include "data/examples/split.h"
#include "models/train/checkpoint.h"
#include "tools/bpt/options/options.h"

// The data of a training run.
typedef struct {
    bpt_split_t split;   // open as long as ids are its bytes
    bpt_split_t target;  // translations of its lines, where they are in files of their own
    bpt_split_t trees;   // over its lines, likewise
    bpt_vocab_t *vocab;
    bpt_vocab_t *source_vocab;  // of the texts that are translated; NULL: the same
    bpt_ids_t ids[BPT_PARTS];   // lm: the tokens of each part
    bpt_labels_t labels;        // classify
    bpt_scheme_signs_t signs;   // of the tags of the training data, where they are converted
    float *class_weights;       // of each class in the loss that is trained; NULL: 1
    bpt_examples_t examples[BPT_PARTS];
    char fingerprint[BPT_FINGERPRINT_BYTES];  // of the training data
    bpt_batch_source_t *train, *valid;        // valid NULL: none
} cli_corpus_t;

// A trained model.
typedef struct cli_trained {
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
    struct cli_trained *others;  // [n_others]: those that answer together with it, on its device (--with)
    size_t n_others;
} cli_trained_t;

// Data for a trained model to be evaluated on.
typedef struct {
    bpt_batch_source_t *source;
    bpt_split_t split;  // the text: of a part, or whole; open as long as ids are its bytes
    bpt_text_t *text;
    bpt_ids_t ids;             // lm
    bpt_scored_text_t scored;  // lm of words and subwords: the text that the scored tokens stand for
    uint32_t *line_ids;        // lm, --unit ids
    uint64_t *offsets;         // and where each line begins, one more than lines
    bpt_examples_t examples;   // classify
} cli_eval_data_t;

// The smallest vocabulary that has all tokens of these of all parts.
int64_t cli_corpus_largest_id(const cli_corpus_t *corpus, bool source, bool target);
uint64_t cli_corpus_bytes(const cli_corpus_t *corpus);  // that the data take, once they are read
// The tokens of a part, of all its examples for a classifier, of its sources for a translator; they belong to the corpus.
bpt_ids_t cli_corpus_tokens(const cli_corpus_t *corpus, int part);

#endif
