// chrF2, TER, samples: numbers of sacreBLEU 2.6.0 and numpy 2.4.6.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/score/corpus_metric.h"
#include "data/score/numpy_random.h"
#include "data/score/paired.h"
#include "support/check.h"

// numpy.random.default_rng(seed).choice(end, 12)
static void draws_are_those_of_numpy(void **state) {
    (void)state;
    static const struct {
        uint64_t seed;
        uint32_t end, drawn[12];
    } cases[] = {
        {12345, 1000, {699, 227, 788, 316, 204, 797, 642, 676, 988, 391, 839, 332}},
        {7, 3, {2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2}},
        {99999999999,
         4294967295,
         {1137262604, 13941855, 819686187, 2231306898, 3305555792, 2189057943, 2025885325, 305804890, 3926037034, 3127251202, 412960549,
          1360090653}},
        {0, 1, {0}},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_numpy_random_t random = bpt_numpy_random(cases[i].seed);
        for (size_t k = 0; k < BPT_COUNT(cases[i].drawn); ++k)
            assert_int_equal(bpt_numpy_random_below(&random, cases[i].end), cases[i].drawn[k]);
    }
}

// default_rng(12345).choice(3000000000, 1000): three in ten draws are thrown away.
static void draws_that_are_thrown_away_are_those_of_numpy(void **state) {
    (void)state;
    bpt_numpy_random_t random = bpt_numpy_random(12345);
    uint64_t sum = 0;
    for (int i = 0; i < 1000; ++i) {
        const uint32_t drawn = bpt_numpy_random_below(&random, 3000000000U);
        if (i == 0) assert_int_equal(drawn, 2097645094);
        if (i == 999) assert_int_equal(drawn, 1401603177);
        sum += drawn;
    }
    assert_int_equal(sum, 1507660891901);
}

static void count(bpt_metric_id_t metric, const char *hypothesis, const char *const *references, int n, double *numbers) {
    const bpt_metric_options_t options = {0};
    bpt_range_t range[4];
    void *counter = NULL;
    for (int r = 0; r < n; ++r) range[r] = bpt_range_of("reference", references[r], strlen(references[r]));
    const bpt_range_t text = bpt_range_of("hypothesis", hypothesis, strlen(hypothesis));
    assert_ok(bpt_corpus_metrics[metric].open(&options, &counter));
    assert_ok(bpt_corpus_metrics[metric].count(counter, &text, range, n, numbers));
    bpt_corpus_metrics[metric].close(counter);
}

#define TIMES_10(text) text text text text text text text text text text

// TER()._extract_corpus_statistics: edits, words of the reference.
static void edits_are_those_of_sacrebleu(void **state) {
    (void)state;
    static const struct {
        const char *hypothesis, *references[3];
        int n;
        double edits, reference;
    } cases[] = {
        {"", {""}, 1, 0, 0},
        {"", {"a b"}, 1, 2, 2},
        {"a b", {""}, 1, 2, 0},
        {"b a", {"a b"}, 1, 1, 2},
        {"a b c d", {"d a b c"}, 1, 1, 4},
        {"A b C", {"a B c"}, 1, 0, 3},
        // A block of 13 words is moved in two.
        {"n o p q r s t u v w x y z a b c d e f g h i j k l m", {"a b c d e f g h i j k l m n o p q r s t u v w x y z"}, 1, 2, 26},
        // Lengths that differ more than the beam is wide.
        {TIMES_10("x x x x x x "), {"a"}, 1, 60, 1},
        {"a", {TIMES_10("x x x x x x ") "a"}, 1, 60, 61},
        {"a b a b a b", {"b a b a b a", "a a a b b b"}, 2, 1, 6},
        {"c a b d", {"a b c d", "x y"}, 2, 1, 3},
        {"a b c", {"a b", "a b c d", ""}, 3, 1, 2},
        // More than a thousand shifts could be tried.
        {"a b a b b a a b a a b a b a b a b b b b b a b b a a b a b b b b a b a b b a a a",
         {"a a a a a a b b b a b a a a a b b b b a a b b b b a b b b a a a b b b a b b b b"},
         1,
         11,
         40},
        {TIMES_10("a a b a a b a a b "), {TIMES_10("b a b a b a b a b ")}, 1, 30, 90},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        double found[BPT_METRIC_SUMS];
        count(BPT_METRIC_TER, cases[i].hypothesis, cases[i].references, cases[i].n, found);
        if (found[0] != cases[i].edits || found[1] != cases[i].reference)
            fail_msg("%s: %g edits of %g, not %g of %g", cases[i].hypothesis, found[0], found[1], cases[i].edits, cases[i].reference);
    }
}

