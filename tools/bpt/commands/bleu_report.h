// What `bpt bleu` prints: for one system the lines of `sacrebleu --format text`, for several a table of each score. Counts nothing.
#ifndef BPT_TOOLS_BLEU_REPORT_H
#define BPT_TOOLS_BLEU_REPORT_H

#include "data/score/paired.h"
#include "tools/bpt/options/options.h"

typedef struct {
    const cli_options_t *o;
    const bpt_corpus_metric_t *metrics[BPT_METRICS];
    int n_metrics, systems;
    const double *sums;         // [metrics, systems, BPT_METRIC_SUMS]
    const bpt_paired_t *tests;  // [metrics, systems]; NULL: no test was made
} cli_bleu_report_t;

bpt_metric_options_t cli_bleu_metric_options(const cli_options_t *o);
bpt_status_t cli_bleu_report(const cli_bleu_report_t *report) BPT_MUST_USE;

#endif
