// `bpt train --init`: a run that starts from another one takes over shape, vocabulary and weights, row by row where words or labels differ.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/safetensors.h"
#include "support/check.h"
#include "support/model_file.h"
#include "support/process.h"

#define ON "--backend ref"

#define bpt test_run_to

// Runs the command and looks for a sentence on stderr.
static void says(test_process_t p, const char *sentence) {
    if (!strstr(p.err, sentence)) fail_msg("no '%s' in: %s", sentence, p.err);
    test_process_free(&p);
}

static double loss_of(const char *run, const char *data) {
    test_process_t p = bpt(0, "eval %s --data %s --json --quiet " ON, run, data);
    json_t *result = json_loads(p.out, 0, NULL);
    const double loss = json_number_value(json_object_get(result, "loss"));
    json_decref(result);
    test_process_free(&p);
    return loss;
}

// ---- Sources, trained once
static char words[512], other[512], labels[512], three[512], lm[512], classifier[512], file[512];

static int train_sources(void **state) {
    (void)state;
    char a[8192] = "", b[8192] = "", c[8192] = "", d[8192] = "";
    for (int i = 0; i < 60; ++i) {
        snprintf(a + strlen(a), sizeof a - strlen(a), "the cat %d sat on the mat and the dog ran\n", i % 3);
        snprintf(b + strlen(b), sizeof b - strlen(b), "the bird sat on a tree and the dog %d slept\n", i % 2);
        snprintf(c + strlen(c), sizeof c - strlen(c), i % 2 ? "bad\tthe dog ran on\n" : "good\tthe cat sat on the mat\n");
        snprintf(d + strlen(d), sizeof d - strlen(d), i % 3 == 0 ? "bad\tthe dog\n" : i % 3 == 1 ? "good\ta cat\n" : "odd\ta bird\n");
    }
    snprintf(words, sizeof words, "%s", test_file("words.txt", a));
    snprintf(other, sizeof other, "%s", test_file("other.txt", b));
    snprintf(labels, sizeof labels, "%s", test_file("labels.tsv", c));
    snprintf(three, sizeof three, "%s", test_file("three.tsv", d));
    snprintf(lm, sizeof lm, "%s", test_path("lm"));
    snprintf(classifier, sizeof classifier, "%s", test_path("classifier"));
    snprintf(file, sizeof file, "%s", test_path("lm.safetensors"));
    test_process_t p = bpt(0,
                           "train --data %s --unit word --no-tied --out %s --layers 2 --d-model 16 --d-ff 40 --heads 2 --k 2 --context 16 "
                           "--batch-tokens 64 --steps 30 --warmup 2 --lr 0.01 --quiet " ON,
                           words, lm);
    test_process_free(&p);
    p = bpt(0, "train --task classify --data %s --out %s --layers 1 --d-model 16 --heads 2 --steps 30 --lr 0.01 --quiet " ON, labels,
            classifier);
    test_process_free(&p);
    p = bpt(0, "export %s --out %s --quiet", lm, file);
    test_process_free(&p);
    return 0;
}

// ---- Weights
typedef struct {
    float *values;
    int64_t rows, columns;
} tensor_t;

static tensor_t tensor(const char *run, const char *name) {
    bpt_safetensors_t *from;
    char path[600];
    snprintf(path, sizeof path, "%s/latest/model.safetensors", run);
    assert_ok(bpt_safetensors_open(path, &from));
    const bpt_safetensors_tensor_t *t = bpt_safetensors_find(from, name);
    assert_non_null(t);
    tensor_t out = {.values = malloc((size_t)t->count * sizeof(float)), .rows = t->shape[0], .columns = t->count / t->shape[0]};
    assert_ok(bpt_safetensors_read_f32(from, t, 0, t->count, out.values));
    bpt_safetensors_close(from);
    return out;
}

static int rows_of(const char *run, const char *name) {
    const tensor_t t = tensor(run, name);
    free(t.values);
    return (int)t.rows;
}

