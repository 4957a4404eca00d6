// bpt/model.h: tags, classes of pairs, numbers and states are those of the program, bit for bit; each task's training step is the
// trainer's; what is for another task is refused.
#include <jansson.h>
#include <math.h>

#include "api_fixture.h"
#include "bpt/file.h"
#include "bpt/safetensors.h"
#include "data/batches/arrays.h"
#include "data/examples/order.h"
#include "models/train/metrics.h"

#define SMALL "--layers 2 --d-model 16 --heads 2 --steps 12 --lr 0.01 --backend cpu --quiet"

enum { TEXTS = 24, VECTORS = 6, COLUMNS = 3, MOST_TOKENS = 8 * TEXTS };

static char tagger[512], crf_tagger[512], pairs[512], vectors[512], lengths_of[512];  // runs
static char tagged_lines[512], pair_lines[512], vector_file[512], number_lines[512];  // their data
static uint32_t tokens[MOST_TOKENS];
static int64_t lengths[TEXTS];
static const bpt_sequences_t texts = {.tokens = tokens, .lengths = lengths, .count = TEXTS};
static bpt_examples_t made;  // sequences of vectors

// ---- Data: token numbers below 8, texts of 1 to 7 tokens

static void write_data(void) {
    static char tags[8192], two[8192], numbers[8192];
    size_t t = 0, p = 0, n = 0, used = 0;
    for (int i = 0; i < TEXTS; ++i) {
        char text[64] = "", labels[64] = "";
        lengths[i] = 1 + (i * 5) % 7;
        for (int64_t k = 0; k < lengths[i]; ++k) {
            const uint32_t token = tokens[used++] = (uint32_t)(i * 3 + k * k) % 8;
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u", k ? " " : "", token);
            snprintf(labels + strlen(labels), sizeof labels - strlen(labels), "%s%c", k ? " " : "", "xyz"[token % 3]);
        }
        t += (size_t)snprintf(tags + t, sizeof tags - t, "%s\t%s\n", text, labels);
        if (i % 2 == 0) p += (size_t)snprintf(two + p, sizeof two - p, "%s\t%s\t", i % 4 ? "same" : "other", text);
        if (i % 2 == 1) p += (size_t)snprintf(two + p, sizeof two - p, "%s\n", text);
        n += (size_t)snprintf(numbers + n, sizeof numbers - n, "%d.5\t%s\n", (int)lengths[i], text);
    }
    snprintf(tagged_lines, sizeof tagged_lines, "%s", test_file("tags.txt", tags));
    snprintf(pair_lines, sizeof pair_lines, "%s", test_file("pairs.txt", two));
    snprintf(number_lines, sizeof number_lines, "%s", test_file("numbers.txt", numbers));
}

static void write_vectors(void) {
    const bpt_summation_t summation = {.examples = TEXTS, .n = VECTORS, .sum = 2, .columns = COLUMNS, .seed = 5};
    const int64_t x[] = {TEXTS, VECTORS, COLUMNS}, y[] = {TEXTS, COLUMNS - 1};
    bpt_safetensors_writer_t *w;
    assert_ok(bpt_summation_make(&summation, &made));
    snprintf(vector_file, sizeof vector_file, "%s", test_path("vectors.safetensors"));
    assert_ok(bpt_safetensors_writer_create(vector_file, &w));
    assert_ok(bpt_safetensors_writer_declare(w, "x", BPT_ST_F32, 3, x));
    assert_ok(bpt_safetensors_writer_declare(w, "y", BPT_ST_F32, 2, y));
    assert_ok(bpt_safetensors_writer_data(w, made.vectors.of, (size_t)(x[0] * x[1] * x[2]) * sizeof(float)));
    assert_ok(bpt_safetensors_writer_data(w, made.values.of, (size_t)(y[0] * y[1]) * sizeof(float)));
    assert_ok(bpt_safetensors_writer_finish(w));
    bpt_safetensors_writer_destroy(w);
}

static void train_run(char *run, const char *name, const char *data, const char *options) {
    snprintf(run, 512, "%s", test_path("%s", name));
    test_succeed("train --data %s --out %s %s %s", data, run, options, SMALL);
}

