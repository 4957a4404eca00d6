// Weights of classes in training: balanced ones and those of a file, kept in the run, the same after a resume; the best run by F1; and
// probabilities by a temperature.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/process.h"
#include "support/scratch.h"

#define ON "--backend ref --quiet"
#define SMALL "--layers 1 --d-model 8 --heads 2 --batch-examples 8 --lr 0.02 --warmup 1 --seed 3 " ON

static int setup(void **state) {
    (void)state;
    char lines[8192] = "", tags[8192] = "";
    for (int i = 0; i < 80; ++i)
        sprintf(lines + strlen(lines), "%s\tword%d other%d\n", i % 8 ? "often" : "seldom", i % 11, i % 8 ? i % 5 : 7);
    for (int i = 0; i < 40; ++i) sprintf(tags + strlen(tags), "a O\nfilm%d %s\n\n", i % 5, i % 8 ? "O" : "B-X");
    test_write_file(test_path("data.tsv"), lines, strlen(lines));
    test_write_file(test_path("tags.txt"), tags, strlen(tags));
    return 0;
}

static void expect_model(const char *one, const char *other, bool same) {
    size_t a, b;
    char *first = test_read_file(test_path("%s/latest/model.safetensors", one), &a),
         *second = test_read_file(test_path("%s/latest/model.safetensors", other), &b);
    assert_true(first && second && (a == b && !memcmp(first, second, a)) == same);
    free(first), free(second);
}

static char *config_of(const char *run) {
    size_t length;
    char *text = test_read_file(test_path("%s/config.json", run), &length);
    assert_non_null(text);
    return text;
}

static void train(const char *run, const char *options) {
    char data[256];
    snprintf(data, sizeof data, "%s", test_path("data.tsv"));
    test_succeed("train --task classify " SMALL " --data %s --out %s %s", data, test_path("%s", run), options);
}

static void weights_change_the_training_and_are_kept(void **state) {
    (void)state;
    char options[512];
    train("plain", "--steps 6");
    train("balanced", "--steps 6 --class-weights balanced");
    expect_model("plain", "balanced", false);
    char *config = config_of("balanced");
    const char *values = strstr(config, "\"class_weight_values\": \"");
    float often, seldom;
    assert_true(values && sscanf(values + 24, "%f,%f", &often, &seldom) == 2);
    assert_true(seldom > 6 * often && often < 1);  // 63 and 9 of 72: 0.571 and 4
    // A file with the same numbers is the same training.
    char file[200];
    const int n = snprintf(file, sizeof file, "seldom\t%.9g\n\n often \t%.9g\n", (double)seldom, (double)often);
    free(config);
    test_write_file(test_path("weights"), file, (size_t)n);
    snprintf(options, sizeof options, "--steps 6 --class-weights %s", test_path("weights"));
    train("file", options);
    expect_model("balanced", "file", true);
    // Weights of 1 are none.
    test_write_file(test_path("all-1"), "often\t1\nseldom\t1\n", 17);
    snprintf(options, sizeof options, "--steps 6 --class-weights %s", test_path("all-1"));
    train("ones", options);
    expect_model("plain", "ones", true);
    // A run that goes on has them, whatever became of the file.
    snprintf(options, sizeof options, "--steps 6 --stop-at 3 --class-weights %s", test_path("weights"));
    train("halved", options);
    assert_int_equal(remove(test_path("weights")), 0);
    test_succeed("train --resume --out %s " ON, test_path("halved"));
    expect_model("balanced", "halved", true);
    test_refused(2, "--class-weights cannot change when a run is resumed: it was not given; start a new run", "train --resume --class-weights balanced --out %s " ON,
                 test_path("plain"));
}

static void taggers_have_them_without_a_crf(void **state) {
    (void)state;
    char data[256];
    snprintf(data, sizeof data, "%s", test_path("tags.txt"));
    test_succeed("train --task tag --model star " SMALL " --steps 4 --data %s --out %s", data, test_path("tags-plain"));
    test_succeed("train --task tag --model star " SMALL " --steps 4 --class-weights balanced --data %s --out %s", data,
                 test_path("tags-balanced"));
    expect_model("tags-plain", "tags-balanced", false);
    test_refused(2, "--class-weights is not for --crf",
                 "train --task tag --model star --crf --class-weights balanced " SMALL " --data %s --out %s", data, test_path("refused"));
    test_refused(2, "--class-weights", "train --task lm --class-weights balanced " SMALL " --data %s --out %s", data, test_path("refused"));
}

