// The words of a segment's texts as numbers: equal words have equal numbers. Knows no score.
#ifndef BPT_DATA_SCORE_WORDS_H
#define BPT_DATA_SCORE_WORDS_H

#include "data/score/bleu_tokens.h"

typedef struct bpt_word bpt_word_t;
// Working space from segment to segment. Zeroed: empty.
typedef struct {
    bpt_code_points_t line, room;
    bpt_code_points_t text;  // of all words, one behind the other
    bpt_word_t *words;
    size_t count, capacity;
    uint32_t *number;  // of each word, from 1 on, in the order in which they were added
    size_t numbers;
} bpt_words_t;

void bpt_words_clear(bpt_words_t *words);
// Adds the words of a line; *count says how many. BPT_ERR_INPUT names the file and line that is not UTF-8.
bpt_status_t bpt_words_add(bpt_words_t *words, bpt_bleu_tokenizer_t tokenizer, bool lowercase, const bpt_range_t *line,
                           int64_t *count) BPT_MUST_USE;
// Gives all words their numbers, once the segment is complete.
bpt_status_t bpt_words_number(bpt_words_t *words) BPT_MUST_USE;
void bpt_words_free(bpt_words_t *words);

#endif
