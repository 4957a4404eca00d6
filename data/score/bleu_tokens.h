// Tokens of a segment for BLEU, as sacreBLEU's tokenizers make them. Knows no score.
#ifndef BPT_DATA_SCORE_BLEU_TOKENS_H
#define BPT_DATA_SCORE_BLEU_TOKENS_H

#include "data/text/text.h"

typedef enum {
    BPT_BLEU_NONE,  // what stands between white space
    BPT_BLEU_13A,   // mteval-v13a's rules, those of WMT
    BPT_BLEU_INTL,  // mteval-v14's: punctuation and symbols by their Unicode categories
    BPT_BLEU_CHAR,  // characters
    BPT_BLEU_ZH,    // Chinese characters; between them the rules of 13a
} bpt_bleu_tokenizer_t;
extern const char *const bpt_bleu_tokenizer_names[];  // ends with NULL

// Code points, and room for them. Zeroed: none.
typedef struct {
    uint32_t *at;
    size_t count, capacity;
} bpt_code_points_t;

// The tokens of a line that lasts until they are used: tokens are what stands between white space (bpt_bleu_is_space). `room` is working
// space; both are freed by the caller (bpt_free of `at`). A line that is not UTF-8 is BPT_ERR_INPUT with file and line.
bpt_status_t bpt_bleu_tokenize(bpt_bleu_tokenizer_t tokenizer, bool lowercase, const bpt_range_t *line, bpt_code_points_t *tokens,
                               bpt_code_points_t *room) BPT_MUST_USE;

// White space of Python's str.split: Unicode's Zs, line and paragraph separators, and the controls 9 to 13, 28 to 31 and 133.
bool bpt_bleu_is_space(uint32_t code_point);

#endif
