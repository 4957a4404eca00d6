// Star-Transformer and the tasks of its paper through the program: training, metrics, resumption bit for bit, the same losses on GPU APIs,
// and what is refused.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "support/check.h"
#include "support/process.h"
#include "support/scratch.h"
#include "support/support.h"

static test_process_t bpt(const char *line) {
    test_process_t p = test_run_line(line);
    if (p.exit_status) fail_msg("bpt %s: exit %d: %s", line, p.exit_status, p.err);
    return p;
}

static void run(const char *format, ...) BPT_PRINTF(1, 2);
static void run(const char *format, ...) {
    char line[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    test_process_t p = bpt(line);
    test_process_free(&p);
}

// ---- Small data

static char folder[512];

static void write_part(const char *name, const char *part, const char *text) {
    char path[700];
    snprintf(path, sizeof path, "%s/%s/%s", folder, name, part);
    test_write_file(path, text, strlen(text));
}

// Sentences of words that tell their tags, pairs that agree when their first words do.
static int setup(void **state) {
    (void)state;
    static const char *const parts[] = {"train.txt", "valid.txt", "test.txt"};
    snprintf(folder, sizeof folder, "%s", test_path("data"));
    assert_ok(bpt_folder_create(test_path("data")));
    assert_ok(bpt_folder_create(test_path("data/tags")));
    assert_ok(bpt_folder_create(test_path("data/pairs")));
    for (int part = 0; part < 3; ++part) {
        static char tags[60000], pairs[60000];
        size_t t = 0, p = 0;
        for (int i = 0; i < (part ? 12 : 60); ++i) {
            const int length = 1 + (i * 7 + part) % 9, other = (i * 5 + part) % 6;
            for (int k = 0; k < length; ++k) {
                const int word = (i * 3 + k * k + part) % 8;
                t += (size_t)snprintf(tags + t, sizeof tags - t, "w%d %s\n", word, word < 3 ? "O" : word < 6 ? "B-PER" : "I-PER");
            }
            t += (size_t)snprintf(tags + t, sizeof tags - t, "\n");
            p += (size_t)snprintf(pairs + p, sizeof pairs - p, "%s\tw%d w%d\tw%d w7 w%d\n", other == i % 6 ? "same" : "other", i % 6, i % 8,
                                  other, i % 5);
        }
        write_part("tags", parts[part], tags);
        write_part("pairs", parts[part], pairs);
    }
    return 0;
}

#define SMALL "--layers 2 --d-model 24 --heads 3 --batch-examples 16 --batch-tokens 64 --lr 0.01 --seed 3 --quiet "

static const struct {
    const char *name, *options, *metric;
    bool cpu_alone;  // other runs show this task on GPU APIs
} runs[] = {
    {"star-tag", "--task tag --model star --data tags --head-dim 6 " SMALL, "f1"},
    {"star-tag-crf",
     "--task tag --model star --data tags --crf --d-mlp 10 --ngram-max 3 --ngram-rows 50 --ngram-dim 6 --tag-scheme bioes " SMALL, "f1"},
    {"bpt-tag", "--task tag --model bpt --k 1 --data tags " SMALL, "accuracy", true},
    {"star-pair", "--task pair --model star --positions none --data pairs --d-mlp 12 " SMALL, "accuracy"},
    {"transformer-pair", "--task pair --model transformer --pool mean --data pairs --d-mlp 12 " SMALL, "accuracy", true},
    {"bpt-match", "--task pair --model bpt --match-layers 2 --k 2 --data pairs " SMALL, "accuracy"},
    {"star-regress", "--task regress --model star --data summation --n 12 --sum 2 --d-input 3 --examples 60 --dropout-input 0 " SMALL,
     "mse"},
    {"segtree-regress", "--task regress --model segtree --data summation --n 12 --sum 2 --d-input 3 --examples 60 " SMALL, "mse", true},
    {"star-classify", "--task classify --model star --no-ring --data pairs --label-column 1 --text-column 3 " SMALL, "accuracy"},
};

static void train(const char *backend, const char *name, const char *options, const char *more) {
    char with_path[1500], *data = NULL;
    snprintf(with_path, sizeof with_path, "%s", options);
    data = strstr(with_path, "--data ");
    char before[1500], rest[1500], *word = data + strlen("--data ");
    snprintf(before, sizeof before, "%.*s", (int)(word - with_path), with_path);
    snprintf(rest, sizeof rest, "%s", word);
    const bool made = !strncmp(word, "summation", 9);
    run("train %s%s%s%s --backend %s --out %s %s", before, made ? "" : folder, made ? "" : "/", rest, backend, test_path("%s", name), more);
}

static json_t *evaluate(const char *backend, const char *name) {
    char line[700];
    snprintf(line, sizeof line, "eval %s --json --quiet --backend %s --checkpoint latest", test_path("%s", name), backend);
    test_process_t p = bpt(line);
    json_t *result = json_loads(p.out, 0, NULL);
    assert_non_null(result);
    test_process_free(&p);
    return result;
}

static double number(const json_t *object, const char *key) {
    if (!json_is_number(json_object_get(object, key))) fail_msg("no number %s", key);
    return json_number_value(json_object_get(object, key));
}

static void assert_same_model(const char *a, const char *b, int step) {
    char *x, *y, path[700];
    size_t x_bytes, y_bytes;
    snprintf(path, sizeof path, "%s/checkpoints/step-%d/model.safetensors", test_path("%s", a), step);
    assert_ok(bpt_file_read(path, 1 << 24, &x, &x_bytes));
    snprintf(path, sizeof path, "%s/checkpoints/step-%d/model.safetensors", test_path("%s", b), step);
    assert_ok(bpt_file_read(path, 1 << 24, &y, &y_bytes));
    assert_int_equal(x_bytes, y_bytes);
    if (memcmp(x, y, x_bytes)) fail_msg("%s and %s differ after step %d", a, b, step);
    bpt_free(x), bpt_free(y);
}

static void every_task_learns_and_is_resumed_bit_for_bit(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(runs); ++i) {
        char stopped[64];
        snprintf(stopped, sizeof stopped, "%s-stopped", runs[i].name);
        train("cpu", runs[i].name, runs[i].options, "--steps 24");
        train("cpu", stopped, runs[i].options, "--steps 24 --stop-at 7");
        run("train --resume --out %s --stop-at 24 --quiet", test_path("%s", stopped));
        assert_same_model(runs[i].name, stopped, 24);
        json_t *result = evaluate("cpu", runs[i].name);
        assert_true(isfinite(number(result, runs[i].metric)) && isfinite(number(result, "loss")));
        json_decref(result);
    }
}

