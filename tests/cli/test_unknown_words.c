// Words that training has not seen: a model answers as well with them as without, and what options of it do and refuse.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/safetensors.h"
#include "support/check.h"
#include "support/process.h"

#define bpt(...) test_run_to(0, __VA_ARGS__)
#define SMALL "--layers 1 --d-model 32 --heads 2 --backend cpu --threads 1 --quiet "

static uint32_t random_state = 1;
static unsigned below(unsigned n) { return (random_state = random_state * 1664525u + 1013904223u, (random_state >> 8) % n); }

// Texts of 12 words, of which two decide and `unknown` are new ones.
static const char *texts(const char *name, int lines, int unknown) {
    char *text = malloc((size_t)lines * 160), *to = text;
    for (int i = 0; i < lines; ++i) {
        to += sprintf(to, i % 2 ? "pos\t" : "neg\t");
        const unsigned first = below(12);  // where one of the two is
        const unsigned second = (first + 1 + below(11)) % 12;
        for (unsigned w = 0, new = 0; w < 12; ++w)
            if (w == first || w == second)
                to += sprintf(to, "%s%u ", i % 2 ? "good" : "bad", below(12));
            else if (new ++ < (unsigned)unknown)
                to += sprintf(to, "new%u ", below(1000000));
            else
                to += sprintf(to, "f%u ", below(300));
        to += sprintf(to, "\n");
    }
    const char *path = test_file(name, text);
    free(text);
    return path;
}

static double accuracy(const char *run, const char *data) {
    test_process_t p = bpt("eval %s --data %s --json --backend cpu --threads 1 --quiet", run, data);
    json_t *result = json_loads(p.out, 0, NULL);
    const double value = json_number_value(json_object_get(result, "accuracy"));
    json_decref(result);
    test_process_free(&p);
    return value;
}

static void unknown_words_do_not_decide(void **state) {
    (void)state;
    char train[512], seen[512], unseen[512], run[512];
    snprintf(train, sizeof train, "%s", texts("train.tsv", 1700, 0));
    snprintf(seen, sizeof seen, "%s", texts("seen.tsv", 500, 0));
    snprintf(unseen, sizeof unseen, "%s", texts("unseen.tsv", 500, 9));
    for (int seed = 1; seed <= 4; ++seed) {
        snprintf(run, sizeof run, "%s", test_path("seed-%d", seed));
        test_succeed("train --task classify --data %s --seed %d --epochs 4 --out %s --backend cpu --threads 1 --quiet", train, seed, run);
        const double known = accuracy(run, seen), unknown = accuracy(run, unseen);
        if (known < 0.98 || unknown < 0.98) fail_msg("seed %d: %g, with unknown words %g", seed, known, unknown);
    }
}

// The embedding of <unk>.
static float *first_row(const char *run, const char *name, int64_t *width) {
    bpt_safetensors_t *file;
    float *row;
    char path[700];
    snprintf(path, sizeof path, "%s/latest/model.safetensors", run);
    assert_ok(bpt_safetensors_open(path, &file));
    const bpt_safetensors_tensor_t *t = bpt_safetensors_find(file, name);
    assert_non_null(t);
    *width = t->shape[1];
    row = malloc((size_t)*width * sizeof *row);
    assert_ok(bpt_safetensors_read_f32(file, t, 0, *width, row));
    bpt_safetensors_close(file);
    return row;
}

static bool is_zero(const char *run, const char *name) {
    int64_t width;
    float *row = first_row(run, name, &width);
    bool zero = true;
    for (int64_t i = 0; i < width; ++i) zero = zero && row[i] == 0;
    free(row);
    return zero;
}

