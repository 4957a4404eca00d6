// Whether probabilities are to be trusted: of answers given with probability p a share of p should be right. Knows no task.
#ifndef BPT_DATA_CALIBRATION_H
#define BPT_DATA_CALIBRATION_H

#include "bpt/status.h"

enum { BPT_CALIBRATION_BINS = 15 };

// Bin b has the answers whose probability is above b / bins and at most (b + 1) / bins.
typedef struct {
    int64_t count[BPT_CALIBRATION_BINS], right[BPT_CALIBRATION_BINS];
    double confidence[BPT_CALIBRATION_BINS];  // sum of the probabilities
    double nll;                               // sum of those of the labels, nats
} bpt_calibration_t;                          // zeroed: no answers

// Adds the answer that a row of logits [classes] gives, divided by the temperature, where `label` is right; a label from `classes` on is
// none that can be given: it has no nll, and the answer is wrong.
void bpt_calibration_add(bpt_calibration_t *calibration, const float *logits, int64_t classes, uint32_t label, double temperature);

typedef struct {
    int64_t count;
    double expected;  // calibration error: the mean of |share right - mean probability| of the bins, each by its answers (Naeini et al.
                      // 2015; Guo et al. 2017)
    double largest;   // of a bin
    double confidence, accuracy;  // means over all answers
} bpt_calibration_error_t;
bpt_calibration_error_t bpt_calibration_error(const bpt_calibration_t *calibration);

enum { BPT_MOST_TEMPERATURE = 100 };
// The temperature between 1 / 100 and 100 by which rows of logits [count, classes] are to be divided so that the labels [count], of which
// those from `classes` on are passed over, have the highest likelihood (Guo et al. 2017, 4.2). The nll is convex in 1 / temperature, whose
// best value is found by bisection. BPT_ERR_INPUT: no label counts; BPT_ERR_NUMERIC: a logit is not finite.
bpt_status_t bpt_temperature_fit(const float *logits, const uint32_t *labels, int64_t count, int64_t classes,
                                 double *temperature) BPT_MUST_USE;

#endif