static void gpu_apis_train_as_the_cpu_does(void **state) {
    (void)state;
    static const char *const backends[] = {"opencl", "vulkan", "cuda"};
    for (size_t i = 0; i < BPT_COUNT(runs); ++i) {
        if (runs[i].cpu_alone) continue;
        train("cpu", "one", runs[i].options, "--steps 6");
        json_t *wanted = evaluate("cpu", "one");
        for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
            if (!test_backend_usable(backends[b])) continue;
            train(backends[b], backends[b], runs[i].options, "--steps 6");
            json_t *got = evaluate(backends[b], backends[b]);
            if (!(fabs(number(got, "loss") - number(wanted, "loss")) <= 1e-3 * fmax(1, number(wanted, "loss"))))
                fail_msg("%s on %s: loss %g, on cpu %g", runs[i].name, backends[b], number(got, "loss"), number(wanted, "loss"));
            json_decref(got);
            char remove[600];
            snprintf(remove, sizeof remove, "rm -rf '%s'", test_path("%s", backends[b]));
            assert_int_equal(system(remove), 0);
        }
        json_decref(wanted);
        char remove[600];
        snprintf(remove, sizeof remove, "rm -rf '%s'", test_path("one"));
        assert_int_equal(system(remove), 0);
    }
}

static void a_text_has_the_same_answer_alone_and_in_company(void **state) {
    (void)state;
    train("cpu", "tags-alone", runs[1].options, "--steps 8");
    static const char *const texts[] = {"w1 w7 w7 w2", "w3", "w4 w0", "w5 w6 w1 w1 w1 w0 w2"};
    char all[200] = "", line[700], together[4000] = "";
    for (size_t i = 0; i < BPT_COUNT(texts); ++i) {
        strcat(strcat(all, texts[i]), "\n");
        snprintf(line, sizeof line, "tag %s %s --json --quiet --backend ref", test_path("tags-alone"),
                 test_file("one.txt", strcat(strcpy((char[100]){0}, texts[i]), "\n")));
        test_process_t p = bpt(line);
        strcat(together, p.out);
        test_process_free(&p);
    }
    snprintf(line, sizeof line, "tag %s %s --json --quiet --backend ref", test_path("tags-alone"), test_file("all.txt", all));
    test_process_t p = bpt(line);
    json_t *a, *b;
    const char *x = p.out, *y = together;
    for (size_t i = 0; i < BPT_COUNT(texts); ++i) {
        const size_t x_bytes = strcspn(x, "\n") + 1, y_bytes = strcspn(y, "\n") + 1;
        a = json_loadb(x, x_bytes, 0, NULL), b = json_loadb(y, y_bytes, 0, NULL);
        assert_true(a && b && json_equal(json_object_get(a, "tags"), json_object_get(b, "tags")));
        const json_t *p_rows = json_object_get(a, "logits"), *q_rows = json_object_get(b, "logits");
        for (size_t r = 0; r < json_array_size(p_rows); ++r)
            for (size_t c = 0; c < json_array_size(json_array_get(p_rows, r)); ++c)
                assert_true(fabs(json_number_value(json_array_get(json_array_get(p_rows, r), c)) -
                                 json_number_value(json_array_get(json_array_get(q_rows, r), c))) < 1e-5);
        json_decref(a), json_decref(b);
        x += x_bytes, y += y_bytes;
    }
    test_process_free(&p);
    // Without --json: token and tag, a blank line behind each sentence.
    snprintf(line, sizeof line, "tag %s %s --quiet", test_path("tags-alone"), test_file("two.txt", "w1 w2\tX Y\n\nw3\n"));
    p = bpt(line);
    int lines = 0;
    for (const char *c = p.out; *c; ++c) lines += *c == '\n';
    assert_int_equal(lines, 2 + 1 + 1 + 1 + 1);
    assert_true(!strncmp(p.out, "w1\t", 3) && strstr(p.out, "\n\n\nw3\t"));
    test_process_free(&p);
}

