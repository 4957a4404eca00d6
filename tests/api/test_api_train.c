// bpt/model.h: training steps on arrays of tokens are those of `bpt train` on the same batches, bit for bit; saving, going on, lost
// devices.
#include <jansson.h>
#include <math.h>

#include "api_fixture.h"
#include "bpt/file.h"
#include "data/batches/lm.h"
#include "models/train/metrics.h"
#include "support/support.h"

enum { N = 32, ROWS = 4, STEPS = 6, BYTES = 2000, CLASSES = 3 };

static const char lm_config[] =
    "{\"model\": \"bpt\", \"task\": \"lm\", \"layers\": 2, \"d_model\": 16, \"d_ff\": 64, \"heads\": 2, \"k\": 2, "
    "\"rel_levels\": 8, \"vocab\": 256, \"unit\": \"byte\"}";

static unsigned char text[BYTES];

static void fill_text(void) {
    for (int i = 0; i < BYTES; ++i) text[i] = (unsigned char)('a' + (i * 5 + i / 13) % 26);
}

static bpt_model_t *create_with(const char *config, const bpt_model_options_t *options) {
    bpt_model_t *m = NULL;
    assert_ok(bpt_model_create(config, 1, options, &m));
    return m;
}
static bpt_model_t *create(const char *config) { return create_with(config, NULL); }

static bpt_model_options_t muon(void) {
    bpt_model_options_t o = bpt_model_options();
    o.optimizer = "muon";
    o.momentum = 0.9;
    o.weight_decay = 0.1;
    return o;
}

// Windows of the text, the same for every step of the same number.
typedef struct {
    uint32_t tokens[ROWS * (N + 1)];
    int64_t lengths[ROWS];
    bpt_micro_batch_t micro;
} windows_t;

static void fill_windows(windows_t *w, int step) {
    for (int r = 0; r < ROWS; ++r) {
        w->lengths[r] = N + 1;
        for (int i = 0; i <= N; ++i) w->tokens[r * (N + 1) + i] = text[(step * 97 + r * 31 + i) % BYTES];
    }
    w->micro = (bpt_micro_batch_t){.sequences = {w->tokens, w->lengths, ROWS}};
}

static void train(bpt_model_t *m, int first, int last) {
    for (int step = first; step < last; ++step) {
        windows_t w;
        bpt_train_options_t o = bpt_train_options(0.01);
        o.clip = 0.5;
        fill_windows(&w, step);
        assert_ok(bpt_model_train_step(m, &w.micro, 1, &o, NULL));
    }
}

static char *part(const char *run, const char *name, size_t *length) {
    char path[700];
    snprintf(path, sizeof path, "%s/%s", run, name);
    char *bytes = test_read_file(path, length);
    if (!bytes) fail_msg("%s is missing", path);
    return bytes;
}

