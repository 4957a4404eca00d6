// Calibration of probabilities: bins and errors by hand, and the temperature that fits.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/score/calibration.h"
#include "support/check.h"

static void errors_are_those_of_the_bins(void **state) {
    (void)state;
    bpt_calibration_t c = {0};
    const float sure[] = {0, logf(9)}, even[] = {1, 1};  // 0.9, and 0.5 for the first of two
    for (int i = 0; i < 4; ++i) bpt_calibration_add(&c, sure, 2, i > 0, 1);
    bpt_calibration_add(&c, even, 2, 0, 1);
    bpt_calibration_add(&c, even, 2, 7, 1);  // a label that it cannot give
    const bpt_calibration_error_t e = bpt_calibration_error(&c);
    assert_int_equal(e.count, 6);
    assert_int_equal(c.count[13], 4);
    assert_int_equal(c.count[7], 2);
    assert_true(fabs(e.expected - (4 * 0.15 + 2 * 0.0) / 6) < 1e-6);
    assert_true(fabs(e.largest - 0.15) < 1e-6);
    assert_true(fabs(e.confidence - (4 * 0.9 + 1) / 6) < 1e-6);
    assert_true(fabs(e.accuracy - 4.0 / 6) < 1e-12);
    assert_true(fabs(c.nll - (-3 * log(0.9) - log(0.1) - log(0.5))) < 1e-6);
    assert_int_equal(bpt_calibration_error(&(bpt_calibration_t){0}).count, 0);
}

enum { ROWS = 400, CLASSES = 5 };

static double nll_at(const float *logits, const uint32_t *labels, double temperature) {
    bpt_calibration_t c = {0};
    for (int r = 0; r < ROWS; ++r) bpt_calibration_add(&c, logits + r * CLASSES, CLASSES, labels[r], temperature);
    return c.nll;
}

static void the_temperature_is_the_most_likely_one(void **state) {
    (void)state;
    float logits[ROWS * CLASSES], scaled[ROWS * CLASSES];
    uint32_t labels[ROWS];
    double t, of_scaled;
    srand(3);
    for (int r = 0; r < ROWS; ++r) {
        labels[r] = (uint32_t)(rand() % CLASSES);
        for (int k = 0; k < CLASSES; ++k) logits[r * CLASSES + k] = (float)(rand() % 1000) / 200 + (k == (int)labels[r] ? 2 : 0);
    }
    for (int i = 0; i < ROWS * CLASSES; ++i) scaled[i] = 4 * logits[i];
    assert_ok(bpt_temperature_fit(logits, labels, ROWS, CLASSES, &t));
    for (double by = 0.5; by < 1.6; by += 0.1)
        if (fabs(by - 1) > 0.01) assert_true(nll_at(logits, labels, t) < nll_at(logits, labels, by * t));
    assert_ok(bpt_temperature_fit(scaled, labels, ROWS, CLASSES, &of_scaled));
    assert_true(fabs(of_scaled / t - 4) < 1e-6);
    for (int r = 0; r < ROWS; ++r) labels[r] = (uint32_t)CLASSES;
    assert_fails(bpt_temperature_fit(logits, labels, ROWS, CLASSES, &t), BPT_ERR_INPUT, "no example has a label that the model knows");
    logits[CLASSES] = NAN;
    assert_fails(bpt_temperature_fit(logits, labels, ROWS, CLASSES, &t), BPT_ERR_NUMERIC, "a logit of example 2 is not finite");
}

// Answers that are always right need no doubt, and those of no use none but doubt: the temperature stays between its bounds.
static void extremes_stay_within_bounds(void **state) {
    (void)state;
    const float logits[] = {1, 0, 0, 1};
    const uint32_t right[] = {0, 1}, wrong[] = {1, 0};
    double t;
    assert_ok(bpt_temperature_fit(logits, right, 2, 2, &t));
    assert_true(t >= 1.0 / BPT_MOST_TEMPERATURE && t < 0.01 + 1e-9);  // as it is read again
    assert_ok(bpt_temperature_fit(logits, wrong, 2, 2, &t));
    assert_true(t <= BPT_MOST_TEMPERATURE && t > 100 - 1e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_those_of_the_bins),
        cmocka_unit_test(the_temperature_is_the_most_likely_one),
        cmocka_unit_test(extremes_stay_within_bounds),
    };
    return cmocka_run_group_tests_name("calibration", tests, NULL, NULL);
}