// CHRF()._extract_corpus_statistics: n-grams of the hypothesis, of the reference, of both.
static void character_ngrams_are_those_of_sacrebleu(void **state) {
    (void)state;
    static const struct {
        const char *hypothesis, *references[2];
        int n;
        double counts[BPT_METRIC_SUMS];
    } cases[] = {
        {"", {""}, 1, {0}},
        {"", {"abc"}, 1, {0, 3, 0, 0, 2, 0, 0, 1, 0}},
        {"abc", {""}, 1, {0}},
        {"ab cd", {"a bcd"}, 1, {4, 4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1}},
        {"aaaa", {"aa"}, 1, {4, 2, 2, 3, 1, 1}},
        {"abcdefgh", {"abcdxefgh", "zabcdefg"}, 2, {8, 8, 7, 7, 7, 6, 6, 6, 5, 5, 5, 4, 4, 4, 3, 3, 3, 2}},
        {"Ä€😀x", {"Ä€😀y"}, 1, {4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1, 0}},
        {"abab", {"baba", "abba"}, 2, {4, 4, 4, 3, 3, 2, 2, 2, 2, 1, 1, 0}},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        double found[BPT_METRIC_SUMS];
        count(BPT_METRIC_CHRF, cases[i].hypothesis, cases[i].references, cases[i].n, found);
        for (int k = 0; k < BPT_METRIC_SUMS; ++k)
            if (found[k] != cases[i].counts[k]) fail_msg("%s: number %d is %g", cases[i].hypothesis, k, found[k]);
    }
}

// Nothing in common, nothing at all.
static void scores_of_nothing_are_finite(void **state) {
    (void)state;
    const double nothing[BPT_METRIC_SUMS] = {0}, edits[BPT_METRIC_SUMS] = {3, 0};
    for (int m = 0; m < BPT_METRICS; ++m) assert_true(bpt_corpus_metrics[m].score(nothing, false).value == 0);
    assert_true(bpt_corpus_metrics[BPT_METRIC_TER].score(edits, false).value == 100);
}

static void systems_that_are_equal_do_not_differ(void **state) {
    (void)state;
    const double numbers[] = {1, 4, 0, 3, 2, 5}, *counts[] = {numbers, numbers};
    bpt_paired_t found[2];
    assert_ok(bpt_paired_bootstrap(&bpt_corpus_metrics[BPT_METRIC_TER], counts, 2, 3, 100, 1, found));
    assert_true(found[0].score == 25 && found[1].score == 25);
    assert_true(found[0].mean == found[1].mean && found[0].margin == found[1].margin);
    assert_true(found[1].p == 1. / 101);  // no sample differs by more than nothing, as sacreBLEU counts
}

// Means and intervals that sacreBLEU 2.6.0 finds in 300 samples, with sums in single precision; a mean whose sums were rounded otherwise
// has other last digits.
static void means_of_samples_are_those_of_numpy(void **state) {
    (void)state;
    static const struct {
        double edits[14], mean, margin;
    } cases[] = {{{0, 7, 1, 3, 2, 9, 4, 8, 3, 13, 2, 9, 6, 9}, 31.113420486450195, 13.48973560333252},
                 {{0, 15, 11, 16, 0, 15, 1, 17, 3, 8, 6, 6, 7, 10}, 32.82874298095703, 24.088577270507812},
                 {{11, 16, 0, 7, 9, 16, 7, 7, 8, 8, 15, 17, 7, 13}, 67.60887908935547, 17.46979331970215},
                 {{13, 14, 3, 3, 2, 6, 5, 7, 13, 15, 7, 16, 9, 18}, 66.67546081542969, 16.525646209716797}};
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        const double *counts[] = {cases[i].edits};
        bpt_paired_t found;
        assert_ok(bpt_paired_bootstrap(&bpt_corpus_metrics[BPT_METRIC_TER], counts, 1, 7, 300, 12345, &found));
        if (found.mean != cases[i].mean || found.margin != cases[i].margin)
            fail_msg("%zu: %.17g, %.17g, not %.17g, %.17g", i, found.mean, found.margin, cases[i].mean, cases[i].margin);
    }
}

static void memory_that_runs_out_is_reported(void **state) {
    (void)state;
    const char *const references[] = {"b a c", "a"};
    const size_t before = bpt_alloc_live();
    for (int m = 0; m < BPT_METRICS; ++m) {
        bpt_status_t status = BPT_ERR_NO_MEMORY;
        for (size_t nth = 1; status != BPT_OK; ++nth) {
            const bpt_metric_options_t options = {0};
            const bpt_range_t text = bpt_range_of("text", "a b c", 5),
                              other[] = {bpt_range_of("r", references[0], 5), bpt_range_of("s", "a", 1)};
            double numbers[BPT_METRIC_SUMS];
            void *counter = NULL;
            bpt_alloc_fail_after(nth);
            status = bpt_corpus_metrics[m].open(&options, &counter);
            if (status == BPT_OK) status = bpt_corpus_metrics[m].count(counter, &text, other, 2, numbers);
            bpt_alloc_fail_after(0);
            bpt_corpus_metrics[m].close(counter);
            assert_true(status == BPT_OK || status == BPT_ERR_NO_MEMORY);
            assert_int_equal(bpt_alloc_live(), before);
            assert_true(nth < 200);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_those_of_numpy),
        cmocka_unit_test(draws_that_are_thrown_away_are_those_of_numpy),
        cmocka_unit_test(edits_are_those_of_sacrebleu),
        cmocka_unit_test(character_ngrams_are_those_of_sacrebleu),
        cmocka_unit_test(scores_of_nothing_are_finite),
        cmocka_unit_test(systems_that_are_equal_do_not_differ),
        cmocka_unit_test(means_of_samples_are_those_of_numpy),
        cmocka_unit_test(memory_that_runs_out_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
