// `bpt embed`: vectors of lines and states of tokens, against what heads make of them and against the library; its files; what is refused.
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
#include "bpt/safetensors.h"
#include "models/api/model.h"
#include "support/check.h"
#include "support/process.h"

enum { D = 16, CLASSES = 3, LINES = 5, MOST = 4096 };
#define SMALL "--layers 1 --d-model 16 --heads 2 --threads 1 --backend cpu --quiet --lr 0.02 --steps 5 "
#define ON "--quiet --backend cpu --threads 1"

static char folder[600];
static const char *const bpt = "run-bpt", *const star = "run-star", *const pair = "run-pair", *const tagger = "run-tagger",
                         *const lm = "run-lm", *const translator = "run-translator";
static const char lines[] = "a good one\none\n\nof them a good\nbad bad bad\n";

// A file that stays where it is: test_path() reuses its memory.
static const char *kept(const char *path) {
    static char paths[32][600];
    static int n;
    snprintf(paths[n], sizeof paths[n], "%s", path);
    return paths[n++];
}

static void write_parts(const char *name, const char *suffix, const char *text) {
    static const char *const parts[] = {"train", "valid", "test"};
    char path[800], all[8000];
    snprintf(folder, sizeof folder, "%s", test_path("%s", name));
    snprintf(path, sizeof path, "mkdir -p %s", folder);
    assert_int_equal(system(path), 0);
    for (int i = 0; i < 3; ++i) {
        *all = 0;
        for (int k = 0; k < (i ? 2 : 20); ++k) strcat(all, text);
        snprintf(path, sizeof path, "%s/%s.%s", folder, parts[i], suffix);
        test_write_file(path, all, strlen(all));
    }
}

static void train(const char *run, const char *options) {
    test_succeed("train %s --data %s --out %s " SMALL, options, folder, test_path("%s", run));
}

static int make_runs(void **state) {
    (void)state;
    write_parts("texts", "tsv", "pos\ta good one of them\nneg\ta bad one\nso\tone of them\n");
    train(bpt, "--task classify --model bpt");
    train(star, "--task classify --model star --pool relay-max");
    write_parts("pairs", "tsv", "same\ta b\ta b\nother\ta\tc\n");
    train(pair, "--task pair --model bpt");
    write_parts("tags", "txt", "Anna NAME\nsings VERB\n\nBob NAME\nsings VERB\n\n");
    train(tagger, "--task tag --model transformer --positions sinusoidal");
    write_parts("mt", "en", "one two\nthree one two\n");
    write_parts("mt", "de", "zwei eins\nzwei eins drei\n");
    train(translator, "--task translate --source en --target de --model bpt");
    write_parts("lm", "txt", "a good one of them\na bad one (\nb\n");
    train(lm, "--task lm --unit word --context 8 --model bpt");
    return 0;
}

// What `bpt embed` writes into a safetensors file.
static int64_t embed(const char *run, const char *input, const char *options, float *out) {
    char file[600];
    strcpy(file, test_path("out.safetensors"));
    bpt_safetensors_t *st;
    test_succeed("embed %s %s --out %s %s " ON, test_path("%s", run), input, file, options);
    assert_ok(bpt_safetensors_open(file, &st));
    const bpt_safetensors_tensor_t *t = bpt_safetensors_find(st, "embeddings");
    assert_non_null(t);
    assert_true(t->count <= MOST && t->shape[t->rank - 1] == D);
    assert_ok(bpt_safetensors_read_f32(st, t, 0, t->count, out));
    const int64_t rows = t->shape[0];
    bpt_safetensors_close(st);
    return rows;
}

