// bpt/model.h: what a trained model gives is what the program gives for the same run, bit for bit.
#include <math.h>
#include <pthread.h>

#include <jansson.h>

#include "api_fixture.h"
#include "bpt/safetensors.h"
#include "support/support.h"

// ---- numbers that the program has written

static json_t *read_json(const char *path) {
    json_t *value = json_load_file(path, 0, NULL);
    if (!value) fail_msg("%s holds no JSON", path);
    return value;
}

// Nine digits give back every float.
static void expect_bits(const json_t *list, const float *values, size_t count) {
    assert_int_equal(json_array_size(list), count);
    for (size_t i = 0; i < count; ++i) {
        const float wanted = (float)json_number_value(json_array_get(list, i));
        if (memcmp(&wanted, &values[i], sizeof wanted)) fail_msg("number %zu is %.9g, not %.9g", i, (double)values[i], (double)wanted);
    }
}

static void expect_near(const float *a, const float *b, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        if (!(fabsf(a[i] - b[i]) < 1e-4f)) fail_msg("number %d is %g, not %g", (int)i, (double)a[i], (double)b[i]);
}

// ---- language models

enum { V = 256, N_TOKENS = 48 };
static const int64_t lengths[] = {9, 1, 31, 7};
static uint32_t tokens[N_TOKENS];
static const bpt_sequences_t texts = {.tokens = tokens, .lengths = lengths, .count = 4};

static void fill_tokens(void) {
    for (uint32_t i = 0; i < N_TOKENS; ++i) tokens[i] = 'a' + i * 5 % 9;
}

static void score_in(const char *path, bool weights_q8, float nll[N_TOKENS]) {
    bpt_model_options_t options = bpt_model_options();
    bpt_model_t *m = NULL;
    options.weights_q8 = weights_q8;
    assert_ok(bpt_model_open(path, &options, &m));
    assert_ok(bpt_model_score(m, &texts, nll));
    bpt_model_close(m);
}

static void weights_of_8_bits_are_those_of_an_export(void **state) {
    (void)state;
    float f32[N_TOKENS] = {0}, rounded[N_TOKENS] = {0}, exported[N_TOKENS] = {0}, both[N_TOKENS] = {0};
    const char *file = test_path("q8.safetensors");
    fill_tokens();
    test_succeed("export %s --weights q8 --out %s --quiet", api_lm, file);
    score_in(api_lm, false, f32);
    score_in(api_lm, true, rounded);
    score_in(file, false, exported);
    score_in(file, true, both);
    assert_memory_equal(rounded, exported, sizeof rounded);
    assert_memory_equal(rounded, both, sizeof rounded);
    assert_memory_not_equal(rounded, f32, sizeof rounded);
    for (int i = 0; i < N_TOKENS - 4; ++i) assert_true(fabsf(rounded[i] - f32[i]) < 0.1f);
}

static void scores_are_those_of_eval(void **state) {
    (void)state;
    char line[1024] = "", path[512];
    float nll[N_TOKENS];
    fill_tokens();
    for (int64_t s = 0, i = 0; s < 4; ++s)
        for (int64_t t = 0; t < lengths[s]; ++t, ++i)
            snprintf(line + strlen(line), sizeof line - strlen(line), "%u%s", tokens[i], t + 1 < lengths[s] ? " " : "\n");
    snprintf(path, sizeof path, "%s", test_path("nll.json"));
    test_succeed("eval %s --data %s --unit ids --nll-out %s --backend cpu --quiet", api_lm, test_file("ids.txt", line), path);
    bpt_model_t *m = api_open(api_lm);
    assert_ok(bpt_model_score(m, &texts, nll));
    json_t *wanted = read_json(path);
    expect_bits(wanted, nll, N_TOKENS - 4);
    json_decref(wanted);
    bpt_model_close(m);
}

