// Word vectors in text form (GloVe, word2vec) for the rows of an embedding. Knows nothing of models.
#ifndef BPT_DATA_VECTORS_H
#define BPT_DATA_VECTORS_H

#include "data/vocab/vocab.h"

// How many numbers the vectors of a file have, from its first vector.
bpt_status_t bpt_vectors_dimension(const char *path, int64_t *dimension) BPT_MUST_USE;

// What the words without a vector get.
typedef enum {
    BPT_UNKNOWN_ZERO,
    BPT_UNKNOWN_RANDOM,  // normal numbers, whose deviation is that of all numbers of the vectors found
} bpt_unknown_vectors_t;
extern const char *const bpt_unknown_vectors_names[];  // by value; ends with NULL

// Where the vectors of a file go: columns `column` to `column + dimension` of rows [bpt_vocab_size, stride], which are the caller's and
// zero. Several files fill columns side by side.
typedef struct {
    float *rows;
    int64_t stride, column, dimension;
    bpt_unknown_vectors_t unknown;
    uint64_t seed;  // a random row is a function of it, the word's id and the column
} bpt_vectors_place_t;

// What was found.
typedef struct {
    int64_t words;                // of the vocabulary that have a vector
    double deviation;             // of all their numbers from the mean of these, 0 if there are none
    int64_t lines;                // vectors of the file
    int64_t promised;             // vectors that a first line `count d` announces; -1: there is no such line
    int64_t without_word;         // vectors of a blank or an empty word, which are left out, and
    uint64_t first_without_word;  // the line of the first of them
    int64_t repeated;             // further vectors of words of the vocabulary, which are left out
} bpt_vectors_found_t;

// Fills rows from lines `word x1 .. xd`, in word2vec's form behind a line `count d`. A word without a vector takes that of its lower-case
// form, where the file has it (GloVe 6B has lower-case words only). Words are compared as they are written, of two vectors
// for a word the first counts, and a word may hold blanks (vector_line.h). Blank lines at the end are ignored. The file is read in blocks
// and need not fit in memory. BPT_ERR_INPUT with the line, whether the word is in the vocabulary or not: another number of values than the
// first vectors, a value that is not a finite number, a blank line in the middle; fewer vectors than the first line says if the last line
// is not whole. Another dimension than the file's is BPT_ERR_USAGE.
bpt_status_t bpt_vectors_read(const char *path, const bpt_vocab_t *vocab, const bpt_vectors_place_t *place,
                              bpt_vectors_found_t *found) BPT_MUST_USE;
// The same for a text in memory.
bpt_status_t bpt_vectors_parse(const bpt_range_t *text, const bpt_vocab_t *vocab, const bpt_vectors_place_t *place,
                               bpt_vectors_found_t *found) BPT_MUST_USE;

#endif
