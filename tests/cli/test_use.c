// Using trained models: eval, generate, classify, export, import, doctor, on models that the test trains in a few steps.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/safetensors.h"
#include "support/check.h"
#include "support/model_file.h"
#include "support/process.h"

#define ON "--backend ref --quiet"

#define bpt(...) test_run_to(0, __VA_ARGS__)

static void run(const char *format, const char *a, const char *b) {
    char line[4096];
    snprintf(line, sizeof line, format, a, b);
    test_process_t p = bpt("%s", line);
    test_process_free(&p);
}

static json_t *json_of(test_process_t p) {
    json_t *value = json_loads(p.out, 0, NULL);
    if (!value) fail_msg("not JSON: %s", p.out);
    test_process_free(&p);
    return value;
}
static double number(const json_t *object, const char *key) { return json_number_value(json_object_get(object, key)); }

// ---- Models, trained once
static char lm[512], classifier[512], text[512], examples[512];

static int train_models(void **state) {
    (void)state;
    static char bytes[3001], lines[8192];
    for (int i = 0; i < 3000; ++i) bytes[i] = (char)('a' + i % 7 + (i / 50) % 3);
    size_t used = 0;
    for (int i = 0; i < 120; ++i)
        used +=
            (size_t)snprintf(lines + used, sizeof lines - used, i % 2 ? "bad\tawful dull film %d\n" : "good\tfine warm play %d\n", i % 10);
    snprintf(text, sizeof text, "%s", test_file("text.txt", bytes));
    snprintf(examples, sizeof examples, "%s", test_file("examples.tsv", lines));
    snprintf(lm, sizeof lm, "%s", test_path("lm"));
    snprintf(classifier, sizeof classifier, "%s", test_path("classifier"));
    run("train --data %s --out %s --layers 1 --d-model 16 --heads 2 --context 32 --batch-tokens 128 --steps 30 --warmup 2 --lr 0.01 " ON,
        text, lm);
    run("train --task classify --data %s --out %s --layers 1 --d-model 16 --heads 2 --batch-examples 16 --steps 40 --warmup 2 --lr "
        "0.01 " ON,
        examples, classifier);
    return 0;
}

// ---- eval
static void the_mean_of_every_nll_is_the_loss(void **state) {
    (void)state;
    const char *models[] = {lm, classifier}, *data[] = {text, examples};
    for (int m = 0; m < 2; ++m) {
        char file[512];
        snprintf(file, sizeof file, "%s", test_path("nll.json"));
        json_t *result = json_of(bpt("eval %s --data %s --nll-out %s --json " ON, models[m], data[m], file)),
               *nll = json_load_file(file, 0, NULL);
        double sum = 0;
        assert_int_equal(json_array_size(nll), (int)number(result, "scored"));
        for (size_t i = 0; i < json_array_size(nll); ++i) sum += json_number_value(json_array_get(nll, i));
        assert_true(fabs(sum / (double)json_array_size(nll) - number(result, "loss")) < 1e-5);
        if (m == 0) assert_int_equal((int)number(result, "scored"), 2999);
        if (m == 0) assert_true(fabs(number(result, "bits_per_char") - number(result, "loss") / log(2)) < 1e-9);
        if (m == 1) assert_int_equal((int)number(result, "scored"), 120);
        json_decref(result), json_decref(nll);
    }
}

static void training_has_taught_both_models_something(void **state) {
    (void)state;
    json_t *text_result = json_of(bpt("eval %s --json " ON, lm)), *label_result = json_of(bpt("eval %s --json " ON, classifier));
    assert_true(number(text_result, "loss") < 2.5);  // ln 256 = 5.5
    assert_true(number(label_result, "accuracy") == 1);
    json_decref(text_result), json_decref(label_result);
}