// The line of `word` in a run's list of words or labels, -1: none.
static int line_of(const char *run, const char *list, const char *word) {
    char path[600];
    size_t length;
    snprintf(path, sizeof path, "%s/%s", run, list);
    char *text = test_read_file(path, &length), *rest = NULL;
    int at = 0, found = -1;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), ++at)
        if (!strcmp(line, word)) found = at;
    free(text);
    return found;
}

// Whether the rows of a word (label) in two runs are the same bits.
static bool same_row(const char *a, const char *b, const char *name, const char *list, const char *word) {
    const tensor_t x = tensor(a, name), y = tensor(b, name);
    const int i = line_of(a, list, word), j = line_of(b, list, word);
    assert_true(i >= 0 && i < x.rows && j >= 0 && j < y.rows && x.columns == y.columns);
    const bool same = !memcmp(x.values + i * x.columns, y.values + j * y.columns, (size_t)x.columns * sizeof(float));
    free(x.values), free(y.values);
    return same;
}

static bool same_tensor(const char *a, const char *b, const char *name) {
    const tensor_t x = tensor(a, name), y = tensor(b, name);
    const bool same =
        x.rows == y.rows && x.columns == y.columns && !memcmp(x.values, y.values, (size_t)(x.rows * x.columns) * sizeof(float));
    free(x.values), free(y.values);
    return same;
}

// ---- Tests: a learning rate of 0 leaves the weights as they started
static void shape_and_vocabulary_come_from_the_source(void **state) {
    (void)state;
    const char *sources[] = {lm, file};
    for (int i = 0; i < 2; ++i) {
        char out[512], config[600];
        snprintf(out, sizeof out, "%s", test_path("same-%d", i));
        snprintf(config, sizeof config, "%s/config.json", out);
        test_process_t p = bpt(0, "train --init %s --data %s --out %s --lr 0 --steps 1 " ON, sources[i], other, out);
        assert_non_null(strstr(p.err, "of the training words are not in the vocabulary of"));
        says(p, "new: none");
        assert_true(fabs(loss_of(out, words) - loss_of(lm, words)) < 1e-5);
        assert_true(same_tensor(lm, out, "embed.weight") && same_tensor(lm, out, "head.weight") && same_tensor(lm, out, "head.bias"));
        json_t *c = json_load_file(config, 0, NULL);
        static const char *const keys[] = {"layers", "d_model", "d_ff", "heads", "k", "context"};
        static const int values[] = {2, 16, 40, 2, 2, 16};
        for (int k = 0; k < 6; ++k) assert_int_equal(json_integer_value(json_object_get(c, keys[k])), values[k]);
        assert_string_equal(json_string_value(json_object_get(c, "unit")), "word");
        json_decref(c);
    }
}

static void fine_tuning_goes_on_from_what_is_known(void **state) {
    (void)state;
    const char *out = test_path("tuned");
    test_process_t p =
        bpt(0, "train --init %s --match-vocabulary --data %s --out %s --steps 40 --warmup 2 --lr 0.005 --quiet " ON, lm, other, out);
    test_process_free(&p);
    const char *fresh = test_path("start-only");
    p = bpt(0, "train --init %s --match-vocabulary --data %s --out %s --steps 1 --lr 0 --quiet " ON, lm, other, fresh);
    test_process_free(&p);
    assert_true(loss_of(out, other) < 0.7 * loss_of(fresh, other));
    p = bpt(0, "train --out %s --resume --steps 42 --quiet " ON, out);  // the source is not needed any more
    test_process_free(&p);
}

