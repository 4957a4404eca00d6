// `bpt export --format hf`: what is in the folder, that its weights are those of the usual export, and what is refused. That transformers
// computes the same is tested in tests/huggingface.
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
#include "bpt/json.h"
#include "bpt/safetensors.h"
#include "support/check.h"
#include "support/process.h"

#define ON "--backend cpu --threads 1 --quiet"
#define SMALL "--layers 1 --d-model 16 --heads 2 --steps 2 --lr 0.01 --warmup 0 " ON

static char text[512], labelled[512], tagged[512], lm[512], classifier[512], tagger[512];

static void path_of(char path[512], const char *name) { snprintf(path, 512, "%s", test_path("%s", name)); }

static int prepare(void **state) {
    (void)state;
    char a[8192] = "", b[8192] = "", c[8192] = "";
    for (int i = 0; i < 40; ++i) {
        snprintf(a + strlen(a), sizeof a - strlen(a), "the cat %d sat on the mat and the dog ran away\n", i % 7);
        snprintf(b + strlen(b), sizeof b - strlen(b), "%s\tThe cat %d sat\n", i % 2 ? "good \xC3\xA9" : "bad", i % 5);
        snprintf(c + strlen(c), sizeof c - strlen(c), "cat\tN\n%d\tM\nsat\tV\n\n", i % 5);
    }
    snprintf(text, sizeof text, "%s", test_file("text.txt", a));
    snprintf(labelled, sizeof labelled, "%s", test_file("labelled.tsv", b));
    snprintf(tagged, sizeof tagged, "%s", test_file("tagged.txt", c));
    path_of(lm, "lm"), path_of(classifier, "classifier"), path_of(tagger, "tagger");
    test_succeed("train --data %s --unit byte --out %s --k 2 --context 16 " SMALL, text, lm);
    test_succeed("train --data %s --task classify --model star --lower --truncate 7 --out %s " SMALL, labelled, classifier);
    test_succeed("train --data %s --task tag --model segtree --crf --out %s " SMALL, tagged, tagger);
    return 0;
}

static json_t *json_in(const char *folder, const char *name) {
    json_t *out;
    char path[700];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(bpt_json_read(path, &out));
    return out;
}

static const char *text_in(const json_t *object, const char *key) {
    const char *out = json_string_value(json_object_get(object, key));
    assert_non_null(out);
    return out;
}

// The folder holds these files and no others; `names` in the order of their bytes, ended by NULL.
static void assert_files(const char *folder, const char *const *names) {
    char **found;
    size_t count, i = 0;
    assert_ok(bpt_folder_list(folder, &found, &count));
    for (; i < count && names[i]; ++i) assert_string_equal(found[i], names[i]);
    assert_true(i == count && !names[i]);
    bpt_names_free(found, count);
}

static void assert_same_file(const char *a, const char *b) {
    size_t n, m;
    char *x = test_read_file(a, &n), *y = test_read_file(b, &m);
    assert_non_null(x), assert_non_null(y);
    assert_true(n == m && !memcmp(x, y, n));
    free(x), free(y);
}