// `bpt eval --shift`: 0 placeholders are the text as it is; all backends agree on more.
static void a_shifted_text_has_the_same_loss_on_all_backends(void **state) {
    (void)state;
    static const char *const backends[] = {"cpu", "ref", "opencl", "vulkan"};
    char line[1600];
    double wanted[2] = {0};
    train("cpu", "shifted", "--task classify --model bpt --k 2 --data pairs --label-column 1 --text-column 3 " SMALL, "--steps 4");
    for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
        if (b > 1 && !test_backend_usable(backends[b])) continue;
        snprintf(line, sizeof line, "eval %s --shift 0,3 --json --quiet --backend %s", test_path("shifted"), backends[b]);
        test_process_t p = bpt(line);
        const char *text = p.out;
        for (int i = 0; i < 2; ++i, text = strchr(text, '\n') + 1) {
            json_t *object = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
            assert_int_equal(json_integer_value(json_object_get(object, "shift")), i ? 3 : 0);
            const double loss = json_number_value(json_object_get(object, "loss"));
            if (b == 0) wanted[i] = loss;
            assert_true(fabs(loss - wanted[i]) < 1e-5);
            json_decref(object);
        }
        test_process_free(&p);
    }
    assert_true(wanted[0] != wanted[1]);
    snprintf(line, sizeof line, "eval %s --json --quiet --backend cpu", test_path("shifted"));
    test_process_t p = bpt(line);
    json_t *object = json_loads(p.out, 0, NULL);
    assert_true(json_number_value(json_object_get(object, "loss")) == wanted[0]);
    json_decref(object);
    test_process_free(&p);
    static const char *const refused[][2] = {{"--shift 1,x", "--shift"}, {"--shift 0,1 --nll-out n.json", "one file cannot hold"}};
    for (size_t i = 0; i < BPT_COUNT(refused); ++i) {
        snprintf(line, sizeof line, "eval %s %s", test_path("shifted"), refused[i][0]);
        p = test_run_line(line);
        if (p.exit_status != 2 || !strstr(p.err, refused[i][1])) fail_msg("bpt %s: exit %d, %s", line, p.exit_status, p.err);
        test_process_free(&p);
    }
}