// The prompt at once, then token by token, the most likely each time.
static void generation_is_that_of_the_program(void **state) {
    (void)state;
    enum { NEW = 12 };
    char path[512], said[NEW + 1] = "";
    uint32_t *prompt;
    int64_t count;
    float logits[V];
    snprintf(path, sizeof path, "%s", test_path("logits.json"));
    test_process_t p = test_run_to(0, "generate %s --prompt abcd --max-tokens %d --temperature 0 --logits-out %s --backend cpu --quiet",
                                   api_lm, NEW, path);
    bpt_model_t *m = api_open(api_lm);
    bpt_generator_t *g;
    json_t *wanted = read_json(path);
    assert_ok(bpt_model_tokenize(m, "abcd", 4, &prompt, &count));
    assert_int_equal(count, 4);
    assert_ok(bpt_generator_create(m, 4 + NEW, 1, &g));
    assert_ok(bpt_generator_feed(g, 0, prompt, count, logits));
    for (int i = 0; i < NEW; ++i) {
        uint32_t best = 0;
        char *text;
        size_t bytes;
        expect_bits(json_array_get(wanted, (size_t)i), logits, V);
        for (uint32_t t = 1; t < V; ++t)
            if (logits[t] > logits[best]) best = t;
        assert_ok(bpt_model_text(m, &best, 1, true, &text, &bytes));
        assert_int_equal(bytes, 1);
        strcat(said, text);
        bpt_free(text);
        if (i + 1 < NEW) assert_ok(bpt_generator_step(g, &best, logits));
    }
    assert_string_equal(said, p.out);
    assert_int_equal(bpt_generator_length(g, 0), 4 + NEW - 1);
    json_decref(wanted);
    bpt_generator_destroy(g);
    bpt_model_close(m);
    bpt_free(prompt);
    test_process_free(&p);
}

// With the same options the sampler chooses what `bpt generate` writes.
static void draws_are_those_of_the_program(void **state) {
    (void)state;
    enum { NEW = 16 };
    static const char prompt[] = "abcd";
    uint32_t text[4 + NEW];
    float logits[V];
    char said[NEW + 1] = "";
    test_process_t p = test_run_to(0,
                                   "generate %s --prompt %s --max-tokens %d --temperature 1.5 --top-k 9 --top-p 0.9 --repeat-penalty 1.2 "
                                   "--repeat-window 5 --seed 7 --backend cpu --quiet",
                                   api_lm, prompt, NEW);
    bpt_model_t *m = api_open(api_lm);
    bpt_generator_t *g;
    bpt_token_sampler_t *sampler;
    bpt_sampling_options_t o, wrong;
    bpt_sampling_options_set(&o);
    o.temperature = 1.5, o.top_k = 9, o.top_p = 0.9, o.repeat_penalty = 1.2, o.repeat_window = 5, o.seed = 7;
    for (int i = 0; i < 4; ++i) text[i] = (unsigned char)prompt[i];
    assert_ok(bpt_token_sampler_create(m, &o, &sampler));
    assert_ok(bpt_generator_create(m, 4 + NEW, 1, &g));
    assert_ok(bpt_generator_feed(g, 0, text, 4, logits));
    for (int i = 0; i < NEW; ++i) {
        assert_ok(bpt_token_sampler_draw(sampler, logits, text, 4 + i, (uint64_t)i, &text[4 + i]));
        said[i] = (char)text[4 + i];
        if (i + 1 < NEW) assert_ok(bpt_generator_step(g, &text[4 + i], logits));
    }
    assert_string_equal(said, p.out);
    bpt_token_sampler_destroy(sampler);
    sampler = NULL;
    wrong = o, wrong.top_p = 0;
    assert_fails(bpt_token_sampler_create(m, &wrong, &sampler), BPT_ERR_USAGE, "top-p is 0");
    wrong = o, wrong.version = 0;
    assert_fails(bpt_token_sampler_create(m, &wrong, &sampler), BPT_ERR_USAGE, "version 0");
    assert_null(sampler);
    bpt_token_sampler_destroy(NULL);
    bpt_generator_destroy(g);
    bpt_model_close(m);
    test_process_free(&p);
}

static void texts_side_by_side_do_not_see_each_other(void **state) {
    (void)state;
    static const uint32_t a[] = {'a', 'b', 'c', 'd', 'e'}, b[] = {'g', 'f'};
    float together[2 * V], alone[V];
    bpt_model_t *m = api_open(api_lm);
    bpt_generator_t *two, *one;
    assert_ok(bpt_generator_create(m, 16, 2, &two));
    assert_ok(bpt_generator_create(m, 16, 1, &one));
    assert_ok(bpt_generator_feed(two, 0, a, 5, NULL));
    assert_ok(bpt_generator_feed(two, 1, b, 2, NULL));
    assert_ok(bpt_generator_feed(one, 0, b, 2, NULL));
    assert_ok(bpt_generator_step(two, (uint32_t[]){'f', 'e'}, together));
    assert_ok(bpt_generator_step(one, (uint32_t[]){'e'}, alone));
    expect_near(together + V, alone, V);
    assert_ok(bpt_generator_step(two, (uint32_t[]){BPT_REST, 'd'}, together));
    assert_ok(bpt_generator_step(one, (uint32_t[]){'d'}, alone));
    expect_near(together + V, alone, V);
    assert_int_equal(bpt_generator_length(two, 0), 6);
    assert_int_equal(bpt_generator_length(two, 1), 4);
    // Back to after the prompt, and the same way again.
    assert_ok(bpt_generator_rewind(two, 1, 2));
    assert_ok(bpt_generator_step(two, (uint32_t[]){BPT_REST, 'e'}, together));
    assert_ok(bpt_generator_step(two, (uint32_t[]){BPT_REST, 'd'}, together));
    expect_near(together + V, alone, V);
    bpt_generator_destroy(two);
    bpt_generator_destroy(one);
    bpt_model_close(m);
}