// The same tensors with the same bytes, and the same metadata but for `format`.
static void assert_same_weights(const char *run, const char *folder) {
    bpt_safetensors_t *usual, *hf;
    char weights[700];
    snprintf(weights, sizeof weights, "%s/model.safetensors", folder);
    test_succeed("export %s --out %s --quiet", run, test_path("usual.safetensors"));
    assert_ok(bpt_safetensors_open(test_path("usual.safetensors"), &usual));
    assert_ok(bpt_safetensors_open(weights, &hf));
    assert_int_equal(bpt_safetensors_count(usual), bpt_safetensors_count(hf));
    for (size_t i = 0; i < bpt_safetensors_count(usual); ++i) {
        const bpt_safetensors_tensor_t *a = bpt_safetensors_at(usual, i), *b = bpt_safetensors_at(hf, i);
        assert_string_equal(a->name, b->name);
        assert_true(a->dtype == b->dtype && a->rank == b->rank && a->bytes == b->bytes && !memcmp(a->shape, b->shape, sizeof a->shape));
        char *x = malloc(a->bytes), *y = malloc(a->bytes);
        assert_ok(bpt_safetensors_read(usual, a, 0, a->count, x));
        assert_ok(bpt_safetensors_read(hf, b, 0, b->count, y));
        assert_memory_equal(x, y, a->bytes);
        free(x), free(y);
    }
    assert_string_equal(bpt_safetensors_metadata(usual, "format"), "bpt");
    assert_string_equal(bpt_safetensors_metadata(hf, "format"), "pt");
    assert_string_equal(bpt_safetensors_metadata(usual, "config"), bpt_safetensors_metadata(hf, "config"));
    json_t *config = json_in(folder, "config.json"), *model;
    const char *said = bpt_safetensors_metadata(usual, "config");
    assert_ok(bpt_json_parse(said, strlen(said), "the metadata", &model));
    assert_true(json_equal(json_object_get(config, "bpt"), model));
    json_decref(config), json_decref(model);
    bpt_safetensors_close(usual), bpt_safetensors_close(hf);
}

static void assert_class(const char *folder, const char *task) {
    char key[64], class[64], place[80];
    json_t *config = json_in(folder, "config.json");
    const json_t *map = json_object_get(config, "auto_map");
    snprintf(key, sizeof key, "AutoModelFor%s", task);
    snprintf(class, sizeof class, "BptFor%s", task);
    snprintf(place, sizeof place, "modeling_bpt.%s", class);
    assert_string_equal(text_in(map, key), place);
    assert_string_equal(text_in(map, "AutoConfig"), "configuration_bpt.BptConfig");
    assert_string_equal(json_string_value(json_array_get(json_object_get(config, "architectures"), 0)), class);
    json_decref(config);
}

static void a_language_model_is_a_folder_of_weights_and_python(void **state) {
    (void)state;
    static const char *const names[] = {"config.json",         "configuration_bpt.py",
                                        "crf_bpt.py",          "graph_bpt.py",
                                        "model.safetensors",   "modeling_bpt.py",
                                        "tokenization_bpt.py", "tokenizer_config.json",
                                        "vocab.txt",           NULL};
    char folder[512], a[700], b[700], back[512];
    path_of(folder, "above/lm-hf"), path_of(back, "back");
    test_succeed("export %s --format hf --out %s/ --quiet", lm, folder);
    assert_files(folder, names);
    assert_same_weights(lm, folder);
    assert_class(folder, "CausalLM");
    const char *source = getenv("BPT_SOURCE_DIR");
    for (int i = 0; names[i]; ++i) {
        if (!strstr(names[i], ".py")) continue;
        snprintf(a, sizeof a, "%s/%s", folder, names[i]);
        snprintf(b, sizeof b, "%s/tools/huggingface/%s", source, names[i]);
        assert_same_file(a, b);
    }
    snprintf(a, sizeof a, "%s/vocab.txt", folder);
    snprintf(b, sizeof b, "%s/vocab.txt", lm);
    assert_same_file(a, b);
    json_t *tokenizer = json_in(folder, "tokenizer_config.json");
    assert_string_equal(text_in(tokenizer, "unit"), "byte");
    assert_true(json_is_false(json_object_get(tokenizer, "line_ends")));
    assert_null(json_object_get(tokenizer, "model_max_length"));
    json_decref(tokenizer);
    // bpt itself reads the weights too.
    test_succeed("import %s/model.safetensors --out %s --quiet", folder, back);
    char options[700];
    snprintf(options, sizeof options, "--data %s --checkpoint latest", text);
    assert_true(test_evaluate(back, options, "loss") == test_evaluate(lm, options, "loss"));
}

