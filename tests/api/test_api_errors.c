// bpt/model.h: what cannot be done is refused with a status and one sentence, nothing changes and nothing leaks.
#include <math.h>
#include <unistd.h>

#include "api_fixture.h"

static const uint32_t tokens[] = {97, 98, 99, 100};
static const int64_t lengths[] = {3, 1};
static const bpt_sequences_t two = {tokens, lengths, 2};
static float out[4 * 256];

static void null_pointers_are_refused(void **state) {
    (void)state;
    bpt_model_t *m = api_open(api_lm), *other = NULL;
    bpt_generator_t *g = NULL;
    const bpt_train_options_t o = bpt_train_options(0.1);
    const bpt_sequences_t none = {tokens, NULL, 2}, no_tokens = {NULL, lengths, 2};
    char *text;
    uint32_t *ids;
    int64_t count;
    size_t bytes;
    assert_fails(bpt_model_open(NULL, NULL, &other), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_open(api_lm, NULL, NULL), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_create(NULL, 1, NULL, &other), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_logits(NULL, &two, out), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_logits(m, NULL, out), BPT_ERR_USAGE, "sequences");
    assert_fails(bpt_model_logits(m, &none, out), BPT_ERR_USAGE, "sequences");
    assert_fails(bpt_model_logits(m, &no_tokens, out), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_logits(m, &two, NULL), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_score(m, &two, NULL), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_classify(NULL, &two, out), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_tokenize(m, NULL, 1, &ids, &count), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_tokenize(m, "a", 1, NULL, &count), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_text(m, NULL, 1, false, &text, &bytes), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_text(m, tokens, 1, false, NULL, &bytes), BPT_ERR_USAGE, "null");
    assert_fails(bpt_generator_create(NULL, 1, 1, &g), BPT_ERR_USAGE, "null");
    assert_fails(bpt_generator_create(m, 1, 1, NULL), BPT_ERR_USAGE, "null");
    assert_fails(bpt_generator_feed(NULL, 0, tokens, 1, out), BPT_ERR_USAGE, "null");
    assert_fails(bpt_generator_step(NULL, tokens, out), BPT_ERR_USAGE, "null");
    assert_fails(bpt_generator_rewind(NULL, 0, 0), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_train_step(NULL, NULL, 0, &o, NULL), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_save(m, NULL), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_save_run(m, NULL), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_recover(NULL), BPT_ERR_USAGE, "null");
    assert_int_equal(bpt_model_vocabulary(NULL) + bpt_model_classes(NULL) + bpt_model_width(NULL) + bpt_model_step(NULL) +
                         bpt_model_parameters(NULL) + bpt_generator_length(NULL, 0),
                     0);
    assert_null(bpt_model_config(NULL));
    assert_null(bpt_model_label(NULL, 0));
    bpt_model_close(NULL);
    bpt_generator_destroy(NULL);
    bpt_model_close(m);
}

static void functions_of_another_task_are_refused(void **state) {
    (void)state;
    bpt_model_t *lm = api_open(api_lm), *classifier = api_open(api_classifier);
    bpt_generator_t *g;
    const uint32_t word[] = {1, 2, 3, 4};
    const bpt_sequences_t words = {word, lengths, 2};
    assert_fails(bpt_model_classify(lm, &two, out), BPT_ERR_USAGE, "this is a language model");
    assert_fails(bpt_model_encode(lm, &two, NULL, out, NULL), BPT_ERR_USAGE, "this is a language model");
    assert_fails(bpt_model_encode(lm, &two, NULL, NULL, NULL), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_logits(classifier, &words, out), BPT_ERR_USAGE, "this is a classifier");
    assert_fails(bpt_model_score(classifier, &words, out), BPT_ERR_USAGE, "this is a classifier");
    assert_fails(bpt_generator_create(classifier, 10, 1, &g), BPT_ERR_USAGE, "language models");
    bpt_model_close(lm);
    bpt_model_close(classifier);
}

