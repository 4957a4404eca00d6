// TER of a corpus (Snover et al. 2006): insertions, deletions, substitutions and shifts of blocks of words that turn a translation into
// its reference, by words of the reference. Words are what stands between white space, in lower case. The numbers are those of
// sacreBLEU: its search looks along the diagonal of the table of distances, for shifts of ten words by fifty places at most, and ends after
// a thousand of them. Knows no file.
#ifndef BPT_DATA_SCORE_TER_H
#define BPT_DATA_SCORE_TER_H

#include "data/text/text.h"

typedef struct {
    double edits;      // to the reference that takes fewest of them
    double reference;  // words, the mean of the references
} bpt_ter_counts_t;

// Working space from segment to segment.
typedef struct bpt_ter_counter bpt_ter_counter_t;
bpt_status_t bpt_ter_counter_create(bpt_ter_counter_t **out) BPT_MUST_USE;
void bpt_ter_counter_destroy(bpt_ter_counter_t *counter);
// Counts a segment. BPT_ERR_INPUT names the file and line that is not UTF-8.
bpt_status_t bpt_ter_count(bpt_ter_counter_t *counter, const bpt_range_t *hypothesis, const bpt_range_t *references, int n_references,
                           bpt_ter_counts_t *counts) BPT_MUST_USE;

// Percent, of counts or their sums; `single`: of a sample (rounding.h).
double bpt_ter_score(bpt_ter_counts_t counts, bool single);

#endif
