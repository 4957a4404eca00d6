// What tasks make of logits and losses: functions of arrays, without a model, a device or a graph.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "models/nn/softmax.h"
#include "models/tasks/task.h"
#include "support/check.h"

enum { MOST = 8, CLASSES = 3 };

// What an evaluation hands to a task.
typedef struct {
    bpt_model_config_t config;
    bpt_batch_t batch;
    bpt_measure_t measure;
    bpt_task_model_t model;
    float nll[MOST], logits[MOST * CLASSES];
    uint32_t best[MOST];
    double tally[3 * (CLASSES + 1)];
} given_t;

static void give(bpt_task_t task, int64_t targets, const float *logits, given_t *g) {
    *g = (given_t){.config = {.task = task, .classes = CLASSES}, .batch = {.n_real = 1, .n_targets = targets}};
    g->batch.shape = bpt_batch_buckets(targets, 1);
    g->measure = (bpt_measure_t){.nll = g->nll, .logits = g->logits, .best = g->best, .tally = g->tally};
    g->measure.n_tally = sizeof g->tally / sizeof g->tally[0];
    g->model = (bpt_task_model_t){.config = &g->config};
    if (logits) memcpy(g->logits, logits, (size_t)(targets * CLASSES) * sizeof *logits);
}

static void measure(given_t *g) { assert_ok(bpt_task_of(&g->config)->measure(&g->model, &g->batch, &g->measure)); }

static void metrics_of(given_t *g, int64_t scored, double value[BPT_MOST_METRICS]) {
    for (int i = 0; i < BPT_MOST_METRICS; ++i) value[i] = NAN;
    bpt_task_of(&g->config)->finish(&g->measure, scored, value);
}

static void tasks_say_what_they_look_at(void **state) {
    (void)state;
    for (int t = 0; t < BPT_N_TASKS; ++t) {
        const bpt_model_config_t config = {.task = (bpt_task_t)t, .classes = CLASSES};
        assert_true(bpt_task_looks(&config) == BPT_LOOKS_LOSS || bpt_task_looks(&config) == BPT_LOOKS_LOGITS);
        if (!bpt_tasks[t]->measure) assert_int_equal(bpt_task_looks(&config), BPT_LOOKS_LOSS);
        assert_null(bpt_task_decodes_with(&config));
    }
    // The loss of a CRF is that of a sequence and its answer needs the transitions.
    const bpt_model_config_t crf = {.task = BPT_TASK_TAG, .classes = CLASSES, .crf = true};
    assert_int_equal(bpt_task_looks(&crf), BPT_LOOKS_LOSS | BPT_LOOKS_LOGITS);
    assert_string_equal(bpt_task_decodes_with(&crf)[0], "crf.transitions");
}

// p = softmax(0, log 2, log 5) = 1/8, 2/8, 5/8.
static void a_classifier_measures_nll_and_accuracy(void **state) {
    (void)state;
    const float row[] = {0, logf(2), logf(5)};
    const uint32_t targets[] = {2, 0, 0, 0}, unknown[] = {BPT_PLACEHOLDER, BPT_PLACEHOLDER, CLASSES, BPT_PLACEHOLDER};
    const float weights[] = {1, 1, 0, 0};  // a label that the model does not know; padding
    float logits[4 * CLASSES];
    double value[BPT_MOST_METRICS];
    given_t g;
    for (int i = 0; i < 4; ++i) memcpy(logits + (size_t)i * CLASSES, row, sizeof row);
    give(BPT_TASK_CLASSIFY, 4, logits, &g);
    g.batch.targets = targets;
    g.batch.weights = weights;
    g.batch.unknown = unknown;
    measure(&g);
    assert_true(fabs(g.nll[0] - log(8.0 / 5)) < 1e-6 && fabs(g.nll[1] - log(8)) < 1e-6);
    assert_true(g.nll[2] == 0 && g.nll[3] == 0);
    assert_true(fabs(g.measure.loss - log(64.0 / 5)) < 1e-6);
    for (int i = 0; i < 4; ++i) assert_int_equal(g.best[i], 2);
    metrics_of(&g, 2, value);
    assert_true(fabs(value[0] - 1.0 / 3) < 1e-12);  // one of two known and one unknown label
    assert_true(fabs(value[1] - 1.0 / 6) < 1e-12);  // 1/2 of class 2, 0 of class 0 and of the unknown one; class 1 does not occur
}

