// The best sequences of tags of a text with their probabilities, on the host: of a linear-chain CRF (Lafferty et al. 2001; lists of paths
// as of Seshadri and Sundberg 1994), or where each token's tag is chosen by itself. Knows no model.
#ifndef BPT_DATA_SCORE_BEST_TAGS_H
#define BPT_DATA_SCORE_BEST_TAGS_H

#include "bpt/status.h"

// Up to k >= 1 different sequences, best first: best [k, n], log_p [k]: the logarithms of their probabilities, in nats; *count of them,
// fewer than k where there are not so many. scores [n, tags], n >= 1, finite; transitions as of bpt_viterbi, which gives the same first
// sequence; NULL: tags do not depend on each other, and scores are logits of a softmax of each token. O(n tags^2 k), or O(n tags k).
bpt_status_t bpt_best_tags(const float *scores, int64_t n, int64_t tags, const float *transitions, int k, uint32_t *best, double *log_p,
                           int *count) BPT_MUST_USE;

#endif
