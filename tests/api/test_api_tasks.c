// bpt/model.h: tags, pairs of texts and predicted numbers are those of the program, bit for bit; training steps of these tasks have its
// loss, and lower it.
#include <math.h>

#include <jansson.h>

#include "api_fixture.h"
#include "bpt/safetensors.h"
#include "support/support.h"

#define SMALL                                                                                                             \
    "--layers 2 --d-model 16 --heads 2 --batch-examples 16 --steps 20 --lr 0.01 --backend cpu --quiet --dropout-input 0 " \
    "--dropout-attention 0 --dropout-head 0 "

enum { VECTORS = 30, LENGTH = 6, COLUMNS = 3, OUTPUTS = 2 };

static char tagger[512], crf_tagger[512], pairs[512], numbers[512], arrays[512], tag_data[512], pair_data[512];
static float x[VECTORS * LENGTH * COLUMNS], y[VECTORS * OUTPUTS];

static void write_arrays(void) {
    const int64_t x_shape[] = {VECTORS, LENGTH, COLUMNS}, y_shape[] = {VECTORS, OUTPUTS};
    bpt_safetensors_writer_t *w;
    for (int i = 0; i < VECTORS * LENGTH * COLUMNS; ++i) x[i] = (float)(i * 37 % 100) / 50 - 1;
    for (int i = 0; i < VECTORS * OUTPUTS; ++i) y[i] = (float)(i * 53 % 100) / 100;
    assert_ok(bpt_safetensors_writer_create(arrays, &w));
    assert_ok(bpt_safetensors_writer_declare(w, "x", BPT_ST_F32, 3, x_shape));
    assert_ok(bpt_safetensors_writer_declare(w, "y", BPT_ST_F32, 2, y_shape));
    assert_ok(bpt_safetensors_writer_data(w, x, sizeof x));
    assert_ok(bpt_safetensors_writer_data(w, y, sizeof y));
    assert_ok(bpt_safetensors_writer_finish(w));
    bpt_safetensors_writer_destroy(w);
}

static int train_models(void **state) {
    (void)state;
    static char tags[20000], texts[20000];
    size_t used = 0, written = 0;
    for (int i = 0; i < 90; ++i) {
        for (int t = 0; t <= i % 7; ++t)
            used +=
                (size_t)snprintf(tags + used, sizeof tags - used, "w%d X %s\n", (i * 5 + t * 3) % 9, (i * 5 + t * 3) % 9 < 4 ? "B-A" : "O");
        used += (size_t)snprintf(tags + used, sizeof tags - used, "\n");
        written += (size_t)snprintf(texts + written, sizeof texts - written, "%s\tw%d w%d\tw%d w%d w2\n", i % 3 ? "no" : "yes", i % 5,
                                    i % 4, i % 3 ? i % 2 : i % 5, i % 4);
    }
    snprintf(tag_data, sizeof tag_data, "%s", test_file("tags.conll", tags));
    snprintf(pair_data, sizeof pair_data, "%s", test_file("pairs.tsv", texts));
    snprintf(arrays, sizeof arrays, "%s", test_path("arrays.safetensors"));
    snprintf(tagger, sizeof tagger, "%s", test_path("tagger"));
    snprintf(crf_tagger, sizeof crf_tagger, "%s", test_path("crf-tagger"));
    snprintf(pairs, sizeof pairs, "%s", test_path("pairs"));
    snprintf(numbers, sizeof numbers, "%s", test_path("numbers"));
    write_arrays();
    api_run("train --task tag --model star --positions none --data %s --out %s " SMALL, tag_data, tagger);
    api_run("train --task tag --model star --positions none --crf --data %s --out %s " SMALL, tag_data, crf_tagger);
    api_run("train --task pair --model bpt --k 2 --match-layers 2 --dropout-hidden 0 --data %s --out %s " SMALL, pair_data, pairs);
    api_run("train --task regress --model star --positions none --data %s --out %s " SMALL, arrays, numbers);
    return 0;
}

// ---- Sequences of token numbers, and the same as lines for the program

enum { SEQUENCES = 6, TOKENS = 5 + 1 + 9 + 3 + 2 + 4 };
static const int64_t lengths[SEQUENCES] = {5, 1, 9, 3, 2, 4};
static uint32_t tokens[TOKENS];
static const bpt_sequences_t sequences = {.tokens = tokens, .lengths = lengths, .count = SEQUENCES};