// rows of tokens; offsets [lines + 1].
static void embed_tokens(const char *run, const char *input, float *out, uint64_t *offsets) {
    char file[600];
    strcpy(file, test_path("tokens.safetensors"));
    bpt_safetensors_t *st;
    test_succeed("embed %s %s --per-token --out %s " ON, test_path("%s", run), input, file);
    assert_ok(bpt_safetensors_open(file, &st));
    const bpt_safetensors_tensor_t *t = bpt_safetensors_find(st, "states"), *o = bpt_safetensors_find(st, "offsets");
    assert_true(t && o && o->dtype == BPT_ST_U64 && t->count <= MOST);
    assert_ok(bpt_safetensors_read_f32(st, t, 0, t->count, out));
    assert_ok(bpt_safetensors_read(st, o, 0, o->count, offsets));
    assert_int_equal(offsets[o->count - 1], t->shape[0]);
    bpt_safetensors_close(st);
}

static void read_tensor(const char *file, const char *name, float *out) {
    bpt_safetensors_t *st;
    assert_ok(bpt_safetensors_open(file, &st));
    const bpt_safetensors_tensor_t *t = bpt_safetensors_find(st, name);
    assert_non_null(t);
    assert_ok(bpt_safetensors_read_f32(st, t, 0, t->count, out));
    bpt_safetensors_close(st);
}

static void near(const float *a, const float *b, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        if (!(fabs((double)a[i] - (double)b[i]) < 1e-5)) fail_msg("number %d is %g, not %g", (int)i, (double)a[i], (double)b[i]);
}

// The head times the vector of a text is what `bpt classify` gives for it.
static void heads_make_logits_of_vectors(void **state) {
    (void)state;
    static const char *const runs[] = {"run-bpt", "run-star"};
    static float vectors[MOST], weight[CLASSES * D], bias[CLASSES];
    const char *input = kept(test_file("lines.txt", lines));
    for (int r = 0; r < 2; ++r) {
        char exported[600];
        strcpy(exported, test_path("exported.safetensors"));
        test_succeed("export %s --out %s --quiet", test_path("%s", runs[r]), exported);
        read_tensor(exported, "head.weight", weight);
        read_tensor(exported, "head.bias", bias);
        assert_int_equal(embed(runs[r], input, "", vectors), LINES);
        test_process_t p = test_run_to(0, "classify %s %s --json " ON, test_path("%s", runs[r]), input);
        const char *line = p.out;
        for (int i = 0; i < LINES; ++i, line = strchr(line, '\n') + 1) {
            json_t *answer = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL), *logits = json_object_get(answer, "logits");
            for (int c = 0; c < CLASSES && logits; ++c) {
                double sum = (double)bias[c];
                for (int k = 0; k < D; ++k) sum += (double)weight[c * D + k] * (double)vectors[i * D + k];
                assert_true(fabs(sum - json_number_value(json_array_get(logits, (size_t)c))) < 1e-4);
            }
            for (int k = 0; k < D && !logits; ++k) assert_true(vectors[i * D + k] == 0);  // a blank line
            json_decref(answer);
        }
        test_process_free(&p);
    }
    static float root[MOST];
    assert_int_equal(embed(bpt, input, "", vectors), embed(bpt, input, "--pool root", root));
    assert_memory_equal(vectors, root, LINES * D * sizeof *root);
}

// Mean, maximum, first and last are those of the states of tokens, of every task; the relay plus the maximum is the state that star's head
// reads.
static void pools_are_those_of_the_states_of_tokens(void **state) {
    (void)state;
    static const char *const runs[] = {"run-bpt", "run-star", "run-tagger", "run-lm", "run-translator"}, *const pools[] = {"mean", "max",
                                                                                                                           "first", "last"};
    static float states[MOST], vectors[4][MOST];
    static uint64_t offsets[LINES + 1];
    const char *input = kept(test_file("any.txt", "a b c\nb\n\n(c a) a b\nb a b a b\n"));
    for (int r = 0; r < 5; ++r) {
        embed_tokens(runs[r], input, states, offsets);
        for (int p = 0; p < 4; ++p) {
            char option[40];
            snprintf(option, sizeof option, "--pool %s", pools[p]);
            assert_int_equal(embed(runs[r], input, option, vectors[p]), LINES);
        }
        for (int i = 0; i < LINES; ++i) {
            const int64_t first = (int64_t)offsets[i], n = (int64_t)offsets[i + 1] - first;
            if (!n) continue;
            for (int k = 0; k < D; ++k) {
                float sum = 0, largest = -INFINITY;
                for (int64_t t = 0; t < n; ++t) {
                    const float x = states[(first + t) * D + k];
                    sum += x;
                    if (x > largest) largest = x;
                }
                const float wanted[] = {sum / (float)n, largest, states[first * D + k], states[(first + n - 1) * D + k]};
                for (int p = 0; p < 4; ++p) near(&vectors[p][i * D + k], &wanted[p], 1);
            }
        }
    }
    static float relay[MOST], text[MOST];
    assert_int_equal(embed(star, input, "--pool relay", relay), LINES);
    embed(star, input, "--pool max", vectors[0]);
    embed(star, input, "", text);
    for (int i = 0; i < LINES * D; ++i) assert_true(fabs((double)(text[i] - (relay[i] + vectors[0][i]))) < 1e-5);
}

