// The best sequences of tags against all sequences there are.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/rng.h"
#include "data/score/best_tags.h"
#include "data/score/viterbi.h"
#include "support/check.h"

enum { TAGS = 3, MOST_N = 5, ALL = 243, K = 300 };

static float number(uint64_t seed, uint64_t i) { return (float)(bpt_mix64(seed << 20 | i) % 4001) / 1000.0f - 2; }

typedef struct {
    double value;
    uint32_t tags[MOST_N];
} path_t;

static int better_first(const void *a, const void *b) {
    const path_t *x = a, *y = b;
    return x->value > y->value ? -1 : x->value < y->value;
}

static double value_of(const float *scores, const float *transitions, const uint32_t *tags, int n) {
    double sum = 0;
    for (int t = 0; t < n; ++t) sum += (double)scores[t * TAGS + tags[t]];
    if (!transitions) return sum;
    for (int t = 1; t < n; ++t) sum += (double)transitions[tags[t - 1] * TAGS + tags[t]];
    return sum + (double)transitions[TAGS * TAGS + tags[0]] + (double)transitions[(TAGS + 1) * TAGS + tags[n - 1]];
}

// All of them, sorted, their values logarithms of probabilities.
static int list_all(const float *scores, const float *transitions, int n, path_t *out) {
    int count = 1;
    double total = 0;
    for (int t = 0; t < n; ++t) count *= TAGS;
    for (int i = 0; i < count; ++i) {
        for (int t = 0, rest = i; t < n; ++t, rest /= TAGS) out[i].tags[t] = (uint32_t)(rest % TAGS);
        out[i].value = value_of(scores, transitions, out[i].tags, n);
        total += exp(out[i].value);
    }
    for (int i = 0; i < count; ++i) out[i].value -= log(total);
    qsort(out, (size_t)count, sizeof *out, better_first);
    return count;
}

static void check(uint64_t seed, int n, bool chain, int k) {
    static float scores[MOST_N * TAGS], transitions[(TAGS + 2) * TAGS];
    static path_t all[ALL];
    static uint32_t best[K * MOST_N], first[MOST_N];
    static double log_p[K];
    int count;
    for (int i = 0; i < n * TAGS; ++i) scores[i] = number(seed, (uint64_t)i);
    for (int i = 0; i < (TAGS + 2) * TAGS; ++i) transitions[i] = number(seed, 100 + (uint64_t)i);
    const float *given = chain ? transitions : NULL;
    const int there = list_all(scores, given, n, all);
    assert_ok(bpt_best_tags(scores, n, TAGS, given, k, best, log_p, &count));
    assert_int_equal(count, k < there ? k : there);
    double sum = 0;
    for (int i = 0; i < count; ++i) {
        assert_true(fabs(log_p[i] - all[i].value) < 1e-9);
        assert_true(i == 0 || log_p[i] <= log_p[i - 1]);
        for (int j = 0; j < i; ++j) assert_memory_not_equal(best + i * n, best + j * n, (size_t)n * sizeof *best);
        sum += exp(log_p[i]);
    }
    if (count == there) assert_true(fabs(sum - 1) < 1e-9);
    if (chain) {
        assert_ok(bpt_viterbi(scores, n, TAGS, transitions, first));
        assert_memory_equal(best, first, (size_t)n * sizeof *first);
    }
}

static void lists_are_the_best_of_all_sequences(void **state) {
    (void)state;
    static const int ks[] = {1, 2, 7, K};
    for (uint64_t seed = 0; seed < 40; ++seed)
        for (int n = 1; n <= MOST_N; ++n)
            for (size_t i = 0; i < BPT_COUNT(ks); ++i) check(seed, n, true, ks[i]), check(seed, n, false, ks[i]);
}

// Of equal sequences the first is Viterbi's.
static void ties_are_decided_as_by_viterbi(void **state) {
    (void)state;
    static const float scores[MOST_N * TAGS], transitions[(TAGS + 2) * TAGS];
    uint32_t best[4 * MOST_N], first[MOST_N];
    double log_p[4];
    int count;
    assert_ok(bpt_viterbi(scores, MOST_N, TAGS, transitions, first));
    assert_ok(bpt_best_tags(scores, MOST_N, TAGS, transitions, 4, best, log_p, &count));
    assert_memory_equal(best, first, sizeof first);
    assert_true(fabs(log_p[3] + log(ALL)) < 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_the_best_of_all_sequences),
        cmocka_unit_test(ties_are_decided_as_by_viterbi),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