static void classifiers_have_labels_and_say_how_texts_are_read(void **state) {
    (void)state;
    char folder[512];
    path_of(folder, "classifier-hf");
    assert_ok(bpt_folder_create(folder));  // an empty one is as good as none
    test_succeed("export %s --format hf --out %s --quiet", classifier, folder);
    assert_same_weights(classifier, folder);
    assert_class(folder, "SequenceClassification");
    json_t *config = json_in(folder, "config.json"), *tokenizer = json_in(folder, "tokenizer_config.json");
    assert_string_equal(text_in(json_object_get(config, "id2label"), "1"), "good \xC3\xA9");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(config, "label2id"), "good \xC3\xA9")), 1);
    assert_string_equal(text_in(tokenizer, "unit"), "word");
    assert_true(json_is_true(json_object_get(tokenizer, "lower")) && json_is_false(json_object_get(tokenizer, "line_ends")));
    assert_int_equal(json_integer_value(json_object_get(tokenizer, "model_max_length")), 7);
    json_decref(config), json_decref(tokenizer);
    path_of(folder, "tagger-hf");
    test_succeed("export %s --format hf --out %s --quiet", tagger, folder);
    assert_same_weights(tagger, folder);
    assert_class(folder, "TokenClassification");
}

static void models_of_numbers_have_no_tokenizer(void **state) {
    (void)state;
    static const char *const names[] = {"config.json",       "configuration_bpt.py", "crf_bpt.py", "graph_bpt.py",
                                        "model.safetensors", "modeling_bpt.py",      NULL};
    char numbers[512], folder[512];
    char ids[4096] = "";
    for (int i = 0; i < 200; ++i) snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%d%c", i % 7, i % 10 == 9 ? '\n' : ' ');
    snprintf(numbers, sizeof numbers, "%s", test_file("ids.txt", ids));
    path_of(folder, "ids-hf");
    test_succeed("train --data %s --unit ids --out %s --context 8 " SMALL, numbers, test_path("ids"));
    test_succeed("export %s --format hf --out %s --quiet", test_path("ids"), folder);
    assert_files(folder, names);
}

static void what_python_cannot_compute_is_refused(void **state) {
    (void)state;
    char folder[512], pairs[512], trees[512], beside[600];
    path_of(folder, "never");
    char a[8192] = "", b[8192] = "";
    for (int i = 0; i < 30; ++i) {
        snprintf(a + strlen(a), sizeof a - strlen(a), "%s\tthe cat %d\ta dog\n", i % 2 ? "same" : "other", i % 4);
        snprintf(b + strlen(b), sizeof b - strlen(b), "(%d (1 the) (0 (1 cat) (0 w%d)))\n", i % 2, i % 4);
    }
    snprintf(pairs, sizeof pairs, "%s", test_file("pairs.tsv", a));
    snprintf(trees, sizeof trees, "%s", test_file("trees.ptb", b));
    test_succeed("train --task pair --data %s --out %s " SMALL, pairs, test_path("pair"));
    test_succeed("train --task regress --data summation --n 6 --sum 2 --examples 20 --model star --out %s " SMALL, test_path("regress"));
    test_succeed("train --task classify --model tree --data %s --out %s " SMALL, trees, test_path("tree"));
    test_succeed("train --task classify --ngram-max 3 --ngram-rows 30 --data %s --out %s " SMALL, labelled, test_path("ngrams"));
    test_refused(2, "is for language models, classifiers and taggers", "export %s --format hf --out %s", test_path("pair"), folder);
    test_refused(2, "is for language models, classifiers and taggers", "export %s --format hf --out %s", test_path("regress"), folder);
    test_refused(2, "reads trees", "export %s --format hf --out %s", test_path("tree"), folder);
    test_refused(2, "n-grams", "export %s --format hf --out %s", test_path("ngrams"), folder);
    test_refused(2, "leave out --weights q8", "export %s --format hf --weights q8 --out %s", lm, folder);
    test_refused(2, "already has files", "export %s --format hf --out %s", lm, lm);
    test_refused(2, "is a file", "export %s --format hf --out %s", lm, text);
    snprintf(beside, sizeof beside, "%s.tmp-hf", folder);
    assert_false(bpt_folder_exists(folder) || bpt_folder_exists(beside));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_language_model_is_a_folder_of_weights_and_python),
        cmocka_unit_test(classifiers_have_labels_and_say_how_texts_are_read),
        cmocka_unit_test(models_of_numbers_have_no_tokenizer),
        cmocka_unit_test(what_python_cannot_compute_is_refused),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