static void matched_words_keep_their_rows_bit_for_bit(void **state) {
    (void)state;
    const char *out = test_path("matched");
    // the, dog, sat, on, and, 0, 1, <unk>, <eos> of both; bird, a, tree, slept are new.
    says(bpt(0, "train --init %s --match-vocabulary --data %s --out %s --lr 0 --steps 1 " ON, lm, other, out),
         "vocabulary: 9 of 13 tokens are those of");
    static const char *const names[] = {"embed.weight", "head.weight", "head.bias"};
    static const char *const known[] = {"the", "dog", "sat", "on", "and", "0", "1", "<unk>", "<eos>"};
    for (int n = 0; n < 3; ++n)
        for (int w = 0; w < 9; ++w)
            if (!same_row(lm, out, names[n], "vocab.txt", known[w])) fail_msg("%s: %s", names[n], known[w]);
    assert_int_equal(line_of(lm, "vocab.txt", "bird"), -1);
    assert_true(same_tensor(lm, out, "layers.1.attn.q_proj.weight") && same_tensor(lm, out, "layers.0.attn.rel_key.weight"));
    const tensor_t t = tensor(out, "embed.weight");
    const float *bird = t.values + line_of(out, "vocab.txt", "bird") * t.columns;
    double sum = 0;
    for (int64_t i = 0; i < t.columns; ++i) sum += fabs((double)bird[i]);
    assert_true(sum > 1);  // a value of its own, not zeros
    free(t.values);
}

static void a_classifier_starts_from_a_language_model(void **state) {
    (void)state;
    const char *out = test_path("lm-to-classifier");
    says(bpt(0, "train --task classify --init %s --data %s --out %s --lr 0 --steps 1 " ON, lm, labels, out), "new: head.weight, head.bias");
    assert_true(same_tensor(lm, out, "embed.weight") && same_tensor(lm, out, "layers.1.ffn.fc1.weight"));
    assert_int_equal(rows_of(out, "head.bias"), 2);
}

static void labels_keep_their_rows_by_name(void **state) {
    (void)state;
    const char *out = test_path("three-labels");
    test_process_t p = bpt(0, "train --task classify --init %s --data %s --out %s --lr 0 --steps 1 " ON, classifier, three, out);
    says(p, "new: none");
    assert_int_equal(rows_of(out, "head.bias"), 3);
    assert_true(same_row(classifier, out, "head.weight", "labels.txt", "bad") &&
                same_row(classifier, out, "head.bias", "labels.txt", "good"));
    says(bpt(0, "train --task classify --init %s --data %s --out %s --lr 0 --steps 1 " ON, classifier, labels, test_path("two-labels")),
         "new: none");
    assert_true(fabs(loss_of(test_path("two-labels"), labels) - loss_of(classifier, labels)) < 1e-5);
}