static void splits_and_protocols_choose_what_is_scored(void **state) {
    (void)state;
    static const struct {
        const char *options;
        int scored;
    } cases[] = {{"--split valid", 149},
                 {"--split test", 149},
                 {"--split train", 2699},
                 {"--split valid --protocol half --eval-context 16", 149},
                 {"--split valid --protocol released --eval-context 16", 131}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        json_t *result = json_of(bpt("eval %s %s --json " ON, lm, cases[i].options));
        if ((int)number(result, "scored") != cases[i].scored) fail_msg("%s: %g scored", cases[i].options, number(result, "scored"));
        json_decref(result);
    }
}

// ---- files that commands write
static void the_folders_above_what_is_written_are_made(void **state) {
    (void)state;
    static const char *const commands[] = {"eval %s --nll-out", "eval %s --grad-out", "generate %s --max-tokens 2 --logits-out",
                                           "export %s --out", "plot %s --out"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        char command[1024], file[512];
        snprintf(command, sizeof command, commands[i], lm);
        snprintf(file, sizeof file, "%s", test_path("made/for-%zu/it.svg", i));
        run("%s %s " ON, command, file);
        assert_int_equal(access(file, F_OK), 0);
    }
    char file[512], back[512];
    snprintf(file, sizeof file, "%s", test_path("made/for-3/it.svg"));
    snprintf(back, sizeof back, "%s", test_path("made/a/run"));
    run("import %s --out %s " ON, file, back);
    test_process_t p = test_run_line("eval nowhere --nll-out /proc/no/file.json");  // before any work
    if (p.exit_status != 1 || !strstr(p.err, "/proc/no")) fail_msg("exit %d: %s", p.exit_status, p.err);
    test_process_free(&p);
}

// ---- export, import
static void an_exported_model_comes_back_the_same(void **state) {
    (void)state;
    const char *models[] = {lm, classifier}, *data[] = {text, examples};
    for (int m = 0; m < 2; ++m) {
        char file[512], back[512];
        snprintf(file, sizeof file, "%s", test_path("model-%d.safetensors", m));
        snprintf(back, sizeof back, "%s", test_path("back-%d", m));
        run("export %s --out %s " ON, models[m], file);
        run("import %s --out %s " ON, file, back);
        json_t *a = json_of(bpt("eval %s --data %s --json " ON, models[m], data[m])),
               *b = json_of(bpt("eval %s --data %s --json " ON, back, data[m]));
        assert_true(number(a, "loss") == number(b, "loss"));
        json_decref(a), json_decref(b);
        // Training can start from it, but not go on with it.
        if (m == 0) {
            char line[2048];
            snprintf(line, sizeof line, "train --out %s --resume --steps 40 " ON, back);
            test_process_t refused = test_run_line(line);
            if (refused.exit_status != 2 || !strstr(refused.err, "--init")) fail_msg("exit %d: %s", refused.exit_status, refused.err);
            test_process_free(&refused);
            snprintf(line, sizeof line, "train --data %s --init %s --out %s-more --batch-tokens 128 --steps 1 " ON, text, back, back);
            test_process_t p = bpt("%s", line);
            test_process_free(&p);
        }
    }
}

// A model file with this metadata beside the weights of a run is refused before a run is made.
static void expect_no_import(const char *run, const char *unit, const char *vocab, const char *says) {
    const test_metadata_t metadata[] = {{"config", NULL}, {"unit", unit}, {"vocab", vocab}};
    char from[600], path[600];
    snprintf(from, sizeof from, "%s/latest/model.safetensors", run);
    snprintf(path, sizeof path, "%s", test_path("crafted.safetensors"));
    test_copy_model(from, path, metadata, 3);
    char line[2048], out[600];
    snprintf(out, sizeof out, "%s", test_path("crafted-run"));
    snprintf(line, sizeof line, "import %s --out %s", path, out);
    test_process_t p = test_run_line(line);
    if (p.exit_status != 1 || !strstr(p.err, says)) fail_msg("unit %s: exit %d: %s", unit, p.exit_status, p.err);
    test_process_free(&p);
    assert_int_not_equal(access(out, F_OK), 0);
}