static void tokens_and_lengths_are_checked(void **state) {
    (void)state;
    static const uint32_t unknown[] = {97, 256, 99, 100};
    static const int64_t empty[] = {3, 0};
    bpt_model_t *m = api_open(api_lm);
    bpt_generator_t *g;
    assert_fails(bpt_model_logits(m, &(bpt_sequences_t){unknown, lengths, 2}, out), BPT_ERR_USAGE, "token 1 is 256");
    assert_fails(bpt_model_logits(m, &(bpt_sequences_t){tokens, empty, 2}, out), BPT_ERR_USAGE, "sequence 1 has length 0");
    assert_fails(bpt_model_logits(m, &(bpt_sequences_t){tokens, (const int64_t[]){INT64_MAX}, 1}, out), BPT_ERR_USAGE, "sequence 0");
    assert_fails(bpt_model_score(m, &(bpt_sequences_t){tokens, (const int64_t[]){1, 1}, 2}, out), BPT_ERR_INPUT, "nothing to evaluate");
    assert_fails(bpt_generator_create(m, 0, 1, &g), BPT_ERR_USAGE, "no context");
    assert_fails(bpt_generator_create(m, 4, 0, &g), BPT_ERR_USAGE, "side by side");
    assert_ok(bpt_generator_create(m, 4, 1, &g));
    assert_fails(bpt_generator_feed(g, 1, tokens, 1, out), BPT_ERR_USAGE, "no text 1");
    assert_fails(bpt_generator_feed(g, 0, unknown, 2, out), BPT_ERR_USAGE, "token 1 is 256");
    assert_fails(bpt_generator_feed(g, 0, tokens, 0, out), BPT_ERR_USAGE, "none to append");
    assert_fails(bpt_generator_feed(g, 0, tokens, -1, out), BPT_ERR_USAGE, "not possible");
    assert_ok(bpt_generator_feed(g, 0, tokens, 4, out));
    assert_fails(bpt_generator_step(g, tokens, out), BPT_ERR_USAGE, "context is full");
    assert_int_equal(bpt_generator_length(g, 0), 4);
    assert_fails(bpt_generator_rewind(g, 0, 5), BPT_ERR_USAGE, "has 4 tokens");
    bpt_generator_destroy(g);
    bpt_model_close(m);
}

static void a_sequence_beyond_the_positions_is_refused(void **state) {
    (void)state;
    static const char config[] = "{\"model\": \"transformer\", \"task\": \"lm\", \"layers\": 1, \"d_model\": 8, \"d_ff\": 8, \"heads\": 2, "
                                 "\"max_positions\": 3, \"vocab\": 256}";
    bpt_model_t *m = NULL;
    bpt_generator_t *g;
    const bpt_train_options_t o = bpt_train_options(0.1);
    bpt_micro_batch_t micro = {.sequences = {tokens, (const int64_t[]){4}, 1}};
    assert_ok(bpt_model_create(config, 1, NULL, &m));
    assert_fails(bpt_model_logits(m, &micro.sequences, out), BPT_ERR_USAGE, "3 positions");
    assert_fails(bpt_generator_create(m, 4, 1, &g), BPT_ERR_USAGE, "3 positions");
    assert_ok(bpt_model_score(m, &micro.sequences, out));  // the last token is only a target
    assert_ok(bpt_model_train_step(m, &micro, 1, &o, NULL));
    bpt_model_close(m);
}

