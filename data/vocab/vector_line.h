// A line of word vectors in text form, `word x1 .. xd`: which part of it is the word, and which are numbers. Knows no vocabulary.
//
// Published files have odd words, and damaged files have odd lines. What tells them apart:
// - The last d fields are the numbers. What stands before them is the word, which may hold blanks (GloVe 840B: `. . .`, `at
// name@domain.com`).
// - A line that begins with a blank and has d numbers and nothing else is the vector of a blank, a tab or an empty word.
// - A field behind the first that reads as a number is one number too many, so the line is damaged. But where it is made of digits alone
// and
//   none of the last d is, it belongs to the word (`12 000`, `Area 51`).
// - A line with fewer fields is damaged, or the file is cut off.
#ifndef BPT_DATA_VECTOR_LINE_H
#define BPT_DATA_VECTOR_LINE_H

#include "data/vocab/vocab.h"

typedef struct {
    const char *word;
    size_t bytes;         // 0: the word is a blank
    bpt_range_t numbers;  // the last d fields
} bpt_vector_line_t;

// BPT_ERR_INPUT with file and line: the line has not d numbers. Whether they are finite is not looked at.
bpt_status_t bpt_vector_line_split(const bpt_range_t *line, int64_t dim, bpt_vector_line_t *out) BPT_MUST_USE;
// The next number off the front of `numbers`; BPT_ERR_INPUT: it is none, or not finite.
bpt_status_t bpt_vector_line_number(bpt_range_t *numbers, float *out) BPT_MUST_USE;

// The dimension from the first lines of a file; *promised: vectors that a first line `count d` (word2vec) announces, -1: there is none.
bpt_status_t bpt_vector_lines_dimension(bpt_range_t lines, int64_t *dim, int64_t *promised) BPT_MUST_USE;

#endif