static void fill_tokens(const bpt_model_t *m) {
    for (uint32_t i = 0; i < TOKENS; ++i) tokens[i] = 2 + i * 7 % (uint32_t)(bpt_model_vocabulary(m) - 2);
}

// One line of numbers for `texts` sequences, with tabs between these.
static const char *lines_of(int texts) {
    char line[1024] = "";
    for (int64_t s = 0, i = 0; s < SEQUENCES; ++s)
        for (int64_t t = 0; t < lengths[s]; ++t, ++i)
            snprintf(line + strlen(line), sizeof line - strlen(line), "%u%s", tokens[i],
                     t + 1 < lengths[s] ? " "
                     : (s + 1) % texts  ? "\t"
                                        : "\n");
    return test_file("ids.txt", line);
}

static void expect_bits(const json_t *list, const float *values, size_t count) {
    assert_int_equal(json_array_size(list), count);
    for (size_t i = 0; i < count; ++i) {
        const float wanted = (float)json_number_value(json_array_get(list, i));
        if (memcmp(&wanted, &values[i], sizeof wanted)) fail_msg("number %zu is %.9g, not %.9g", i, (double)values[i], (double)wanted);
    }
}

static void check_tags(const char *run) {
    bpt_model_t *m = api_open(run);
    const int64_t classes = bpt_model_classes(m);
    static float logits[TOKENS * 8];
    uint32_t tags[TOKENS], alone[TOKENS];
    assert_true(classes > 1 && classes <= 8);
    fill_tokens(m);
    test_process_t p = test_run_to(0, "tag %s %s --unit ids --json --backend cpu --quiet", run, lines_of(1));
    assert_ok(bpt_model_tag(m, &sequences, tags, logits));
    assert_ok(bpt_model_tag(m, &sequences, alone, NULL));
    assert_memory_equal(tags, alone, sizeof tags);
    const char *line = p.out;
    for (int64_t s = 0, i = 0; s < SEQUENCES; ++s, line = strchr(line, '\n') + 1) {
        json_t *object = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
        assert_non_null(object);
        for (int64_t t = 0; t < lengths[s]; ++t, ++i) {
            assert_string_equal(json_string_value(json_array_get(json_object_get(object, "tags"), (size_t)t)), bpt_model_label(m, tags[i]));
            expect_bits(json_array_get(json_object_get(object, "logits"), (size_t)t), logits + i * classes, (size_t)classes);
        }
        json_decref(object);
    }
    test_process_free(&p);
    bpt_model_close(m);
}

static void tags_are_those_of_the_program(void **state) {
    (void)state;
    check_tags(tagger);
}
static void tags_of_a_crf_are_those_of_the_program(void **state) {
    (void)state;
    check_tags(crf_tagger);
}

static void classes_of_pairs_are_those_of_the_program(void **state) {
    (void)state;
    bpt_model_t *m = api_open(pairs);
    float logits[SEQUENCES / 2 * 2];
    assert_int_equal(bpt_model_classes(m), 2);
    fill_tokens(m);
    test_process_t p = test_run_to(0, "classify %s %s --unit ids --json --backend cpu --quiet", pairs, lines_of(2));
    assert_ok(bpt_model_classify(m, &sequences, logits));
    const char *line = p.out;
    for (int e = 0; e < SEQUENCES / 2; ++e, line = strchr(line, '\n') + 1) {
        json_t *object = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
        assert_non_null(object);
        expect_bits(json_object_get(object, "logits"), logits + 2 * e, 2);
        json_decref(object);
    }
    test_process_free(&p);
    bpt_model_close(m);
}

// All vectors of the file, as sequences.
static bpt_sequences_t vectors_of_file(int64_t all_lengths[VECTORS]) {
    for (int i = 0; i < VECTORS; ++i) all_lengths[i] = LENGTH;
    return (bpt_sequences_t){.lengths = all_lengths, .count = VECTORS, .vectors = x};
}

