// The logarithm of a mean of probabilities, on the host: how models answer together (bpt_runner_join).
#ifndef BPT_MODELS_NN_MIXTURE_H
#define BPT_MODELS_NN_MIXTURE_H

#include <stdint.h>

// Makes logits [rows, columns] the logarithms of their softmax, row by row.
void bpt_log_softmax(float *logits, int64_t rows, int64_t columns);
// sum[i] = log(exp(sum[i]) + exp(x[i])), with no overflow and no loss of what is small.
void bpt_mixture_add(float *sum, const float *x, int64_t count);
// The sums of `models` of them become means.
void bpt_mixture_finish(float *sum, int64_t count, int models);

#endif
