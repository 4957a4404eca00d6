// Paired bootstrap resampling (Koehn 2004): whether the difference between two systems' scores is more than chance. Samples of as many
// segments as there are, drawn with repetition and the same for all systems, are scored; the numbers are those of sacreBLEU to the last
// digit, also where it computes in single precision.
#ifndef BPT_DATA_SCORE_PAIRED_H
#define BPT_DATA_SCORE_PAIRED_H

#include "data/score/corpus_metric.h"

typedef struct {
    double score;         // of all segments
    double mean, margin;  // of the samples: their mean, and half of the width of the interval that has 95 % of them
    double p;             // how often chance makes such a difference from the first system; of that itself 1
} bpt_paired_t;

// Numbers of the segments of several systems by one metric: counts[s] is [segments, metric->sums]. Writes found[0 .. systems - 1]; the
// first system is the baseline.
bpt_status_t bpt_paired_bootstrap(const bpt_corpus_metric_t *metric, const double *const *counts, int systems, uint32_t segments,
                                  int64_t samples, uint64_t seed, bpt_paired_t *found) BPT_MUST_USE;
// The sum of the numbers of all segments.
void bpt_metric_sum(const bpt_corpus_metric_t *metric, const double *counts, uint32_t segments, double *sums);

#endif