static void predicted_numbers_are_those_of_the_program(void **state) {
    (void)state;
    char path[512];
    int64_t all_lengths[VECTORS];
    float got[VECTORS * OUTPUTS];
    bpt_model_t *m = api_open(numbers);
    const bpt_sequences_t vectors = vectors_of_file(all_lengths);
    snprintf(path, sizeof path, "%s", test_path("predictions.json"));
    api_run("eval %s --data %s --predictions-out %s --backend cpu --quiet", numbers, arrays, path);
    json_t *wanted = json_load_file(path, 0, NULL);
    assert_ok(bpt_model_predict(m, &vectors, got));
    assert_int_equal(json_array_size(wanted), VECTORS);
    for (size_t i = 0; i < VECTORS; ++i) expect_bits(json_array_get(wanted, i), got + i * OUTPUTS, OUTPUTS);
    json_decref(wanted);
    bpt_model_close(m);
}

// ---- Training

static bpt_model_t *open_for_training(const char *run) {
    bpt_model_t *m = NULL;
    bpt_model_options_t o = bpt_model_options();
    o.trains = true;
    o.checkpoint = "latest";
    assert_ok(bpt_model_open(run, &o, &m));
    return m;
}

// A step of learning rate 0 has the loss of `bpt eval` on the same data; further steps lower it.
static void check_training(const char *run, const char *data, const bpt_micro_batch_t *micro) {
    bpt_model_t *m = open_for_training(run);
    bpt_train_options_t o = bpt_train_options(0);
    bpt_train_result_t first, last;
    test_process_t p = test_run_to(0, "eval %s --data %s --checkpoint latest --json --unit ids --backend cpu --quiet", run, data);
    json_t *object = json_loads(p.out, 0, NULL);
    const double wanted = json_number_value(json_object_get(object, "loss"));
    json_decref(object);
    test_process_free(&p);
    assert_ok(bpt_model_train_step(m, micro, 1, &o, &first));
    if (!(fabs(first.loss - wanted) < 1e-5 * fmax(1, wanted))) fail_msg("the step has loss %.9g, bpt eval %.9g", first.loss, wanted);
    o.lr = 0.01;
    for (int i = 0; i < 20; ++i) assert_ok(bpt_model_train_step(m, micro, 1, &o, &last));
    if (!(last.updated && last.loss < first.loss)) fail_msg("loss %g, then %g", first.loss, last.loss);
    bpt_model_close(m);
}

static void check_tagger(const char *run) {
    uint32_t labels[TOKENS];
    char data[1024] = "";
    bpt_model_t *m = api_open(run);
    fill_tokens(m);
    for (uint32_t i = 0; i < TOKENS; ++i) labels[i] = tokens[i] % 2;
    for (int64_t s = 0, i = 0; s < SEQUENCES; ++s) {
        for (int64_t t = 0; t < lengths[s]; ++t)
            snprintf(data + strlen(data), sizeof data - strlen(data), "%s%u", t ? " " : "", tokens[i + t]);
        for (int64_t t = 0; t < lengths[s]; ++t)
            snprintf(data + strlen(data), sizeof data - strlen(data), "%s%s", t ? " " : "\t", bpt_model_label(m, labels[i + t]));
        snprintf(data + strlen(data), sizeof data - strlen(data), "\n");
        i += lengths[s];
    }
    bpt_model_close(m);
    const bpt_micro_batch_t micro = {.sequences = sequences, .labels = labels};
    check_training(run, test_file("tags.txt", data), &micro);
}

static void steps_of_a_tagger_have_its_loss_and_lower_it(void **state) {
    (void)state;
    check_tagger(tagger);
}
static void steps_of_a_crf_have_its_loss_and_lower_it(void **state) {
    (void)state;
    check_tagger(crf_tagger);
}

static void steps_of_a_classifier_of_pairs_have_its_loss_and_lower_it(void **state) {
    (void)state;
    static const uint32_t labels[] = {1, 0, 1};
    char data[1024] = "";
    bpt_model_t *m = api_open(pairs);
    fill_tokens(m);
    for (int64_t s = 0, i = 0; s < SEQUENCES; ++s) {
        if (s % 2 == 0) snprintf(data + strlen(data), sizeof data - strlen(data), "%s", bpt_model_label(m, labels[s / 2]));
        for (int64_t t = 0; t < lengths[s]; ++t, ++i)
            snprintf(data + strlen(data), sizeof data - strlen(data), "%s%u", t ? " " : "\t", tokens[i]);
        if (s % 2) snprintf(data + strlen(data), sizeof data - strlen(data), "\n");
    }
    bpt_model_close(m);
    const bpt_micro_batch_t micro = {.sequences = sequences, .labels = labels};
    check_training(pairs, test_file("pairs.txt", data), &micro);
}

