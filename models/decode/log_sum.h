// The logarithm of the sum of exponentials of a row of logits, in vectors of the widest kind that the processor has.
#ifndef BPT_MODELS_DECODE_LOG_SUM_H
#define BPT_MODELS_DECODE_LOG_SUM_H

#include <stdint.h>

enum { BPT_LOG_SUM_BLOCK = 128 };

// Of x[0 .. n - 1], n > 0; not finite where one of them is not a number, or infinite. largest [(n + BLOCK - 1) / BLOCK]: the largest of
// each block of them.
double bpt_log_sum_of_logits(const float *x, int64_t n, float *largest);

#endif
