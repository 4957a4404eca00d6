// bpt/model.h: weights of classes in a step of training, and the temperature that fits logits.
#include <math.h>

#include "api_fixture.h"
#include "support/support.h"

enum { TEXTS = 4, WORDS = 3, CLASSES = 3 };

static const char config[] =
    "{\"model\": \"bpt\", \"task\": \"classify\", \"layers\": 1, \"d_model\": 16, \"d_ff\": 32, \"heads\": 2, \"k\": 2, \"rel_levels\": 4, "
    "\"vocab\": 20, \"classes\": 3, \"unit\": \"ids\"}";

static uint32_t tokens[TEXTS * WORDS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const int64_t lengths[TEXTS] = {WORDS, WORDS, WORDS, WORDS};
static const uint32_t labels[TEXTS] = {0, 1, 2, 1};

static bpt_model_t *create(void) {
    bpt_model_t *m = NULL;
    assert_ok(bpt_model_create(config, 1, NULL, &m));
    return m;
}

static double step(bpt_model_t *m, const float *weights) {
    const bpt_micro_batch_t micro = {.sequences = {tokens, lengths, TEXTS}, .labels = labels};
    bpt_train_options_t o = bpt_train_options(0.01);
    bpt_train_result_t result;
    o.class_weights = weights;
    assert_ok(bpt_model_train_step(m, &micro, 1, &o, &result));
    return result.loss;
}

// The mean over the texts of weight * nll.
static double loss_by_hand(bpt_model_t *m, const float *weights) {
    const bpt_sequences_t s = {tokens, lengths, TEXTS};
    float logits[TEXTS * CLASSES];
    double loss = 0;
    assert_ok(bpt_model_classify(m, &s, logits));
    for (int t = 0; t < TEXTS; ++t) {
        double sum = 0;
        for (int c = 0; c < CLASSES; ++c) sum += exp((double)logits[t * CLASSES + c]);
        loss += (double)weights[labels[t]] * (log(sum) - (double)logits[t * CLASSES + (int)labels[t]]);
    }
    return loss / TEXTS;
}

static void a_step_counts_classes_by_their_weights(void **state) {
    (void)state;
    const float weights[CLASSES] = {3, 0.25f, 1.5f}, ones[CLASSES] = {1, 1, 1};
    bpt_model_t *m = create(), *plain = create(), *same = create();
    for (int i = 0; i < 3; ++i) {
        const double wanted = loss_by_hand(m, weights), loss = step(m, weights);
        assert_true(fabs(loss - wanted) < 1e-5);
        assert_true(step(plain, NULL) == step(same, ones));
        assert_true(i == 0 || fabs(loss_by_hand(plain, ones) - loss_by_hand(m, ones)) > 1e-4);
    }
    bpt_model_close(m), bpt_model_close(plain), bpt_model_close(same);
}

static void bad_weights_are_refused(void **state) {
    (void)state;
    const float bad[][CLASSES] = {{1, 0, 1}, {1, -1, 1}, {1, 1, NAN}, {INFINITY, 1, 1}};
    const bpt_micro_batch_t micro = {.sequences = {tokens, lengths, TEXTS}, .labels = labels};
    bpt_model_t *m = create();
    for (size_t i = 0; i < BPT_COUNT(bad); ++i) {
        bpt_train_options_t o = bpt_train_options(0.01);
        o.class_weights = bad[i];
        assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "weights are finite numbers above 0");
    }
    bpt_model_close(m);
}

static void a_temperature_is_fitted(void **state) {
    (void)state;
    const float logits[] = {2, 0, 0, 2, 2, 0, 2, 0};  // three of four are right: 3 = exp(2 / T)
    const uint32_t right[] = {0, 1, 0, 1}, beyond[] = {0, 1, 2, 0};
    double t;
    assert_ok(bpt_fit_temperature(logits, right, 4, 2, &t));
    assert_true(fabs(t - 2 / log(3)) < 1e-9);
    assert_fails(bpt_fit_temperature(logits, beyond, 4, 2, &t), BPT_ERR_USAGE, "labels[2] is 2, and there are 2 classes");
    assert_fails(bpt_fit_temperature(logits, right, 0, 2, &t), BPT_ERR_USAGE, "there must be some");
    assert_fails(bpt_fit_temperature(NULL, right, 4, 2, &t), BPT_ERR_USAGE, "a null pointer");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_counts_classes_by_their_weights),
        cmocka_unit_test(bad_weights_are_refused),
        cmocka_unit_test(a_temperature_is_fitted),
    };
    return cmocka_run_group_tests_name("api_class_weights", tests, NULL, NULL);
}