static void what_contradicts_the_source_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *options;
        int exit_status;
        const char *sentence;
    } cases[] = {
        {"--layers 3", 2, "--layers 3 contradicts --init"},
        {"--d-model 32", 2, "--d-model 32 contradicts"},
        {"--k 4", 2, "--k 4 contradicts"},
        {"--unit byte", 2, "--unit byte contradicts"},
        {"--lower", 2, "--lower yes contradicts"},
        {"--norm rms", 2, "--norm rms contradicts --init"},  // the source says nothing of its layer norm
        {"--ffn swiglu", 2, "--ffn swiglu contradicts"},
        {"--embed-scale", 2, "--embed-scale yes contradicts"},
        {"--task tag --ngram-max 3", 2, "--ngram-max 3 contradicts"},
        {"--preset small", 2, "contradicts"},
        {"--layers 2 --k 2 --norm layer --ffn relu --dropout-input 0.3 --context 8 --lr 0.1", 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        says(bpt(cases[i].exit_status, "train --init %s --data %s --out %s --steps 1 --quiet %s " ON, lm, other, test_path("refused"),
                 cases[i].options),
             cases[i].sentence);
    says(bpt(2, "train --match-vocabulary --data %s --out %s", other, test_path("r")), "--match-vocabulary needs --init");
    says(bpt(1, "train --init %s --data %s --out %s", other, other, test_path("r")), "other.txt");
    says(bpt(1, "train --init /nowhere/run --data %s --out %s", other, test_path("r")), "/nowhere/run is not a run");
    says(bpt(2, "train --init %s --task lm --data %s --out %s", classifier, other, test_path("r")), "a language model must be causal");
}

static void the_task_is_that_of_the_source_unless_another_is_given(void **state) {
    (void)state;
    char run[512];
    snprintf(run, sizeof run, "%s", test_path("same-task"));
    says(bpt(0, "train --init %s --data %s --out %s --steps 1 " ON, classifier, three, run), "labels: 2 of 3 are those of ");
    test_succeed("eval %s --data %s " ON, run, three);
    says(bpt(1, "train --init %s --data %s --out %s", classifier, other, test_path("r")), "other.txt: line 1: no tab");
    says(bpt(0, "train --init %s --data %s --out %s --steps 1 " ON, classifier, labels, test_path("same-labels")), "weights: ");
    test_process_t p = bpt(0, "train --init %s --task classify --data %s --out %s --steps 1 " ON, lm, labels, test_path("other-task"));
    assert_null(strstr(p.err, "labels: "));
    test_process_free(&p);
}

static void a_model_that_reads_vectors_is_a_source_too(void **state) {
    (void)state;
    char run[512];
    snprintf(run, sizeof run, "%s", test_path("sums"));
    test_succeed(
        "train --task regress --data summation --n 5 --sum 2 --examples 20 --layers 1 --d-model 8 --heads 2 --steps 1 --out %s " ON, run);
    says(bpt(0, "train --init %s --data summation --n 5 --sum 2 --examples 20 --steps 1 --out %s " ON, run, test_path("more-sums")),
         "weights: ");
}

// Of a file without a vocabulary only token numbers are known, so a text is refused.
static void a_file_without_words_takes_token_numbers(void **state) {
    (void)state;
    const test_metadata_t metadata[] = {{"config", NULL}, {"unit", "word"}};
    char bare[512];
    snprintf(bare, sizeof bare, "%s", test_path("bare.safetensors"));
    test_copy_model(file, bare, metadata, 2);
    char numbers[1024] = "";
    for (int i = 0; i < 60; ++i) snprintf(numbers + strlen(numbers), sizeof numbers - strlen(numbers), "3 4 5 6\n");
    says(bpt(1, "train --init %s --data %s --out %s --steps 1 --quiet " ON, bare, other, test_path("bare-run")), "other.txt: line 1");
    test_process_t p = bpt(0, "train --init %s --data %s --out %s --context 8 --steps 1 --quiet " ON, bare,
                           test_file("numbers.txt", numbers), test_path("bare-run"));
    test_process_free(&p);
}

// A tensor is too little for the first model and too much for the second: another configuration beside the same tensors.
static void a_refused_start_leaves_no_folder_and_tensors_left_over_are_named(void **state) {
    (void)state;
    static const char shape[] =
        "\"model\": \"bpt\", \"task\": \"lm\", \"d_model\": 16, \"d_ff\": 40, \"heads\": 2, \"k\": 2, \"rel_levels\": %d, \"vocab\": %d, "
        "\"tied\": false";
    const int levels = (rows_of(lm, "layers.0.attn.rel_key.weight") - 1) / 6, vocab = rows_of(lm, "embed.weight");
    char body[512], config[600], changed[512], out[512], numbers[1024] = "";
    snprintf(body, sizeof body, shape, levels, vocab);
    snprintf(changed, sizeof changed, "%s", test_path("changed.safetensors"));
    snprintf(out, sizeof out, "%s", test_path("changed-run"));
    for (int i = 0; i < 60; ++i) snprintf(numbers + strlen(numbers), sizeof numbers - strlen(numbers), "3 4 5 6\n");
    const char *data = test_file("few.txt", numbers);
    for (int layers = 3; layers >= 1; layers -= 2) {
        snprintf(config, sizeof config, "{%s, \"layers\": %d}", body, layers);
        const test_metadata_t metadata[] = {{"config", config}};
        test_copy_model(file, changed, metadata, 1);
        says(bpt(layers == 3, "train --init %s --data %s --out %s --context 8 --steps 1 " ON, changed, data, out),
             layers == 3 ? "has no tensor \"layers.2." : "the model has no place for these tensors, they are left out: layers.1.");
        assert_int_equal(access(out, F_OK), layers == 3 ? -1 : 0);
    }
}

// The type of the numbers is named wherever a file of weights is read.
static void weights_of_a_type_that_cannot_be_read_are_named(void **state) {
    (void)state;
    static const bpt_safetensors_dtype_t types[] = {BPT_ST_F8_E4M3, BPT_ST_F4, BPT_ST_F6_E2M3, BPT_ST_C64, BPT_ST_I64};
    const test_metadata_t metadata[] = {{"config", NULL}, {"unit", "word"}};
    char changed[512], out[512], data[512], wanted[128], numbers[1024] = "";
    snprintf(changed, sizeof changed, "%s", test_path("types.safetensors"));
    snprintf(out, sizeof out, "%s", test_path("types-run"));
    for (int i = 0; i < 60; ++i) strcat(numbers, "3 4 5 6\n");
    snprintf(data, sizeof data, "%s", test_file("typed.txt", numbers));
    for (size_t i = 0; i < BPT_COUNT(types); ++i) {
        test_copy_model_with_type(file, changed, metadata, 2, "layers.1.ffn_norm.bias", types[i]);
        snprintf(wanted, sizeof wanted,
                 "types.safetensors: tensor \"layers.1.ffn_norm.bias\" has type %s, which is not supported; convert it",
                 bpt_safetensors_dtype_name(types[i]));
        says(bpt(1, "import %s --out %s", changed, out), wanted);
        says(bpt(1, "train --init %s --data %s --out %s --context 8 --steps 1 " ON, changed, data, out), wanted);
        assert_int_equal(access(out, F_OK), -1);
    }
}

// Characters have no <unk>.
static void characters_that_the_source_does_not_know_need_a_vocabulary_of_their_own(void **state) {
    (void)state;
    char first[512], second[512], source[512], out[512], text[2][2048] = {"", ""};
    for (int i = 0; i < 80; ++i) strcat(text[0], "abcdefg hij\n"), strcat(text[1], "abc xyz\n");
    snprintf(first, sizeof first, "%s", test_file("first.txt", text[0]));
    snprintf(second, sizeof second, "%s", test_file("second.txt", text[1]));
    snprintf(source, sizeof source, "%s", test_path("characters"));
    snprintf(out, sizeof out, "%s", test_path("other-characters"));
    test_process_t p =
        bpt(0, "train --data %s --unit char --out %s --layers 1 --d-model 8 --heads 2 --context 16 --steps 2 --quiet " ON, first, source);
    test_process_free(&p);
    says(bpt(1, "train --init %s --data %s --out %s --steps 1 --quiet " ON, source, second, out), "--match-vocabulary makes one that does");
    says(bpt(0, "train --init %s --match-vocabulary --data %s --out %s --lr 0 --steps 1 " ON, source, second, out),
         "vocabulary: 5 of 8 tokens are those of");
    assert_true(same_row(source, out, "embed.weight", "vocab.txt", "c") && same_row(source, out, "head.bias", "vocab.txt", "a"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_and_vocabulary_come_from_the_source),
        cmocka_unit_test(fine_tuning_goes_on_from_what_is_known),
        cmocka_unit_test(matched_words_keep_their_rows_bit_for_bit),
        cmocka_unit_test(a_classifier_starts_from_a_language_model),
        cmocka_unit_test(labels_keep_their_rows_by_name),
        cmocka_unit_test(a_file_without_words_takes_token_numbers),
        cmocka_unit_test(weights_of_a_type_that_cannot_be_read_are_named),
        cmocka_unit_test(a_refused_start_leaves_no_folder_and_tensors_left_over_are_named),
        cmocka_unit_test(characters_that_the_source_does_not_know_need_a_vocabulary_of_their_own),
        cmocka_unit_test(what_contradicts_the_source_is_refused),
        cmocka_unit_test(the_task_is_that_of_the_source_unless_another_is_given),
        cmocka_unit_test(a_model_that_reads_vectors_is_a_source_too),
    };
    return cmocka_run_group_tests(tests, train_sources, NULL);
}
