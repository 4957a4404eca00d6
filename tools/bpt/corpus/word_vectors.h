// Word vectors for the embedding of a new run: one file, or several whose numbers stand side by side in a row.
#ifndef BPT_TOOLS_WORD_VECTORS_H
#define BPT_TOOLS_WORD_VECTORS_H

#include "data/vocab/vocab.h"
#include "tools/bpt/options/options.h"

// Numbers of a row of the embedding: the sum over the files. BPT_ERR_USAGE if the model's embedding is known to have another number.
bpt_status_t cli_vectors_width(const cli_options_t *o, int64_t *columns) BPT_MUST_USE;

// The rows [o->model.vocab, o->model.d_embed] of all words, and a line to the user for each file: how many words it has. *rows is freed
// with bpt_free, also after an error.
bpt_status_t cli_vectors_read(const cli_options_t *o, const bpt_vocab_t *vocab, float **rows) BPT_MUST_USE;

#endif