static void regression_measures_the_mean_squared_error(void **state) {
    (void)state;
    const float logits[2 * CLASSES] = {1, 2, 3, 0, 0, 0}, values[2 * CLASSES] = {1, 0, 6, 9, 9, 9}, weights[] = {1, 0};
    double value[BPT_MOST_METRICS];
    given_t g;
    give(BPT_TASK_REGRESS, 2, logits, &g);
    g.batch.values = values;
    g.batch.weights = weights;
    measure(&g);
    metrics_of(&g, 1, value);
    assert_true(fabs(g.nll[0] - 13.0 / 3) < 1e-6 && g.nll[1] == 0);
    assert_true(fabs(value[0] - 13.0 / 3) < 1e-12);
}

static const char *const tags[] = {"O", "B-X", "I-X"};
static const uint32_t wanted[] = {1, 2, 0}, starts[] = {0}, lengths[] = {3};
static const float ones[] = {1, 1, 1};

static void give_tags(bool crf, given_t *g) {
    const float logits[3 * CLASSES] = {0, 3, 1, 2, 0, 1.5f, 3, 0, 0};  // alone: B-X O O
    give(BPT_TASK_TAG, 3, logits, g);
    g->config.crf = crf;
    g->batch.targets = wanted;
    g->batch.weights = ones;
    g->batch.side[0] = (bpt_side_t){.start = starts, .lengths = lengths};
}

static void a_tagger_counts_tokens_and_spans(void **state) {
    (void)state;
    double value[BPT_MOST_METRICS];
    given_t g;
    give_tags(false, &g);
    measure(&g);  // without names of labels there are no spans
    metrics_of(&g, 3, value);
    assert_true(fabs(value[0] - 2.0 / 3) < 1e-12 && isnan(value[3]));
    give_tags(false, &g);
    g.model.labels = tags;
    measure(&g);
    metrics_of(&g, 3, value);
    assert_true(fabs(value[0] - 2.0 / 3) < 1e-12 && value[3] == 0);
    int64_t best;
    assert_true(fabs(g.nll[1] - (bpt_log_sum_exp(g.logits + CLASSES, CLASSES, &best) - 1.5)) < 1e-6);
}

// The same logits with a transition that brings I-X behind B-X; the loss is the evaluation's.
static void a_crf_decodes_with_its_transitions(void **state) {
    (void)state;
    float transitions[(CLASSES + 2) * CLASSES] = {[1 * CLASSES + 2] = 1};
    double value[BPT_MOST_METRICS];
    given_t g;
    give_tags(true, &g);
    g.model.labels = tags;
    g.model.weights = transitions;
    g.measure.loss = 0.25;
    g.nll[0] = 0.25f;
    measure(&g);
    metrics_of(&g, 1, value);
    assert_memory_equal(g.best, wanted, sizeof wanted);
    assert_true(value[0] == 1 && value[3] == 1);
    assert_true(g.measure.loss == 0.25 && g.nll[0] == 0.25f);
}

static void a_softmax_is_that_of_its_definition(void **state) {
    (void)state;
    const float logits[] = {1000, 1000, 1000 + logf(2)};
    float p[3];
    assert_int_equal(bpt_softmax(logits, 3, p), 2);
    assert_true(fabsf(p[0] - 0.25f) < 1e-5 && fabsf(p[1] - 0.25f) < 1e-5 && fabsf(p[2] - 0.5f) < 1e-5);
    assert_int_equal(bpt_largest(logits, 2), 0);  // of equal ones the first
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_say_what_they_look_at),
        cmocka_unit_test(a_classifier_measures_nll_and_accuracy),
        cmocka_unit_test(regression_measures_the_mean_squared_error),
        cmocka_unit_test(a_tagger_counts_tokens_and_spans),
        cmocka_unit_test(a_crf_decodes_with_its_transitions),
        cmocka_unit_test(a_softmax_is_that_of_its_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
