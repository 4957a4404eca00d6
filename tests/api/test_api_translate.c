// Translation through the library: the text and scores of `bpt translate`, likelihoods of `bpt eval`, from runs, model files and saved
// runs; what is refused.
#include <math.h>

#include "api_fixture.h"
#include "bpt/file.h"

#include <jansson.h>

#define ON "--backend cpu --quiet"
#define SHAPE "--layers 1 --d-model 32 --heads 2 --d-ff 64 --batch-examples 40 --lr 0.005 --warmup 20 --steps 60 " ON

enum { LINES = 24 };

static char folder[512], words[512], shared[512], documents[512], trees[512], ids[512];

// The other language has other words, in the opposite order. Every fourth sentence ends a document.
static void write_part(const char *part, int first, int count) {
    static const char *const sources[] = {"one", "two", "three", "four", "five", "six"}, *const targets[] = {"eins", "zwei",  "drei",
                                                                                                             "vier", "fuenf", "sechs"};
    FILE *source = fopen(test_path("data/%s.en", part), "w"), *target = fopen(test_path("data/%s.de", part), "w");
    assert_true(source && target);
    for (int n = first; n < first + count; ++n) {
        const int length = 1 + n % 5;
        for (int i = 0; i < length; ++i) fprintf(source, "%s%s", sources[(n / 5 + i * (1 + n % 7)) % 6], i + 1 < length ? " " : "");
        for (int i = length; i-- > 0;) fprintf(target, "%s%s", targets[(n / 5 + i * (1 + n % 7)) % 6], i ? " " : "");
        fputs(n % 4 == 3 ? "\n\n" : "\n", source), fputs(n % 4 == 3 ? "\n\n" : "\n", target);
    }
    assert_true(!fclose(source) && !fclose(target));
}

static void train(char *run, const char *name, const char *options) {
    snprintf(run, 512, "%s", test_path("%s", name));
    test_succeed("train --task translate --data %s --source en --target de --out %s %s " SHAPE, folder, run, options);
}

static int train_translators(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "%s", test_path("data"));
    assert_ok(bpt_folder_create(folder));
    write_part("train", 0, 400);
    write_part("test", 400, LINES);
    train(words, "words", "--model transformer --positions sinusoidal");
    train(shared, "shared", "--model bpt --k 2 --shared all");
    train(documents, "documents", "--model bpt --k 2 --context-tokens 12");
    train(trees, "trees", "--model tree --trees flat");
    snprintf(ids, sizeof ids, "%s", test_path("ids"));
    test_succeed("train --task translate --unit ids --data %s --out %s --model transformer " SHAPE,
                 test_file("ids.tsv", "1 2\t2 1\n2 1\t1 2\n1 1\t2 2\n2 2\t1 1\n"), ids);
    return 0;
}

// ---- The lines of the test part, blank ones among them

typedef struct {
    char *text;
    const char *line[2 * LINES];
    int count;
} lines_t;

static lines_t read_lines(const char *path) {
    lines_t l = {.text = test_read_file(path, NULL)};
    assert_non_null(l.text);
    for (char *at = l.text, *end; (end = strchr(at, '\n')); at = end + 1) {
        *end = 0;
        assert_true(l.count < 2 * LINES);
        l.line[l.count++] = at;
    }
    return l;
}

static lines_t read_part(const char *language) { return read_lines(test_path("data/test.%s", language)); }

// What the command says must be what the library gives, to the last bit that is printed of a score.
static void expect_command(const char *run, const char *flags, const bpt_translation_t *found, int count) {
    const char *scores = test_path("scores");
    test_process_t p = test_run_to(0, "translate %s %s %s --scores-out %s " ON, run, test_path("data/test.en"), flags, scores);
    lines_t written = read_lines(test_file("written", p.out)), score = read_lines(scores);
    assert_int_equal(written.count, count);
    assert_int_equal(score.count, count);
    int filled = 0;
    for (int i = 0; i < count; ++i) {
        char said[40] = "";
        assert_string_equal(found[i].text, written.line[i]);
        if (*score.line[i]) snprintf(said, sizeof said, "%.9g", found[i].score), ++filled;
        assert_string_equal(said, score.line[i]);
    }
    assert_int_equal(filled, LINES);
    free(written.text), free(score.text);
    test_process_free(&p);
}

static void expect_same(bpt_model_t *model, const char *run, const char *flags, const bpt_translate_options_t *options) {
    lines_t source = read_part("en");
    bpt_translation_t found[2 * LINES];
    assert_ok(bpt_model_translate(model, source.line, source.count, options, found));
    expect_command(run, flags, found, source.count);
    bpt_translations_free(found, source.count);
    assert_null(found[0].text);
    free(source.text);
}

