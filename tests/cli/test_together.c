// Runs that answer together (--with, and `with` of <bpt/model.h>): the mean of their probabilities, whatever their kinds; what is refused.
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

#include "bpt/alloc.h"
#include "models/api/model.h"
#include "support/check.h"
#include "support/process.h"

#define SMALL "--layers 1 --d-model 16 --heads 2 --threads 1 --backend cpu --quiet --lr 0.02 "
#define ON "--quiet --backend cpu --threads 1"

static char texts[600], tags[600], pairs[600], run[12][600];
enum { BPT, STAR, DEEP, OTHER_WORDS, OTHER_LABELS, CRF, TAGGER, TAGGER_TOO, ONE, TWO, LM, LM_TOO };

static void write_parts(char folder[600], const char *name, const char *suffix, const char *text) {
    static const char *const parts[] = {"train", "valid", "test"};
    char path[800];
    snprintf(folder, 600, "%s", test_path("%s", name));
    snprintf(path, sizeof path, "mkdir -p %s", folder);
    assert_int_equal(system(path), 0);
    for (int i = 0; i < 3; ++i) {
        char all[8000] = "";
        for (int k = 0; k < (i ? 2 : 30); ++k) strcat(all, text);
        snprintf(path, sizeof path, "%s/%s.%s", folder, parts[i], suffix);
        test_write_file(path, all, strlen(all));
    }
}

static void train(int which, const char *options, const char *data, int seed) {
    snprintf(run[which], sizeof run[which], "%s", test_path("run-%d", which));
    test_succeed("train %s --data %s --out %s --seed %d " SMALL, options, data, run[which], seed);
}

static int make_runs(void **state) {
    (void)state;
    char other[600];
    write_parts(texts, "texts", "tsv", "pos\ta good one\nneg\ta bad one\nso\tone of them\npos\tgood good\n");
    train(BPT, "--task classify --model bpt --steps 6", texts, 1);
    train(STAR, "--task classify --model star --steps 9", texts, 2);
    train(DEEP, "--task classify --model transformer --layers 2 --d-ff 16 --steps 4", texts, 3);
    write_parts(other, "words", "tsv", "pos\ta good two\nneg\ta bad two\nso\ttwo of them\npos\tgood good\n");
    train(OTHER_WORDS, "--task classify --model bpt --steps 2", other, 1);
    write_parts(other, "labels", "tsv", "pos\ta good one\nneg\ta bad one\nno\tone of them\npos\tgood good\n");
    train(OTHER_LABELS, "--task classify --model bpt --steps 2", other, 1);
    write_parts(tags, "tags", "txt", "Anna NAME\nsings VERB\n\nBob NAME\nsings VERB\nloudly ADV\n\n");
    train(CRF, "--task tag --crf --model star --steps 4", tags, 1);
    train(TAGGER, "--task tag --model star --steps 4", tags, 1);
    train(TAGGER_TOO, "--task tag --model bpt --steps 7", tags, 5);
    char target[600];
    write_parts(pairs, "pairs", "en", "one two\nthree\ntwo three one\n");
    write_parts(target, "pairs", "de", "zwei eins\ndrei\neins drei zwei\n");
    train(ONE, "--task translate --source en --target de --model transformer --steps 20", pairs, 1);
    train(TWO, "--task translate --source en --target de --model bpt --steps 30", pairs, 2);
    char text[4000] = "";
    for (int i = 0; i < 60; ++i) strcat(text, "a b c d a b c a b d c a b\na b c d\na b d d c a\n");
    train(LM, "--task lm --unit word --context 16 --model bpt --steps 10", test_file("lm.txt", text), 1);
    train(LM_TOO, "--task lm --unit word --context 16 --model transformer --steps 5", test_path("lm.txt"), 2);
    return 0;
}

// A file is cut by the seed: what one run keeps for its test the other has learnt from.
static void parts_that_another_has_learnt_from_are_refused(void **state) {
    (void)state;
    char lines[4000] = "", file[600], cut[3][600];
    for (int i = 0; i < 60; ++i)
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "%s\ta %s one %d\n", i % 2 ? "pos" : "neg", i % 2 ? "good" : "bad",
                 i % 7);
    snprintf(file, sizeof file, "%s", test_file("whole.tsv", lines));
    for (int i = 0; i < 3; ++i) {
        snprintf(cut[i], sizeof cut[i], "%s", test_path("cut-%d", i));
        test_succeed("train --task classify --vocab-scope all --steps 2 --data %s --out %s --seed %d %s" SMALL, file, cut[i], i / 2 + 1,
                     i == 1 ? "--k 2 " : "");
    }
    test_succeed("eval %s --with %s " ON, cut[0], cut[1]);  // the same seed: the same parts
    test_refused(2, "has learnt from examples that are evaluated here", "eval %s --with %s " ON, cut[0], cut[2]);
    test_refused(2, "has learnt from examples", "eval %s --with %s --data %s --split test " ON, cut[0], cut[2], file);
    test_succeed("eval %s --with %s --data %s " ON, cut[0], cut[2], file);
}