static void what_cannot_be_is_refused_in_one_sentence(void **state) {
    (void)state;
    char tags[700], pairs[700], line[1600];
    snprintf(tags, sizeof tags, "%s/tags", folder);
    snprintf(pairs, sizeof pairs, "%s/pairs", folder);
    const struct {
        const char *options, *data, *message;
    } cases[] = {
        {"--task lm --model star", tags, "model star cannot be a language model: its relay node reads the whole text"},
        {"--task classify --model star --positions relative", pairs, "model star has no relative positions"},
        {"--task classify --model star --pool root", pairs, "model star has no pool root; choose one of mean, max, relay-max, relay"},
        {"--task classify --pool relay", pairs, "model bpt has no pool relay; choose one of root, mean, max"},
        {"--task classify --model star --d-ff 100", pairs,
         "--d-ff is for --model bpt, segtree, transformer and tree, and this is --model star"},
        {"--task classify --no-ring", pairs, "--ring is for --model star"},
        {"--task tag --pool mean", tags, "--pool is for --task"},
        {"--task pair --d-mlp 0", pairs, "d_mlp is 0; a classifier of pairs"},
        {"--task classify --crf", pairs, "--crf is for --task tag"},
        {"--task tag --where 1=x", tags, "--where is for --task classify, pair and regress, and this is --task tag"},
        {"--task tag --label-column upos --text-column 3", tags, "the words of CoNLL-U files are in column 2"},
        {"--task tag --unit ids --label-column 2", tags, "--label-column goes with --format conll, conllu or csv, not with text: its lines are"},
        {"--task tag --unit ids --tag-scheme bioes", tags, "--tag-scheme is for --unit word"},
        {"--task tag --format columns", tags,
         "--format columns is not for --task tag, whose files are --format text, conll, conllu, jsonl or csv"},
        {"--task classify --format conll", pairs,
         "--format conll is not for --task classify, whose files are --format text, columns, trees, jsonl, csv or fasttext"},
        {"--task classify --format text --where 1=x", pairs, "--where goes with --format columns or csv, not with text"},
        {"--task tag --format conllu --label-column 2", tags, "--label-column 2: the tags of CoNLL-U are upos or xpos"},
        {"--task tag --format conll --label-column upos", tags, "--label-column upos: columns are numbers from 1 on"},
        {"--task lm --format columns", pairs, "--format columns is not for --task lm, whose files are --format text, jsonl or csv"},
        {"--task tag --label-column two", tags, "--label-column two: columns are numbers from 1 on"},
        {"--task tag --label-column 2x", tags, "--label-column 2x: one column, or upos or xpos"},
        {"--task pair --text-column 2", pairs, "a pair needs two columns, such as 2,3"},
        {"--task classify --text-column 2,3", pairs, "--text-column 2,3: one column is needed"},
        {"--task classify --where books", pairs, "--where books: columns are numbers from 1 on"},
        {"--task classify --where 1", pairs, "it must be a column and a value, such as 1=books"},
        {"--task lm --where 1=x", pairs, "--where is for --task"},
        {"--task tag --best-by mse", tags, "task tag is not measured by mse"},
        {"--task tag --ngram-max 2 --ngram-min 3", tags, "ngram_min is 3 and ngram_max 2"},
        {"--task regress --n 5 --sum 6", "summation", "--sum must be at most --n"},
        {"--task regress", pairs, "in the label column is not a finite number"},
        {"--task regress", "nowhere.safetensors", "nowhere.safetensors"},
        {"--task tag --tag-scheme bioes --label-column 1", tags, "does not fit the tags before it, which --tag-scheme needs"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        snprintf(line, sizeof line, "train %s --data %s --out %s --d-model 24 --heads 3", cases[i].options, cases[i].data,
                 test_path("refused"));
        test_process_t p = test_run_line(line);
        if (p.exit_status < 1 || p.exit_status > 2 || !strstr(p.err, cases[i].message))
            fail_msg("bpt %s: exit %d, %s", line, p.exit_status, p.err);
        assert_false(bpt_folder_exists(test_path("refused")));
        test_process_free(&p);
    }
    train("cpu", "a-tagger", runs[0].options, "--steps 1");
    static const char *const uses[][2] = {{"classify", "is a tagger, not a classifier; use bpt tag"},
                                          {"generate", "only causal language models"}};
    for (size_t i = 0; i < BPT_COUNT(uses); ++i) {
        snprintf(line, sizeof line, "%s %s%s", uses[i][0], test_path("a-tagger"), i ? " --prompt w1" : " /dev/null");
        test_process_t p = test_run_line(line);
        if (p.exit_status < 1 || !strstr(p.err, uses[i][1])) fail_msg("bpt %s: exit %d, %s", line, p.exit_status, p.err);
        test_process_free(&p);
    }
}

// A hidden layer that pairs need is as wide as the model, unless it is said otherwise.
static void pairs_have_a_hidden_layer_by_default(void **state) {
    (void)state;
    static const struct {
        const char *options;
        int d_mlp;
    } cases[] = {{"--d-model 24 --heads 3", 24}, {"--d-model 24 --heads 3 --d-mlp 7", 7}, {"", 128}};  // few examples: a width of 128
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        char path[700];
        run("train --task pair --model star --data %s/pairs --out %s %s --batch-examples 16 --steps 1 --quiet --backend cpu", folder,
            test_path("pair-%d", (int)i), cases[i].options);
        snprintf(path, sizeof path, "%s/config.json", test_path("pair-%d", (int)i));
        json_t *config = json_load_file(path, 0, NULL);
        assert_non_null(config);
        assert_int_equal(json_integer_value(json_object_get(config, "d_mlp")), cases[i].d_mlp);
        json_decref(config);
    }
}