// Whatever a caller computes: what is no number, or none that a device or a float holds.
static void expect_numbers_refused(void) {
    static const struct {
        size_t at;
        double value;
        const char *says;
    } wrong[] = {{offsetof(bpt_model_options_t, submit_ms), NAN, "submit_ms is nan"},
                 {offsetof(bpt_model_options_t, submit_ms), INFINITY, "submit_ms is inf"},
                 {offsetof(bpt_model_options_t, submit_ms), -1, "submit_ms is -1"},
                 {offsetof(bpt_model_options_t, submit_ms), 1e300, "submit_ms is 1e+300"},
                 {offsetof(bpt_model_options_t, beta1), NAN, "beta1"},
                 {offsetof(bpt_model_options_t, beta2), 1 - 1e-12, "beta2"},
                 {offsetof(bpt_model_options_t, eps), NAN, "eps"},
                 {offsetof(bpt_model_options_t, eps), INFINITY, "eps"},
                 {offsetof(bpt_model_options_t, eps), 1e-60, "eps"},
                 {offsetof(bpt_model_options_t, weight_decay), INFINITY, "weight_decay"},
                 {offsetof(bpt_model_options_t, weight_decay), NAN, "weight_decay"},
                 {offsetof(bpt_model_options_t, weight_decay), -1, "weight_decay"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        bpt_model_options_t o = bpt_model_options();
        bpt_model_t *m = NULL;
        memcpy((char *)&o + wrong[i].at, &wrong[i].value, sizeof wrong[i].value);
        assert_fails(bpt_model_open(api_lm, &o, &m), BPT_ERR_USAGE, wrong[i].says);
        assert_null(m);
    }
}

static void options_are_checked(void **state) {
    (void)state;
    bpt_model_t *m = NULL;
    bpt_model_options_t o = bpt_model_options();
    o.version = 7;
    assert_fails(bpt_model_open(api_lm, &o, &m), BPT_ERR_USAGE, "version 7");
    o = bpt_model_options();
    o.backend = "abacus";
    assert_fails(bpt_model_open(api_lm, &o, &m), BPT_ERR_UNAVAILABLE, "abacus");
    o.backend = NULL;
    assert_fails(bpt_model_open(api_lm, &o, &m), BPT_ERR_USAGE, "no backend");
    o = bpt_model_options();
    o.device = 99;
    assert_int_not_equal(bpt_model_open(api_lm, &o, &m), BPT_OK);
    o = bpt_model_options();
    o.precision = BPT_U32;
    assert_fails(bpt_model_open(api_lm, &o, &m), BPT_ERR_USAGE, "precision");
    o = bpt_model_options();
    o.beta1 = 1;
    assert_fails(bpt_model_open(api_lm, &o, &m), BPT_ERR_USAGE, "beta1");
    o = bpt_model_options();
    o.optimizer = "sgd";
    assert_fails(bpt_model_open(api_lm, &o, &m), BPT_ERR_USAGE, "no optimizer is called 'sgd'; there are: adam adamw muon");
    o = bpt_model_options();
    o.momentum = 1;
    assert_fails(bpt_model_open(api_lm, &o, &m), BPT_ERR_USAGE, "momentum is 1; it must be in [0, 1)");
    expect_numbers_refused();
    o = bpt_model_options();
    o.trains = o.weights_q8 = true;
    assert_fails(bpt_model_open(api_lm, &o, &m), BPT_ERR_USAGE, "not for training");
    o = bpt_model_options();
    o.checkpoint = "12345";
    assert_fails(bpt_model_open(api_lm, &o, &m), BPT_ERR_INPUT, "12345");
    assert_null(m);
}

static void bad_files_are_refused(void **state) {
    (void)state;
    bpt_model_t *m = NULL;
    char path[600];
    size_t length;
    assert_fails(bpt_model_open(test_path("nowhere"), NULL, &m), BPT_ERR_IO, "nowhere");
    assert_fails(bpt_model_open(test_file("text.txt", "no model"), NULL, &m), BPT_ERR_INPUT, "text.txt");
    assert_fails(bpt_model_open(test_scratch_dir(), NULL, &m), BPT_ERR_INPUT, "config.json");
    // A bit of the weights.
    char run[512];
    snprintf(run, sizeof run, "%s", test_path("damaged"));
    bpt_model_t *whole = api_open(api_lm);
    assert_ok(bpt_model_save_run(whole, run));
    bpt_model_close(whole);
    snprintf(path, sizeof path, "%s/latest/model.safetensors", run);
    char *bytes = test_read_file(path, &length);
    bytes[length - 5] ^= 1;
    test_write_file(path, bytes, length);
    free(bytes);
    assert_fails(bpt_model_open(run, NULL, &m), BPT_ERR_INPUT, "damaged");
    // A run without a state of training.
    bpt_model_options_t o = bpt_model_options();
    snprintf(run, sizeof run, "%s", test_path("weights"));
    whole = api_open(api_lm);
    assert_ok(bpt_model_save_run(whole, run));
    bpt_model_close(whole);
    o.trains = true;
    assert_fails(bpt_model_open(run, &o, &m), BPT_ERR_IO, "state of training");
    // A folder that holds something else; the run itself, whose state of training was not read.
    whole = api_open(api_lm);
    assert_fails(bpt_model_save_run(whole, api_lm), BPT_ERR_USAGE, "would be lost");
    snprintf(path, sizeof path, "%s//", api_lm);
    assert_fails(bpt_model_save_run(whole, path), BPT_ERR_USAGE, "would be lost");
    assert_fails(bpt_model_save_run(whole, api_classifier), BPT_ERR_USAGE, "already holds a run");
    assert_fails(bpt_model_save(whole, test_path("no-folder/model.safetensors")), BPT_ERR_IO, "no-folder");
    bpt_model_close(whole);
    assert_null(m);
}

static void bad_configurations_are_refused(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"", "the configuration"},
        {"[]", "not a JSON object"},
        {"{\"model\": \"bpt\"", "the configuration"},
        {"{\"model\": \"bpt\", \"task\": \"lm\"}", "missing"},
        {"{\"model\": \"gpt\", \"task\": \"lm\"}", "gpt"},
        {"{\"model\": \"bpt\", \"task\": \"lm\", \"layers\": 1, \"d_model\": 8, \"d_ff\": 8, \"heads\": 3, \"k\": 2, \"rel_levels\": 5, "
         "\"vocab\": 9}",
         "heads"},
        {"{\"model\": \"bpt\", \"task\": \"lm\", \"layers\": 1, \"d_model\": 8, \"d_ff\": 8, \"heads\": 2, \"k\": 2, \"rel_levels\": 5, "
         "\"vocab\": 9, \"dropuot_hidden\": 0.1}",
         "dropuot_hidden"},
        {"{\"model\": \"bpt\", \"task\": \"lm\", \"layers\": 1, \"d_model\": 8, \"d_ff\": 8, \"heads\": 2, \"k\": 2, \"rel_levels\": 5, "
         "\"vocab\": 9, \"unit\": \"byte\"}",
         "256"},
        {"{\"model\": \"bpt\", \"task\": \"lm\", \"layers\": 1, \"d_model\": 8, \"d_ff\": 8, \"heads\": 2, \"k\": 2, \"rel_levels\": 5, "
         "\"vocab\": 9, \"unit\": \"word\"}",
         "vocabulary"},
        {"{\"model\": \"bpt\", \"task\": \"lm\", \"layers\": 1, \"d_model\": 8, \"d_ff\": 8, \"heads\": 2, \"k\": 2, \"rel_levels\": 5, "
         "\"vocab\": 9, \"unit\": 3}",
         "unit"},
    };
    bpt_model_t *m = NULL;
    for (size_t i = 0; i < BPT_COUNT(bad); ++i) assert_fails(bpt_model_create(bad[i][0], 1, NULL, &m), BPT_ERR_INPUT, bad[i][1]);
    assert_null(m);
}

