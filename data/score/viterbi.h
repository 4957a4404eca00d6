// The best sequence of tags of a linear-chain CRF (Lafferty et al. 2001), on the host. Knows no model.
#ifndef BPT_DATA_SCORE_VITERBI_H
#define BPT_DATA_SCORE_VITERBI_H

#include "bpt/status.h"

// best[n] has the highest start + sum of scores and transitions + end; of equal ones the smaller tag, decided from the last token on.
// scores [n, tags]; transitions [tags + 2, tags]: rows from-tag, then start, then end. O(n tags^2).
bpt_status_t bpt_viterbi(const float *scores, int64_t n, int64_t tags, const float *transitions, uint32_t *best) BPT_MUST_USE;

#endif
