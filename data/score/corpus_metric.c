// Scores of a corpus (see corpus_metric.h).
#include "data/score/corpus_metric.h"

#include <string.h>

#include "data/score/chrf.h"
#include "data/score/ter.h"

static const char *case_of(const bpt_metric_options_t *o) { return o->lowercase ? "lc" : "mixed"; }

// ---- BLEU: matched n-grams, n-grams, words of the hypothesis and of the reference

bpt_bleu_counts_t bpt_metric_bleu_counts(const double *sums) {
    bpt_bleu_counts_t counts = {.hypothesis = (int64_t)sums[2 * BPT_BLEU_ORDER], .reference = (int64_t)sums[2 * BPT_BLEU_ORDER + 1]};
    for (int n = 0; n < BPT_BLEU_ORDER; ++n) {
        counts.correct[n] = (int64_t)sums[n];
        counts.total[n] = (int64_t)sums[BPT_BLEU_ORDER + n];
    }
    return counts;
}

static bpt_status_t open_bleu(const bpt_metric_options_t *o, void **counter) {
    bpt_bleu_counter_t *made = NULL;
    BPT_TRY(bpt_bleu_counter_create(o->tokenizer, o->lowercase, &made));
    *counter = made;
    return BPT_OK;
}

static void close_bleu(void *counter) { bpt_bleu_counter_destroy(counter); }

static bpt_status_t count_bleu(void *counter, const bpt_range_t *hypothesis, const bpt_range_t *references, int n, double *numbers) {
    bpt_bleu_counts_t counts = {0};
    BPT_TRY(bpt_bleu_count(counter, hypothesis, references, n, &counts));
    for (int i = 0; i < BPT_BLEU_ORDER; ++i) {
        numbers[i] = (double)counts.correct[i];
        numbers[BPT_BLEU_ORDER + i] = (double)counts.total[i];
    }
    numbers[2 * BPT_BLEU_ORDER] = (double)counts.hypothesis;
    numbers[2 * BPT_BLEU_ORDER + 1] = (double)counts.reference;
    return BPT_OK;
}

// Its logarithms and its penalty are of double precision also in samples.
static bpt_metric_score_t score_bleu(const double *sums, bool sample) {
    const bpt_bleu_counts_t counts = bpt_metric_bleu_counts(sums);
    return (bpt_metric_score_t){bpt_bleu_score_rounded(&counts, sample).score, false};
}

static bpt_status_t sign_bleu(const bpt_metric_options_t *o, bpt_strbuf_t *out) {
    return bpt_strbuf_printf(out, "case:%s|eff:no|tok:%s|smooth:exp", case_of(o), bpt_bleu_tokenizer_names[o->tokenizer]);
}

// ---- chrF2: n-grams of the hypothesis, of the reference, and of both, for each length

_Static_assert(BPT_METRIC_SUMS * sizeof(double) == BPT_CHRF_ORDER * sizeof(bpt_chrf_counts_t), "chrF has most numbers");

static bpt_status_t open_chrf(const bpt_metric_options_t *o, void **counter) {
    bpt_chrf_counter_t *made = NULL;
    BPT_TRY(bpt_chrf_counter_create(o->lowercase, &made));
    *counter = made;
    return BPT_OK;
}

static void close_chrf(void *counter) { bpt_chrf_counter_destroy(counter); }

static bpt_status_t count_chrf(void *counter, const bpt_range_t *hypothesis, const bpt_range_t *references, int n, double *numbers) {
    bpt_chrf_counts_t counts[BPT_CHRF_ORDER];
    BPT_TRY(bpt_chrf_count(counter, hypothesis, references, n, counts));
    memcpy(numbers, counts, sizeof counts);
    return BPT_OK;
}

// A score of 0 is not divided, and of double precision.
static bpt_metric_score_t score_chrf(const double *sums, bool sample) {
    bpt_chrf_counts_t counts[BPT_CHRF_ORDER];
    memcpy(counts, sums, sizeof counts);
    const double score = bpt_chrf_score(counts, sample);
    return (bpt_metric_score_t){score, sample && score > 0};
}

static bpt_status_t sign_chrf(const bpt_metric_options_t *o, bpt_strbuf_t *out) {
    return bpt_strbuf_printf(out, "case:%s|eff:yes|nc:%d|nw:0|space:no", case_of(o), BPT_CHRF_ORDER);
}

// ---- TER: edits, words of the reference

static bpt_status_t open_ter(const bpt_metric_options_t *o, void **counter) {
    bpt_ter_counter_t *made = NULL;
    (void)o;
    BPT_TRY(bpt_ter_counter_create(&made));
    *counter = made;
    return BPT_OK;
}

static void close_ter(void *counter) { bpt_ter_counter_destroy(counter); }

static bpt_status_t count_ter(void *counter, const bpt_range_t *hypothesis, const bpt_range_t *references, int n, double *numbers) {
    bpt_ter_counts_t counts;
    BPT_TRY(bpt_ter_count(counter, hypothesis, references, n, &counts));
    numbers[0] = counts.edits;
    numbers[1] = counts.reference;
    return BPT_OK;
}

// Without words in the references nothing is divided either.
static bpt_metric_score_t score_ter(const double *sums, bool sample) {
    return (bpt_metric_score_t){bpt_ter_score((bpt_ter_counts_t){sums[0], sums[1]}, sample), sample && sums[1] > 0};
}

static bpt_status_t sign_ter(const bpt_metric_options_t *o, bpt_strbuf_t *out) {
    (void)o;
    return bpt_strbuf_printf(out, "case:lc|tok:tercom|norm:no|punct:yes|asian:no");
}

const bpt_corpus_metric_t bpt_corpus_metrics[BPT_METRICS] = {
    [BPT_METRIC_BLEU] = {"bleu", "BLEU", 2 * BPT_BLEU_ORDER + 2, open_bleu, close_bleu, count_bleu, score_bleu, sign_bleu},
    [BPT_METRIC_CHRF] = {"chrf", "chrF2", 3 * BPT_CHRF_ORDER, open_chrf, close_chrf, count_chrf, score_chrf, sign_chrf},
    [BPT_METRIC_TER] = {"ter", "TER", 2, open_ter, close_ter, count_ter, score_ter, sign_ter},
};