static int train_models(void **state) {
    (void)state;
    write_data();
    write_vectors();
    train_run(tagger, "tagger", tagged_lines, "--task tag --model bpt --k 2 --unit ids");
    train_run(crf_tagger, "crf-tagger", tagged_lines, "--task tag --model star --crf --unit ids");
    train_run(pairs, "pairs", pair_lines, "--task pair --model star --d-mlp 12 --unit ids");
    train_run(vectors, "vectors", vector_file, "--task regress --model star");
    train_run(lengths_of, "lengths", number_lines, "--task regress --model transformer --label-column 1 --text-column 2 --unit ids");
    return 0;
}

static int free_data(void **state) {
    (void)state;
    bpt_examples_free(&made);
    return 0;
}

static bpt_sequences_t vector_sequences(void) {
    static int64_t all[TEXTS];
    for (int i = 0; i < TEXTS; ++i) all[i] = VECTORS;
    return (bpt_sequences_t){.lengths = all, .count = TEXTS, .vectors = made.vectors.of};
}

// ---- Answers

// The objects of the lines that a command wrote.
static json_t *read_lines(const char *text) {
    json_t *all = json_array();
    for (size_t used = 0; text[used + strspn(text + used, " \n")];) {
        json_error_t error;
        json_t *object = json_loads(text + used, JSON_DISABLE_EOF_CHECK, &error);
        assert_non_null(object);
        used += (size_t)error.position;
        json_array_append_new(all, object);
    }
    return all;
}

static json_t *ask(const char *command, const char *run, const char *data) {
    test_process_t p = test_run_to(0, "%s %s %s --json --backend cpu --quiet", command, run, data);
    json_t *all = read_lines(p.out);
    test_process_free(&p);
    return all;
}

// The numbers of nested lists, in their order.
static const float *expect_numbers(const json_t *list, const float *got) {
    assert_true(json_is_array(list) && json_array_size(list) > 0);
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *item = json_array_get(list, i);
        if (json_is_array(item)) {
            got = expect_numbers(item, got);
            continue;
        }
        const float wanted = (float)json_number_value(item);
        if (memcmp(&wanted, got, sizeof wanted)) fail_msg("number %zu is %.9g, not %.9g", i, (double)*got, (double)wanted);
        ++got;
    }
    return got;
}

static void expect_tags(const char *run) {
    uint32_t tags[MOST_TOKENS], alone[MOST_TOKENS];
    float scores[MOST_TOKENS * 3];
    bpt_model_t *m = api_open(run);
    json_t *wanted = ask("tag", run, tagged_lines);
    assert_int_equal(bpt_model_classes(m), 3);
    assert_int_equal(bpt_model_texts(m), 1);
    assert_ok(bpt_model_tag(m, &texts, tags, scores));
    assert_int_equal(json_array_size(wanted), TEXTS);
    const float *row = scores;
    size_t at = 0;
    for (size_t i = 0; i < TEXTS; ++i) {
        const json_t *answer = json_array_get(wanted, i), *names = json_object_get(answer, "tags");
        assert_int_equal(json_array_size(names), lengths[i]);
        row = expect_numbers(json_object_get(answer, "logits"), row);
        for (size_t k = 0; k < json_array_size(names); ++k)
            assert_string_equal(json_string_value(json_array_get(names, k)), bpt_model_label(m, tags[at++]));
    }
    // One of the two alone.
    float only[MOST_TOKENS * 3];
    assert_ok(bpt_model_tag(m, &texts, alone, NULL));
    assert_memory_equal(alone, tags, at * sizeof *tags);
    assert_ok(bpt_model_tag(m, &texts, NULL, only));
    assert_memory_equal(only, scores, 3 * at * sizeof *scores);
    json_decref(wanted);
    bpt_model_close(m);
}

static void tags_are_those_of_the_program(void **state) {
    (void)state;
    expect_tags(tagger);
    expect_tags(crf_tagger);
}

