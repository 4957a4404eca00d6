// BLEU (see bleu.h).
#include "data/score/bleu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/score/rounding.h"
#include "data/score/words.h"

// n words by their numbers, from 1 on; 0 behind the last.
typedef struct {
    uint32_t word[BPT_BLEU_ORDER];
    uint32_t text;
} ngram_t;

struct bpt_bleu_counter {
    bpt_bleu_tokenizer_t tokenizer;
    bool lowercase;
    bpt_words_t words;
    ngram_t *ngrams;
    size_t n_ngrams, ngrams_room;
};

bpt_status_t bpt_bleu_counter_create(bpt_bleu_tokenizer_t tokenizer, bool lowercase, bpt_bleu_counter_t **out) {
    BPT_TRY(bpt_alloc(1, sizeof **out, out));
    (*out)->tokenizer = tokenizer;
    (*out)->lowercase = lowercase;
    return BPT_OK;
}

void bpt_bleu_counter_destroy(bpt_bleu_counter_t *c) {
    if (!c) return;
    bpt_words_free(&c->words);
    bpt_free(c->ngrams);
    bpt_free(c);
}

// ---- N-grams

static bpt_status_t add_ngrams(bpt_bleu_counter_t *c, const uint32_t *words, int64_t count, uint32_t text) {
    for (int64_t i = 0; i < count; ++i) {
        ngram_t ngram = {.text = text};
        for (int64_t n = 0; n < BPT_BLEU_ORDER && i + n < count; ++n) {
            ngram.word[n] = words[i + n];
            BPT_TRY(bpt_grow(&c->ngrams, c->n_ngrams, &c->ngrams_room, sizeof *c->ngrams));
            c->ngrams[c->n_ngrams++] = ngram;
        }
    }
    return BPT_OK;
}

// By words, the hypothesis first.
static int compare_ngrams(const void *a, const void *b) {
    const ngram_t *x = a, *y = b;
    for (int n = 0; n < BPT_BLEU_ORDER; ++n)
        if (x->word[n] != y->word[n]) return x->word[n] < y->word[n] ? -1 : 1;
    return (x->text > y->text) - (x->text < y->text);
}

// A group of equal n-grams: how often the hypothesis has it, and of that as often as one of the references has it.
static void count_group(const ngram_t *group, size_t count, bpt_bleu_counts_t *counts) {
    size_t in_hypothesis = 0, most = 0, run = 0;
    int order = BPT_BLEU_ORDER;
    while (in_hypothesis < count && group[in_hypothesis].text == 0) ++in_hypothesis;
    for (size_t i = in_hypothesis; i < count; ++i) {
        run = i > in_hypothesis && group[i].text == group[i - 1].text ? run + 1 : 1;
        if (run > most) most = run;
    }
    while (!group->word[order - 1]) --order;
    counts->total[order - 1] += (int64_t)in_hypothesis;
    counts->correct[order - 1] += (int64_t)(in_hypothesis < most ? in_hypothesis : most);
}

static void count_groups(const bpt_bleu_counter_t *c, bpt_bleu_counts_t *counts) {
    for (size_t i = 0, end; i < c->n_ngrams; i = end) {
        for (end = i + 1; end < c->n_ngrams && !memcmp(c->ngrams[end].word, c->ngrams[i].word, sizeof c->ngrams[i].word);) ++end;
        count_group(c->ngrams + i, end - i, counts);
    }
}

bpt_status_t bpt_bleu_count(bpt_bleu_counter_t *c, const bpt_range_t *hypothesis, const bpt_range_t *references, int n_references,
                            bpt_bleu_counts_t *counts) {
    int64_t words = 0, nearest = -1, *length = NULL;
    c->n_ngrams = 0;
    bpt_words_clear(&c->words);
    BPT_TRY(bpt_alloc((size_t)n_references, sizeof *length, &length));
    bpt_status_t status = bpt_words_add(&c->words, c->tokenizer, c->lowercase, hypothesis, &words);
    for (int r = 0; r < n_references && status == BPT_OK; ++r)
        status = bpt_words_add(&c->words, c->tokenizer, c->lowercase, &references[r], &length[r]);
    if (status == BPT_OK) status = bpt_words_number(&c->words);
    if (status == BPT_OK) status = add_ngrams(c, c->words.number, words, 0);
    int64_t first = words;
    for (int r = 0; r < n_references && status == BPT_OK; first += length[r++]) {
        const int64_t away = llabs(words - length[r]), before = llabs(words - nearest);
        if (nearest < 0 || away < before || (away == before && length[r] < nearest)) nearest = length[r];
        status = add_ngrams(c, c->words.number + first, length[r], (uint32_t)r + 1);
    }
    if (status == BPT_OK) {
        if (c->n_ngrams) qsort(c->ngrams, c->n_ngrams, sizeof *c->ngrams, compare_ngrams);
        count_groups(c, counts);
        counts->hypothesis += words;
        counts->reference += nearest;
    }
    bpt_free(length);
    return status;
}

// ---- The score

bpt_bleu_t bpt_bleu_score_rounded(const bpt_bleu_counts_t *c, bool single) {
    bpt_bleu_t bleu = {.penalty = 1};
    double halved = 1, logs = 0;
    bool any = false;
    if (c->hypothesis < c->reference) bleu.penalty = c->hypothesis > 0 ? exp(1 - (double)c->reference / (double)c->hypothesis) : 0;
    for (int n = 0; n < BPT_BLEU_ORDER; ++n) any |= c->correct[n] > 0;
    if (!any) return bleu;
    for (int n = 0; n < BPT_BLEU_ORDER && c->total[n]; ++n) {
        if (!c->correct[n]) halved *= 2;
        const double of = c->correct[n] ? bpt_round(single, 100. * (double)c->correct[n]) : 100.;
        const double total = c->correct[n] ? (double)c->total[n] : bpt_round(single, halved * (double)c->total[n]);
        bleu.precision[n] = bpt_round(single, of / total);
    }
    // An order without n-grams, in a corpus of very short segments, makes the score 0.
    for (int n = 0; n < BPT_BLEU_ORDER; ++n) logs += log(bleu.precision[n]);
    bleu.score = bleu.penalty * exp(logs / BPT_BLEU_ORDER);
    return bleu;
}

bpt_bleu_t bpt_bleu_score(const bpt_bleu_counts_t *c) { return bpt_bleu_score_rounded(c, false); }