static void steps_that_make_no_sense_are_refused(void **state) {
    (void)state;
    static const uint32_t labels[] = {0, 2};
    bpt_model_t *m = NULL;
    bpt_generator_t *g;
    bpt_train_options_t o = bpt_train_options(0.1);
    bpt_micro_batch_t micro = {.sequences = {tokens, lengths, 1}};
    bpt_model_options_t options = bpt_model_options();
    m = api_open(api_lm);
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "not opened for training");
    bpt_model_close(m);
    options.trains = true;
    assert_ok(bpt_model_open(api_lm, &options, &m));
    const int64_t before = bpt_model_step(m);
    assert_fails(bpt_model_train_step(m, NULL, 1, &o, NULL), BPT_ERR_USAGE, "micro-batches");
    assert_fails(bpt_model_train_step(m, &micro, 0, &o, NULL), BPT_ERR_USAGE, "micro-batches");
    assert_fails(bpt_model_train_step(m, &micro, 1, NULL, NULL), BPT_ERR_USAGE, "options");
    micro.length = 1;
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "length is 1");
    micro.length = -3;
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "length is -3");
    micro.length = 0;
    micro.labels = labels;
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "labels are for classifiers");
    micro.labels = NULL;
    micro.sequences.count = 2;
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "micro-batch 0: sequence 1 has one token");
    micro.sequences.count = 1;
    o.lr = -1;
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "learning rate");
    o = bpt_train_options(0.1);
    o.version = 0;
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "version 0");
    o = bpt_train_options(0.1);
    assert_ok(bpt_generator_create(m, 8, 1, &g));
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "generators");
    assert_fails(bpt_model_recover(m), BPT_ERR_USAGE, "generators");
    bpt_generator_destroy(g);
    assert_int_equal(bpt_model_step(m), before);
    assert_ok(bpt_model_train_step(m, &micro, 1, &o, NULL));
    assert_int_equal(bpt_model_step(m), before + 1);
    bpt_model_close(m);
    assert_ok(bpt_model_open(api_classifier, &options, &m));
    const uint32_t words[] = {1, 2, 3, 4};
    micro = (bpt_micro_batch_t){.sequences = {words, lengths, 2}};
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "labels");
    micro.labels = labels;
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "label 1 is 2");
    bpt_model_close(m);
}

