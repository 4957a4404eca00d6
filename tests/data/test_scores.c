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
        {"U-A B-A L-A O U-B", "S-A B-A E-A O S-B", 3, 3, 3},  // BILOU and BMES, as seqeval reads them in BIOES letters
        {"B-A M-A M-A E-A S-A", "B-A I-A I-A E-A S-A", 2, 2, 2},
        {"U-A U-A L-A I-A", "U-A I-A I-A M-A", 4, 2, 1},
        {"B I O B B", "B I O B I", 3, 2, 1},  // spans of one kind
        {"S S B M E", "S B E B E", 3, 3, 1},
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

// Which letter a token of a span has.
static char letter_of(bpt_tag_scheme_t scheme, bool first, bool last, bool touches) {
    if (scheme == BPT_SCHEME_IOB1) return first && touches ? 'B' : 'I';
    if (scheme == BPT_SCHEME_IOB2) return first ? 'B' : 'I';
    if (first && last) return scheme == BPT_SCHEME_BILOU ? 'U' : 'S';
    if (first) return 'B';
    if (last) return scheme == BPT_SCHEME_BILOU ? 'L' : 'E';
    return scheme == BPT_SCHEME_BMES ? 'M' : 'I';
}

// A random sequence of spans in a scheme.
static int64_t write_spans(uint64_t seed, bpt_tag_scheme_t scheme, bool typed, char text[200]) {
    static const char *const types[] = {"-PER", "-LOC"};
    char *p = text;
    int64_t n = 0;
    const char *before = NULL;
    while (n < 9) {
        const uint64_t r = bpt_mix64(seed * 100 + (uint64_t)n);
        const char *type = typed ? types[r >> 8 & 1] : "";
        if (r % 3 == 0) {
            p += sprintf(p, "%sO", n ? " " : "");
            before = NULL, ++n;
            continue;
        }
        const int64_t length = 1 + (int64_t)(r >> 16) % 3;
        for (int64_t i = 0; i < length; ++i, ++n)
            p += sprintf(p, "%s%c%s", n ? " " : "", letter_of(scheme, i == 0, i + 1 == length, before != NULL && strcmp(before, type) == 0),
                         type);
        before = type;
    }
    return n;
}

static void every_scheme_is_converted_to_every_other(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 600; ++seed)
        for (int from = BPT_SCHEME_IOB1; from <= BPT_SCHEME_BMES; ++from)
            for (int to = BPT_SCHEME_IOB1; to <= BPT_SCHEME_BMES; ++to) {
                char given[200], wanted[200], letter[MOST];
                bpt_span_tag_t tags[MOST];
                const bool typed = seed % 2;
                const int64_t n = write_spans(seed, (bpt_tag_scheme_t)from, typed, given);
                write_spans(seed, (bpt_tag_scheme_t)to, typed, wanted);
                assert_int_equal(parse(given, tags), n);
                bpt_spans_convert(tags, n, (bpt_tag_scheme_t)to, letter);
                const char *w = wanted;
                for (int64_t i = 0; i < n; ++i, w += strcspn(w, " "), w += *w == ' ')
                    if (letter[i] != *w) fail_msg("%s: token %d is %c, wanted %s", given, (int)i, letter[i], wanted);
            }
}

static void the_scheme_of_data_is_seen(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bpt_tag_scheme_t scheme;
    } cases[] = {{"O O", BPT_SCHEME_KEEP},         {"O I-A I-A B-A O", BPT_SCHEME_IOB1}, {"O I-A I-A", BPT_SCHEME_IOB1},
                 {"B-A I-A B-A", BPT_SCHEME_IOB2}, {"B-A O I-A", BPT_SCHEME_IOB2},  // not without fault
                 {"B O", BPT_SCHEME_IOB2},         {"I O I B", BPT_SCHEME_IOB1},         {"B-A I-A E-A", BPT_SCHEME_BIOES},
                 {"S-A O", BPT_SCHEME_BIOES},      {"U-A O B-B L-B", BPT_SCHEME_BILOU},  {"B M E S", BPT_SCHEME_BMES},
                 {"I-A E-A O", BPT_SCHEME_KEEP}};  // spans told by their ends
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_span_tag_t tags[MOST];
        bpt_scheme_signs_t signs = {0};
        char letters[MOST];
        const int64_t n = parse(cases[i].text, tags);
        const char *p = cases[i].text;
        for (int64_t k = 0; k < n; ++k, p += strcspn(p, " "), p += *p == ' ') letters[k] = *p;
        bpt_scheme_signs_add(&signs, letters, tags, n);
        if (bpt_scheme_of(&signs) != cases[i].scheme) fail_msg("%s: %d", cases[i].text, (int)bpt_scheme_of(&signs));
    }
}

// All labels count: letters mean something only where all of them are of one scheme.
static void labels_that_are_no_tags_of_spans_are_told_apart(void **state) {
    (void)state;
    static const struct {
        const char *labels[7];
        bool are_tags, most;
        int64_t misfit;
    } cases[] = {
        {{"O", "B-PER", "I-PER"}, true, true, -1},
        {{"B-PER", "L-PER", "I-PER", "U-LOC"}, true, true, -1},
        {{"B-PER", "M-PER", "E-PER", "O", "S-LOC"}, true, true, -1},
        {{"B", "I", "O"}, true, true, -1},
        {{"I", "O"}, true, true, -1},
        {{"B", "E", "M", "S"}, true, true, -1},
        {{"E-PER", "I-PER", "O"}, true, true, -1},
        {{"NOUN", "VERB"}, false, false, 0},
        {{"O"}, false, false, -1},
        {{"O", "B-PER", "PER"}, false, false, 2},
        {{"O", "B-"}, false, false, 1},
        {{"B", "N", "O", "V"}, false, false, 1},  // parts of speech
        {{"S", "V"}, false, false, 1},
        {{"O", "S"}, false, true, -1},  // spans without a beginning: any two classes
        {{"B-PER", "B_PER", "I-PER", "O"}, false, true, 1},
        {{"B", "B-PER", "I-PER", "O"}, false, true, 0},
        {{"B-PER", "I-PER", "M-PER", "O"}, false, true, 2},  // two schemes
        {{"B-PER", "E-PER", "I-PER", "O", "U-PER"}, false, true, 4},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        int64_t count = 0;
        bool most;
        while (cases[i].labels[count]) ++count;
        const int64_t misfit = bpt_spans_misfit(cases[i].labels, count, &most);
        if (bpt_spans_are_tags(cases[i].labels, count) != cases[i].are_tags || misfit != cases[i].misfit || most != cases[i].most)
            fail_msg("case %zu: misfit %d, most %d", i, (int)misfit, most);
    }
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
        cmocka_unit_test(spans_are_those_of_the_conll_scorer),
        cmocka_unit_test(every_type_has_its_own_counts),
        cmocka_unit_test(every_scheme_is_converted_to_every_other),
        cmocka_unit_test(the_scheme_of_data_is_seen),
        cmocka_unit_test(labels_that_are_no_tags_of_spans_are_told_apart),
        cmocka_unit_test(viterbi_finds_the_best_of_all_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
