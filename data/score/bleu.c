// BLEU (see bleu.h).
#include "data/score/bleu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"

// A word of one of the segment's texts; text 0 is the hypothesis.
typedef struct {
    size_t first, length;  // code points
    const uint32_t *text;  // they are in, while words are compared
    uint32_t place;        // among all words of the segment
} word_t;

// n words by their numbers, from 1 on; 0 behind the last.
typedef struct {
    uint32_t word[BPT_BLEU_ORDER];
    uint32_t text;
} ngram_t;

struct bpt_bleu_counter {
    bpt_bleu_tokenizer_t tokenizer;
    bool lowercase;
    bpt_code_points_t line, room;
    bpt_code_points_t text;  // all texts of the segment, one behind the other
    word_t *words;
    size_t n_words, words_room;
    uint32_t *number;  // of the words, in their places
    size_t numbers_room;
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
    bpt_free(c->line.at);
    bpt_free(c->room.at);
    bpt_free(c->text.at);
    bpt_free(c->words);
    bpt_free(c->number);
    bpt_free(c->ngrams);
    bpt_free(c);
}

// ---- Words

static bpt_status_t add_words(bpt_bleu_counter_t *c, const bpt_range_t *line, int64_t *words) {
    const size_t before = c->n_words;
    BPT_TRY(bpt_bleu_tokenize(c->tokenizer, c->lowercase, line, &c->line, &c->room));
    for (size_t i = 0, end; i < c->line.count; i = end) {
        for (end = i; end < c->line.count && !bpt_bleu_is_space(c->line.at[end]);) ++end;
        if (end == i) {
            ++end;
            continue;
        }
        BPT_TRY(bpt_grow(&c->words, c->n_words, &c->words_room, sizeof *c->words));
        c->words[c->n_words] = (word_t){.first = c->text.count, .length = end - i, .place = (uint32_t)c->n_words};
        ++c->n_words;
        for (size_t k = i; k < end; ++k) {
            BPT_TRY(bpt_grow(&c->text.at, c->text.count, &c->text.capacity, sizeof *c->text.at));
            c->text.at[c->text.count++] = c->line.at[k];
        }
    }
    if (c->n_words >= UINT32_MAX)
        return bpt_fail(BPT_ERR_INPUT, "%s: line %llu has too many words", line->path, (unsigned long long)line->line);
    *words = (int64_t)(c->n_words - before);
    return BPT_OK;
}

static bool same_word(const word_t *a, const word_t *b) {
    return a->length == b->length && !memcmp(a->text + a->first, b->text + b->first, a->length * sizeof *a->text);
}

static int compare_words(const void *a, const void *b) {
    const word_t *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? -1 : 1;
    return memcmp(x->text + x->first, y->text + y->first, x->length * sizeof *x->text);
}

// Equal words get equal numbers.
static bpt_status_t number_words(bpt_bleu_counter_t *c) {
    uint32_t number = 0;
    if (c->numbers_room < c->n_words) {
        BPT_TRY(bpt_realloc(&c->number, c->n_words, sizeof *c->number));
        c->numbers_room = c->n_words;
    }
    for (size_t i = 0; i < c->n_words; ++i) c->words[i].text = c->text.at;
    if (c->n_words) qsort(c->words, c->n_words, sizeof *c->words, compare_words);
    for (size_t i = 0; i < c->n_words; ++i) {
        number += i == 0 || !same_word(&c->words[i - 1], &c->words[i]);
        c->number[c->words[i].place] = number;
    }
    return BPT_OK;
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
    c->n_words = c->n_ngrams = c->text.count = 0;
    BPT_TRY(bpt_alloc((size_t)n_references, sizeof *length, &length));
    bpt_status_t status = add_words(c, hypothesis, &words);
    for (int r = 0; r < n_references && status == BPT_OK; ++r) status = add_words(c, &references[r], &length[r]);
    if (status == BPT_OK) status = number_words(c);
    if (status == BPT_OK) status = add_ngrams(c, c->number, words, 0);
    int64_t first = words;
    for (int r = 0; r < n_references && status == BPT_OK; first += length[r++]) {
        const int64_t away = llabs(words - length[r]), before = llabs(words - nearest);
        if (nearest < 0 || away < before || (away == before && length[r] < nearest)) nearest = length[r];
        status = add_ngrams(c, c->number + first, length[r], (uint32_t)r + 1);
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

bpt_bleu_t bpt_bleu_score(const bpt_bleu_counts_t *c) {
    bpt_bleu_t bleu = {.penalty = 1};
    double halved = 1, logs = 0;
    bool any = false;
    if (c->hypothesis < c->reference) bleu.penalty = c->hypothesis > 0 ? exp(1 - (double)c->reference / (double)c->hypothesis) : 0;
    for (int n = 0; n < BPT_BLEU_ORDER; ++n) any |= c->correct[n] > 0;
    if (!any) return bleu;
    for (int n = 0; n < BPT_BLEU_ORDER && c->total[n]; ++n) {
        if (!c->correct[n]) halved *= 2;
        bleu.precision[n] = c->correct[n] ? 100. * (double)c->correct[n] / (double)c->total[n] : 100. / (halved * (double)c->total[n]);
    }
    // An order without n-grams, in a corpus of very short segments, makes the score 0.
    for (int n = 0; n < BPT_BLEU_ORDER; ++n) logs += log(bleu.precision[n]);
    bleu.score = bleu.penalty * exp(logs / BPT_BLEU_ORDER);
    return bleu;
}