static void a_file_whose_vocabulary_does_not_fit_makes_no_run(void **state) {
    (void)state;
    char many[8192];
    int used = snprintf(many, sizeof many, "<unk>\n<eos>\n");
    for (int i = 0; i < 400; ++i) used += snprintf(many + used, sizeof many - (size_t)used, "word%d\n", i);
    expect_no_import(lm, "syllable", "a\nb\n", "metadata key \"unit\" must be byte, char, word, subword or ids, not 'syllable'");
    expect_no_import(lm, "word", "a\nb\n", "'a' is out of place");
    expect_no_import(lm, "word", many, "has 256 tokens; they do not belong together");
}

// ---- generate
static void generation_is_a_function_of_the_seed(void **state) {
    (void)state;
    test_process_t a = bpt("generate %s --prompt abc --max-tokens 40 --seed 3 " ON, lm),
                   b = bpt("generate %s --prompt abc --max-tokens 40 --seed 3 " ON, lm);
    test_process_t c = bpt("generate %s --prompt abc --max-tokens 40 --seed 4 " ON, lm),
                   echo = bpt("generate %s --prompt abc --max-tokens 40 --seed 3 --echo " ON, lm);
    assert_int_equal(a.out_length, 40);
    assert_string_equal(a.out, b.out);
    assert_string_not_equal(a.out, c.out);
    assert_memory_equal(echo.out, "abc", 3);
    assert_string_equal(echo.out + 3, a.out);
    test_process_free(&a), test_process_free(&b), test_process_free(&c), test_process_free(&echo);
}