static json_t *lines_of(const char *text) {
    json_t *list = json_array();
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        json_t *object = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
        assert_non_null(object);
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *classified(int which, const char *options, const char *input) {
    test_process_t p = test_run_to(0, "classify %s %s --json %s " ON, run[which], input, options);
    json_t *list = lines_of(p.out);
    test_process_free(&p);
    return list;
}

static double probability(const json_t *list, size_t line, size_t class) {
    return json_number_value(json_array_get(json_object_get(json_array_get(list, line), "probabilities"), class));
}

static void probabilities_are_the_means_of_those_of_the_runs(void **state) {
    (void)state;
    const char *input = test_file("input.txt", "a good one\nbad\none of them\n");
    char with[1300];
    snprintf(with, sizeof with, "--with %s --with %s", run[STAR], run[DEEP]);
    json_t *each[] = {classified(BPT, "", input), classified(STAR, "", input), classified(DEEP, "", input)};
    json_t *all = classified(BPT, with, input);
    for (size_t line = 0; line < 3; ++line)
        for (size_t c = 0; c < 3; ++c) {
            const double mean = (probability(each[0], line, c) + probability(each[1], line, c) + probability(each[2], line, c)) / 3;
            if (!(fabs(probability(all, line, c) - mean) < 1e-5))
                fail_msg("line %zu, class %zu: %g, the mean is %g", line, c, probability(all, line, c), mean);
        }
    for (int i = 0; i < 3; ++i) json_decref(each[i]);
    json_decref(all);
}

// -log of the mean likelihood of each target, which is never above the mean of the nlls.
static void check_nll(int a, int b, const char *data) {
    json_t *nll[3];
    char more[1400];
    for (int i = 0; i < 3; ++i) {
        const char *out = test_path("nll-%d.json", i);
        snprintf(more, sizeof more, "%s%s", i == 2 ? "--with " : "", i == 2 ? run[b] : "");
        test_succeed("eval %s --data %s --nll-out %s %s " ON, run[i == 1 ? b : a], data, out, more);
        nll[i] = json_load_file(out, 0, NULL);
        assert_non_null(nll[i]);
    }
    const size_t count = json_array_size(nll[0]);
    assert_true(count > 0 && count == json_array_size(nll[2]));
    for (size_t i = 0; i < count; ++i) {
        const double x = json_number_value(json_array_get(nll[0], i)), y = json_number_value(json_array_get(nll[1], i));
        const double wanted = -log((exp(-x) + exp(-y)) / 2), found = json_number_value(json_array_get(nll[2], i));
        if (!(fabs(found - wanted) < 1e-4)) fail_msg("target %zu: %g, not %g", i, found, wanted);
    }
    for (int i = 0; i < 3; ++i) json_decref(nll[i]);
}

static void losses_are_those_of_the_mixture(void **state) {
    (void)state;
    check_nll(BPT, STAR, texts);
    check_nll(STAR, DEEP, texts);
    check_nll(TAGGER, TAGGER_TOO, tags);
    check_nll(ONE, TWO, pairs);
    check_nll(LM, LM_TOO, test_path("lm.txt"));
}

static char *output(const char *format, const char *a, const char *b, const char *c) {
    char command[3000];
    snprintf(command, sizeof command, format, a, b, c);
    test_process_t p = test_run_to(0, "%s " ON, command);
    char *out = strdup(p.out);
    test_process_free(&p);
    return out;
}

static void translations_and_texts_come_from_both(void **state) {
    (void)state;
    const char *input = test_file("three.en", "one two\nthree two\n");
    char *alone = output("translate %s %s --n-best 3", run[ONE], input, ""),
         *twice = output("translate %s %s --n-best 3 --with %s", run[ONE], input, run[ONE]);
    char *both = output("translate %s %s --n-best 3 --with %s", run[ONE], input, run[TWO]);
    char *back = output("translate %s %s --n-best 3 --with %s", run[TWO], input, run[ONE]);
    for (const char *x = alone, *y = twice; *x; x = strchr(x, '\n') + 1, y = strchr(y, '\n') + 1) {
        assert_true(fabs(strtod(strchr(x, '\t'), NULL) - strtod(strchr(y, '\t'), NULL)) < 1e-5);
        const char *of_x = strchr(strchr(x, '\t') + 1, '\t'), *of_y = strchr(strchr(y, '\t') + 1, '\t');
        assert_memory_equal(of_x, of_y, strcspn(of_y, "\n") + 1);
    }
    for (const char *x = both, *y = back; *x; x = strchr(x, '\n') + 1, y = strchr(y, '\n') + 1)
        assert_true(fabs(strtod(strchr(x, '\t'), NULL) - strtod(strchr(y, '\t'), NULL)) < 1e-4);
    assert_string_not_equal(alone, both);
    free(alone), free(twice), free(both), free(back);
    alone = output("generate %s --prompt 'a b' --temperature 0 --max-tokens 6%s%s", run[LM], "", "");
    twice = output("generate %s --prompt 'a b' --temperature 0 --max-tokens 6%s --with %s", run[LM], "", run[LM]);
    assert_string_equal(alone, twice);
    free(alone), free(twice);
    // The logits that tokens are drawn from are logarithms of the means.
    json_t *logits[3];
    const int first[] = {LM, LM_TOO, LM};
    for (int i = 0; i < 3; ++i) {
        const char *out = test_path("logits-%d.json", i);
        test_succeed("generate %s --prompt 'a b c' --max-tokens 1 --logits-out %s %s%s " ON, run[first[i]], out, i == 2 ? "--with " : "",
                     i == 2 ? run[LM_TOO] : "");
        json_t *list = json_load_file(out, 0, NULL);
        logits[i] = json_incref(json_array_get(list, 0));
        json_decref(list);
    }
    const size_t vocab = json_array_size(logits[0]);
    double total[3] = {0};
    assert_true(vocab > 4);
    for (int i = 0; i < 3; ++i)
        for (size_t v = 0; v < vocab; ++v) total[i] += exp(json_number_value(json_array_get(logits[i], v)));
    assert_true(fabs(total[2] - 1) < 1e-5);
    for (size_t v = 0; v < vocab; ++v) {
        double p[3];
        for (int i = 0; i < 3; ++i) p[i] = exp(json_number_value(json_array_get(logits[i], v))) / total[i];
        assert_true(fabs(p[2] - (p[0] + p[1]) / 2) < 1e-5);
    }
    for (int i = 0; i < 3; ++i) json_decref(logits[i]);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    static const struct {
        int a, b;
        const char *says;
    } cases[] = {
        {BPT, OTHER_WORDS, "in one model and"},
        {BPT, OTHER_LABELS, "the labels: number"},
        {BPT, TAGGER, "is a classifier, the other a tagger"},
        {CRF, CRF, "a CRF gives probabilities to whole sequences"},
        {TAGGER, CRF, "a CRF gives"},
        {LM, ONE, "the same task"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        test_refused(2, cases[i].says, "eval %s --with %s " ON, run[cases[i].a], run[cases[i].b]);
        test_refused(2, run[cases[i].b], "eval %s --with %s " ON, run[cases[i].a], run[cases[i].b]);
    }
    const char *long_line = test_file("long.txt", "one of them one of them\n");
    test_succeed("classify %s %s " ON, run[BPT], long_line);
    test_refused(1, "6 tokens are more than the model's 3 positions", "classify %s %s --with %s " ON, run[BPT], long_line, run[STAR]);
    test_refused(1, "nowhere", "eval %s --with nowhere " ON, run[BPT]);
    test_refused(2, "--with goes with one run", "eval %s %s --with %s " ON, run[BPT], run[STAR], run[DEEP]);
    test_refused(2, "--grad-out is for one model", "eval %s --with %s --grad-out %s " ON, run[BPT], run[STAR], test_path("grad"));
    test_refused(2, "--average is for one run", "translate %s /dev/null --with %s --average 2 " ON, run[ONE], run[TWO]);
}

// As the command.
static void the_library_answers_together_too(void **state) {
    (void)state;
    const char *const with[] = {run[STAR], run[DEEP]};
    const char *input = test_file("one.txt", "a good one\n");
    char flags[1300];
    snprintf(flags, sizeof flags, "--with %s --with %s", run[STAR], run[DEEP]);
    json_t *wanted = classified(BPT, flags, input);
    bpt_model_options_t o = bpt_model_options();
    bpt_model_t *model;
    uint32_t *tokens;
    int64_t count;
    float logits[3];
    o.threads = 1, o.with = with, o.with_count = 2;
    assert_ok(bpt_model_open(run[BPT], &o, &model));
    assert_ok(bpt_model_tokenize(model, "a good one", 10, &tokens, &count));
    const bpt_sequences_t sequences = {.tokens = tokens, .lengths = &count, .count = 1};
    assert_ok(bpt_model_classify(model, &sequences, logits));
    for (size_t c = 0; c < 3; ++c) assert_true(fabs(exp((double)logits[c]) - probability(wanted, 0, c)) < 1e-6);
    bpt_free(tokens);
    bpt_model_close(model);
    json_decref(wanted);
    const char *const wrong[] = {run[OTHER_LABELS]}, *const null[] = {NULL};
    o.with = wrong, o.with_count = 1;
    assert_int_equal(bpt_model_open(run[BPT], &o, &model), BPT_ERR_USAGE);
    assert_non_null(strstr(bpt_error_message(), "the labels: number"));
    o.with = null;
    assert_int_equal(bpt_model_open(run[BPT], &o, &model), BPT_ERR_USAGE);
    o.with = with, o.trains = true;
    assert_int_equal(bpt_model_open(run[BPT], &o, &model), BPT_ERR_USAGE);
    assert_non_null(strstr(bpt_error_message(), "trains alone"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_are_the_means_of_those_of_the_runs),
        cmocka_unit_test(losses_are_those_of_the_mixture),
        cmocka_unit_test(parts_that_another_has_learnt_from_are_refused),
        cmocka_unit_test(translations_and_texts_come_from_both),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(the_library_answers_together_too),
    };
    return cmocka_run_group_tests(tests, make_runs, NULL);
}
