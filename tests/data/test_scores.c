// Tags of spans as the CoNLL scorer reads them, conversion between their schemes, and the best sequence of tags of a CRF.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/rng.h"
#include "data/score/spans.h"
#include "data/score/viterbi.h"
#include "support/check.h"

enum { MOST = 16 };

// Tags separated by blanks.
static int64_t parse(const char *text, bpt_span_tag_t tags[MOST]) {
    int64_t n = 0;
    for (size_t used; *text; text += used + (text[used] == ' ')) {
        used = strcspn(text, " ");
        assert_true(n < MOST && bpt_span_tag_parse(text, used, &tags[n++]));
    }
    return n;
}

// Counts that conlleval.pl prints for these sequences.
static void spans_are_those_of_the_conll_scorer(void **state) {
    (void)state;
    static const struct {
        const char *wanted, *found;
        int64_t n_wanted, n_found, n_correct;
    } cases[] = {
        {"O O O", "O O O", 0, 0, 0},
        {"B-PER I-PER O", "B-PER I-PER O", 1, 1, 1},
        {"B-PER I-PER O", "B-PER O O", 1, 1, 0},
        {"B-PER I-PER O", "I-PER I-PER O", 1, 1, 1},  // IOB1 beside IOB2
        {"I-PER I-LOC O", "B-PER B-LOC O", 2, 2, 2},  // another type opens a span
        {"I-PER B-PER O", "B-PER I-PER O", 2, 1, 0},
        {"O I-ORG I-ORG", "O B-ORG I-ORG", 1, 1, 1},
        {"B-PER I-ORG I-ORG", "B-PER I-PER I-ORG", 2, 2, 0},
        {"B-A I-A I-A B-A", "B-A I-A B-A I-A", 2, 2, 0},
        {"S-A B-A E-A O S-B", "B-A B-A I-A O B-B", 3, 3, 3},  // BIOES beside IOB2
        {"B-A E-A I-A", "B-A I-A B-A", 2, 2, 2},              // a tag behind E opens a span
        {"B-A I-A E-A", "S-A I-A E-A", 1, 2, 0},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_span_tag_t wanted[MOST], found[MOST];
        bpt_span_counts_t counts = {0};
        const int64_t n = parse(cases[i].wanted, wanted);
        assert_int_equal(parse(cases[i].found, found), n);
        bpt_spans_count(wanted, found, n, &counts);
        if (counts.wanted != cases[i].n_wanted || counts.found != cases[i].n_found || counts.correct != cases[i].n_correct)
            fail_msg("%s | %s: %d wanted, %d found, %d correct", cases[i].wanted, cases[i].found, (int)counts.wanted, (int)counts.found,
                     (int)counts.correct);
    }
    const bpt_span_counts_t some = {.wanted = 4, .found = 5, .correct = 2}, none = {0};
    assert_true(fabs(bpt_spans_precision(&some) - 0.4) < 1e-12 && fabs(bpt_spans_recall(&some) - 0.5) < 1e-12);
    assert_true(fabs(bpt_spans_f1(&some) - 4.0 / 9) < 1e-12 && bpt_spans_f1(&none) <= 0);
}

// Of a span that both have, the type is the same; one that only the model has counts for the type that the model gave it.
static void every_type_has_its_own_counts(void **state) {
    (void)state;
    const char *const labels[] = {"I-PER", "O", "B-PER", "B-LOC", "S-X-Y", "B-PERS"};
    static const char *const pairs[][2] = {
        {"B-PER I-PER O B-LOC", "B-PER I-PER O B-PER"}, {"B-LOC S-X-Y O O", "B-LOC S-X-Y O B-PERS"}, {"O B-PER", "O B-LOC"}};
    static const struct {
        const char *name;
        bpt_span_counts_t counts;
    } want[] = {{"LOC", {2, 2, 1}}, {"PER", {2, 2, 1}}, {"PERS", {0, 1, 0}}, {"X-Y", {1, 1, 1}}};
    bpt_span_type_t *types;
    size_t n_types;
    bpt_span_counts_t all = {0}, sum = {0};
    assert_ok(bpt_span_types(labels, BPT_COUNT(labels), &types, &n_types));
    assert_int_equal(n_types, BPT_COUNT(want));
    for (size_t i = 0; i < BPT_COUNT(pairs); ++i) {
        bpt_span_tag_t wanted[MOST], found[MOST];
        const int64_t n = parse(pairs[i][0], wanted);
        assert_int_equal(parse(pairs[i][1], found), n);
        bpt_spans_count_types(wanted, found, n, types, n_types);
        bpt_spans_count(wanted, found, n, &all);
    }
    for (size_t i = 0; i < n_types; ++i) {
        const bpt_span_counts_t *c = &types[i].counts;
        assert_string_equal(types[i].name, want[i].name);
        if (memcmp(c, &want[i].counts, sizeof *c))
            fail_msg("%s: %d wanted, %d found, %d correct", types[i].name, (int)c->wanted, (int)c->found, (int)c->correct);
        sum.wanted += c->wanted, sum.found += c->found, sum.correct += c->correct;
    }
    assert_memory_equal(&sum, &all, sizeof sum);
    bpt_free(types);
}