// With transitions that forbid what the scores want, the tags are not the likeliest of each token.
static void a_crf_chooses_the_tags_of_a_text_together(void **state) {
    (void)state;
    char path[512];
    size_t bytes;
    uint32_t tags[MOST_TOKENS];
    float scores[MOST_TOKENS * 3];
    snprintf(path, sizeof path, "%s", test_path("crf.safetensors"));
    bpt_model_t *m = api_open(crf_tagger);
    assert_ok(bpt_model_save(m, path));
    bpt_model_close(m);
    bpt_safetensors_t *file;
    assert_ok(bpt_safetensors_open(path, &file));
    float transitions[9];
    assert_ok(bpt_safetensors_read_f32(file, bpt_safetensors_find(file, "crf.transitions"), 0, 9, transitions));
    bpt_safetensors_close(file);
    char *text = test_read_file(path, &bytes), *place = NULL;
    for (size_t i = 0; i + sizeof transitions <= bytes && !place; ++i)
        if (!memcmp(text + i, transitions, sizeof transitions)) place = text + i;
    assert_non_null(place);
    for (int i = 0; i < 9; ++i) transitions[i] = i % 4 ? -100.0f : 0.0f;  // a tag is followed by itself
    memcpy(place, transitions, sizeof transitions);
    test_write_file(path, text, bytes);
    free(text);
    m = api_open(path);
    assert_ok(bpt_model_tag(m, &texts, tags, scores));
    int64_t at = 0, others = 0;
    for (int i = 0; i < TEXTS; at += lengths[i++])
        for (int64_t k = 0; k < lengths[i]; ++k) {
            const float *row = scores + 3 * (at + k);
            assert_int_equal(tags[at + k], tags[at]);
            others += row[tags[at + k]] < fmaxf(row[0], fmaxf(row[1], row[2]));
        }
    assert_true(others > 0);
    bpt_model_close(m);
}

static void classes_of_pairs_are_those_of_the_program(void **state) {
    (void)state;
    float logits[TEXTS / 2 * 2];
    bpt_model_t *m = api_open(pairs);
    json_t *wanted = ask("classify", pairs, pair_lines);
    assert_int_equal(bpt_model_texts(m), 2);
    assert_ok(bpt_model_classify(m, &texts, logits));
    assert_int_equal(json_array_size(wanted), TEXTS / 2);
    const float *row = logits;
    for (size_t i = 0; i < TEXTS / 2; ++i) row = expect_numbers(json_object_get(json_array_get(wanted, i), "logits"), row);
    json_decref(wanted);
    bpt_model_close(m);
}

static void expect_predictions(const char *run, const char *data, const bpt_sequences_t *sequences, int64_t inputs, int64_t outputs) {
    float numbers[TEXTS * 4];
    char path[512];
    snprintf(path, sizeof path, "%s", test_path("predictions.json"));
    test_succeed("eval %s --data %s --predictions-out %s --backend cpu --quiet", run, data, path);
    json_t *wanted = json_load_file(path, 0, NULL);
    bpt_model_t *m = api_open(run);
    assert_int_equal(bpt_model_inputs(m), inputs);
    assert_int_equal(bpt_model_classes(m), outputs);
    assert_ok(bpt_model_predict(m, sequences, numbers));
    assert_int_equal(json_array_size(wanted), TEXTS);
    assert_ptr_equal(expect_numbers(wanted, numbers), numbers + TEXTS * outputs);
    json_decref(wanted);
    bpt_model_close(m);
}

static void numbers_are_those_of_the_program(void **state) {
    (void)state;
    const bpt_sequences_t of_vectors = vector_sequences();
    expect_predictions(vectors, vector_file, &of_vectors, COLUMNS, COLUMNS - 1);
    expect_predictions(lengths_of, number_lines, &texts, 0, 1);
}

// ---- States

