// Whether two models read and write the same texts, as models that answer together must (bpt_runner_join).
#ifndef BPT_MODELS_API_SAME_TEXTS_H
#define BPT_MODELS_API_SAME_TEXTS_H

#include "data/examples/examples.h"

// BPT_ERR_USAGE, with the first difference, unless two vocabularies have the same tokens in the same order; NULL: there is none. `what`
// begins the sentence: "the vocabulary".
bpt_status_t bpt_same_vocab(const bpt_vocab_t *a, const bpt_vocab_t *b, const char *what) BPT_MUST_USE;
bpt_status_t bpt_same_labels(const bpt_labels_t *a, const bpt_labels_t *b) BPT_MUST_USE;

#endif
