// `bpt eval`: scores of classes and their confusion, two runs against each other; `bpt plot --confusion`.
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

#include "bpt/file.h"
#include "support/check.h"
#include "support/process.h"

#define SMALL "--layers 1 --d-model 16 --d-ff 16 --heads 2 --threads 1 --backend cpu --quiet --lr 0.02 "
#define USE "--quiet --backend cpu --threads 1"

typedef struct {
    const char *name, *options;
    const char *train, *test;
    int counted;       // targets of test
    const char *unit;  // that are compared
} task_t;
// The models learn the training data by heart; of the test data some are labelled otherwise, one as the model cannot know.
static const task_t tasks[] = {
    {"classify", "--task classify --model transformer", "pos\tgood one\nneg\tbad one\n",
     "pos\tgood one\nneg\tbad one\nneg\tgood one\nnew\tbad one\n", 4, "examples"},
    {"pair", "--task pair --model transformer --d-mlp 8", "same\ta b\ta b\nother\ta\tc\n",
     "same\ta b\ta b\nother\ta\tc\nother\ta b\ta b\nnew\ta\tc\n", 4, "pairs"},
    {"tree", "--task classify --model tree --vertex-loss all", "(1 (1 good) (0 one))\n(0 (0 bad) (1 one))\n",
     "(1 (1 good) (0 one))\n(0 (0 bad) (1 one))\n(0 (1 good) (0 one))\n(2 (0 bad) (1 one))\n", 4, "examples"},
    {"tag", "--task tag --model transformer --positions sinusoidal", "Anna NAME\nsings VERB\n\nsings VERB\n\n",
     "Anna NAME\nsings VERB\n\nAnna VERB\n\nsings NEW\nAnna NAME\n\n", 5, "sequences of tags"},
    {"crf", "--task tag --model transformer --positions sinusoidal --crf", "Anna NAME\nsings VERB\n\nsings VERB\n\n",
     "Anna NAME\nsings VERB\n\nAnna VERB\n\nsings NEW\nAnna NAME\n\n", 5, "sequences of tags"},
};

static void write_part(const char *folder, const char *part, const char *text, int times) {
    char all[4096] = "", path[1024];
    for (int i = 0; i < times; ++i) strcat(all, text);
    snprintf(path, sizeof path, "%s/%s.txt", folder, part);
    test_write_file(path, all, strlen(all));
}

// A run that has learned the data, and one that has not.
static void make_runs(const task_t *t) {
    const char *folder = test_path("%s", t->name);
    assert_ok(bpt_folder_create(folder));
    write_part(folder, "train", t->train, 20);
    write_part(folder, "valid", t->train, 1);
    write_part(folder, "test", t->test, 1);
    for (int steps = 1; steps <= 60; steps += 59) {
        test_process_t p = test_run_to(0, "train %s --data %s --out %s --steps %d --seed %d " SMALL, t->options, folder,
                                       test_path("run-%s-%d", t->name, steps), steps, steps == 1 ? 3 : 1);
        test_process_free(&p);
    }
}

static json_t *read_line(const char *text, int line) {
    while (line--) text = strchr(text, '\n') + 1;
    json_error_t error;
    json_t *object = json_loads(text, JSON_DISABLE_EOF_CHECK, &error);
    assert_non_null(object);
    return object;
}

static double real_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("no number %s", key);
    return json_number_value(value);
}

// The confusion has as many answers as there are targets, those on the diagonal are the accuracy, and rows and columns are the classes'.
static void check_confusion(const task_t *t, const json_t *found) {
    const json_t *confusion = json_object_get(found, "confusion"), *labels = json_object_get(confusion, "labels");
    const json_t *counts = json_object_get(confusion, "counts");
    const size_t n = json_array_size(labels);
    int64_t total = 0, right = 0;
    double macro = 0;
    assert_int_equal(json_object_size(json_object_get(found, "classes")), n);
    for (size_t w = 0; w < n; ++w) {
        const json_t *class = json_object_get(json_object_get(found, "classes"), json_string_value(json_array_get(labels, w)));
        int64_t support = 0, given = 0;
        for (size_t f = 0; f < n; ++f) {
            support += json_integer_value(json_array_get(json_array_get(counts, w), f));
            given += json_integer_value(json_array_get(json_array_get(counts, f), w));
        }
        total += support;
        right += json_integer_value(json_array_get(json_array_get(counts, w), w));
        macro += real_of(class, "f1");
        assert_true((int64_t)real_of(class, "support") == support && (int64_t)real_of(class, "count") == given);
    }
    assert_int_equal(total, t->counted);
    assert_true(fabs(real_of(found, "accuracy") - (double)right / t->counted) < 1e-12);
    assert_true(fabs(real_of(found, "micro_f1") - real_of(found, "accuracy")) < 1e-12);
    assert_true(fabs(real_of(found, "macro_f1") - macro / (double)n) < 1e-12);
}