// The counts of the types add up to those of all spans, from which precision, recall and F1 follow; what is printed says the same.
static void a_tagger_is_scored_type_by_type(void **state) {
    (void)state;
    static const char *const sentences = "EU B-ORG\nrejects O\nGerman S-MISC\ncall O\n\nPeter B-PER\nBlackburn E-PER\n\nBRUSSELS S-LOC\n"
                                         "1996 O\nthe O\nEU B-ORG\nBody E-ORG\nPeter S-PER\n";
    static const char *const parts[] = {"train.txt", "valid.txt", "test.txt"};
    assert_ok(bpt_folder_create(test_path("data/types")));
    for (int part = 0; part < 3; ++part) write_part("types", parts[part], sentences);
    train("cpu", "typed", "--task tag --model star --data types --head-dim 6 " SMALL, "--steps 12");
    json_t *result = evaluate("cpu", "typed"), *types = json_object_get(result, "types"), *of_type;
    const char *name;
    double found = 0, support = 0, correct = 0;
    char table[2048] = "";
    assert_int_equal(json_object_size(types), 4);  // LOC, MISC, ORG, PER
    json_object_foreach(types, name, of_type) {
        const double p = number(of_type, "precision"), r = number(of_type, "recall"), f1 = number(of_type, "f1");
        const double count = number(of_type, "count"), wanted = number(of_type, "support");
        assert_true(fabs(p * count - r * wanted) < 1e-9 && fabs((p + r) * f1 - 2 * p * r) < 1e-9);
        found += count, support += wanted, correct += p * count;
        snprintf(table + strlen(table), sizeof table - strlen(table), "%-12s %7.2f %% %7.2f %% %7.2f %% %8.0f %8.0f\n", name, 100 * p,
                 100 * r, 100 * f1, count, wanted);
    }
    assert_int_equal((int)support, 6);
    assert_true(found > 0 && correct > 0);
    assert_true(fabs(number(result, "precision") - correct / found) < 1e-9 && fabs(number(result, "recall") - correct / support) < 1e-9);
    json_decref(result);
    char line[700];
    snprintf(line, sizeof line, "eval %s --quiet --backend cpu --checkpoint latest", test_path("typed"));
    test_process_t p = bpt(line);
    if (!strstr(p.out, "type         precision    recall        f1    count  support\n") || !strstr(p.out, table))
        fail_msg("%s\nwanted\n%s", p.out, table);
    test_process_free(&p);
    train("cpu", "untyped", "--task pair --model star --positions none --data pairs --d-mlp 12 " SMALL, "--steps 2");
    result = evaluate("cpu", "untyped");
    assert_null(json_object_get(result, "types"));
    json_decref(result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_learns_and_is_resumed_bit_for_bit),
        cmocka_unit_test(gpu_apis_train_as_the_cpu_does),
        cmocka_unit_test(a_text_has_the_same_answer_alone_and_in_company),
        cmocka_unit_test(a_shifted_text_has_the_same_loss_on_all_backends),
        cmocka_unit_test(a_tagger_is_scored_type_by_type),
        cmocka_unit_test(pairs_have_a_hidden_layer_by_default),
        cmocka_unit_test(what_cannot_be_is_refused_in_one_sentence),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
