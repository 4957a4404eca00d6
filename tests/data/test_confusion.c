// Precision, recall and F1 of classes as scikit-learn 1.9.1 has them (precision_recall_fscore_support with zero_division=0), and McNemar's
// test as SciPy 1.17.1 computes it (binomtest(min(b, c), b + c).pvalue).
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/score/confusion.h"
#include "data/score/mcnemar.h"
#include "support/check.h"

static const uint32_t wanted[] = {2, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 2, 0, 2, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 2, 2, 1};
static const uint32_t found[] = {2, 0, 1, 1, 2, 1, 0, 1, 0, 1, 3, 1, 0, 1, 2, 0, 2, 0, 0, 0, 1, 3, 1, 1, 0, 0, 2, 0, 2, 1};
static const char *const names[] = {"a", "b", "c", "d", "never"};

static void expect(const char *what, bpt_prf_t is, double precision, double recall, double f1) {
    if (fabs(is.precision - precision) > 1e-15 || fabs(is.recall - recall) > 1e-15 || fabs(is.f1 - f1) > 1e-15)
        fail_msg("%s: %.17g %.17g %.17g", what, is.precision, is.recall, is.f1);
}

static void scores_are_those_of_scikit_learn(void **state) {
    (void)state;
    bpt_confusion_t c;
    assert_ok(bpt_confusion_create(names, BPT_COUNT(names), &c));
    for (size_t i = 0; i < BPT_COUNT(wanted); ++i) bpt_confusion_add(&c, wanted[i], found[i]);
    expect("a", bpt_mean_of(&c.classes[0], 1, BPT_MEAN_MACRO), 0.9090909090909091, 0.5555555555555556, 0.6896551724137931);
    expect("b", bpt_mean_of(&c.classes[1], 1, BPT_MEAN_MACRO), 0.5454545454545454, 1, 0.7058823529411765);
    expect("c", bpt_mean_of(&c.classes[2], 1, BPT_MEAN_MACRO), 0.6666666666666666, 0.6666666666666666, 0.6666666666666666);
    expect("d", bpt_mean_of(&c.classes[3], 1, BPT_MEAN_MACRO), 0, 0, 0);
    expect("micro", bpt_mean_of(c.classes, c.labels, BPT_MEAN_MICRO), 0.6666666666666666, 0.6666666666666666, 0.6666666666666666);
    expect("macro", bpt_mean_of(c.classes, c.labels, BPT_MEAN_MACRO), 0.5303030303030303, 0.5555555555555556, 0.5155510480054091);
    expect("weighted", bpt_mean_of(c.classes, c.labels, BPT_MEAN_WEIGHTED), 0.7878787878787878, 0.6666666666666666, 0.6883029073698446);
    assert_int_equal(c.pairs[0 * 5 + 1], 4);  // a, where b was given
    assert_int_equal(c.pairs[1 * 5 + 0], 0);
    assert_int_equal(c.pairs[0 * 5 + 3], 2);
    assert_false(bpt_class_occurs(&c.classes[4]));
    bpt_confusion_free(&c);
}

static void many_labels_have_scores_without_pairs(void **state) {
    (void)state;
    enum { LABELS = BPT_CONFUSION_MOST + 1 };
    static const char *many[LABELS];
    bpt_confusion_t c;
    for (int i = 0; i < LABELS; ++i) many[i] = "x";
    assert_ok(bpt_confusion_create(many, LABELS, &c));
    assert_null(c.pairs);
    bpt_confusion_add(&c, LABELS - 1, 0);
    expect("micro", bpt_mean_of(c.classes, c.labels, BPT_MEAN_MICRO), 0, 0, 0);
    bpt_confusion_free(&c);
}

static void the_test_is_exact(void **state) {
    (void)state;
    static const struct {
        int64_t first, second;
        double p;
    } cases[] = {{0, 0, 1},
                 {0, 1, 1},
                 {1, 5, 0.21875},
                 {10, 10, 1},
                 {10, 11, 1},
                 {12, 30, 0.007915897334896727},
                 {30, 12, 0.007915897334896727},
                 {0, 40, 1.8189894035458565e-12},
                 {400, 500, 0.0009564441369189373},
                 {100000, 101000, 0.02586239243973295},
                 {3, 2000, 0}};
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        const double p = bpt_mcnemar(cases[i].first, cases[i].second);
        if (!(fabs(p - cases[i].p) <= 1e-9 * cases[i].p)) fail_msg("case %zu: %.17g, not %.17g", i, p, cases[i].p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_scikit_learn),
        cmocka_unit_test(many_labels_have_scores_without_pairs),
        cmocka_unit_test(the_test_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
