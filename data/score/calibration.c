// Calibration of probabilities (see calibration.h).
#include "data/score/calibration.h"

#include <inttypes.h>
#include <math.h>

static int64_t largest_of(const float *x, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i)
        if (x[i] > x[best]) best = i;
    return best;
}

// The sum of exp(scale * (x - top)).
static double sum_of(const float *x, int64_t n, double top, double scale) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += exp(scale * ((double)x[i] - top));
    return sum;
}

void bpt_calibration_add(bpt_calibration_t *c, const float *logits, int64_t classes, uint32_t label, double temperature) {
    const int64_t best = largest_of(logits, classes);
    const double top = (double)logits[best], sum = sum_of(logits, classes, top, 1 / temperature), p = 1 / sum;
    int bin = 0;
    while (bin + 1 < BPT_CALIBRATION_BINS && p > (double)(bin + 1) / BPT_CALIBRATION_BINS) ++bin;
    ++c->count[bin];
    c->right[bin] += best == label;
    c->confidence[bin] += p;
    if (label < classes) c->nll += log(sum) - ((double)logits[label] - top) / temperature;
}

bpt_calibration_error_t bpt_calibration_error(const bpt_calibration_t *c) {
    bpt_calibration_error_t e = {0};
    double confidence = 0, right = 0, sum = 0;
    for (int b = 0; b < BPT_CALIBRATION_BINS; ++b) {
        if (!c->count[b]) continue;
        const double gap = fabs((double)c->right[b] - c->confidence[b]);
        e.count += c->count[b];
        confidence += c->confidence[b];
        right += (double)c->right[b];
        sum += gap;
        if (gap / (double)c->count[b] > e.largest) e.largest = gap / (double)c->count[b];
    }
    if (!e.count) return e;
    e.expected = sum / (double)e.count;
    e.confidence = confidence / (double)e.count;
    e.accuracy = right / (double)e.count;
    return e;
}

// ---- Temperature

// The slope of the nll in 1 / temperature: what the scores are by their probabilities, less what they are of the labels.
static double slope_at(const float *logits, const uint32_t *labels, int64_t count, int64_t classes, double scale) {
    double slope = 0;
    for (int64_t r = 0; r < count; ++r) {
        const float *x = logits + r * classes;
        if (labels[r] >= classes) continue;
        const double top = (double)x[largest_of(x, classes)];
        double sum = 0, mean = 0;
        for (int64_t i = 0; i < classes; ++i) {
            const double weight = exp(scale * ((double)x[i] - top));
            sum += weight;
            mean += weight * ((double)x[i] - top);
        }
        slope += mean / sum - ((double)x[labels[r]] - top);
    }
    return slope;
}

static bpt_status_t check(const float *logits, const uint32_t *labels, int64_t count, int64_t classes) {
    int64_t known = 0;
    for (int64_t r = 0; r < count; ++r) {
        known += labels[r] < classes;
        for (int64_t i = 0; i < classes; ++i)
            if (!isfinite(logits[r * classes + i]))
                return bpt_fail(BPT_ERR_NUMERIC, "a logit of example %" PRId64 " is not finite, so no temperature can be fitted", r + 1);
    }
    return known ? BPT_OK : bpt_fail(BPT_ERR_INPUT, "no example has a label that the model knows, so no temperature can be fitted");
}

bpt_status_t bpt_temperature_fit(const float *logits, const uint32_t *labels, int64_t count, int64_t classes, double *temperature) {
    const double most = log(BPT_MOST_TEMPERATURE);
    double low = -most, high = most;  // of log(1 / temperature)
    BPT_TRY(check(logits, labels, count, classes));
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        *(slope_at(logits, labels, count, classes, exp(middle)) > 0 ? &high : &low) = middle;
    }
    const double found = exp(-(low + high) / 2), least = 1.0 / BPT_MOST_TEMPERATURE;  // exp may round to a number past a bound
    *temperature = fmin(fmax(found, least), BPT_MOST_TEMPERATURE);
    return BPT_OK;
}
