// Rows of logits on the host (see softmax.h).
#include "models/nn/softmax.h"

#include <math.h>

int64_t bpt_largest(const float *x, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i)
        if (x[i] > x[best]) best = i;
    return best;
}

double bpt_log_sum_exp(const float *x, int64_t n, int64_t *best) {
    double sum = 0;
    *best = bpt_largest(x, n);
    for (int64_t i = 0; i < n; ++i) sum += exp((double)x[i] - (double)x[*best]);
    return (double)x[*best] + log(sum);
}

int64_t bpt_softmax(const float *logits, int64_t classes, float *probabilities) {
    int64_t best;
    const double total = bpt_log_sum_exp(logits, classes, &best);
    for (int64_t i = 0; i < classes; ++i) probabilities[i] = (float)exp((double)logits[i] - total);
    return best;
}
