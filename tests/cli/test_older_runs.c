// Runs and a model file that earlier versions wrote (tests/runs, made by tests/runs/make): they are read, evaluated, exported and trained
// on with the results that the version gave that wrote them.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "support/process.h"
#include "support/run_files.h"

#define ON "--backend ref --quiet"

// Sums are the same on every machine but for what its compiler and its libm make of the last digits.
static const double tolerance = 1e-4;

static const struct {
    const char *name, *data;
} runs[] = {{"lm", "words.txt"}, {"classifier", "texts.tsv"}, {"tagger", "tags.txt"}, {"translator", "pairs"}, {"trees", "trees.ptb"}};
enum { RUNS = sizeof runs / sizeof runs[0] };

static char folder[1024];  // a copy of the runs of one version

static const char *in(const char *format, ...) BPT_PRINTF(1, 2);
static const char *in(const char *format, ...) {
    static char paths[8][2048];
    static int turn;
    char *path = paths[turn = (turn + 1) % 8];
    va_list args;
    va_start(args, format);
    const int length = snprintf(path, sizeof paths[0], "%s/", folder);
    vsnprintf(path + length, sizeof paths[0] - (size_t)length, format, args);
    va_end(args);
    return path;
}

static int copy_runs(void **state) {
    (void)state;
    char line[4096];
    snprintf(folder, sizeof folder, "%s", test_path("runs"));
    snprintf(line, sizeof line, "rm -rf %s && cp -a %s/tests/runs/0.1.0 %s", folder, getenv("BPT_SOURCE_DIR"), folder);
    return system(line);
}

// ---- Comparing with what was said

static void compare_number(const char *what, const char *key, double wanted, double got) {
    if (fabs(got - wanted) > tolerance * (1 + fabs(wanted))) fail_msg("%s: %s is %.9g, it was %.9g", what, key, got, wanted);
}

static void compare_value(const char *what, const char *key, const json_t *wanted, const json_t *got) {
    if (!got) fail_msg("%s: %s is missing", what, key);
    if (json_is_number(wanted)) {
        compare_number(what, key, json_number_value(wanted), json_number_value(got));
    } else if (json_is_array(wanted)) {
        assert_int_equal(json_array_size(got), json_array_size(wanted));
        for (size_t i = 0; i < json_array_size(wanted); ++i) compare_value(what, key, json_array_get(wanted, i), json_array_get(got, i));
    } else {
        if (!json_equal(wanted, got)) fail_msg("%s: %s is another one", what, key);
    }
}

// Of a line of JSON what tells of the model, not of the machine: an object with more keys agrees too.
static void compare_line(const char *what, const char *wanted_text, const char *got_text) {
    static const char *const keys[] = {"loss", "accuracy", "f1",   "perplexity", "bits_per_char", "scored", "tokens",
                                       "step", "lr",       "eval", "label",      "tags",          "logits"};
    json_t *wanted = json_loads(wanted_text, JSON_DISABLE_EOF_CHECK, NULL), *got = json_loads(got_text, JSON_DISABLE_EOF_CHECK, NULL);
    if (!wanted || !got) fail_msg("%s: no JSON in '%s' or '%s'", what, wanted_text, got_text);
    int compared = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; ++i) {
        const json_t *value = json_object_get(wanted, keys[i]);
        if (!value) continue;
        compare_value(what, keys[i], value, json_object_get(got, keys[i]));
        ++compared;
    }
    assert_int_not_equal(compared, 0);
    json_decref(wanted), json_decref(got);
}

// Line by line the file `said/NAME` of that version; each line is an object.
static void expect_said(const char *name, const char *text) {
    char *said = test_read_file(in("said/%s", name), NULL), *wanted = said;
    assert_non_null(said);
    int lines = 0;
    for (char *end; (end = strchr(wanted, '\n')); wanted = end + 1, ++lines) {
        const char *next = strchr(text, '\n');
        *end = 0;
        if (!next) fail_msg("%s has more lines than '%s'", name, text);
        compare_line(name, wanted, text);
        text = next + 1;
    }
    if (!lines || *text) fail_msg("%s has %d lines, and there are more: '%s'", name, lines, text);
    free(said);
}

static void expect_text(const char *name, const char *text) {
    char *said = test_read_file(in("said/%s", name), NULL);
    assert_non_null(said);
    assert_string_equal(text, said);
    free(said);
}

// ---- Runs

static void evaluations_give_the_same_numbers(void **state) {
    (void)state;
    for (int i = 0; i < RUNS; ++i) {
        test_process_t p = test_run_to(0, "eval %s --split test --data %s --json " ON, in("%s", runs[i].name), in("data/%s", runs[i].data));
        char name[64];
        snprintf(name, sizeof name, "%s-eval.json", runs[i].name);
        expect_said(name, p.out);
        test_process_free(&p);
    }
}

