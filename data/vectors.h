// Word vectors from text: GloVe (`word v1 .. vd`) or word2vec (the same behind a line `count d`).
#ifndef BPT_DATA_VECTORS_H
#define BPT_DATA_VECTORS_H

#include "data/vocab.h"

// Number of columns of a file, from its first line of values.
bpt_status_t bpt_vectors_dimension(const char *path, int64_t *dimension) BPT_MUST_USE;
// Fills rows [bpt_vocab_size, dimension] (the caller's, zeroed): words without a vector stay zero. *found counts the rows filled.
// Words are looked up as they are written, the first entry of a word counts. Strict: a line of a known word with another number
// of values, or with a value that is not finite, is BPT_ERR_INPUT with file and line.
bpt_status_t bpt_vectors_read(const char *path, const bpt_vocab_t *vocab, int64_t dimension, float *rows, int64_t *found) BPT_MUST_USE;

#endif