// A Star-Transformer whose texts are its relays; one that adds the largest of the tokens; a tagger, which has no states of texts.
static void states_of_a_star_transformer(void **state) {
    (void)state;
    enum { D = 16 };
    static const char config[] = "{\"model\": \"star\", \"task\": \"classify\", \"layers\": 2, \"d_model\": 16, \"heads\": 2, "
                                 "\"max_positions\": 8, \"vocab\": 8, \"classes\": 3, \"pool\": \"%s\"}";
    static float rows[MOST_TOKENS * D], of_texts[TEXTS * D], relays[TEXTS * D];
    for (int more = 0; more < 2; ++more) {
        char text[400];
        bpt_model_t *m = NULL;
        snprintf(text, sizeof text, config, more ? "relay-max" : "relay");
        assert_ok(bpt_model_create(text, 3, NULL, &m));
        assert_ok(bpt_model_encode(m, &texts, rows, of_texts, relays));
        for (int64_t i = 0, at = 0; i < TEXTS; at += lengths[i++])
            for (int64_t c = 0; c < D; ++c) {
                float most = more ? rows[at * D + c] : 0;
                for (int64_t k = 1; more && k < lengths[i]; ++k) most = fmaxf(most, rows[(at + k) * D + c]);
                const float wanted = relays[i * D + c] + most;
                if (of_texts[i * D + c] != wanted) fail_msg("text %d: %g, not %g", (int)i, (double)of_texts[i * D + c], (double)wanted);
            }
        bpt_model_close(m);
    }
    bpt_model_t *m = api_open(crf_tagger);
    assert_ok(bpt_model_encode(m, &texts, rows, NULL, relays));
    float sum = 0;
    for (int i = 0; i < TEXTS * D; ++i) sum += fabsf(relays[i]);
    assert_true(isfinite(sum) && sum > 0);
    assert_fails(bpt_model_encode(m, &texts, NULL, of_texts, NULL), BPT_ERR_USAGE, "this is a tagger");
    bpt_model_close(m);
    m = api_open(tagger);
    assert_fails(bpt_model_encode(m, &texts, NULL, NULL, relays), BPT_ERR_USAGE, "a model bpt");
    bpt_model_close(m);
}

// ---- Training

// The first step of `bpt train` on the whole data in one micro-batch, without dropout, and the same step on arrays.
static void expect_first_step(const char *name, const char *data, const char *options, int examples, const bpt_micro_batch_t *micro) {
    char run[512], path[600];
    bpt_metrics_line_t *lines;
    size_t count;
    bpt_train_options_t o = bpt_train_options(0.01);
    bpt_train_result_t result;
    snprintf(run, sizeof run, "%s", test_path("first-%s", name));
    test_succeed(
        "train --data %s --out %s %s --layers 2 --d-model 16 --heads 2 --steps 1 --lr 0.01 --schedule constant --warmup 0 --clip 0.5 "
        "--seed 1 --log-every 1 --batch-examples %d --batch-tokens 8192 --dropout-input 0 --dropout-attention 0 --dropout-head 0 "
        "--backend cpu --quiet",
        data, run, options, examples);
    bpt_model_t *shape = api_open(run), *m = NULL;  // its configuration, and nothing of its weights
    assert_ok(bpt_model_create(bpt_model_config(shape), 1, NULL, &m));
    bpt_model_close(shape);
    o.clip = 0.5;
    assert_ok(bpt_model_train_step(m, micro, 1, &o, &result));
    snprintf(path, sizeof path, "%s/metrics.jsonl", run);
    assert_ok(bpt_metrics_read(path, &lines, &count));
    assert_true(count > 0 && result.updated && result.loss > 0 && result.grad_norm > 0);
    if (result.loss != lines[0].loss || result.grad_norm != lines[0].grad_norm)
        fail_msg("%s: loss %.17g, gradient %.17g; the program's are %.17g, %.17g", name, result.loss, result.grad_norm, lines[0].loss,
                 lines[0].grad_norm);
    bpt_free(lines);
    bpt_model_close(m);
}

// Examples of texts of one length, in the order of the trainer's first epoch.
enum { EXAMPLES = 8, LONG = 4, SEED = 1 };
static struct {
    uint32_t tokens[EXAMPLES * 2 * LONG], tags[EXAMPLES * 2 * LONG], labels[EXAMPLES];
    float values[EXAMPLES];
    int64_t lengths[EXAMPLES * 2];
} step_data;

static uint32_t step_token(uint32_t example, int text, int k) { return (example * 3 + (uint32_t)text * 5 + (uint32_t)(k * k)) % 8; }