// The library, sequence by sequence.
static void the_library_gives_the_same(void **state) {
    (void)state;
    static const char *const runs[] = {"run-bpt", "run-tagger", "run-lm"};
    static float vectors[MOST], own[D];
    const char *text[] = {"a good one", "b", "a bad one a"};
    const char *input = kept(test_file("same.txt", "a good one\nb\na bad one a\n"));
    for (int r = 0; r < 3; ++r) {
        bpt_model_options_t o = bpt_model_options();
        bpt_model_t *model;
        o.threads = 1;
        assert_ok(bpt_model_open(test_path("%s", runs[r]), &o, &model));
        assert_int_equal(embed(runs[r], input, "--pool mean", vectors), 3);
        for (int i = 0; i < 3; ++i) {
            uint32_t *tokens;
            int64_t count;
            assert_ok(bpt_model_tokenize(model, text[i], strlen(text[i]), &tokens, &count));
            assert_ok(bpt_model_embed(model, &(bpt_sequences_t){.tokens = tokens, .lengths = &count, .count = 1}, BPT_POOLED_MEAN, own));
            near(own, vectors + i * D, D);
            assert_int_equal(
                bpt_model_embed(model, &(bpt_sequences_t){.tokens = tokens, .lengths = &count, .count = 1}, BPT_POOLED_RELAY, own),
                BPT_ERR_USAGE);
            assert_non_null(strstr(bpt_error_message(), "has no relay node"));
            assert_int_equal(
                bpt_model_embed(model, &(bpt_sequences_t){.tokens = tokens, .lengths = &count, .count = 1}, BPT_POOLED_MEAN, NULL),
                BPT_ERR_USAGE);
            bpt_free(tokens);
        }
        bpt_model_close(model);
    }
    // A translator reads its source's tokens.
    bpt_model_t *model;
    assert_ok(bpt_model_open(test_path("%s", translator), NULL, &model));
    const uint32_t large[] = {9999};
    const int64_t one = 1;
    assert_int_equal(bpt_model_embed(model, &(bpt_sequences_t){.tokens = large, .lengths = &one, .count = 1}, BPT_POOLED_MEAN, own),
                     BPT_ERR_USAGE);
    assert_non_null(strstr(bpt_error_message(), "vocabulary of what is translated"));
    bpt_model_close(model);
}