static void answers_are_the_same(void **state) {
    (void)state;
    test_process_t p = test_run_to(0, "classify %s %s --json " ON, in("classifier"), in("data/lines.txt"));
    expect_said("classify.jsonl", p.out);
    test_process_free(&p);
    p = test_run_to(0, "tag %s %s --json " ON, in("tagger"), in("data/sentences.txt"));
    expect_said("tag.jsonl", p.out);
    test_process_free(&p);
    p = test_run_to(0, "translate %s %s " ON, in("translator"), in("data/pairs/test.en"));
    expect_text("translate.txt", p.out);
    test_process_free(&p);
    p = test_run_to(0, "generate %s --prompt 'the cat' --temperature 0 --max-tokens 12 " ON, in("lm"));
    expect_text("generate.txt", p.out);
    test_process_free(&p);
}

// Also of versions that knew no checksums.
static void training_goes_on_with_the_same_losses(void **state) {
    for (int without = 0; without < 2; ++without) {
        assert_int_equal(copy_runs(state), 0);
        for (int i = 0; i < RUNS; ++i) {
            char name[64];
            snprintf(name, sizeof name, "%s-resumed.jsonl", runs[i].name);
            if (without) test_forget_checksums(in("%s", runs[i].name));
            test_succeed("train --out %s --resume --data %s --log-every 1 " ON, in("%s", runs[i].name), in("data/%s", runs[i].data));
            char *metrics = test_read_file(in("%s/metrics.jsonl", runs[i].name), NULL), *line = strstr(metrics, "\"step\": 41");
            assert_non_null(line);
            while (line > metrics && line[-1] != '\n') --line;
            expect_said(name, line);
            free(metrics);
            test_succeed("eval %s --data %s --split test " ON, in("%s", runs[i].name), in("data/%s", runs[i].data));
        }
    }
    assert_int_equal(copy_runs(state), 0);
}

static void other_ways_to_read_text_than_in_training_are_refused(void **state) {
    (void)state;
    test_edit(in("classifier/config.json"), "\"lower\": true", "\"lower\": false");
    test_refused(1, "what says how text is read in ", "classify %s %s " ON, in("classifier"), in("data/lines.txt"));
    test_refused(1, "what says how text is read in ", "train --out %s --resume --data %s " ON, in("classifier"), in("data/texts.tsv"));
    test_edit(in("classifier/config.json"), "\"lower\": false", "\"lower\": true");
}

// This wrote outside the heap.
static void a_tree_translator_that_truncates_is_refused(void **state) {
    (void)state;
    test_edit(in("translator/config.json"), "\"truncate\": 0", "\"truncate\": 4");
    test_refused(1, "--truncate is not for --model tree", "eval %s --data %s " ON, in("translator"), in("data/pairs"));
    test_refused(1, "--truncate is not for --model tree", "translate %s %s " ON, in("translator"), in("data/pairs/test.en"));
    test_edit(in("translator/config.json"), "\"truncate\": 4", "\"truncate\": 0");
}

static void a_run_serves_as_the_start_of_another(void **state) {
    (void)state;
    test_succeed("train --init %s --task classify --data %s --batch-examples 8 --steps 1 --out %s " ON, in("classifier"),
                 in("data/texts.tsv"), in("next"));
    test_succeed("average %s --last 1 --out %s", in("tagger"), in("mean"));
    test_process_t p = test_run_to(0, "tag %s %s --json " ON, in("mean"), in("data/sentences.txt"));
    expect_said("tag.jsonl", p.out);
    test_process_free(&p);
}

// ---- Model files

// How many tokens of a text are read is said by the run, not by the file: these texts have no more.
static const char *shorter_lines(void) {
    char *lines = test_read_file(in("data/lines.txt"), NULL), shorter[4096] = "";
    for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
        char *end = line;
        for (int words = 0; words < 5 && *end; ++words) end += strcspn(end, " ") + (end[strcspn(end, " ")] != 0);
        snprintf(shorter + strlen(shorter), sizeof shorter - strlen(shorter), "%.*s\n", (int)(end - line), line);
    }
    free(lines);
    return test_file("shorter.txt", shorter);
}

static void the_exported_file_and_one_that_is_made_again_are_imported(void **state) {
    (void)state;
    test_succeed("export %s --out %s --quiet", in("classifier"), in("again.safetensors"));
    static const char *const files[] = {"classifier", "again"};
    for (int i = 0; i < 2; ++i) {
        test_succeed("import %s --out %s " ON, in("%s.safetensors", files[i]), in("imported-%d", i));
        test_process_t p = test_run_to(0, "classify %s %s --json " ON, in("imported-%d", i), shorter_lines());
        expect_said("classify.jsonl", p.out);
        test_process_free(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluations_give_the_same_numbers),
        cmocka_unit_test(answers_are_the_same),
        cmocka_unit_test(training_goes_on_with_the_same_losses),
        cmocka_unit_test(other_ways_to_read_text_than_in_training_are_refused),
        cmocka_unit_test(a_tree_translator_that_truncates_is_refused),
        cmocka_unit_test(a_run_serves_as_the_start_of_another),
        cmocka_unit_test(the_exported_file_and_one_that_is_made_again_are_imported),
    };
    return cmocka_run_group_tests(tests, copy_runs, NULL);
}