// A step of absurd length leaves weights of which nothing sensible can come.
static void results_that_are_not_finite_are_errors(void **state) {
    (void)state;
    bpt_model_t *m;
    bpt_generator_t *g;
    bpt_model_options_t options = bpt_model_options();
    const bpt_train_options_t o = bpt_train_options(1e38);
    const bpt_micro_batch_t micro = {.sequences = {tokens, (const int64_t[]){4}, 1}};
    options.trains = true;
    assert_ok(bpt_model_open(api_lm, &options, &m));
    assert_ok(bpt_model_train_step(m, &micro, 1, &o, NULL));
    assert_fails(bpt_model_logits(m, &two, out), BPT_ERR_NUMERIC, "not finite");
    assert_fails(bpt_model_encode(m, &two, out, NULL, NULL), BPT_ERR_NUMERIC, "not finite");
    assert_fails(bpt_model_score(m, &two, out), BPT_ERR_NUMERIC, "not finite");
    assert_ok(bpt_generator_create(m, 4, 1, &g));
    assert_fails(bpt_generator_feed(g, 0, tokens, 2, out), BPT_ERR_NUMERIC, "not finite");
    assert_fails(bpt_generator_step(g, tokens, out), BPT_ERR_NUMERIC, "not finite");
    bpt_generator_destroy(g);
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_NUMERIC, "not finite");
    bpt_model_close(m);
}

// Every allocation of opening, using and training fails once; what was there before is there afterwards.
static bpt_status_t use_all(void) {
    static const char config[] =
        "{\"model\": \"bpt\", \"task\": \"lm\", \"layers\": 1, \"d_model\": 8, \"d_ff\": 8, \"heads\": 2, \"k\": 2, "
        "\"rel_levels\": 5, \"vocab\": 256, \"unit\": \"byte\"}";
    bpt_model_t *m;
    bpt_generator_t *g = NULL;
    bpt_model_options_t options = bpt_model_options();
    const bpt_train_options_t o = bpt_train_options(0.1);
    const bpt_micro_batch_t micro = {.sequences = {tokens, (const int64_t[]){4}, 1}};
    options.backend = "ref";
    BPT_TRY(bpt_model_create(config, 1, &options, &m));
    bpt_status_t status = bpt_model_train_step(m, &micro, 1, &o, NULL);
    if (status == BPT_OK) status = bpt_model_logits(m, &two, out);
    if (status == BPT_OK) status = bpt_model_score(m, &two, out);
    if (status == BPT_OK) status = bpt_generator_create(m, 4, 1, &g);
    if (status == BPT_OK) status = bpt_generator_feed(g, 0, tokens, 3, out);
    bpt_generator_destroy(g);
    if (status == BPT_OK) status = bpt_model_save(m, test_path("memory.safetensors"));
    bpt_model_close(m);
    return status;
}

static void no_memory_is_an_error_and_leaks_nothing(void **state) {
    (void)state;
    assert_ok(use_all());
    const size_t before = bpt_alloc_live();
    size_t nth = 1;
    for (bpt_status_t status = BPT_ERR_NO_MEMORY; status != BPT_OK; nth += nth < 60 ? 1 : 37) {
        bpt_alloc_fail_after(nth);
        status = use_all();
        bpt_alloc_fail_after(0);
        if (status != BPT_OK) assert_int_equal(status, BPT_ERR_NO_MEMORY);
        assert_int_equal(bpt_alloc_live(), before);
    }
    assert_true(nth > 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_pointers_are_refused),
        cmocka_unit_test(functions_of_another_task_are_refused),
        cmocka_unit_test(tokens_and_lengths_are_checked),
        cmocka_unit_test(a_sequence_beyond_the_positions_is_refused),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test(steps_that_make_no_sense_are_refused),
        cmocka_unit_test(results_that_are_not_finite_are_errors),
        cmocka_unit_test(no_memory_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, api_train_models, NULL);
}