// Side by side in groups of any size: the text of each line is what it gets alone, in the order of the file.
static void prompts_of_a_file_go_on_as_they_do_alone(void **state) {
    (void)state;
    static const char *const prompts[] = {"abc", "the quick brown fox", "z", "ab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    const char *file = test_file("prompts.txt", "abc\nthe quick brown fox\nz\nab\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n");
    char alone[5][256], path[512];
    snprintf(path, sizeof path, "%s", file);
    for (int i = 0; i < 5; ++i) {
        test_process_t p = bpt("generate %s --prompt '%s' --max-tokens 40 --temperature 0 --echo " ON, lm, prompts[i]);
        char *to = alone[i];
        for (const char *c = p.out; *c; ++c)  // bytes that are no text are U+FFFD in JSON
            to += sprintf(to, (unsigned char)*c < 0x80 ? "%c" : "\xEF\xBF\xBD", *c);
        test_process_free(&p);
    }
    for (int batch = 1; batch <= 8; batch += batch == 1 ? 1 : 6) {  // 1, 2, 8
        test_process_t p = bpt("generate %s --prompts %s --batch %d --max-tokens 40 --temperature 0 --echo " ON, lm, path, batch);
        char *line = p.out;
        for (int i = 0; i < 5; ++i) {
            char *end = strchr(line, '\n');
            assert_non_null(end);
            json_t *object = json_loadb(line, (size_t)(end - line), 0, NULL);
            assert_string_equal(json_string_value(json_object_get(object, "prompt")), prompts[i]);
            assert_string_equal(json_string_value(json_object_get(object, "text")), alone[i]);
            json_decref(object);
            line = end + 1;
        }
        assert_int_equal(*line, 0);
        test_process_free(&p);
    }
}

static void temperature_zero_takes_the_largest_logit(void **state) {
    (void)state;
    char file[512];
    snprintf(file, sizeof file, "%s", test_path("logits.json"));
    test_process_t p = bpt("generate %s --prompt abc --max-tokens 12 --temperature 0 --logits-out %s " ON, lm, file);
    json_t *rows = json_load_file(file, 0, NULL);
    assert_int_equal(json_array_size(rows), 12);
    for (size_t i = 0; i < 12; ++i) {
        const json_t *row = json_array_get(rows, i);
        assert_int_equal(json_array_size(row), 256);
        const double chosen = json_number_value(json_array_get(row, (unsigned char)p.out[i]));
        for (size_t v = 0; v < 256; ++v) assert_true(json_number_value(json_array_get(row, v)) <= chosen);
    }
    json_decref(rows);
    test_process_free(&p);
}

// ---- classify
static void every_line_gets_a_label_and_probabilities(void **state) {
    (void)state;
    const char *file = test_file("lines.txt", "awful dull film 3\nfine play\nwarm words nobody knows\n");
    char line[1024];
    test_process_t p = bpt("classify %s %s " ON, classifier, file);
    char first[64], second[64];
    double probability;
    assert_int_equal(sscanf(p.out, "%63s %lf %63s", first, &probability, second), 3);
    assert_string_equal(first, "bad");
    assert_string_equal(second, "good");
    assert_true(probability > 0.5 && probability <= 1);
    test_process_free(&p);

    snprintf(line, sizeof line, "\"$BPT_PROGRAM\" classify %s --json " ON " <%s >%s", classifier, file, test_path("classes.jsonl"));
    assert_int_equal(system(line), 0);
    size_t length, count = 0;
    char *lines = test_read_file(test_path("classes.jsonl"), &length), *rest = NULL;
    for (char *one = strtok_r(lines, "\n", &rest); one; one = strtok_r(NULL, "\n", &rest), ++count) {
        json_t *object = json_loads(one, 0, NULL), *probabilities = json_object_get(object, "probabilities");
        assert_int_equal(json_array_size(probabilities), 2);
        assert_int_equal(json_array_size(json_object_get(object, "logits")), 2);
        assert_true(fabs(json_number_value(json_array_get(probabilities, 0)) + json_number_value(json_array_get(probabilities, 1)) - 1) <
                    1e-6);
        assert_string_equal(json_string_value(json_object_get(object, "label")), count == 0 ? "bad"
                                                                                 : count == 1
                                                                                     ? "good"
                                                                                     : json_string_value(json_object_get(object, "label")));
        json_decref(object);
    }
    free(lines);
    assert_int_equal(count, 3);
}

static void a_tree_is_classified_by_its_words(void **state) {
    (void)state;
    const char *words = test_file("words.txt", "awful dull film 3\nfine play\n"),
               *trees = test_file("trees.txt", "(0 (1 awful) (0 (1 dull) (1 (1 film) (1 3))))\n(good (x fine) (y play))\n");
    test_process_t a = bpt("classify %s %s --json " ON, classifier, words), b = bpt("classify %s %s --json " ON, classifier, trees);
    assert_string_equal(a.out, b.out);
    test_process_free(&a), test_process_free(&b);
}

// ---- doctor
// "N of N cases agree", with at least twenty.
static void assert_all_agree(const test_process_t *p) {
    const char *line = strstr(p->out, " cases agree");
    int right = 0, all = 0;
    assert_non_null(line);
    while (line > p->out && line[-1] != '\n') --line;
    const char *of = strstr(line, " of ");
    assert_non_null(of);
    all = atoi(of + 4);
    while (of > line && of[-1] >= '0' && of[-1] <= '9') --of;
    right = atoi(of);
    assert_int_equal(right, all);
    assert_true(all >= 20);
}

static void the_doctor_finds_the_reference_healthy(void **state) {
    (void)state;
    static const char *const precisions[] = {"f32", "bf16", "f16"};
    for (int i = 0; i < 3; ++i) {
        test_process_t p = bpt("doctor --backend ref --precision %s", precisions[i]);
        assert_all_agree(&p);
        test_process_free(&p);
    }
    test_process_t p = bpt("doctor --backend cpu");
    assert_all_agree(&p);
    test_process_free(&p);
}

// ---- What cannot be done
static void misuse_is_one_sentence(void **state) {
    (void)state;
    char no_labels[512], empty[512], ids[512], id_examples[512], blank[512], exported[512];
    snprintf(blank, sizeof blank, "%s", test_file("blank.txt", "abc\n\nabc\n"));
    snprintf(no_labels, sizeof no_labels, "%s", test_file("no-labels.tsv", "good\tfine play\njust text\n"));
    snprintf(empty, sizeof empty, "%s", test_file("empty.txt", ""));
    snprintf(ids, sizeof ids, "%s", test_file("ids.txt", "1 2 3\n4 999 5\n"));
    snprintf(id_examples, sizeof id_examples, "%s", test_file("id-examples.tsv", "good\t1 2\nbad\t3 999999\n"));
    snprintf(exported, sizeof exported, "%s", test_path("exported.safetensors"));
    run("export %s --out %s " ON, lm, exported);
    setenv("BPT_CUDA_LIBRARY", "/nonexistent/libcuda.so.1", 1);
    const struct {
        const char *format, *run, *file;
        int exit_status;
        const char *says;
    } cases[] = {
        {"eval %s%s", "/nowhere/run", "", 1, "/nowhere/run"},
        {"eval %s --data %s", lm, "/dev/zero", 1, "/dev/zero is a device, not a file"},
        {"eval%s%s", "", "", 2, "bpt eval needs RUN"},
        {"eval %s --data %s", lm, "/nowhere/text.txt", 1, "/nowhere/text.txt"},
        {"eval %s --data %s", lm, empty, 1, "is empty"},
        {"eval %s --data %s --unit ids", lm, ids, 1, "ids.txt: line 2: token 999 is outside the vocabulary, whose ids are 0 to 255"},
        {"eval %s --data %s --unit ids", classifier, id_examples, 1, "id-examples.tsv: line 2: token 999999 is outside the vocabulary"},
        {"eval %s --data %s --unit ids", lm, text, 1, "text.txt: line 1"},
        {"eval %s --data %s --unit ids --eval-context 8", lm, ids, 2, "--eval-context is without effect with --unit ids"},
        {"eval %s --unit word%s", lm, "", 2, "--unit does not fit the vocabulary"},
        {"eval %s --checkpoint 12345%s", lm, "", 1, "has no checkpoint"},
        {"eval %s --checkpoint newest%s", lm, "", 2, "newest"},
        {"eval %s --nll-out %s", lm, "/proc/nowhere/nll.json", 1, "/proc/nowhere"},
        {"eval %s --grad-out %s", lm, "/proc/nowhere/grad.safetensors", 1, "/proc/nowhere"},
        {"eval %s --eval-context 15 --protocol half%s", lm, "", 2, "even"},
        {"eval %s --protocol half%s", classifier, "", 2, "--protocol is for task lm and mlm, and this is task classify"},
        {"eval %s --data %s", classifier, no_labels, 1, "no-labels.tsv: line 2"},
        {"eval %s --precision bf16 --backend cuda%s", lm, "", 1, "backend cuda"},  // not built in, or without its driver
        {"eval %s --device 7%s", lm, "", 1, "--device 7"},
        {"eval %s --device quantum%s", lm, "", 1, "--device quantum"},
        {"classify %s %s", lm, text, 2, "is a language model, not a classifier"},
        {"classify %s %s", classifier, "/nowhere/lines.txt", 1, "/nowhere/lines.txt"},
        {"generate %s --prompt x%s", classifier, "", 2, "classif"},
        {"generate %s --prompt '1 x' --unit ids%s", lm, "", 1, "--prompt"},
        {"generate %s --prompt 300 --unit ids%s", lm, "", 1, "token 300"},
        {"generate %s --prompts %s --interactive", lm, blank, 2, "--prompts goes without --prompt"},
        {"generate %s --context 64%s", lm, "", 2, "--context goes with --interactive"},
        {"generate %s --interactive --context 3%s", lm, "", 2, "--context of at least 16"},
        {"generate %s --prompts %s", lm, "/nowhere/prompts.txt", 1, "/nowhere/prompts.txt"},
        {"generate %s --prompts %s --prompt x", lm, text, 2, "--prompts goes without --prompt"},
        {"generate %s --batch 0%s", lm, "", 2, "--batch must be at least 1"},
        {"generate %s --temperature -1%s", lm, "", 2, "--temperature must be at least 0"},
        {"generate %s --top-p 0%s", lm, "", 2, "--top-p must be greater than 0"},
        {"generate %s --min-p 1.5%s", lm, "", 2, "--min-p must be at least 0 and at most 1"},
        {"generate %s --repeat-penalty 0%s", lm, "", 2, "--repeat-penalty must be greater than 0"},
        {"generate %s --repeat-window -1%s", lm, "", 2, "--repeat-window must be at least 0"},
        {"generate %s --stop %s", lm, "''", 2, "--stop needs a value, not an empty text"},
        {"classify %s %s --with-input", classifier, blank, 2, "--with-input goes with --json"},
        {"generate %s --max-tokens 0%s", lm, "", 2, "--max-tokens must be at least 1"},
        {"export %s%s", lm, "", 2, "needs --out FILE"},
        {"export %s --out %s", lm, "/proc/nowhere/model.safetensors", 1, "/proc/nowhere"},
        {"import %s --out %s", "/nowhere/model.safetensors", "x", 1, "/nowhere/model.safetensors"},
        {"import %s --out %s", text, "x", 1, "text.txt"},
        {"import %s --out %s", exported, lm, 2, "/lm already holds a run, and bpt import makes a new one; name another folder in --out"},
        {"import %s --out %s", empty, "x", 1, "empty.txt"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[2048];
        snprintf(line, sizeof line, cases[i].format, cases[i].run, cases[i].file);
        if (!strstr(line, "--backend")) strcat(line, " " ON);
        test_process_t p = test_run_line(line);
        const char *newline = strchr(p.err, '\n');
        if (p.exit_status != cases[i].exit_status || p.out_length || !newline || newline[1] || strncmp(p.err, "bpt: error: ", 12) ||
            !strstr(p.err, cases[i].says))
            fail_msg("bpt %s: exit %d, stdout '%s', stderr '%s', wanted %d and '%s'", line, p.exit_status, p.out, p.err,
                     cases[i].exit_status, cases[i].says);
        test_process_free(&p);
    }
}

// ---- Odd input
static void a_line_that_is_too_long_is_named_with_a_remedy(void **state) {
    (void)state;
    static const char *const commands[] = {"classify %s %s " ON, "classify %s " ON " <%s", "generate %s --prompts %s " ON,
                                           "eval %s --data %s " ON};
    const char *models[] = {classifier, classifier, lm, classifier};
    char endless[512], line[2048], command[3000];
    snprintf(endless, sizeof endless, "%s", test_file("endless.txt", "good\tfine\n"));
    assert_int_equal(truncate(endless, 65 << 20), 0);
    for (int i = 0; i < 4; ++i) {
        size_t length;
        snprintf(line, sizeof line, commands[i], models[i], endless);
        snprintf(command, sizeof command, "\"$BPT_PROGRAM\" %s 2>%s >/dev/null", line, test_path("message"));
        const int status = system(command);
        char *message = test_read_file(test_path("message"), &length);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 1 ||
            !strstr(message, ": line 2 is longer than 64 MiB; check that it is the right file"))
            fail_msg("bpt %s: %d: %s", line, status, message);
        free(message);
    }
    unlink(endless);
}

// The text is JSON, in UTF-8, and printable.
static json_t *expect_json_file(const char *path) {
    json_error_t error;
    json_t *value = json_load_file(path, 0, &error);
    if (!value) fail_msg("%s: %s", path, error.text);
    return value;
}

static void names_of_files_may_hold_any_bytes(void **state) {
    (void)state;
    char data[512], run_name[512], resumed[600], config[600], output[512], vectors[512];
    snprintf(data, sizeof data, "%s",
             test_path("t\xFF"
                       "ext\\x41.txt"));
    snprintf(run_name, sizeof run_name, "%s", test_path("r\xFE\x1Bun"));
    snprintf(output, sizeof output, "%s", test_path("o\xFD.out"));
    snprintf(vectors, sizeof vectors, "%s", test_path("v\xFC.txt"));
    size_t length;
    char *bytes = test_read_file(text, &length);
    for (size_t i = 40; i < length; i += 41) bytes[i] = '\n';
    test_write_file(data, bytes, length);
    free(bytes);
    test_write_file(vectors, "abc 1 2 3 4 5 6 7 8\n", 20);
    char line[2048];
    snprintf(
        line, sizeof line,
        "train --data %s --vectors %s --out %s --unit word --layers 1 --d-model 8 --d-embed 8 --heads 2 --context 16 --batch-tokens 64 "
        "--steps 1 " ON,
        data, vectors, test_path("v\xFA"));
    run("%s%s", line, "");
    run("train --data %s --out %s --layers 1 --d-model 8 --heads 2 --context 16 --batch-tokens 64 --steps 8 --stop-at 4 " ON, data,
        run_name);
    snprintf(config, sizeof config, "%s/config.json", run_name);
    json_t *object = expect_json_file(config);
    assert_non_null(strstr(json_string_value(json_object_get(object, "data")), "t\\xffext\\\\x41.txt"));
    json_decref(object);
    snprintf(resumed, sizeof resumed, "%s/checkpoints/step-8/model.safetensors", run_name);
    run("train --resume --out %s " ON "%s", run_name, "");  // finds its data again
    assert_int_equal(access(resumed, R_OK), 0);
    json_decref(json_of(bpt("eval %s --json " ON, run_name)));
    json_decref(json_of(bpt("eval %s --data %s --json " ON, run_name, data)));
    run("generate %s --prompts %s --max-tokens 2 " ON, run_name, data);
    run("export %s --out %s", run_name, output);
    run("import %s --out %s", output, test_path("i\xFB"));
    run("plot %s --out %s.svg", run_name, output);
    snprintf(line, sizeof line, "eval %s-not-there " ON, run_name);
    test_process_t p = test_run_line(line);
    assert_int_equal(p.exit_status, 1);
    assert_non_null(strstr(p.err, "r\\xfe\\x1bun-not-there is not a run"));
    test_process_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_of_every_nll_is_the_loss),
        cmocka_unit_test(training_has_taught_both_models_something),
        cmocka_unit_test(splits_and_protocols_choose_what_is_scored),
        cmocka_unit_test(the_folders_above_what_is_written_are_made),
        cmocka_unit_test(an_exported_model_comes_back_the_same),
        cmocka_unit_test(a_file_whose_vocabulary_does_not_fit_makes_no_run),
        cmocka_unit_test(generation_is_a_function_of_the_seed),
        cmocka_unit_test(prompts_of_a_file_go_on_as_they_do_alone),
        cmocka_unit_test(temperature_zero_takes_the_largest_logit),
        cmocka_unit_test(every_line_gets_a_label_and_probabilities),
        cmocka_unit_test(a_tree_is_classified_by_its_words),
        cmocka_unit_test(the_doctor_finds_the_reference_healthy),
        cmocka_unit_test(misuse_is_one_sentence),
        cmocka_unit_test(a_line_that_is_too_long_is_named_with_a_remedy),
        cmocka_unit_test(names_of_files_may_hold_any_bytes),
    };
    return cmocka_run_group_tests(tests, train_models, NULL);
}
