// Classes and tags that only the data of an evaluation have: training goes on, answers to them are wrong, and what cannot be is refused.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/file.h"
#include "support/check.h"
#include "support/process.h"

#define SMALL "--layers 1 --d-model 16 --d-ff 16 --heads 2 --threads 1 --backend cpu --quiet --seed 1 "

// The data of a task: what all parts have, and the line or two that only validation and test have.
typedef struct {
    const char *name, *options;
    const char *known, *unknown;
    int counted, unknown_count;  // targets of valid.txt, and those without a label that training has
    bool loss;                   // whether any target has one
    const char *counts_as;       // "examples with such labels count as wrong: 1"
} task_t;
static const task_t tasks[] = {
    {"classify", "--task classify --model transformer", "pos\tgood one\nneg\tbad one\n", "mid\tgood bad\n", 3, 1, true,
     "examples with such labels count as wrong: 1"},
    {"pair", "--task pair --model transformer --d-mlp 8", "same\ta b\ta b\nother\ta\tc\n", "part\ta b\ta\n", 3, 1, true,
     "pairs with such labels count as wrong: 1"},
    {"tree", "--task classify --model tree --vertex-loss all", "(1 (1 good) (0 one))\n(0 (0 bad) (1 one))\n", "(2 (7 good) (1 bad))\n", 3,
     1, true, "examples with such labels count as wrong: 1"},
    {"tag", "--task tag --model transformer --positions sinusoidal", "Anna B-PER\nsings O\n\nhere O\n\n", "Rome B-LOC\nsings O\n\n", 5, 1,
     true, "tokens with such labels count as wrong: 1"},
    {"crf", "--task tag --model transformer --positions sinusoidal --crf", "Anna B-PER\nsings O\n\nhere O\n\n", "Rome B-LOC\nsings O\n\n",
     5, 1, true, "tokens with such labels count as wrong: 1"},
    {"crf-none", "--task tag --model transformer --positions sinusoidal --crf", "Anna B-PER\nsings O\n\nhere O\n\n", "", 2, 1, false,
     "tokens with such labels count as wrong: 1"},
};

static void write_part(const char *folder, const char *part, const char *first, const char *second, int times) {
    char text[4096] = "", path[1024];
    for (int i = 0; i < times; ++i) strcat(text, first);
    strcat(text, second);
    snprintf(path, sizeof path, "%s/%s.txt", folder, part);
    test_write_file(path, text, strlen(text));
}

static const char *data_of(const task_t *t) {
    const char *folder = test_path("%s", t->name);
    assert_ok(bpt_folder_create(folder));
    write_part(folder, "train", t->known, "", 20);
    if (*t->unknown) {
        write_part(folder, "valid", t->known, t->unknown, 1);
        write_part(folder, "test", t->known, t->unknown, 1);
    } else {
        write_part(folder, "valid", "", "Rome B-LOC\nsings O\n\n", 0);
        write_part(folder, "test", "", "Rome B-LOC\nsings O\n\n", 0);
    }
    return folder;
}

static void training_goes_on_and_such_answers_are_wrong(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(tasks); ++i) {
        const task_t *t = &tasks[i];
        const char *data = data_of(t), *run = test_path("run-%s", t->name);
        test_process_t p = test_run_to(0, "train %s --data %s --out %s --steps 60 --lr 0.02 %s", t->options, data, run, SMALL);
        assert_non_null(strstr(p.err, "valid.txt: line "));
        assert_non_null(strstr(p.err, t->counts_as));
        assert_int_equal(strstr(p.err, "`best` will not be known") != NULL, !t->loss);
        test_process_free(&p);
        p = test_run_to(0, "eval %s --split valid --json --quiet --backend cpu --threads 1", run);
        json_t *found = json_loads(p.out, 0, NULL);
        const double accuracy = json_number_value(json_object_get(found, "accuracy"));
        assert_int_equal(json_integer_value(json_object_get(found, "unknown_labels")), t->unknown_count);
        assert_int_equal(json_object_get(found, "loss") != NULL, t->loss);
        // The few known ones are learned by heart; the others are wrong whatever the answer.
        assert_true(fabs(accuracy - (double)(t->counted - t->unknown_count) / t->counted) < 1e-6);
        json_decref(found);
        test_process_free(&p);
    }
}

static void spans_of_unknown_types_are_missed(void **state) {
    (void)state;
    test_process_t p = test_run_to(0, "eval %s --split test --json --quiet --backend cpu --threads 1", test_path("run-tag"));
    json_t *found = json_loads(p.out, 0, NULL);
    const json_t *types = json_object_get(found, "types"), *missed = json_object_get(types, "LOC");
    assert_int_equal(json_integer_value(json_object_get(missed, "support")), 1);
    assert_true(json_number_value(json_object_get(missed, "recall")) == 0);
    assert_true(json_number_value(json_object_get(found, "recall")) == 0.5);
    json_decref(found);
    test_process_free(&p);
}

static void what_has_no_likelihood_is_not_listed(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(tasks); ++i) {
        const char *run = test_path("run-%s", tasks[i].name);
        test_refused(1, "has no likelihood for --nll-out", "eval %s --nll-out %s --quiet --backend cpu --threads 1", run,
                     test_path("nll.json"));
        test_refused(1, "has no likelihood for --grad-out", "eval %s --grad-out %s --quiet --backend cpu --threads 1", run,
                     test_path("grad.safetensors"));
    }
}

static void training_data_must_have_the_labels_of_the_run(void **state) {
    (void)state;
    const char *run = test_path("run-classify"), *data = test_path("classify");
    write_part(data, "train", tasks[0].known, tasks[0].unknown, 20);
    test_refused(1, "train.txt: line 41: label 'mid' is not one of the 2 that the model knows",
                 "train --resume --out %s --steps 80 --threads 1 --backend cpu --quiet", run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_goes_on_and_such_answers_are_wrong),
        cmocka_unit_test(spans_of_unknown_types_are_missed),
        cmocka_unit_test(what_has_no_likelihood_is_not_listed),
        cmocka_unit_test(training_data_must_have_the_labels_of_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