// A row that training never reads would stay as large as chance made it.
static void its_embedding_begins_at_zero_unless_training_reads_it(void **state) {
    (void)state;
    static const struct {
        const char *name, *text, *options;
        bool zero;
    } cases[] = {
        {"lm", "a b c d e f a b c d e f\n", "--unit word --context 4 --steps 1 --lr 0", true},
        {"lm-symbol", "a b c <unk> e f a b c d e f\n", "--unit word --context 4 --steps 1 --lr 0", false},
        {"lm-rare", "a b c g e f a b c d e f\n", "--unit word --context 4 --steps 1 --lr 0 --least-count 40", false},
        {"classify", "x\ta b c d e f\ny\tb b\nx\ta\ny\tb\n", "--task classify --steps 1 --lr 0", true},
        {"dropped", "x\ta b c d e f\ny\tb b\nx\ta\ny\tb\n", "--task classify --steps 20 --word-dropout 9", true},
        {"dropped-symbol", "x\ta b c d e <unk>\ny\tb b\nx\ta\ny\tb\n", "--task classify --steps 20 --word-dropout 9", false},
        {"not-dropped", "x\ta b c d e f\ny\tb b\nx\ta\ny\tb\n", "--task classify --steps 20 --word-dropout 0", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char text[4096] = "", run[512];
        for (int n = 0; n < 30; ++n) strcat(text, cases[i].text);
        snprintf(run, sizeof run, "%s", test_path("%s", cases[i].name));
        test_succeed("train --data %s %s --out %s " SMALL, test_file("text", text), cases[i].options, run);
        if (is_zero(run, "embed.weight") != cases[i].zero) fail_msg("%s", cases[i].name);
    }
}

static const char *pairs(const char *name) {
    char text[8192] = "";
    for (int i = 0; i < 60; ++i) snprintf(text + strlen(text), sizeof text - strlen(text), "a b c d%d e\n", i);
    return test_file(name, text);
}

static void translators_have_two(void **state) {
    (void)state;
    static const char *const parts[] = {"train.en", "train.de", "valid.en", "valid.de"};
    char run[512];
    for (int i = 0; i < 4; ++i) pairs(parts[i]);
    snprintf(run, sizeof run, "%s", test_path("translator"));
    test_succeed("train --task translate --source en --target de --data %s --steps 1 --lr 0 --out %s " SMALL, test_scratch_dir(), run);
    assert_true(is_zero(run, "embed.weight") && is_zero(run, "decoder.embed.weight"));
    snprintf(run, sizeof run, "%s", test_path("dropping"));
    test_succeed("train --task translate --source en --target de --data %s --steps 10 --word-dropout 2 --out %s " SMALL, test_scratch_dir(),
                 run);
    assert_false(is_zero(run, "embed.weight") || is_zero(run, "decoder.embed.weight"));
}

static double number_of(const char *run, const char *key) {
    char path[700];
    snprintf(path, sizeof path, "%s/config.json", run);
    json_t *config = json_load_file(path, 0, NULL);
    assert_non_null(config);
    const double value = json_number_value(json_object_get(config, key));
    json_decref(config);
    return value;
}

// A run goes on with the words that it would have dropped.
static void a_resumed_run_is_the_same(void **state) {
    (void)state;
    char data[512], whole[512], halves[512];
    size_t a_bytes, b_bytes;
    snprintf(data, sizeof data, "%s", texts("resumed.tsv", 300, 2));
    snprintf(whole, sizeof whole, "%s", test_path("whole"));
    snprintf(halves, sizeof halves, "%s", test_path("halves"));
    test_succeed("train --task classify --data %s --steps 20 --out %s " SMALL, data, whole);
    test_succeed("train --task classify --data %s --steps 20 --stop-at 7 --out %s " SMALL, data, halves);
    test_succeed("train --resume --out %s --threads 1 --quiet", halves);
    char *a = test_read_file(test_path("whole/checkpoints/step-20/model.safetensors"), &a_bytes);
    char *b = test_read_file(test_path("halves/checkpoints/step-20/model.safetensors"), &b_bytes);
    assert_int_equal(a_bytes, b_bytes);
    assert_memory_equal(a, b, a_bytes);
    free(a);
    free(b);
    assert_true(number_of(whole, "word_dropout") == 0.25 && number_of(whole, "least_count") == 1);
    test_refused(2, "--word-dropout cannot change when a run is resumed", "train --resume --out %s --word-dropout 0.5", halves);
    test_refused(2, "--least-count cannot change when a run is resumed", "train --resume --out %s --least-count 2", halves);
}

static void defaults_and_refusals(void **state) {
    (void)state;
    static const struct {
        const char *options;
        double dropout;
    } defaults[] = {{"--task classify", 0.25},
                    {"--task tag", 0.25},
                    {"--task pair", 0.25},
                    {"--task classify --vectors v.txt", 0},
                    {"--unit word", 0},
                    {"--unit byte", 0},
                    {"--task classify --unit ids", 0},
                    {"--preset sst5-1", 0},
                    {"--preset star-ner", 0},
                    {"--task tag --word-dropout 0", 0},
                    {"--preset star-ner --word-dropout 1.5", 1.5}};
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; ++i) {
        test_process_t p = bpt("train --print-config %s", defaults[i].options);
        json_t *config = json_loads(p.out, 0, NULL);
        if (json_number_value(json_object_get(config, "word_dropout")) != defaults[i].dropout) fail_msg("%s", defaults[i].options);
        json_decref(config);
        test_process_free(&p);
    }
    char data[512], run[512];
    snprintf(data, sizeof data, "%s", texts("refused.tsv", 60, 0));
    snprintf(run, sizeof run, "%s", test_path("source"));
    test_succeed("train --task classify --data %s --steps 1 --out %s " SMALL, data, run);
    static const char *const refused[][2] = {
        {"--unit byte --word-dropout 1", "--word-dropout is for --unit word, and this is --unit byte"},
        {"--unit char --least-count 2", "--least-count is for --unit word, and this is --unit char"},
        {"--unit ids --task classify --word-dropout 1", "--word-dropout is for --unit word, and this is --unit ids"},
        {"--unit subword --subwords 50 --task classify --least-count 3", "--least-count is for --unit word, and this is --unit subword"},
        {"--task classify --word-dropout -1", "--word-dropout must be at least 0"},
        {"--task classify --least-count 0", "--least-count must be at least 1"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; ++i)
        test_refused(2, refused[i][1], "train --data %s --out %s %s", data, test_path("no"), refused[i][0]);
    test_refused(2, "--least-count 2 makes a vocabulary, and that of --init",
                 "train --task classify --data %s --out %s --init %s --least-count 2", data, test_path("no"), run);
    test_refused(2, "--word-dropout is for words, and summation has none",
                 "train --task regress --data summation --out %s --word-dropout 1 --model star", test_path("no"));
}

// Where a row of <unk> that is read later is trained by nothing.
static void training_warns_of_unknown_words(void **state) {
    (void)state;
    static const struct {
        const char *data, *options;
        bool warned;
    } cases[] = {{"new", "--word-dropout 0", true},
                 {"new", "", false},
                 {"new", "--vectors", false},
                 {"new", "--word-dropout 0 --least-count 70", false},
                 {"new", "--word-dropout 0 --vocab-scope all", false},
                 {"old", "--word-dropout 0", false}};
    mkdir(test_path("new"), 0777);
    mkdir(test_path("old"), 0777);
    texts("new/train.tsv", 1700, 0), texts("new/valid.tsv", 60, 1);
    texts("old/train.tsv", 1700, 0), texts("old/valid.tsv", 60, 0);
    char vectors[512];  // a frozen embedding
    snprintf(vectors, sizeof vectors, "%s", test_file("vectors.txt", "f1 0.5 1\ngood1 1 0\n"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        test_process_t p = bpt("train --task classify --data %s --steps 1 --out %s %s %s " SMALL, test_path("%s", cases[i].data),
                               test_path("warned-%zu", i), cases[i].options, strcmp(cases[i].options, "--vectors") ? "" : vectors);
        const char *warning = "8.3 % of the words of the validation part are unknown, and training reads no unknown word; --word-dropout";
        if ((strstr(p.err, warning) != NULL) != cases[i].warned) fail_msg("%s %s: %s", cases[i].data, cases[i].options, p.err);
        test_process_free(&p);
    }
}

// ---- What an evaluation says

static json_t *evaluated(const char *run, const char *data) {
    test_process_t p = bpt("eval %s --data %s --json --backend cpu --threads 1 --quiet", run, data);
    json_t *result = json_loads(p.out, 0, NULL);
    assert_non_null(result);
    test_process_free(&p);
    return result;
}

static void expect_unknown(const char *run, const char *data, int64_t unknown, double share, bool bound) {
    json_t *result = evaluated(run, data);
    assert_int_equal(json_integer_value(json_object_get(result, "unknown")), unknown);
    const double found = json_number_value(json_object_get(result, "unknown_share"));
    if (found < share - 1e-9 || found > share + 1e-9) fail_msg("%s: %g, wanted %g", run, found, share);
    assert_true(json_is_true(json_object_get(result, "lower_bound")) == bound);
    json_decref(result);
}

static void expect_note(const char *run, const char *data, const char *line, bool note) {
    test_process_t p = bpt("eval %s --data %s --backend cpu --threads 1 --quiet", run, data);
    if (!strstr(p.out, line) || (strstr(p.out, "these are lower bounds") != NULL) != note) fail_msg("%s", p.out);
    test_process_free(&p);
}

// The word <unk> itself, which corpora are published with, hides nothing.
static void a_language_model_says_what_it_does_not_count(void **state) {
    (void)state;
    char text[4096] = "", train[512], hidden[512], open[512], symbol[512], run[512];
    for (int i = 0; i < 60; ++i) strcat(text, "the cat <unk> on a mat\n");
    snprintf(train, sizeof train, "%s", test_file("corpus.txt", text));
    snprintf(hidden, sizeof hidden, "%s", test_file("hidden.txt", "the dog sat on a mat\nthe cat <unk> on a log\n"));
    snprintf(open, sizeof open, "%s", test_file("open.txt", "the cat on a mat\n"));
    snprintf(symbol, sizeof symbol, "%s", test_file("symbol.txt", "the cat <unk> on a mat\n"));
    snprintf(run, sizeof run, "%s", test_path("words"));
    test_succeed("train --unit word --context 8 --steps 4 --data %s --out %s " SMALL, train, run);
    expect_unknown(run, hidden, 3, 0.25, true);
    expect_unknown(run, open, 0, 0, false);
    expect_unknown(run, symbol, 0, 0, false);
    expect_note(run, hidden, "unknown      25.0000 % of the words (3 of 12) are <unk>\nnote ", true);
    expect_note(run, symbol, "unknown      0.0000 % of the words (0 of 6) are <unk>\n", false);
}

static void bytes_and_characters_have_no_unknown_ones(void **state) {
    (void)state;
    char run[512], text[2048] = "";
    for (int i = 0; i < 60; ++i) strcat(text, "the cat sat on a mat\n");
    snprintf(run, sizeof run, "%s", test_path("bytes"));
    const char *data = test_file("bytes.txt", text);
    test_succeed("train --unit byte --context 8 --steps 4 --data %s --out %s " SMALL, data, run);
    json_t *result = evaluated(run, data);
    assert_null(json_object_get(result, "unknown"));
    json_decref(result);
}

static void other_tasks_say_how_many_words_are_unknown(void **state) {
    (void)state;
    char run[512];
    snprintf(run, sizeof run, "%s", test_path("seed-1"));  // trained above
    const char *data = test_file("two.tsv", "pos\tgood1 f2 what ever\nneg\tbad3 f4 f5 f6\n");
    expect_unknown(run, data, 2, 0.25, false);
    expect_note(run, data, "unknown      25.0000 % of the words (2 of 8) are <unk>\n", false);
    static const char *const parts[] = {"test.en", "test.de"};
    test_file(parts[0], "a b x y e\n");
    test_file(parts[1], "a b c x e\n");
    json_t *result;
    test_process_t p = bpt("eval %s --json --backend cpu --threads 1 --quiet", test_path("translator"));
    result = json_loads(p.out, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(result, "unknown")), 1);
    assert_int_equal(json_integer_value(json_object_get(result, "source_unknown")), 2);
    assert_true(json_number_value(json_object_get(result, "source_unknown_share")) == 0.4);
    assert_true(json_is_true(json_object_get(result, "lower_bound")));
    json_decref(result);
    test_process_free(&p);
}

static void evaluations_of_training_say_it_too(void **state) {
    (void)state;
    char text[4096] = "", folder[512], run[512], path[700];
    size_t bytes;
    for (int i = 0; i < 60; ++i) strcat(text, "the cat sat on a mat\n");
    snprintf(folder, sizeof folder, "%s", test_path("parts"));
    assert_int_equal(mkdir(folder, 0777), 0);
    test_write_file(test_path("parts/train.txt"), text, strlen(text));
    test_write_file(test_path("parts/valid.txt"), "the dog sat on a log\nthe cat\n", 29);
    snprintf(run, sizeof run, "%s", test_path("measured"));
    test_process_t p =
        bpt("train --unit word --context 8 --steps 4 --data %s --out %s --layers 1 --d-model 16 --heads 2 --backend cpu", folder, run);
    if (!strstr(p.err, ", 25.00 % of its words unknown")) fail_msg("%s", p.err);
    test_process_free(&p);
    snprintf(path, sizeof path, "%s/metrics.jsonl", run);
    char *lines = test_read_file(path, &bytes);
    if (!strstr(lines, "\"unknown_share\": 0.25")) fail_msg("%s", lines);
    free(lines);
    test_succeed("plot %s --y unknown_share --out %s", run, test_path("share.svg"));
    test_succeed("plot %s --out %s", run, test_path("curve.svg"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_words_do_not_decide),
        cmocka_unit_test(its_embedding_begins_at_zero_unless_training_reads_it),
        cmocka_unit_test(translators_have_two),
        cmocka_unit_test(a_resumed_run_is_the_same),
        cmocka_unit_test(defaults_and_refusals),
        cmocka_unit_test(training_warns_of_unknown_words),
        cmocka_unit_test(a_language_model_says_what_it_does_not_count),
        cmocka_unit_test(bytes_and_characters_have_no_unknown_ones),
        cmocka_unit_test(other_tasks_say_how_many_words_are_unknown),
        cmocka_unit_test(evaluations_of_training_say_it_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