// A random sequence of spans in a scheme.
static int64_t write_spans(uint64_t seed, bpt_tag_scheme_t scheme, char text[200]) {
    static const char *const types[] = {"PER", "LOC"};
    char *p = text;
    int64_t n = 0;
    const char *before = NULL;
    while (n < 9) {
        const uint64_t r = bpt_mix64(seed * 100 + (uint64_t)n);
        const char *type = types[r >> 8 & 1];
        if (r % 3 == 0) {
            p += sprintf(p, "%sO", n ? " " : "");
            before = NULL, ++n;
            continue;
        }
        const int64_t length = 1 + (int64_t)(r >> 16) % 3;
        for (int64_t i = 0; i < length; ++i, ++n) {
            const bool first = i == 0, last = i + 1 == length;
            const char prefix = scheme == BPT_SCHEME_BIOES  ? (first && last ? 'S'
                                                               : first       ? 'B'
                                                               : last        ? 'E'
                                                                             : 'I')
                                : scheme == BPT_SCHEME_IOB2 ? (first ? 'B' : 'I')
                                                            : (first && before == type ? 'B' : 'I');
            p += sprintf(p, "%s%c-%s", n ? " " : "", prefix, type);
        }
        before = type;
    }
    return n;
}

static void every_scheme_is_converted_to_every_other(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 300; ++seed)
        for (int from = BPT_SCHEME_IOB1; from <= BPT_SCHEME_BIOES; ++from)
            for (int to = BPT_SCHEME_IOB1; to <= BPT_SCHEME_BIOES; ++to) {
                char given[200], wanted[200], prefix[MOST];
                bpt_span_tag_t tags[MOST], expected[MOST];
                const int64_t n = write_spans(seed, (bpt_tag_scheme_t)from, given);
                write_spans(seed, (bpt_tag_scheme_t)to, wanted);
                assert_int_equal(parse(given, tags), n);
                assert_int_equal(parse(wanted, expected), n);
                bpt_spans_convert(tags, n, (bpt_tag_scheme_t)to, prefix);
                for (int64_t i = 0; i < n; ++i)
                    if (prefix[i] != expected[i].prefix) fail_msg("%s: token %d is %c, wanted %s", given, (int)i, prefix[i], wanted);
            }
}

static void labels_that_are_no_tags_of_spans_are_told_apart(void **state) {
    (void)state;
    const char *const spans[] = {"O", "B-PER", "I-PER"}, *const words[] = {"NOUN", "VERB"}, *const outside[] = {"O"},
                      *const mixed[] = {"O", "B-PER", "PER"}, *const short_one[] = {"O", "B-"};
    assert_true(bpt_spans_are_tags(spans, 3));
    assert_false(bpt_spans_are_tags(words, 2));
    assert_false(bpt_spans_are_tags(outside, 1));
    assert_false(bpt_spans_are_tags(mixed, 3));
    assert_false(bpt_spans_are_tags(short_one, 2));
}

static double score(const float *x, const float *t, int64_t n, int64_t tags, const uint32_t *y) {
    double sum = (double)t[tags * tags + y[0]] + (double)t[(tags + 1) * tags + y[n - 1]];
    for (int64_t i = 0; i < n; ++i) sum += (double)x[i * tags + y[i]] + (i ? (double)t[y[i - 1] * tags + y[i]] : 0);
    return sum;
}

static void viterbi_finds_the_best_of_all_sequences(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 200; ++seed) {
        const int64_t tags = 1 + (int64_t)(seed % 4), n = 1 + (int64_t)(seed / 4 % 5);
        float x[5 * 4], t[6 * 4];
        uint32_t got[5], y[5] = {0};
        // Whole numbers, so that several sequences are often equally good.
        for (size_t i = 0; i < BPT_COUNT(x); ++i) x[i] = (float)(bpt_mix64(seed * 1000 + i) % 4);
        for (size_t i = 0; i < BPT_COUNT(t); ++i) t[i] = (float)(bpt_mix64(seed * 1000 + 500 + i) % 4);
        assert_ok(bpt_viterbi(x, n, tags, t, got));
        double best = -INFINITY;
        for (int64_t all = 0, count = (int64_t)pow((double)tags, (double)n); all < count; ++all) {
            for (int64_t i = 0, rest = all; i < n; ++i, rest /= tags) y[i] = (uint32_t)(rest % tags);
            best = fmax(best, score(x, t, n, tags, y));
        }
        assert_true(fabs(score(x, t, n, tags, got) - best) < 1e-9);
    }
    const float equal[8] = {0}, no_preference[8] = {0};
    uint32_t got[4] = {9, 9, 9, 9};
    assert_ok(bpt_viterbi(equal, 4, 2, no_preference, got));
    for (int i = 0; i < 4; ++i) assert_int_equal(got[i], 0);  // of equal ones the smaller
    assert_ok(bpt_viterbi(equal, 0, 2, no_preference, got));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_those_of_the_conll_scorer),      cmocka_unit_test(every_type_has_its_own_counts),
        cmocka_unit_test(every_scheme_is_converted_to_every_other), cmocka_unit_test(labels_that_are_no_tags_of_spans_are_told_apart),
        cmocka_unit_test(viterbi_finds_the_best_of_all_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
