// Word vectors in text form (GloVe, word2vec) for the rows of an embedding. Knows nothing of models.
#ifndef BPT_DATA_VECTORS_H
#define BPT_DATA_VECTORS_H

#include "data/vocab.h"

// How many numbers the vectors of a file have, from its first vector.
bpt_status_t bpt_vectors_dimension(const char *path, int64_t *dimension) BPT_MUST_USE;

// Fills rows [bpt_vocab_size, dimension] (the caller's, zeroed) from lines `word x1 .. xd`, in word2vec's form behind a line `count d`.
// A word without a vector takes that of its lower-case form, where the file has it (GloVe 6B has lower-case words only); else it stays
// zero. *found counts the others. Words are compared as they are written, of two vectors for a word the first counts, a word may hold blanks (GloVe 840B has such) if its second part is no number. The file is read in blocks and need not fit in
// memory. BPT_ERR_INPUT with the line, whether the word is in the vocabulary or not: another number of values than the first vector, a
// value that is not a finite number, another number of vectors than word2vec's first line says. Another dimension than the file's is
// BPT_ERR_USAGE.
bpt_status_t bpt_vectors_read(const char *path, const bpt_vocab_t *vocab, int64_t dimension, float *rows, int64_t *found) BPT_MUST_USE;
// The same for a text in memory.
bpt_status_t bpt_vectors_parse(const bpt_range_t *text, const bpt_vocab_t *vocab, int64_t dimension, float *rows,
                               int64_t *found) BPT_MUST_USE;

#endif