static void bad_files_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"often\t1\n", "no weight of label 'seldom'"},
        {"often\t1\nother\t2\n", "weights: line 2: label 'other' is not one of the 2"},
        {"often\t1\noften\t2\n", "weights: line 2: a second weight of label 'often'"},
        {"often 1\n", "weights: line 1: no tab"},
        {"often\t0\n", "weights: line 1: '0' is no weight"},
        {"often\t1x\n", "weights: line 1: '1x' is no weight"},
        {"often\tinf\n", "weights: line 1: 'inf' is no weight"},
    };
    char data[256];
    snprintf(data, sizeof data, "%s", test_path("data.tsv"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        test_write_file(test_path("weights"), cases[i].text, strlen(cases[i].text));
        char weights[256];
        snprintf(weights, sizeof weights, "%s", test_path("weights"));
        test_refused(1, cases[i].message, "train --task classify " SMALL " --class-weights %s --data %s --out %s", weights, data,
                     test_path("refused"));
    }
    test_refused(1, "No such file", "train --task classify " SMALL " --class-weights %s --data %s --out %s", test_path("nowhere"), data,
                 test_path("refused"));
}

static char *said(const char *format, ...) BPT_PRINTF(1, 2);
static char *said(const char *format, ...) {
    char line[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    test_process_t p = test_run_line(line);
    if (p.exit_status) fail_msg("bpt %s: %s", line, p.err);
    char *out = p.out;
    p.out = NULL;
    test_process_free(&p);
    return out;
}

static double number_in(const char *text, const char *key) {
    const char *at = strstr(text, key);
    if (!at) fail_msg("no %s in %s", key, text);
    return strtod(at + strlen(key), NULL);
}

static void the_best_is_by_macro_f1(void **state) {
    (void)state;
    train("best", "--steps 20 --eval-every 5 --best-by f1");
    char *text = said("eval %s --split valid --json " ON, test_path("best"));
    const double f1 = number_in(text, "\"f1\": "), macro = number_in(text, "\"macro_f1\": ");
    assert_true(f1 == macro && f1 >= 0 && f1 <= 1);
    free(text);
    text = said("eval %s --split valid " ON, test_path("best"));
    assert_non_null(strstr(text, "f1 (macro)"));
    free(text);
}

static void probabilities_are_calibrated(void **state) {
    (void)state;
    const char *const lines = "word1 other2\nword3 other7\n";
    char run[256];
    snprintf(run, sizeof run, "%s", test_path("plain"));
    test_write_file(test_path("lines"), lines, strlen(lines));
    test_refused(1, "temperature.json; bpt eval RUN --fit-temperature writes it", "classify %s %s --calibrated " ON, run,
                 test_path("lines"));
    char *text = said("eval %s --fit-temperature --json " ON, run);
    const double temperature = number_in(text, "\"temperature\": ");
    assert_true(temperature >= 0.01 && temperature <= 100 && strstr(text, "\"expected_error\"") && strstr(text, "\"bins\""));
    free(text);
    char *plain = said("classify %s %s " ON, run, test_path("lines")),
         *calibrated = said("classify %s %s --calibrated " ON, run, test_path("lines"));
    assert_string_not_equal(plain, calibrated);
    assert_int_equal(strncmp(plain, calibrated, 5), 0);  // the label stays
    free(plain), free(calibrated);
    text = said("eval %s --calibration --split valid " ON, run);
    assert_non_null(strstr(text, "calibration  expected error"));
    free(text);
    test_succeed("train --resume --steps 8 --out %s " ON, run);
    test_refused(1, "the temperature is of checkpoint", "classify %s %s --calibrated --checkpoint latest " ON, run, test_path("lines"));
    test_refused(2, "--calibration is for models that choose labels", "eval %s --calibration " ON, test_path("lm"));
}

static void a_language_model_is_there(void) {
    char data[256];
    snprintf(data, sizeof data, "%s", test_path("data.tsv"));
    test_succeed("train --task lm --context 16 --layers 1 --d-model 8 --heads 2 --steps 1 " ON " --data %s --out %s", data,
                 test_path("lm"));
}

static int setup_all(void **state) {
    const int status = setup(state);
    a_language_model_is_there();
    return status;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_change_the_training_and_are_kept),
        cmocka_unit_test(taggers_have_them_without_a_crf),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(the_best_is_by_macro_f1),
        cmocka_unit_test(probabilities_are_calibrated),
    };
    return cmocka_run_group_tests_name("class_weights", tests, setup_all, NULL);
}
