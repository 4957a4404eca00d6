// Means of probabilities by their logarithms (see mixture.h).
#include "models/nn/mixture.h"

#include <math.h>

#include "models/nn/softmax.h"

void bpt_log_softmax(float *logits, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        int64_t best;
        float *row = logits + r * columns;
        const double total = bpt_log_sum_exp(row, columns, &best);
        for (int64_t i = 0; i < columns; ++i) row[i] = (float)((double)row[i] - total);
    }
}

void bpt_mixture_add(float *sum, const float *x, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const double a = (double)sum[i], b = (double)x[i], larger = a > b ? a : b, smaller = a > b ? b : a;
        sum[i] = (float)(larger + log1p(exp(smaller - larger)));
    }
}

void bpt_mixture_finish(float *sum, int64_t count, int models) {
    const double share = log((double)models);
    for (int64_t i = 0; i < count; ++i) sum[i] = (float)((double)sum[i] - share);
}