static void classes_have_scores_in_every_task(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(tasks); ++i) {
        const task_t *t = &tasks[i];
        make_runs(t);
        test_process_t p = test_run_to(0, "eval %s --json " USE, test_path("run-%s-60", t->name));
        json_t *found = read_line(p.out, 0);
        check_confusion(t, found);
        // One class is right wherever it is in the data, and one answer in its place is wrong.
        assert_true(fabs(real_of(found, "accuracy") - (t->counted == 4 ? 0.5 : 0.6)) < 1e-12);
        json_decref(found);
        test_process_free(&p);
        p = test_run_to(0, "eval %s --per-class " USE, test_path("run-%s-60", t->name));
        assert_non_null(strstr(p.out, "\nmacro "));
        assert_non_null(strstr(p.out, "\nconfusion "));
        test_process_free(&p);
        p = test_run_to(0, "eval %s " USE, test_path("run-%s-60", t->name));
        assert_null(strstr(p.out, "\nmacro "));
        assert_null(strstr(p.out, "confusion"));
        test_process_free(&p);
    }
}

static json_t *right_answers(const char *run) {
    json_error_t error;
    test_succeed("eval %s --right-out %s " USE, run, test_path("right.json"));
    json_t *list = json_load_file(test_path("right.json"), 0, &error);
    assert_true(json_is_array(list));
    return list;
}

// Whose answers are right, example by example, is what the test of two runs counts.
static void right_answers_are_listed(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(tasks); ++i) {
        char runs[2][512];
        json_t *right[2];
        int64_t only[2] = {0}, both = 0;
        for (int r = 0; r < 2; ++r) {
            snprintf(runs[r], sizeof runs[r], "%s", test_path("run-%s-%d", tasks[i].name, r ? 60 : 1));
            right[r] = right_answers(runs[r]);
        }
        assert_int_equal(json_array_size(right[0]), json_array_size(right[1]));
        for (size_t e = 0; e < json_array_size(right[0]); ++e) {
            const int64_t a = json_integer_value(json_array_get(right[0], e)), b = json_integer_value(json_array_get(right[1], e));
            both += a && b;
            only[0] += a > b;
            only[1] += a < b;
        }
        test_process_t p = test_run_to(0, "eval %s %s --json " USE, runs[0], runs[1]);
        json_t *test = read_line(p.out, 2);
        assert_int_equal(both, (int64_t)real_of(test, "both"));
        assert_int_equal(only[0], (int64_t)real_of(test, "first_only"));
        assert_int_equal(only[1], (int64_t)real_of(test, "second_only"));
        assert_int_equal(both + only[1], tasks[i].counted == 5 ? 1 : 2);
        json_decref(test);
        test_process_free(&p);
        for (int r = 0; r < 2; ++r) json_decref(right[r]);
    }
}

