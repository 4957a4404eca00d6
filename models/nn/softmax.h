// Rows of logits on the host: the largest, the softmax and its logarithm. Sums are in double.
#ifndef BPT_MODELS_NN_SOFTMAX_H
#define BPT_MODELS_NN_SOFTMAX_H

#include <stdint.h>

// The index of the largest, the first of several.
int64_t bpt_largest(const float *x, int64_t n);
// log(sum(exp(x))) of a row, and the index of the largest.
double bpt_log_sum_exp(const float *x, int64_t n, int64_t *best);
// Softmax of one row of logits into probabilities (may be the same array); returns the index of the largest.
int64_t bpt_softmax(const float *logits, int64_t classes, float *probabilities);

#endif