// ---- Tests

static void translations_are_those_of_the_command(void **state) {
    (void)state;
    bpt_translate_options_t o = bpt_translate_options();
    bpt_model_t *model = api_open(words);
    expect_same(model, words, "", NULL);
    o.beam = 1;
    o.no_unknown = true;
    expect_same(model, words, "--beam 1 --no-unk", &o);
    o.beam = 3;
    o.length_penalty = 0;
    o.max_length_a = 0.5;
    o.max_length_b = 2;
    o.batch = 3;
    expect_same(model, words, "--beam 3 --no-unk --length-penalty 0 --max-length-a 0.5 --max-length-b 2 --batch 3", &o);
    bpt_model_close(model);
    model = api_open(shared);
    expect_same(model, shared, "", NULL);
    bpt_model_close(model);
}

// As `--n-best` prints them; the first of each is the best one.
static void n_best_lists_are_those_of_the_command(void **state) {
    (void)state;
    enum { N = 3 };
    bpt_translate_options_t o = bpt_translate_options();
    o.no_repeat = 2, o.min_tokens = 1;
    lines_t source = read_part("en");
    bpt_translation_t best[2 * LINES], found[2 * LINES * N];
    bpt_model_t *model = api_open(words);
    assert_ok(bpt_model_translate(model, source.line, source.count, &o, best));
    assert_ok(bpt_model_translate_n_best(model, source.line, source.count, N, &o, found));
    test_process_t p = test_run_to(0, "translate %s %s/test.en --n-best %d --no-repeat 2 --min-tokens 1 " ON, words, folder, N);
    const char *at = p.out;
    for (int i = 0; i < source.count; ++i) {
        assert_string_equal(found[i * N].text, best[i].text);
        assert_true(found[i * N].score == best[i].score);
        for (int k = 0; k < N && found[i * N + k].text; ++k) {
            char line[2000];
            if (*source.line[i])
                snprintf(line, sizeof line, "%d\t%.9g\t%s\n", i + 1, found[i * N + k].score, found[i * N + k].text);
            else
                snprintf(line, sizeof line, "%d\t\t\n", i + 1);
            assert_memory_equal(at, line, strlen(line));
            at += strlen(line);
            if (k) assert_true(found[i * N + k].score <= found[i * N + k - 1].score);
        }
    }
    assert_int_equal(*at, 0);
    test_process_free(&p);
    bpt_translations_free(best, source.count);
    bpt_translations_free(found, source.count * N);
    assert_int_equal(bpt_model_translate_n_best(model, source.line, 1, 6, &o, found), BPT_ERR_USAGE);
    assert_non_null(strstr(bpt_error_message(), "a beam of 5"));
    assert_int_equal(bpt_model_translate_n_best(model, source.line, 1, 0, &o, found), BPT_ERR_USAGE);
    o.context_tokens = 12;
    assert_int_equal(bpt_model_translate_n_best(model, source.line, 1, 2, &o, found), BPT_ERR_USAGE);
    assert_non_null(strstr(bpt_error_message(), "context_tokens"));
    bpt_model_close(model);
    free(source.text);
}

static void sentences_of_documents_have_their_context(void **state) {
    (void)state;
    bpt_translate_options_t o = bpt_translate_options();
    o.context_tokens = 12;
    bpt_model_t *model = api_open(documents);
    expect_same(model, documents, "", &o);
    bpt_model_close(model);
}

static void files_and_saved_runs_translate_the_same(void **state) {
    (void)state;
    const char *exported = test_path("exported.safetensors"), *saved = test_path("saved.safetensors"), *run = test_path("saved");
    test_succeed("export %s --out %s --quiet", words, exported);
    bpt_model_t *model = api_open(exported);
    expect_same(model, words, "", NULL);
    assert_ok(bpt_model_save(model, saved));
    assert_ok(bpt_model_save_run(model, run));
    bpt_model_close(model);
    model = api_open(saved);
    expect_same(model, run, "", NULL);
    bpt_model_close(model);
}