// A row has two vectors; several files, packed ones and many blocks are read as one text; .npy has the same numbers behind its header.
static void files_hold_all_lines_in_their_order(void **state) {
    (void)state;
    static float pairs[MOST], vectors[MOST];
    assert_int_equal(embed(pair, test_file("pairs.txt", "a b\tb\nc\ta\n"), "", pairs), 2);
    assert_int_equal(embed(pair, test_file("turned.txt", "b\ta b\n"), "", vectors), 1);
    near(pairs, vectors + D, D);
    near(pairs + D, vectors, D);
    const char *first = kept(test_file("one.txt", "a good one\none\n")), *npy = kept(test_path("both.npy"));
    char both[1200];
    snprintf(both, sizeof both, "%s %s", first, test_file("two.txt", lines));
    assert_int_equal(embed(bpt, both, "", vectors), 2 + LINES);
    near(vectors, vectors + 2 * D, 2 * D);
    test_succeed("embed %s %s --out %s " ON, test_path("%s", bpt), both, npy);
    size_t bytes;
    char *file = test_read_file(npy, &bytes);
    assert_int_equal(bytes, 128 + (2 + LINES) * D * sizeof(float));
    assert_memory_equal(file, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (7, 16), }", 70);
    assert_int_equal(file[127], '\n');
    assert_memory_equal(file + 128, vectors, (2 + LINES) * D * sizeof(float));
    free(file);
    // Many lines: each is the one that it is by itself.
    char *many = malloc(1 << 20), *end = many;
    int count = 0;
    for (; end - many < (260 << 10); ++count) end += sprintf(end, "%s\n", count % 3 ? "a good one" : "one of them");
    test_write_file(test_path("many.txt"), many, (size_t)(end - many));
    free(many);
    test_succeed("embed %s %s --out %s " ON, test_path("%s", bpt), test_path("many.txt"), npy);
    file = test_read_file(npy, &bytes);
    assert_int_equal(bytes, 128 + (size_t)count * D * sizeof(float));
    assert_int_equal(embed(bpt, test_file("three.txt", "one of them\na good one\n"), "", vectors), 2);
    for (int i = 0; i < count; ++i) near((float *)(void *)(file + 128) + (int64_t)i * D, vectors + (i % 3 ? D : 0), D);
    free(file);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    const char *input = kept(test_file("some.txt", "a good one\n")), *out = kept(test_path("no.npy"));
    char run[6][600];
    static const char *const names[] = {"run-bpt", "run-star", "run-pair", "run-tagger", "run-lm", "run-translator"};
    for (int i = 0; i < 6; ++i) snprintf(run[i], sizeof run[i], "%s", test_path("%s", names[i]));
    test_refused(2, "the standard input (-) is named 2 times", "embed %s - %s - --out %s " ON, run[1], input, out);
    test_refused(2, "has no relay node, so there is no pool relay; choose one of text, mean, max, first, last, root",
                 "embed %s %s --pool relay --out %s " ON, run[0], input, out);
    test_refused(2, "(star, a classifier) has no root", "embed %s %s --pool root --out %s " ON, run[1], input, out);
    test_refused(2, "learns no state of whole texts for its task, so there is no pool text", "embed %s %s --pool text --out %s " ON, run[3],
                 input, out);
    test_refused(2, "so there is no pool root; choose one of mean, max, first, last", "embed %s %s --pool root --out %s " ON, run[4], input,
                 out);
    test_refused(2, "--format is for files of examples", "embed %s %s --format jsonl --out %s " ON, run[4], input, out);
    // Running text has no fields, which is said of a file whose name says that it has some.
    test_process_t p = test_run_to(0, "embed %s %s --out %s " ON, run[4], test_file("fields.jsonl", "a good one\n"), test_path("raw.npy"));
    if (!strstr(p.err, "fields.jsonl is read as it is")) fail_msg("%s", p.err);
    test_process_free(&p);
    test_refused(2, "--out is missing", "embed %s %s " ON, run[0], input);
    test_refused(2, "end it in .npy or .safetensors", "embed %s %s --out %s.txt " ON, run[0], input, out);
    test_refused(2, "a .npy file has one array and no offsets", "embed %s %s --per-token --out %s " ON, run[0], input, out);
    test_refused(1, "there are no texts", "embed %s %s --out %s " ON, run[0], test_file("nothing.txt", ""), out);
    test_refused(1, "line 2", "embed %s %s --out %s " ON, run[0], test_file("bad.txt", "a\n\xff\n"), out);
    test_refused(1, "nowhere.txt", "embed %s nowhere.txt --out %s " ON, run[0], out);
    assert_null(fopen(out, "r"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_make_logits_of_vectors), cmocka_unit_test(pools_are_those_of_the_states_of_tokens),
        cmocka_unit_test(the_library_gives_the_same),   cmocka_unit_test(files_hold_all_lines_in_their_order),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, make_runs, NULL);
}
