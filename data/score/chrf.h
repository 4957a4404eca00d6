// chrF2 of a corpus (Popović 2015): how many n-grams of one to six characters a translation and its reference share, as a mean of
// precision and recall in which recall weighs twice. White space is no character. The numbers are those of sacreBLEU, also where it
// leaves the paper: of several references the one counts whose score with the segment alone is best. Knows no file.
#ifndef BPT_DATA_SCORE_CHRF_H
#define BPT_DATA_SCORE_CHRF_H

#include "data/text/text.h"

enum { BPT_CHRF_ORDER = 6, BPT_CHRF_BETA = 2 };

typedef struct {
    double hypothesis, reference, matched;  // n-grams, whole numbers
} bpt_chrf_counts_t;

// Working space from segment to segment.
typedef struct bpt_chrf_counter bpt_chrf_counter_t;
bpt_status_t bpt_chrf_counter_create(bool lowercase, bpt_chrf_counter_t **out) BPT_MUST_USE;
void bpt_chrf_counter_destroy(bpt_chrf_counter_t *counter);
// The n-grams of n = 1 .. 6 characters of a segment. BPT_ERR_INPUT names the file and line that is not UTF-8.
bpt_status_t bpt_chrf_count(bpt_chrf_counter_t *counter, const bpt_range_t *hypothesis, const bpt_range_t *references, int n_references,
                            bpt_chrf_counts_t counts[BPT_CHRF_ORDER]) BPT_MUST_USE;

// Percent, of counts or their sums; `single`: of a sample (rounding.h).
double bpt_chrf_score(const bpt_chrf_counts_t counts[BPT_CHRF_ORDER], bool single);

#endif