// The sums over the lines of what the command gives for every token.
static void likelihoods_are_those_of_eval(void **state) {
    (void)state;
    lines_t source = read_part("en"), target = read_part("de");
    const char *texts[LINES], *translations[LINES];
    double nll[LINES];
    int64_t tokens[LINES];
    int count = 0;
    for (int i = 0; i < source.count; ++i)
        if (*source.line[i]) texts[count] = source.line[i], translations[count++] = target.line[i];
    assert_int_equal(count, LINES);
    bpt_model_t *model = api_open(words);
    assert_ok(bpt_model_score_translations(model, texts, translations, LINES, nll, tokens));
    test_process_t p = test_run_to(0, "eval %s --data %s --split test --nll-out %s " ON, words, folder, test_path("nll.json"));
    test_process_free(&p);
    json_t *list = json_load_file(test_path("nll.json"), 0, NULL);
    assert_true(json_is_array(list));
    size_t at = 0;
    for (int i = 0; i < LINES; ++i) {
        double sum = 0;
        for (int64_t t = 0; t < tokens[i]; ++t) sum += json_number_value(json_array_get(list, at++));
        if (!(fabs(sum - nll[i]) <= 1e-5 * sum)) fail_msg("line %d: %.9g, not %.9g", i, nll[i], sum);
    }
    assert_int_equal(at, json_array_size(list));
    json_decref(list);
    // The score of a translation that was found is its likelihood.
    bpt_translation_t found;
    bpt_translate_options_t o = bpt_translate_options();
    o.length_penalty = 0;
    assert_ok(bpt_model_translate(model, texts, 1, &o, &found));
    translations[0] = found.text;
    assert_ok(bpt_model_score_translations(model, texts, translations, 1, nll, NULL));
    assert_true(fabs(nll[0] + found.score) <= 1e-4 * nll[0]);
    bpt_translations_free(&found, 1);
    bpt_model_close(model);
    free(source.text), free(target.text);
}

static void refused(bpt_status_t status, bpt_status_t wanted, const char *part) {
    if (status != wanted) fail_msg("status %d, not %d, where \"%s\" is refused", (int)status, (int)wanted, part);
    if (!strstr(bpt_error_message(), part)) fail_msg("\"%s\" does not say \"%s\"", bpt_error_message(), part);
}

static void what_cannot_be_translated_is_refused(void **state) {
    (void)state;
    const char *const good[] = {"one two", ""}, *const null[] = {"one", NULL}, *const lines[] = {"one\ntwo"}, *const bytes[] = {"\xff"};
    bpt_translation_t found[2];
    double nll[2];
    bpt_model_t *model = api_open(words), *other = api_open(ids), *read_trees = api_open(trees);
    refused(bpt_model_translate(NULL, good, 1, NULL, found), BPT_ERR_USAGE, "null pointer");
    refused(bpt_model_translate(model, NULL, 1, NULL, found), BPT_ERR_USAGE, "nothing to translate");
    refused(bpt_model_translate(model, good, 0, NULL, found), BPT_ERR_USAGE, "nothing to translate");
    refused(bpt_model_translate(model, good, 1, NULL, NULL), BPT_ERR_USAGE, "nothing to translate");
    refused(bpt_model_translate(model, null, 2, NULL, found), BPT_ERR_USAGE, "text 1 is a null pointer");
    refused(bpt_model_translate(model, lines, 1, NULL, found), BPT_ERR_USAGE, "line end");
    refused(bpt_model_translate(model, bytes, 1, NULL, found), BPT_ERR_INPUT, "text 0");
    assert_null(found[0].text);
    refused(bpt_model_translate(other, good, 1, NULL, found), BPT_ERR_USAGE, "reads numbers of tokens");
    refused(bpt_model_translate(read_trees, good, 1, NULL, found), BPT_ERR_USAGE, "trees");
    refused(bpt_model_score_translations(model, good, good, 2, nll, NULL), BPT_ERR_USAGE, "text 1 is empty");
    refused(bpt_model_score_translations(model, good, good, 1, NULL, NULL), BPT_ERR_USAGE, "nothing to score");

    static const struct {
        const char *what;
        bpt_translate_options_t options;
    } bad[] = {{"version", {0, 5, 1, 1, 10, false, 0, 0, 1, 0}},
               {"beam", {BPT_MODEL_VERSION, 0, 1, 1, 10, false, 0, 0, 1, 0}},
               {"length_penalty", {BPT_MODEL_VERSION, 5, NAN, 1, 10, false, 0, 0, 1, 0}},
               {"max_length_a", {BPT_MODEL_VERSION, 5, 1, -1, 10, false, 0, 0, 1, 0}},
               {"max_length_b", {BPT_MODEL_VERSION, 5, 1, 1, 513, false, 0, 0, 1, 0}},
               {"batch", {BPT_MODEL_VERSION, 5, 1, 1, 10, false, 0, 0, 0, 0}},
               {"context_tokens", {BPT_MODEL_VERSION, 5, 1, 1, 10, false, 0, 0, 1, -1}},
               {"min_tokens", {BPT_MODEL_VERSION, 5, 1, 1, 10, false, 512, 0, 1, 0}},
               {"no_repeat", {BPT_MODEL_VERSION, 5, 1, 1, 10, false, 0, -1, 1, 0}}};
    for (size_t i = 0; i < BPT_COUNT(bad); ++i)
        refused(bpt_model_translate(model, good, 1, &bad[i].options, found), BPT_ERR_USAGE, bad[i].what);

    // Functions for one side, and a model that has one.
    const uint32_t tokens[] = {1, 2};
    const int64_t length = 2;
    float numbers[64];
    const bpt_sequences_t sequences = {.tokens = tokens, .lengths = &length, .count = 1};
    refused(bpt_model_logits(model, &sequences, numbers), BPT_ERR_USAGE, "bpt_model_translate");
    refused(bpt_model_score(model, &sequences, numbers), BPT_ERR_USAGE, "bpt_model_score_translations");
    refused(bpt_model_encode(model, &sequences, numbers, NULL, NULL), BPT_ERR_USAGE, "bpt_model_translate");
    bpt_generator_t *generator;
    refused(bpt_generator_create(model, 4, 1, &generator), BPT_ERR_USAGE, "and this is a translator");
    bpt_model_close(model), bpt_model_close(other), bpt_model_close(read_trees);
    api_train_models(state);
    model = api_open(api_lm);
    refused(bpt_model_translate(model, good, 1, NULL, found), BPT_ERR_USAGE, "is for translators, and this is a language model");
    bpt_model_close(model);
}