static bpt_sequences_t fill_step_data(int text_count) {
    uint32_t order[EXAMPLES];
    int64_t used = 0;
    bpt_epoch_order(SEED, 0, order, EXAMPLES);
    for (int i = 0; i < EXAMPLES; ++i) {
        step_data.labels[i] = order[i] % 2;
        step_data.values[i] = (float)order[i] / 4;
        for (int t = 0; t < text_count; ++t) {
            step_data.lengths[i * text_count + t] = LONG;
            for (int k = 0; k < LONG; ++k, ++used) {
                step_data.tokens[used] = step_token(order[i], t, k);
                step_data.tags[used] = step_data.tokens[used] % 2;
            }
        }
    }
    return (bpt_sequences_t){.tokens = step_data.tokens, .lengths = step_data.lengths, .count = EXAMPLES * text_count};
}

// A folder whose train.txt has the examples as the task reads them: a label or a number before the texts, or tags behind them.
static const char *write_step_data(const char *task, int text_count) {
    static char folder[512], text[4096];
    char path[600];
    size_t used = 0;
    for (uint32_t e = 0; e < EXAMPLES; ++e) {
        if (!strcmp(task, "regress")) used += (size_t)snprintf(text + used, sizeof text - used, "%g\t", e / 4.0);
        if (!strcmp(task, "pair") || !strcmp(task, "classify"))
            used += (size_t)snprintf(text + used, sizeof text - used, "label%u\t", e % 2);
        for (int t = 0; t < text_count; ++t)
            for (int k = 0; k < LONG; ++k)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", k ? " " : t ? "\t" : "", step_token(e, t, k));
        for (int k = 0; !strcmp(task, "tag") && k < LONG; ++k)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", k ? " " : "\t", step_token(e, 0, k) % 2);
        used += (size_t)snprintf(text + used, sizeof text - used, "\n");
    }
    snprintf(folder, sizeof folder, "%s", test_path("data-%s", task));
    if (!bpt_folder_exists(folder)) assert_ok(bpt_folder_create(folder));
    snprintf(path, sizeof path, "%s/train.txt", folder);
    test_write_file(path, text, used);
    return folder;
}

static void first_steps_are_those_of_the_trainer(void **state) {
    (void)state;
    static const struct {
        const char *task, *options;
        int texts;
    } runs[] = {
        {"classify", "--task classify --model bpt --k 2 --unit ids --dropout-hidden 0", 1},
        {"classify", "--task classify --model star --unit ids", 1},
        {"tag", "--task tag --model bpt --k 2 --unit ids --dropout-hidden 0", 1},
        {"tag", "--task tag --model star --unit ids", 1},
        {"tag", "--task tag --model star --crf --unit ids", 1},
        {"pair", "--task pair --model transformer --d-mlp 12 --unit ids --dropout-hidden 0", 2},
        {"pair", "--task pair --model star --d-mlp 12 --unit ids", 2},
        {"regress", "--task regress --model segtree --unit ids --dropout-hidden 0", 1},
        {"regress", "--task regress --model star --unit ids", 1},
    };
    for (size_t i = 0; i < BPT_COUNT(runs); ++i) {
        const char *task = runs[i].task;
        char name[40];
        bpt_micro_batch_t micro = {.sequences = fill_step_data(runs[i].texts)};
        if (!strcmp(task, "tag")) micro.labels = step_data.tags;
        if (!strcmp(task, "pair") || !strcmp(task, "classify")) micro.labels = step_data.labels;
        if (!strcmp(task, "regress")) micro.values = step_data.values;
        snprintf(name, sizeof name, "%s-%zu", task, i);
        expect_first_step(name, write_step_data(task, runs[i].texts), runs[i].options, EXAMPLES, &micro);
    }
}

// All but two of a file's vectors are for training.
static void a_first_step_on_vectors_is_that_of_the_trainer(void **state) {
    (void)state;
    enum { TRAINED = TEXTS - 2, OUTPUTS = COLUMNS - 1 };
    static uint32_t order[TRAINED];
    static float x[TRAINED * VECTORS * COLUMNS], y[TRAINED * OUTPUTS];
    bpt_micro_batch_t micro = {.sequences = vector_sequences(), .values = y};
    bpt_epoch_order(SEED, 0, order, TRAINED);
    for (int i = 0; i < TRAINED; ++i) {
        memcpy(x + i * VECTORS * COLUMNS, made.vectors.of + order[i] * VECTORS * COLUMNS, VECTORS * COLUMNS * sizeof *x);
        memcpy(y + i * OUTPUTS, made.values.of + order[i] * OUTPUTS, OUTPUTS * sizeof *y);
    }
    micro.sequences.vectors = x;
    micro.sequences.count = TRAINED;
    expect_first_step("vectors", vector_file, "--task regress --model star --cut in-order", TRAINED, &micro);
}

