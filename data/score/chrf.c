// chrF2 (see chrf.h).
#include "data/score/chrf.h"

#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/score/bleu_tokens.h"
#include "data/score/rounding.h"

// Up to six characters from one on, three in a number; each is its code point and one, and 0 is the end of the text.
enum { HALF = 3, BITS = 21 };
typedef struct {
    uint64_t half[2];
} gram_t;

typedef struct {
    gram_t *at;
    size_t count, capacity;
} grams_t;

struct bpt_chrf_counter {
    bool lowercase;
    bpt_code_points_t line, room;
    grams_t hypothesis, reference;
};

bpt_status_t bpt_chrf_counter_create(bool lowercase, bpt_chrf_counter_t **out) {
    BPT_TRY(bpt_alloc(1, sizeof **out, out));
    (*out)->lowercase = lowercase;
    return BPT_OK;
}

void bpt_chrf_counter_destroy(bpt_chrf_counter_t *c) {
    if (!c) return;
    bpt_free(c->line.at);
    bpt_free(c->room.at);
    bpt_free(c->hypothesis.at);
    bpt_free(c->reference.at);
    bpt_free(c);
}

// ---- N-grams of a text

static int compare_grams(const void *a, const void *b) {
    const gram_t *x = a, *y = b;
    for (int h = 0; h < 2; ++h)
        if (x->half[h] != y->half[h]) return x->half[h] < y->half[h] ? -1 : 1;
    return 0;
}

static gram_t gram_at(const bpt_code_points_t *text, size_t at) {
    gram_t gram = {{0}};
    for (int n = 0; n < BPT_CHRF_ORDER && at + (size_t)n < text->count; ++n)
        gram.half[n / HALF] |= (uint64_t)(text->at[at + (size_t)n] + 1) << (BITS * (HALF - 1 - n % HALF));
    return gram;
}

// Those of all lengths are the beginnings of the longest; sorted, equal ones of any length are neighbours.
static bpt_status_t read_grams(bpt_chrf_counter_t *c, const bpt_range_t *line, grams_t *grams) {
    size_t kept = 0;
    BPT_TRY(bpt_bleu_tokenize(BPT_BLEU_NONE, c->lowercase, line, &c->line, &c->room));
    for (size_t i = 0; i < c->line.count; ++i)
        if (!bpt_bleu_is_space(c->line.at[i])) c->line.at[kept++] = c->line.at[i];
    c->line.count = kept;
    for (grams->count = 0; grams->count < kept; ++grams->count) {
        BPT_TRY(bpt_grow(&grams->at, grams->count, &grams->capacity, sizeof *grams->at));
        grams->at[grams->count] = gram_at(&c->line, grams->count);
    }
    if (kept) qsort(grams->at, kept, sizeof *grams->at, compare_grams);
    return BPT_OK;
}

// ---- What two texts share

// Its first n characters.
static gram_t cut(gram_t gram, int n) {
    const int first = n < HALF ? n : HALF, second = n - first;
    gram.half[0] &= ~UINT64_C(0) << (BITS * (HALF - first));
    gram.half[1] &= ~UINT64_C(0) << (BITS * (HALF - second));
    return gram;
}

static int compare(const grams_t *a, size_t i, const grams_t *b, size_t j, int n) {
    const gram_t x = cut(a->at[i], n), y = cut(b->at[j], n);
    return compare_grams(&x, &y);
}

// How often the n-gram at *i occurs; moves *i behind it.
static size_t take(const grams_t *grams, size_t *i, int n) {
    const size_t first = *i;
    while (++*i < grams->count && !compare(grams, first, grams, *i, n)) {
    }
    return *i - first;
}

static size_t matches(const grams_t *a, const grams_t *b, int n) {
    const int last = (n - 1) / HALF;
    const uint64_t nth = UINT64_C(0x1fffff) << (BITS * (HALF - 1 - (n - 1) % HALF));
    size_t matched = 0;
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const int order = compare(a, i, b, j, n);
        const bool whole = a->at[i].half[last] & nth;  // no shorter one at the end of a text
        const size_t in_a = order <= 0 ? take(a, &i, n) : 0, in_b = order >= 0 ? take(b, &j, n) : 0;
        if (order == 0 && whole) matched += in_a < in_b ? in_a : in_b;
    }
    return matched;
}

static double ngrams(const grams_t *grams, int n) { return grams->count >= (size_t)n ? (double)(grams->count - (size_t)n + 1) : 0; }

static void compare_texts(const bpt_chrf_counter_t *c, bpt_chrf_counts_t counts[BPT_CHRF_ORDER]) {
    for (int n = 1; n <= BPT_CHRF_ORDER; ++n) {
        bpt_chrf_counts_t *of = &counts[n - 1];
        of->reference = ngrams(&c->reference, n);
        of->hypothesis = of->reference > 0 ? ngrams(&c->hypothesis, n) : 0;
        of->matched = (double)matches(&c->hypothesis, &c->reference, n);
    }
}

bpt_status_t bpt_chrf_count(bpt_chrf_counter_t *c, const bpt_range_t *hypothesis, const bpt_range_t *references, int n_references,
                            bpt_chrf_counts_t counts[BPT_CHRF_ORDER]) {
    double best = -1;
    BPT_TRY(read_grams(c, hypothesis, &c->hypothesis));
    for (int r = 0; r < n_references; ++r) {
        bpt_chrf_counts_t found[BPT_CHRF_ORDER];
        BPT_TRY(read_grams(c, &references[r], &c->reference));
        compare_texts(c, found);
        const double score = bpt_chrf_score(found, false);
        if (score <= best) continue;
        best = score;
        memcpy(counts, found, sizeof found);
    }
    return BPT_OK;
}

// ---- The score

double bpt_chrf_score(const bpt_chrf_counts_t counts[BPT_CHRF_ORDER], bool single) {
    const double factor = BPT_CHRF_BETA * BPT_CHRF_BETA;
    double precision = 0, recall = 0;
    int orders = 0;  // with n-grams in both
    for (int n = 0; n < BPT_CHRF_ORDER; ++n) {
        const bpt_chrf_counts_t *c = &counts[n];
        if (!(c->hypothesis > 0 && c->reference > 0)) continue;
        precision = bpt_round(single, precision + bpt_round(single, c->matched / c->hypothesis));
        recall = bpt_round(single, recall + bpt_round(single, c->matched / c->reference));
        ++orders;
    }
    if (!orders) return 0;
    precision = bpt_round(single, precision / orders);
    recall = bpt_round(single, recall / orders);
    if (!(precision + recall > 0)) return 0;
    const double above = bpt_round(single, bpt_round(single, (1 + factor) * precision) * recall);
    const double below = bpt_round(single, bpt_round(single, factor * precision) + recall);
    return bpt_round(single, 100 * bpt_round(single, above / below));
}
