// How a model reads text: unit, vocabulary and names of classes, from a run's files or a model file's metadata, and to them.
#ifndef BPT_MODELS_API_SIDE_TEXTS_H
#define BPT_MODELS_API_SIDE_TEXTS_H

#include "bpt/json.h"
#include "bpt/safetensors.h"
#include "data/examples/examples.h"
#include "models/train/checkpoint.h"

// Keys of the metadata of a model file.
#define BPT_SUBWORD_KEY "subword_model"
#define BPT_SOURCE_VOCAB_KEY "source_vocab"
#define BPT_SENTENCEPIECE_KEY "sentencepiece"  // of config.json too: the version that made the tokens of a model of subwords

typedef struct {
    bpt_unit_t unit;
    bool lower;                           // words are folded
    int64_t eval_context;                 // what `bpt eval` cuts a text into, 0: not said
    char *vocab, *source_vocab, *labels;  // the text of vocab.txt, source_vocab.txt and labels.txt, NULL: none
    char *sentencepiece;                  // version that made the tokens of subwords, NULL: not said
    bpt_vocab_t *vocabulary;
    bpt_vocab_t *source_vocabulary;  // of the texts that are translated; NULL: the same
    bpt_labels_t names;
} bpt_side_texts_t;

// Of a run: the keys of its config.json, vocab.txt, source_vocab.txt and labels.txt, held against the checkpoint's checksums and sizes.
bpt_status_t bpt_side_texts_of_run(const bpt_checkpoint_t *checkpoint, bpt_side_texts_t *out) BPT_MUST_USE;
// Of a model file: its metadata.
bpt_status_t bpt_side_texts_of_file(const bpt_safetensors_t *file, const bpt_model_config_t *config, bpt_side_texts_t *out) BPT_MUST_USE;
// Of a new model: bytes or numbers, by the name of the unit (NULL: ids).
bpt_status_t bpt_side_texts_of_unit(const char *unit, const bpt_model_config_t *config, bpt_side_texts_t *out) BPT_MUST_USE;
// The parts: a vocabulary and names of classes from the text of such a file, which must have a line for each token (class) of the model in
// `model`; BPT_ERR_INPUT, and nothing in *out.
bpt_status_t bpt_side_vocabulary(const bpt_range_t *text, bpt_unit_t unit, bool lower, const char *model, int64_t tokens,
                                 bpt_vocab_t **out) BPT_MUST_USE;
bpt_status_t bpt_side_names(const bpt_range_t *text, const char *model, int64_t classes, bpt_labels_t *out) BPT_MUST_USE;
// The model of a vocabulary of subwords: the run's subword.model, held against the checkpoint, or the metadata key "subword_model" of a
// file (base64). Of other vocabularies there is none. Another version of SentencePiece than that of the tokens is warned about.
bpt_status_t bpt_side_subwords_of_run(const bpt_checkpoint_t *checkpoint, bpt_vocab_t *vocab) BPT_MUST_USE;
bpt_status_t bpt_side_subwords_of_file(const bpt_safetensors_t *file, bpt_vocab_t *vocab) BPT_MUST_USE;
// The metadata of a vocabulary's subwords.
bpt_status_t bpt_side_subwords_to_file(const bpt_vocab_t *vocab, bpt_safetensors_writer_t *writer) BPT_MUST_USE;
bpt_status_t bpt_side_subwords_to_run(const bpt_vocab_t *vocab, const bpt_run_t *run) BPT_MUST_USE;
void bpt_side_texts_free(bpt_side_texts_t *texts);

// The metadata of a model file beside its configuration.
bpt_status_t bpt_side_texts_to_file(const bpt_side_texts_t *texts, bpt_safetensors_writer_t *writer) BPT_MUST_USE;
// vocab.txt, source_vocab.txt and labels.txt of a new run, and the keys of its config.json.
bpt_status_t bpt_side_texts_to_run(const bpt_side_texts_t *texts, const bpt_run_t *run, json_t *config) BPT_MUST_USE;

#endif