// Two micro-batches make one step on the mean over all of both.
static void micro_batches_of_pairs_make_one_step(void **state) {
    (void)state;
    bpt_train_options_t o = bpt_train_options(0.01);
    bpt_train_result_t whole, parts;
    const bpt_sequences_t all = fill_step_data(2);
    static const char config[] = "{\"model\": \"star\", \"task\": \"pair\", \"layers\": 2, \"d_model\": 16, \"heads\": 2, \"d_mlp\": 12, "
                                 "\"max_positions\": 8, \"vocab\": 8, \"classes\": 2, \"pool\": \"relay-max\"}";
    bpt_model_t *m[2] = {NULL};
    for (int i = 0; i < 2; ++i) assert_ok(bpt_model_create(config, 1, NULL, &m[i]));
    const bpt_micro_batch_t one = {.sequences = all, .labels = step_data.labels};
    bpt_micro_batch_t two[2] = {one, one};
    two[0].sequences.count = 6;  // three pairs, and five
    two[1].sequences = (bpt_sequences_t){.tokens = all.tokens + 6 * LONG, .lengths = all.lengths + 6, .count = all.count - 6};
    two[1].labels += 3;
    assert_ok(bpt_model_train_step(m[0], &one, 1, &o, &whole));
    assert_ok(bpt_model_train_step(m[1], two, 2, &o, &parts));
    assert_true(fabs(whole.loss - parts.loss) < 1e-5 * whole.loss && fabs(whole.grad_norm - parts.grad_norm) < 1e-4 * whole.grad_norm);
    for (int i = 0; i < 2; ++i) bpt_model_close(m[i]);
}

// ---- What is refused

static bpt_model_t *open_to_train(const char *run) {
    bpt_model_options_t options = bpt_model_options();
    bpt_model_t *m = NULL;
    options.trains = true;
    assert_ok(bpt_model_open(run, &options, &m));
    return m;
}

static void calls_for_another_task_are_refused(void **state) {
    (void)state;
    static float out[MOST_TOKENS * 64];
    static uint32_t tags[MOST_TOKENS];
    bpt_model_t *m = api_open(tagger);
    bpt_generator_t *g = NULL;
    bpt_sequences_t odd = texts, one = texts, both, of_vectors = vector_sequences();
    assert_fails(bpt_model_classify(m, &texts, out), BPT_ERR_USAGE,
                 "bpt_model_classify is for classifiers of texts and of pairs, and this is a tagger");
    assert_fails(bpt_model_predict(m, &texts, out), BPT_ERR_USAGE, "this is a tagger");
    assert_fails(bpt_model_logits(m, &texts, out), BPT_ERR_USAGE, "this is a tagger");
    assert_fails(bpt_model_tag(m, &texts, NULL, NULL), BPT_ERR_USAGE, "null");
    assert_fails(bpt_model_tag(NULL, &texts, tags, NULL), BPT_ERR_USAGE, "null");
    assert_fails(bpt_generator_create(m, 8, 1, &g), BPT_ERR_USAGE, "language models");
    assert_fails(bpt_model_tag(m, &of_vectors, tags, NULL), BPT_ERR_USAGE, "reads tokens, not vectors");
    bpt_model_close(m);
    m = api_open(pairs);
    odd.count = 3, one.count = 1;
    assert_fails(bpt_model_tag(m, &texts, tags, NULL), BPT_ERR_USAGE, "bpt_model_tag is for taggers, and this is a classifier of pairs");
    assert_fails(bpt_model_classify(m, &odd, out), BPT_ERR_USAGE, "3 sequences are no pairs");
    bpt_model_close(m);
    m = api_open(vectors);
    assert_fails(bpt_model_classify(m, &of_vectors, out), BPT_ERR_USAGE, "this is a model that gives numbers");
    assert_fails(bpt_model_predict(m, &one, out), BPT_ERR_USAGE, "reads vectors of 3 numbers");
    both = one;
    both.vectors = made.vectors.of;
    assert_fails(bpt_model_predict(m, &both, out), BPT_ERR_USAGE, "reads vectors of 3 numbers");
    float *bad = calloc(TEXTS * VECTORS * COLUMNS, sizeof *bad);
    assert_non_null(bad);
    bad[7] = INFINITY;
    of_vectors.vectors = bad;
    assert_fails(bpt_model_predict(m, &of_vectors, out), BPT_ERR_USAGE, "number 7 of the vectors is not finite");
    free(bad);
    bpt_model_close(m);
    assert_int_equal(bpt_model_texts(NULL) + bpt_model_inputs(NULL), 0);
}