// Behind the sentences of its document before it a text may have no room left in the model's positions: their translations are there.
static void translations_before_a_failure_are_kept(void **state) {
    (void)state;
    char run[512];
    snprintf(run, sizeof run, "%s", test_path("narrow"));
    test_succeed("train --task translate --data %s --source en --target de --out %s --model transformer --positions absolute --layers 1 "
                 "--max-positions 24 --context-tokens 12 --d-model 8 --heads 2 --steps 1 " ON,
                 folder, run);
    const char *const texts[] = {"one", "", "two", "three", "four", "five", "six", "one two three", "one"};
    bpt_translation_t found[BPT_COUNT(texts)], whole[3];
    bpt_translate_options_t o = bpt_translate_options();
    o.context_tokens = 48, o.length_penalty = 100;  // long translations
    bpt_model_t *model = api_open(run);
    refused(bpt_model_translate(model, texts, BPT_COUNT(texts), &o, found), BPT_ERR_INPUT, "fill the 24 positions");
    int made = 0;
    while (found[made].text) ++made;
    char name[32];
    snprintf(name, sizeof name, "text %d: ", made);
    refused(BPT_ERR_INPUT, BPT_ERR_INPUT, name);
    assert_in_range(made, 3, BPT_COUNT(texts) - 1);
    for (size_t i = (size_t)made; i < BPT_COUNT(texts); ++i) assert_null(found[i].text);
    assert_ok(bpt_model_translate(model, texts, 3, &o, whole));
    for (int i = 0; i < 3; ++i) assert_string_equal(found[i].text, whole[i].text);
    bpt_translations_free(found, BPT_COUNT(texts)), bpt_translations_free(whole, 3);
    bpt_model_close(model);
}

static void expect_no_leak(const bpt_translate_options_t *o) {
    const char *const texts[] = {"one two three", "", "four"};
    bpt_translation_t found[3];
    bpt_model_t *model = api_open(words);
    assert_ok(bpt_model_translate(model, texts, 3, o, found));  // programs are there from now on
    bpt_translations_free(found, 3);
    const size_t before = bpt_alloc_live();
    size_t nth = 1;
    for (bpt_status_t status = BPT_ERR_NO_MEMORY; status != BPT_OK; nth += nth < 60 ? 1 : 37) {
        bpt_alloc_fail_after(nth);
        status = bpt_model_translate(model, texts, 3, o, found);
        bpt_alloc_fail_after(0);
        if (status != BPT_OK) assert_int_equal(status, BPT_ERR_NO_MEMORY);
        bpt_translations_free(found, 3);
        assert_int_equal(bpt_alloc_live(), before);
    }
    assert_true(nth > 200);
    bpt_model_close(model);
}

static void no_memory_is_an_error_and_leaks_nothing(void **state) {
    (void)state;
    bpt_translate_options_t o = bpt_translate_options();
    expect_no_leak(NULL);
    o.batch = 1;  // side by side, on several threads
    expect_no_leak(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(translations_are_those_of_the_command),
        cmocka_unit_test(n_best_lists_are_those_of_the_command),
        cmocka_unit_test(sentences_of_documents_have_their_context),
        cmocka_unit_test(files_and_saved_runs_translate_the_same),
        cmocka_unit_test(likelihoods_are_those_of_eval),
        cmocka_unit_test(what_cannot_be_translated_is_refused),
        cmocka_unit_test(translations_before_a_failure_are_kept),
        cmocka_unit_test(no_memory_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, train_translators, NULL);
}