// Logits of whole sequences say the same as the scores and as generation.
static void logits_of_a_sequence_are_its_scores(void **state) {
    (void)state;
    static float logits[N_TOKENS * V], nll[N_TOKENS], last[V];
    bpt_generator_t *g;
    fill_tokens();
    bpt_model_t *m = api_open(api_lm);
    assert_ok(bpt_model_logits(m, &texts, logits));
    assert_ok(bpt_model_score(m, &texts, nll));
    const float *wanted = nll;
    const uint32_t *sequence = tokens;
    const float *row = logits;
    for (int64_t s = 0; s < 4; ++s) {
        for (int64_t t = 0; t + 1 < lengths[s]; ++t) {
            double sum = 0;
            for (int64_t v = 0; v < V; ++v) sum += exp((double)row[t * V + v]);
            const float got = (float)(log(sum) - (double)row[t * V + sequence[t + 1]]);
            expect_near(&got, wanted++, 1);
        }
        assert_ok(bpt_generator_create(m, lengths[s], 1, &g));
        assert_ok(bpt_generator_feed(g, 0, sequence, lengths[s], last));
        expect_near(row + (lengths[s] - 1) * V, last, V);
        bpt_generator_destroy(g);
        sequence += lengths[s];
        row += lengths[s] * V;
    }
    bpt_model_close(m);
}

// ---- classifiers

static void classes_are_those_of_the_program(void **state) {
    (void)state;
    static const char *const lines[] = {"awful film", "fine warm play of 3", "dull"};
    uint32_t *part[3], all[16];
    int64_t length[3], total = 0;
    float logits[6];
    bpt_model_t *m = api_open(api_classifier);
    for (int i = 0; i < 3; ++i) {
        assert_ok(bpt_model_tokenize(m, lines[i], strlen(lines[i]), &part[i], &length[i]));
        memcpy(all + total, part[i], (size_t)length[i] * sizeof *all);
        total += length[i];
        bpt_free(part[i]);
    }
    const bpt_sequences_t sequences = {all, length, 3};
    assert_int_equal(bpt_model_classes(m), 2);
    assert_ok(bpt_model_classify(m, &sequences, logits));
    char path[512];
    snprintf(path, sizeof path, "%s", test_file("lines.txt", "awful film\nfine warm play of 3\ndull\n"));
    test_process_t p = test_run_to(0, "classify %s %s --json --backend cpu --quiet", api_classifier, path);
    const char *rest = p.out;
    for (int i = 0; i < 3; ++i) {
        json_error_t error;
        json_t *object = json_loads(rest, JSON_DISABLE_EOF_CHECK, &error);
        assert_non_null(object);
        rest += error.position;
        expect_bits(json_object_get(object, "logits"), logits + 2 * i, 2);
        assert_string_equal(json_string_value(json_object_get(object, "label")), bpt_model_label(m, logits[2 * i + 1] > logits[2 * i]));
        json_decref(object);
    }
    assert_null(bpt_model_label(m, 2));
    test_process_free(&p);
    bpt_model_close(m);
}

// The head by hand: its parameters are in the file that the library saves.
static void the_head_makes_logits_of_encoded_texts(void **state) {
    (void)state;
    enum { D = 16, CLASSES = 2 };
    static const uint32_t words[] = {2, 3, 4, 5, 3, 2};
    static const int64_t length[] = {1, 5};
    const bpt_sequences_t sequences = {words, length, 2};
    float logits[2 * CLASSES], roots[2 * D], states[6 * D], alone[6 * D], weight[CLASSES * D], bias[CLASSES];
    char path[512];
    bpt_safetensors_t *file;
    snprintf(path, sizeof path, "%s", test_path("head.safetensors"));
    bpt_model_t *m = api_open(api_classifier);
    assert_int_equal(bpt_model_width(m), D);
    assert_ok(bpt_model_save(m, path));
    assert_ok(bpt_safetensors_open(path, &file));
    assert_ok(bpt_safetensors_read_f32(file, bpt_safetensors_find(file, "head.weight"), 0, CLASSES * D, weight));
    assert_ok(bpt_safetensors_read_f32(file, bpt_safetensors_find(file, "head.bias"), 0, CLASSES, bias));
    bpt_safetensors_close(file);
    assert_ok(bpt_model_classify(m, &sequences, logits));
    assert_ok(bpt_model_encode(m, &sequences, states, roots, NULL));
    for (int i = 0; i < 2 * CLASSES; ++i) {
        float sum = bias[i % CLASSES];
        for (int j = 0; j < D; ++j) sum += roots[i / CLASSES * D + j] * weight[i % CLASSES * D + j];
        expect_near(&sum, &logits[i], 1);
    }
    // One text at a time, and states of tokens alone.
    assert_ok(bpt_model_encode(m, &(bpt_sequences_t){words, length, 1}, alone, NULL, NULL));
    assert_ok(bpt_model_encode(m, &(bpt_sequences_t){words + 1, length + 1, 1}, alone + D, NULL, NULL));
    expect_near(alone, states, 6 * D);
    bpt_model_close(m);
}