// Numbers of tokens do not say which characters the words have.
static void a_model_that_reads_ngrams_is_refused(void **state) {
    (void)state;
    static const char config[] =
        "{\"model\": \"star\", \"task\": \"tag\", \"layers\": 1, \"d_model\": 16, \"heads\": 2, \"max_positions\": 8, "
        "\"vocab\": 8, \"classes\": 3, \"ngram_max\": 3, \"ngram_min\": 2, \"ngram_rows\": 50, \"ngram_dim\": 6}";
    static uint32_t tags[MOST_TOKENS];
    const bpt_train_options_t o = bpt_train_options(0.01);
    const bpt_micro_batch_t micro = {.sequences = texts, .labels = tags};
    bpt_model_t *m = NULL;
    assert_ok(bpt_model_create(config, 1, NULL, &m));
    assert_fails(bpt_model_tag(m, &texts, tags, NULL), BPT_ERR_USAGE, "n-grams");
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "n-grams");
    bpt_model_close(m);
}

static void steps_for_another_task_are_refused(void **state) {
    (void)state;
    static uint32_t labels[MOST_TOKENS];
    static float values[TEXTS * 2];
    const bpt_train_options_t o = bpt_train_options(0.01);
    bpt_micro_batch_t micro = {.sequences = texts, .labels = labels, .values = values};
    bpt_model_t *m = open_to_train(tagger);
    const int64_t before = bpt_model_step(m);
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE,
                 "values are for models that give numbers, and this is a tagger");
    micro.values = NULL;
    labels[40] = 3;  // of a token behind the first texts
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "label 40 is 3; the model has 3 classes");
    micro.labels = NULL;
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "a tagger is trained on labels");
    assert_int_equal(bpt_model_step(m), before);
    bpt_model_close(m);
    m = open_to_train(pairs);
    micro = (bpt_micro_batch_t){.sequences = texts, .labels = labels, .length = 5};
    labels[40] = 0;
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "length is 5, but the sequences have");
    micro.length = INT64_MAX;
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "less than 2^32");
    bpt_model_close(m);
    m = open_to_train(vectors);
    micro = (bpt_micro_batch_t){.sequences = vector_sequences(), .labels = labels};
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "labels are for classifiers and taggers");
    micro.labels = NULL;
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "trained on values");
    micro.values = values;
    values[5] = NAN;
    assert_fails(bpt_model_train_step(m, &micro, 1, &o, NULL), BPT_ERR_USAGE, "number 5 of the values is not finite");
    values[5] = 0;
    assert_ok(bpt_model_train_step(m, &micro, 1, &o, NULL));
    bpt_model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_are_those_of_the_program),
        cmocka_unit_test(a_crf_chooses_the_tags_of_a_text_together),
        cmocka_unit_test(classes_of_pairs_are_those_of_the_program),
        cmocka_unit_test(numbers_are_those_of_the_program),
        cmocka_unit_test(states_of_a_star_transformer),
        cmocka_unit_test(first_steps_are_those_of_the_trainer),
        cmocka_unit_test(a_first_step_on_vectors_is_that_of_the_trainer),
        cmocka_unit_test(micro_batches_of_pairs_make_one_step),
        cmocka_unit_test(calls_for_another_task_are_refused),
        cmocka_unit_test(a_model_that_reads_ngrams_is_refused),
        cmocka_unit_test(steps_for_another_task_are_refused),
    };
    return cmocka_run_group_tests(tests, train_models, free_data);
}