static void expect_same_file(const char *a, const char *b, const char *name) {
    size_t n, m;
    char *x = part(a, name, &n), *y = part(b, name, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

// ---- the same as the program

// The batches that the program makes of this text, as arrays.
static void take_batch(bpt_batch_source_t *source, uint32_t *tokens, int64_t *lengths, bpt_micro_batch_t *micro) {
    bpt_batch_t b;
    bool end = false;
    assert_ok(source->next(source, &b, &end));
    int64_t used = 0;
    for (int64_t r = 0; r < b.n_real; ++r) {
        const int64_t n = b.side[0].lengths[r];
        memcpy(tokens + used, b.side[0].tokens + r * b.shape.side[0].n, (size_t)n * sizeof *tokens);
        tokens[used + n] = b.targets[r * b.shape.side[0].n + n - 1];
        lengths[r] = n + 1;
        used += n + 1;
    }
    *micro = (bpt_micro_batch_t){.sequences = {tokens, lengths, b.n_real}, .length = b.shape.side[0].n};
}

// `arguments`: those of `options`.
static void expect_steps_of_program(const char *name, const bpt_model_options_t *optimizer, const char *arguments) {
    enum { ACCUMULATE = 2, CONTEXT = 24 };
    char folder[512], by_program[512], by_library[512], path[700];
    fill_text();
    snprintf(folder, sizeof folder, "%s", test_path("corpus-%s", name));
    snprintf(by_program, sizeof by_program, "%s", test_path("by-program-%s", name));
    snprintf(by_library, sizeof by_library, "%s", test_path("by-library-%s", name));
    assert_ok(bpt_folder_create(folder));
    snprintf(path, sizeof path, "%s/train.txt", folder);
    test_write_file(path, text, BYTES);
    test_succeed(
        "train --data %s --out %s --backend cpu --quiet --steps %d --layers 2 --d-model 16 --heads 2 --k 2 --rel-levels 8 --context %d "
        "--batch-tokens %d --accumulate %d --lr 0.01 --schedule constant --warmup 0 --clip 0.5 --seed 1 --log-every 1 --dropout-input 0 "
        "--dropout-hidden 0 --dropout-attention 0 --dropout-head 0 %s",
        folder, by_program, STEPS, CONTEXT, CONTEXT * ROWS, ACCUMULATE, arguments);
    size_t length;
    char *config = part(by_program, "config.json", &length);
    json_t *all = json_loads(config, 0, NULL);
    free(config);
    bpt_model_t *shape = api_open(by_program);  // its configuration, and nothing of its weights
    bpt_model_t *m = create_with(bpt_model_config(shape), optimizer);
    bpt_model_close(shape);
    const bpt_ids_t ids = bpt_ids_of_bytes(text, BYTES);
    const bpt_lm_options_t options = {.context = CONTEXT,
                                      .stride = json_integer_value(json_object_get(all, "stride")),
                                      .batch_tokens = CONTEXT * ROWS,
                                      .accumulate = ACCUMULATE,
                                      .seed = 1};
    json_decref(all);
    bpt_batch_source_t *source;
    bpt_metrics_line_t *lines;
    size_t count;
    assert_ok(bpt_lm_train_source(&ids, &options, &source));
    assert_ok(source->seek(source, 0));
    snprintf(path, sizeof path, "%s/metrics.jsonl", by_program);
    assert_ok(bpt_metrics_read(path, &lines, &count));
    assert_int_equal(count, STEPS);
    for (int step = 0; step < STEPS; ++step) {
        static uint32_t tokens[ACCUMULATE][ROWS * (CONTEXT + 1)];
        int64_t lengths[ACCUMULATE][ROWS];
        bpt_micro_batch_t micro[ACCUMULATE];
        bpt_train_options_t o = bpt_train_options(0.01);
        bpt_train_result_t result;
        o.clip = 0.5;
        for (int i = 0; i < ACCUMULATE; ++i) take_batch(source, tokens[i], lengths[i], &micro[i]);
        assert_ok(bpt_model_train_step(m, micro, ACCUMULATE, &o, &result));
        assert_true(result.updated && result.loss == lines[step].loss && result.grad_norm == lines[step].grad_norm);
    }
    assert_int_equal(bpt_model_step(m), STEPS);
    assert_ok(bpt_model_save_run(m, by_library));
    expect_same_file(by_library, by_program, "latest/model.safetensors");
    expect_same_file(by_library, by_program, "latest/optimizer.safetensors");
    source->destroy(source);
    bpt_free(lines);
    bpt_model_close(m);
}

static void steps_are_those_of_the_program(void **state) {
    (void)state;
    const bpt_model_options_t o = muon();
    expect_steps_of_program("adam", NULL, "");
    expect_steps_of_program("muon", &o, "--optimizer muon --momentum 0.9 --weight-decay 0.1");
}

// ---- saving and going on

static void a_run_of_the_library_is_one_for_the_program(void **state) {
    (void)state;
    char run[512], data[512];
    fill_text();
    snprintf(run, sizeof run, "%s", test_path("run"));
    snprintf(data, sizeof data, "%s", test_file("data.txt", "abcdefghijklmnopqrstuvwxyzabcdefghijkl"));
    bpt_model_t *m = create(lm_config);
    train(m, 0, 2);
    assert_ok(bpt_model_save_run(m, run));
    train(m, 2, 3);
    assert_ok(bpt_model_save_run(m, test_path("run/")));                 // the same folder
    test_succeed("eval %s --data %s --backend cpu --quiet", run, data);  // also while the library holds it
    bpt_model_close(m);
    test_process_t p = test_run_to(0, "generate %s --prompt abc --max-tokens 5 --temperature 0 --backend cpu --quiet", run);
    assert_int_equal(p.out_length, 5);
    test_process_free(&p);
    m = api_open(run);
    assert_int_equal(bpt_model_step(m), 3);
    bpt_model_close(m);
}

static void expect_to_go_on(const char *name, bpt_model_options_t options) {
    char whole[512], parts[512];
    fill_text();
    snprintf(whole, sizeof whole, "%s", test_path("whole-%s", name));
    snprintf(parts, sizeof parts, "%s", test_path("parts-%s", name));
    bpt_model_t *m = create_with(lm_config, &options);
    train(m, 0, STEPS);
    assert_ok(bpt_model_save_run(m, whole));
    bpt_model_close(m);
    m = create_with(lm_config, &options);
    train(m, 0, 2);
    assert_ok(bpt_model_save_run(m, parts));
    bpt_model_close(m);
    options.trains = true;
    assert_ok(bpt_model_open(parts, &options, &m));
    train(m, 2, STEPS);
    assert_ok(bpt_model_save_run(m, parts));
    bpt_model_close(m);
    expect_same_file(whole, parts, "latest/model.safetensors");
    expect_same_file(whole, parts, "latest/optimizer.safetensors");
}

static void a_run_that_is_opened_again_goes_on_bit_for_bit(void **state) {
    (void)state;
    expect_to_go_on("adam", bpt_model_options());
    expect_to_go_on("muon", muon());
}

static void a_classifier_learns_its_labels(void **state) {
    (void)state;
    static const char config[] = "{\"model\": \"bpt\", \"task\": \"classify\", \"layers\": 2, \"d_model\": 16, \"d_ff\": 32, \"heads\": 2, "
                                 "\"k\": 2, \"rel_levels\": 8, \"vocab\": 20, \"classes\": 3, \"dropout_hidden\": 0.1}";
    uint32_t tokens[64], labels[12];
    int64_t lengths[12], used = 0;
    float logits[12 * CLASSES];
    for (uint32_t s = 0; s < 12; ++s) {
        labels[s] = s % CLASSES;
        lengths[s] = 1 + s % 5;
        for (int64_t i = 0; i < lengths[s]; ++i) tokens[used++] = 5 * labels[s] + (uint32_t)(s + i) % 5;
    }
    const bpt_micro_batch_t micro = {.sequences = {tokens, lengths, 12}, .labels = labels};
    bpt_train_options_t o = bpt_train_options(0.01);
    bpt_train_result_t first, last = {0};
    bpt_model_t *m = create(config);
    assert_ok(bpt_model_train_step(m, &micro, 1, &o, &first));
    for (int i = 0; i < 60; ++i) assert_ok(bpt_model_train_step(m, &micro, 1, &o, &last));
    assert_true(last.loss < first.loss / 4);
    assert_ok(bpt_model_classify(m, &micro.sequences, logits));
    for (uint32_t s = 0; s < 12; ++s)
        for (uint32_t c = 0; c < CLASSES; ++c) assert_true(c == labels[s] || logits[s * CLASSES + c] < logits[s * CLASSES + labels[s]]);
    bpt_model_close(m);
}

// ---- lost devices, on an OpenCL library that loses them on demand

static bpt_model_t *create_on_shim(void) {
    bpt_model_options_t options = bpt_model_options();
    bpt_model_t *m = NULL;
    options.backend = "opencl";
    assert_ok(bpt_model_create(lm_config, 1, &options, &m));
    return m;
}

// One step; the device is lost at this launch of it, NULL: never.
static bpt_status_t step_on(bpt_model_t *m, const char *lost_at) {
    windows_t w;
    const bpt_train_options_t o = bpt_train_options(0.01);
    fill_windows(&w, (int)bpt_model_step(m));
    if (lost_at) setenv("SHIM_FAIL_AT", lost_at, 1);
    const bpt_status_t status = bpt_model_train_step(m, &w.micro, 1, &o, NULL);
    if (lost_at) unsetenv("SHIM_FAIL_AT");
    return status;
}

// Trains to the end with a checkpoint in the middle; a step of `lost_at` is lost once.
static void train_through_loss(const char *run, int64_t lost_at, const char *file) {
    bpt_model_t *m = create_on_shim();
    bool lose = true;
    while (bpt_model_step(m) < STEPS) {
        const bool now = lose && bpt_model_step(m) == lost_at;
        const bpt_status_t status = step_on(m, now ? "10" : NULL);
        if (now) {
            assert_fails(status, BPT_ERR_DEVICE_LOST, "CL_OUT_OF_RESOURCES");
            assert_ok(bpt_model_recover(m));
            assert_int_equal(bpt_model_step(m), lost_at < 3 ? 0 : 3);  // as at the last checkpoint
            lose = false;
            continue;
        }
        assert_int_equal(status, BPT_OK);
        if (bpt_model_step(m) == 3) assert_ok(bpt_model_save_run(m, run));
    }
    assert_ok(bpt_model_save(m, file));
    bpt_model_close(m);
}

static bool shim_there(void) { return getenv("BPT_OPENCL_SHIM") && test_backend_usable("opencl"); }

static int use_shim(void **state) {
    (void)state;
    if (getenv("BPT_OPENCL_SHIM")) setenv("BPT_OPENCL_LIBRARY", getenv("BPT_OPENCL_SHIM"), 1);
    return 0;
}

static void training_goes_on_after_a_lost_device(void **state) {
    (void)state;
    static const int64_t moments[] = {-1, 1, 4};  // never, before the checkpoint, after it
    char run[512], file[3][512];
    fill_text();
    if (!shim_there()) skip();
    for (int i = 0; i < 3; ++i) {
        snprintf(run, sizeof run, "%s", test_path("device-%d", i));
        snprintf(file[i], sizeof file[i], "%s", test_path("device-%d.safetensors", i));
        train_through_loss(run, moments[i], file[i]);
    }
    for (int i = 1; i < 3; ++i) {
        size_t n, m;
        char *wanted = test_read_file(file[0], &n), *got = test_read_file(file[i], &m);
        assert_int_equal(n, m);
        assert_memory_equal(wanted, got, n);
        free(wanted);
        free(got);
    }
}

static void a_device_that_stays_lost_is_given_up(void **state) {
    (void)state;
    fill_text();
    if (!shim_there()) skip();
    bpt_model_t *m = create_on_shim();
    bpt_status_t status = BPT_OK;
    int recovered = 0;
    for (; recovered < 10 && status == BPT_OK; recovered += status == BPT_OK) {
        assert_int_equal(step_on(m, recovered % 2 ? "10" : "20"), BPT_ERR_DEVICE_LOST);  // another number counts anew
        status = bpt_model_recover(m);
    }
    assert_int_equal(recovered, 3);
    assert_int_equal(status, BPT_ERR_DEVICE_LOST);
    assert_non_null(strstr(bpt_error_message(), "4 times"));
    assert_int_equal(step_on(m, NULL), BPT_ERR_DEVICE_LOST);  // and the model says so from now on
    bpt_model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_those_of_the_program),
        cmocka_unit_test(a_run_of_the_library_is_one_for_the_program),
        cmocka_unit_test(a_run_that_is_opened_again_goes_on_bit_for_bit),
        cmocka_unit_test(a_classifier_learns_its_labels),
        cmocka_unit_test(training_goes_on_after_a_lost_device),
        cmocka_unit_test(a_device_that_stays_lost_is_given_up),
    };
    return cmocka_run_group_tests(tests, use_shim, NULL);
}
