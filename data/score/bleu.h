// BLEU of a corpus (Papineni et al. 2002): the shares of n-grams of one to four words that the references have, and a penalty for being
// shorter than they are. The numbers are those of sacreBLEU (Post 2018), with its smoothing "exp": of orders without a match the first
// counts as half a match, the second as a quarter, and so on. Knows no file.
#ifndef BPT_DATA_SCORE_BLEU_H
#define BPT_DATA_SCORE_BLEU_H

#include "data/score/bleu_tokens.h"

#define BPT_SACREBLEU_VERSION "2.6.0"  // whose numbers these are

enum { BPT_BLEU_ORDER = 4 };

typedef struct {
    int64_t correct[BPT_BLEU_ORDER], total[BPT_BLEU_ORDER];  // n-grams of n = 1, 2, 3, 4 words: of the hypothesis, and of them matched
    int64_t hypothesis, reference;                           // words; of the reference whose length is nearest, of equal ones the shorter
} bpt_bleu_counts_t;

typedef struct {
    double score, precision[BPT_BLEU_ORDER];  // percent
    double penalty;                           // the brevity penalty, of 1
} bpt_bleu_t;

// Working space from segment to segment.
typedef struct bpt_bleu_counter bpt_bleu_counter_t;
bpt_status_t bpt_bleu_counter_create(bpt_bleu_tokenizer_t tokenizer, bool lowercase, bpt_bleu_counter_t **out) BPT_MUST_USE;
void bpt_bleu_counter_destroy(bpt_bleu_counter_t *counter);
// Adds a segment: the hypothesis and at least one reference. BPT_ERR_INPUT names the file and line that is not UTF-8.
bpt_status_t bpt_bleu_count(bpt_bleu_counter_t *counter, const bpt_range_t *hypothesis, const bpt_range_t *references, int n_references,
                            bpt_bleu_counts_t *counts) BPT_MUST_USE;

bpt_bleu_t bpt_bleu_score(const bpt_bleu_counts_t *counts);
bpt_bleu_t bpt_bleu_score_rounded(const bpt_bleu_counts_t *counts, bool single);  // of a sample (rounding.h)

#endif