static void two_runs_are_compared(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(tasks); ++i) {
        const task_t *t = &tasks[i];
        char runs[2][512];
        for (int r = 0; r < 2; ++r) snprintf(runs[r], sizeof runs[r], "%s", test_path("run-%s-%d", t->name, r ? 60 : 1));
        test_process_t p = test_run_to(0, "eval %s %s --json " USE, runs[0], runs[1]);
        json_t *test = read_line(p.out, 2);
        const int64_t both = (int64_t)real_of(test, "both"), second = (int64_t)real_of(test, "second_only");
        const int64_t first = (int64_t)real_of(test, "first_only"), neither = (int64_t)real_of(test, "neither");
        assert_int_equal(both + first + second + neither, t->counted == 5 ? 3 : t->counted);
        // The second run has learned: of tags it has one sequence whole, else it has two right.
        assert_int_equal(both + second, t->counted == 5 ? 1 : 2);
        assert_string_equal(json_string_value(json_object_get(test, "counted")), t->unit);
        const double unequal = (double)(first + second), p_value = real_of(test, "p_value");
        if (!first || !second) assert_true(fabs(p_value - fmin(1, 2 * pow(0.5, unequal))) < 1e-12);
        json_decref(test);
        test_process_free(&p);
        // A run against itself.
        p = test_run_to(0, "eval %s %s " USE, runs[1], runs[1]);
        assert_non_null(strstr(p.out, "\nmcnemar      p = 1: of "));
        assert_non_null(strstr(p.out, "right, only the second 0\n"));
        test_process_free(&p);
    }
}

static void spans_have_means_of_their_types(void **state) {
    (void)state;
    const char *folder = test_path("spans");
    assert_ok(bpt_folder_create(folder));
    write_part(folder, "train", "Anna B-PER\nMay I-PER\nin O\nRome B-LOC\n\n", 20);
    write_part(folder, "valid", "Anna B-PER\nMay I-PER\nin O\nRome B-LOC\n\n", 1);
    write_part(folder, "test", "Anna B-PER\nMay I-PER\nin O\nRome B-PER\n\n", 1);
    test_process_t p =
        test_run_to(0, "train --task tag --model transformer --positions sinusoidal --data %s --out %s --steps 60 --seed 1 " SMALL, folder,
                    test_path("run-spans"));
    test_process_free(&p);
    p = test_run_to(0, "eval %s --json " USE, test_path("run-spans"));
    json_t *found = read_line(p.out, 0);
    // Of two spans one is right; PER has precision 1, recall 1/2, and LOC nothing.
    assert_true(fabs(real_of(found, "f1") - 0.5) < 1e-12 && fabs(real_of(found, "micro_f1") - 0.5) < 1e-12);
    assert_true(fabs(real_of(found, "macro_f1") - 1. / 3) < 1e-12);
    assert_true(fabs(real_of(found, "weighted_precision") - 1) < 1e-12);
    assert_int_equal(json_array_size(json_object_get(json_object_get(found, "confusion"), "labels")), 4);
    json_decref(found);
    test_process_free(&p);
}

static void confusions_are_drawn(void **state) {
    (void)state;
    test_process_t p = test_run_to(0, "eval %s --json " USE, test_path("run-classify-60"));
    const char *lines = test_file("eval.json", p.out);
    test_process_t drawn = test_run_to(0, "plot --from %s --confusion", lines);
    assert_memory_equal(drawn.out, "<svg ", 5);
    assert_non_null(strstr(drawn.out, ">pos</text>"));
    assert_non_null(strstr(drawn.out, ">new</text>"));
    test_process_free(&drawn);
    test_process_free(&p);
    // Half of a row, by half as dark.
    drawn = test_run_to(0, "plot --confusion --from %s",
                        test_file("half.json", "{\"confusion\": {\"labels\": [\"<a>\", \"b\"], \"counts\": [[1, 1], [0, 4]]}}\n"));
    assert_non_null(strstr(drawn.out, "fill=\"#80b9d9\""));
    assert_non_null(strstr(drawn.out, "fill=\"#0072b2\""));
    assert_non_null(strstr(drawn.out, "&lt;a&gt;"));
    test_process_free(&drawn);
}

