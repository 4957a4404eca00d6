// Scores of a corpus of translations: BLEU, chrF2 and TER behind one interface. Each is computed from numbers of the segments that add
// up, so that samples of segments have a score too (paired.h). The numbers and signatures are those of sacreBLEU.
#ifndef BPT_DATA_SCORE_CORPUS_METRIC_H
#define BPT_DATA_SCORE_CORPUS_METRIC_H

#include "bpt/strbuf.h"
#include "data/score/bleu.h"

enum { BPT_METRIC_SUMS = 18 };

typedef struct {
    bpt_bleu_tokenizer_t tokenizer;  // of BLEU
    bool lowercase;                  // of BLEU and chrF; TER always compares in lower case
} bpt_metric_options_t;

typedef struct {
    double value;
    bool single;  // in single precision
} bpt_metric_score_t;

typedef struct {
    const char *option, *name;  // "chrf", "chrF2"
    int sums;                   // numbers of a segment, at most BPT_METRIC_SUMS
    // Working space from segment to segment.
    bpt_status_t (*open)(const bpt_metric_options_t *options, void **counter);
    void (*close)(void *counter);
    // The numbers of a segment. BPT_ERR_INPUT names the file and line that is not UTF-8.
    bpt_status_t (*count)(void *counter, const bpt_range_t *hypothesis, const bpt_range_t *references, int n_references, double *numbers);
    // Of a sample it is computed in single precision, as numpy computes it for sacreBLEU.
    bpt_metric_score_t (*score)(const double *sums, bool sample);
    // What a signature says between the number of references and the version.
    bpt_status_t (*sign)(const bpt_metric_options_t *options, bpt_strbuf_t *out);
} bpt_corpus_metric_t;

// In the order in which sacreBLEU prints them.
typedef enum { BPT_METRIC_BLEU, BPT_METRIC_CHRF, BPT_METRIC_TER, BPT_METRICS } bpt_metric_id_t;
extern const bpt_corpus_metric_t bpt_corpus_metrics[BPT_METRICS];

// The counts of BLEU in its sums.
bpt_bleu_counts_t bpt_metric_bleu_counts(const double *sums);

#endif