static void steps_of_a_model_of_numbers_have_its_loss_and_lower_it(void **state) {
    (void)state;
    int64_t all_lengths[VECTORS];
    const bpt_micro_batch_t micro = {.sequences = vectors_of_file(all_lengths), .values = y};
    check_training(numbers, arrays, &micro);
}

// ---- Refusals

static void what_does_not_fit_the_task_is_refused(void **state) {
    (void)state;
    static float out[TOKENS * 16];
    uint32_t tags[TOKENS];
    static const uint32_t wrong[TOKENS] = {7};
    int64_t all_lengths[VECTORS];
    const bpt_sequences_t vectors = vectors_of_file(all_lengths), both = {tokens, lengths, SEQUENCES, x};
    const bpt_sequences_t odd = {tokens, lengths, 3, NULL};
    const bpt_train_options_t o = bpt_train_options(0.1);
    bpt_model_t *tag = open_for_training(tagger), *pair = open_for_training(pairs), *number = open_for_training(numbers);
    fill_tokens(tag);
    assert_fails(bpt_model_classify(tag, &sequences, out), BPT_ERR_USAGE, "this is a tagger");
    assert_fails(bpt_model_predict(tag, &sequences, out), BPT_ERR_USAGE, "this is a tagger");
    assert_fails(bpt_model_encode(tag, &sequences, NULL, out), BPT_ERR_USAGE, "this is a tagger");
    assert_fails(bpt_model_tag(pair, &sequences, tags, NULL), BPT_ERR_USAGE, "this is a classifier of pairs");
    assert_fails(bpt_model_tag(tag, &sequences, NULL, NULL), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_classify(pair, &odd, out), BPT_ERR_USAGE, "3 sequences are no pairs");
    assert_fails(bpt_model_classify(pair, &vectors, out), BPT_ERR_USAGE, "reads tokens");
    assert_fails(bpt_model_predict(number, &sequences, out), BPT_ERR_USAGE, "vectors of 3 numbers");
    assert_fails(bpt_model_predict(number, &both, out), BPT_ERR_USAGE, "no tokens");
    const struct {
        bpt_model_t *model;
        bpt_micro_batch_t micro;
        const char *text;
    } steps[] = {
        {tag, {.sequences = sequences}, "a tagger is trained on labels"},
        {tag, {.sequences = sequences, .labels = wrong}, "label 0 is 7"},
        {tag, {.sequences = sequences, .labels = tags, .values = y}, "values are for models that give numbers"},
        {pair, {.sequences = odd, .labels = tags}, "no pairs"},
        {number, {.sequences = vectors}, "trained on values"},
        {number, {.sequences = vectors, .values = y, .labels = tags}, "labels are for"},
    };
    memset(tags, 0, sizeof tags);
    for (size_t i = 0; i < BPT_COUNT(steps); ++i)
        assert_fails(bpt_model_train_step(steps[i].model, &steps[i].micro, 1, &o, NULL), BPT_ERR_USAGE, steps[i].text);
    bpt_model_close(tag);
    bpt_model_close(pair);
    bpt_model_close(number);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_are_those_of_the_program),
        cmocka_unit_test(tags_of_a_crf_are_those_of_the_program),
        cmocka_unit_test(classes_of_pairs_are_those_of_the_program),
        cmocka_unit_test(predicted_numbers_are_those_of_the_program),
        cmocka_unit_test(steps_of_a_tagger_have_its_loss_and_lower_it),
        cmocka_unit_test(steps_of_a_crf_have_its_loss_and_lower_it),
        cmocka_unit_test(steps_of_a_classifier_of_pairs_have_its_loss_and_lower_it),
        cmocka_unit_test(steps_of_a_model_of_numbers_have_its_loss_and_lower_it),
        cmocka_unit_test(what_does_not_fit_the_task_is_refused),
    };
    return cmocka_run_group_tests(tests, train_models, NULL);
}