// ---- files

static void a_saved_file_opens_as_the_same_model(void **state) {
    (void)state;
    static const uint32_t word[] = {2, 3, 4};
    static const int64_t length[] = {3};
    const bpt_sequences_t one = {word, length, 1};
    float a[2], b[2];
    char file[512], run[512];
    snprintf(file, sizeof file, "%s", test_path("saved.safetensors"));
    snprintf(run, sizeof run, "%s", test_path("imported"));
    bpt_model_t *m = api_open(api_classifier);
    assert_ok(bpt_model_save(m, file));
    bpt_model_t *copy = api_open(file);
    assert_string_equal(bpt_model_config(copy), bpt_model_config(m));
    assert_int_equal(bpt_model_parameters(copy), bpt_model_parameters(m));
    assert_string_equal(bpt_model_label(copy, 1), bpt_model_label(m, 1));
    assert_ok(bpt_model_classify(m, &one, a));
    assert_ok(bpt_model_classify(copy, &one, b));
    assert_memory_equal(a, b, sizeof a);
    bpt_model_close(copy);
    test_succeed("import %s --out %s --quiet", file, run);
    copy = api_open(run);
    assert_ok(bpt_model_classify(copy, &one, b));
    assert_memory_equal(a, b, sizeof a);
    bpt_model_close(copy);
    bpt_model_close(m);
}

// ---- threads

typedef struct {
    bpt_model_t *model;
    float nll[N_TOKENS];
    bpt_status_t status;
} job_t;

static void *score_many_times(void *user) {
    job_t *job = user;
    for (int i = 0; i < 8 && job->status == BPT_OK; ++i) job->status = bpt_model_score(job->model, &texts, job->nll);
    return NULL;
}

static bpt_model_t *open_on(const char *backend) {
    bpt_model_options_t options = bpt_model_options();
    bpt_model_t *m = NULL;
    options.backend = backend;
    assert_ok(bpt_model_open(api_lm, &options, &m));
    return m;
}

// Two models side by side, each in a thread that did not open it; and one alone.
static void work_in_threads(const char *backend) {
    static job_t job[2], wanted;
    pthread_t thread[2];
    wanted = (job_t){.model = open_on(backend)};
    score_many_times(&wanted);
    for (int i = 0; i < 2; ++i) job[i] = (job_t){.model = open_on(backend)};
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_create(&thread[i], NULL, score_many_times, &job[i]), 0);
    for (int i = 0; i < 2; ++i) pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; ++i) {
        if (job[i].status != BPT_OK) fail_msg("%s: %s in another thread", backend, bpt_status_name(job[i].status));
        assert_memory_equal(job[i].nll, wanted.nll, sizeof wanted.nll);
        bpt_model_close(job[i].model);
    }
    assert_int_equal(wanted.status, BPT_OK);
    bpt_model_close(wanted.model);
}

static void models_work_side_by_side_in_threads_that_did_not_open_them(void **state) {
    (void)state;
    static const char *const backends[] = {"ref", "cpu", "opencl", "vulkan", "cuda"};
    fill_tokens();
    for (size_t i = 0; i < BPT_COUNT(backends); ++i)
        if (test_backend_usable(backends[i])) work_in_threads(backends[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_8_bits_are_those_of_an_export),
        cmocka_unit_test(scores_are_those_of_eval),
        cmocka_unit_test(generation_is_that_of_the_program),
        cmocka_unit_test(draws_are_those_of_the_program),
        cmocka_unit_test(texts_side_by_side_do_not_see_each_other),
        cmocka_unit_test(logits_of_a_sequence_are_its_scores),
        cmocka_unit_test(classes_are_those_of_the_program),
        cmocka_unit_test(the_head_makes_logits_of_encoded_texts),
        cmocka_unit_test(a_saved_file_opens_as_the_same_model),
        cmocka_unit_test(models_work_side_by_side_in_threads_that_did_not_open_them),
    };
    return cmocka_run_group_tests(tests, api_train_models, NULL);
}
