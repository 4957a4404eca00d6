// The data of a training run: parts, vocabulary, token ids, sources of batches. Knows data/ and the options, no model.
#ifndef BPT_TOOLS_CORPUS_H
#define BPT_TOOLS_CORPUS_H

#include "tools/bpt/options.h"

typedef struct {
    bpt_vocab_t *vocab;
    uint32_t *ids[BPT_PARTS];  // lm: the tokens of each part, NULL where there is none
    uint64_t count[BPT_PARTS];
    char fingerprint[64];               // of the training tokens
    bpt_batch_source_t *train, *valid;  // valid NULL: none
} cli_corpus_t;

// Reads o->data.path. `vocab_path`: the vocabulary of a run that goes on, NULL: one is made from the data. Fills o->model.vocab.
bpt_status_t cli_corpus_open(cli_options_t *o, const char *vocab_path, cli_corpus_t *out) BPT_MUST_USE;
void cli_corpus_close(cli_corpus_t *corpus);

#endif