static void what_has_no_confusion_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *line, *part;
    } bad[] = {
        {"{\"loss\": 1}\n", "no line has a \"confusion\""},
        {"[1]\n", "line 1"},
        {"{\"loss\": 1}\n{\"confusion\": 3}\n", "line 2: \"confusion\" needs as many lists"},
        {"{\"confusion\": {\"labels\": [], \"counts\": []}}\n", "needs as many lists"},
        {"{\"confusion\": {\"labels\": [\"a\", 2], \"counts\": [[1, 2], [3, 4]]}}\n", "a label that is no text"},
        {"{\"confusion\": {\"labels\": [\"a\", \"b\"], \"counts\": [[1, 2], [3]]}}\n", "a count, 0 or more"},
        {"{\"confusion\": {\"labels\": [\"a\"], \"counts\": [[-1]]}}\n", "a count, 0 or more"},
        {"{\"confusion\": {\"labels\": [\"a\"], \"counts\": [[\"1\"]]}}\n", "a count, 0 or more"},
        {"{\"confusion\": \n", "line 1"},
    };
    for (size_t i = 0; i < BPT_COUNT(bad); ++i)
        test_refused(1, bad[i].part, "plot --confusion --from %s", test_file("bad.json", bad[i].line));
    test_refused(2, "name that file by --from FILE", "plot --confusion %s", test_path("run-classify-60"));
    test_refused(2, "draws no curves", "plot --confusion --from %s --x n", test_path("eval.json"));
}

static void what_cannot_be_compared_is_refused(void **state) {
    (void)state;
    char a[512], b[512], other[512];
    snprintf(a, sizeof a, "%s", test_path("run-classify-60"));
    snprintf(b, sizeof b, "%s", test_path("run-pair-60"));
    snprintf(other, sizeof other, "%s", test_path("run-lm"));
    const char *data = test_path("lm");
    assert_ok(bpt_folder_create(data));
    write_part(data, "train", "a b c d e f g h\n", 9);
    write_part(data, "valid", "a b c d e f g h\n", 2);
    write_part(data, "test", "a b c d e f g h\n", 2);
    test_process_t p = test_run_to(0, "train --task lm --unit word --context 8 --data %s --out %s --steps 1 --seed 1 " SMALL, data, other);
    test_process_free(&p);
    test_refused(2, "--per-class is for models that choose labels, and", "eval %s --per-class " USE, other);
    test_refused(2, "the comparison of two runs is for models that choose labels", "eval %s %s " USE, other, other);
    test_refused(2, "is a classifier and", "eval %s %s " USE, a, b);
    test_refused(2, "two runs give two results", "eval %s %s --predictions-out %s " USE, a, a, test_path("p.json"));
    test_refused(2, "two runs give two results", "eval %s %s --right-out %s " USE, a, a, test_path("p.json"));
    test_refused(2, "gives several results", "eval %s --shift 0,1 --right-out %s " USE, a, test_path("p.json"));
    test_refused(2, "--right-out is for models that choose labels, and", "eval %s --right-out %s " USE, other, test_path("p.json"));
    test_refused(2, "two runs are compared by one number", "eval %s %s --shift 0,1 " USE, a, a);
    test_refused(2, "two runs read the data twice", "eval %s %s --data - " USE, a, a);
    test_refused(1, "is not a run", "eval %s %s-gone " USE, a, a);
    test_refused(1, "is a file, not a run; bpt import makes a run", "eval %s/config.json " USE, a);
}

// Each run has test data of its own.
static void other_data_are_not_compared(void **state) {
    (void)state;
    const task_t more = {"more", tasks[0].options, tasks[0].train, "pos\tgood one\nneg\tbad one\n", 2, ""};
    const task_t otherwise = {
        "otherwise", tasks[0].options, tasks[0].train, "neg\tgood one\nneg\tbad one\nneg\tgood one\nnew\tbad one\n", 4, ""};
    char first[512];
    snprintf(first, sizeof first, "%s", test_path("run-classify-60"));
    make_runs(&more);
    make_runs(&otherwise);
    test_refused(1, "name the same data for both by --data", "eval %s %s " USE, first, test_path("run-more-60"));
    test_refused(1, "example 1 has other labels for", "eval %s %s " USE, first, test_path("run-otherwise-60"));
    test_succeed("eval %s %s --data %s " USE, first, test_path("run-otherwise-60"), test_path("classify/test.txt"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_have_scores_in_every_task),
        cmocka_unit_test(right_answers_are_listed),
        cmocka_unit_test(two_runs_are_compared),
        cmocka_unit_test(spans_have_means_of_their_types),
        cmocka_unit_test(confusions_are_drawn),
        cmocka_unit_test(what_has_no_confusion_is_refused),
        cmocka_unit_test(what_cannot_be_compared_is_refused),
        cmocka_unit_test(other_data_are_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
