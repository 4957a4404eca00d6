// Inputs of layers that wait on disk: the bits of those that stay in memory, in less of it, and a disk that fails while a model is trained.
#include "fixture_source.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/train/trainer.h"

enum { MOST_PARAMETERS = 1 << 15 };

static const char *empty_folder(void) {
    static int count;
    const char *folder = test_path("waiting-%d", ++count);
    test_make_folder(folder);
    return folder;
}

static float memory[MOST_PARAMETERS], disk[MOST_PARAMETERS];

static void gradients(bpt_device_t *device, const bpt_model_config_t *c, const bpt_batch_t *batch, bpt_runner_options_t options,
                      float *out) {
    const bpt_update_t update = {.rng = 3, .lr = 1e-3f, .bias1 = 0.1f, .bias2 = 0.02f, .loss_scale = 1};
    bpt_update_result_t result;
    bpt_batch_t part = *batch;
    part.last = false;
    memset(out, 0, MOST_PARAMETERS * sizeof *out);
    options.step.recompute = true;
    options.step.offload = options.offload != NULL;
    bpt_runner_t *r = fixture_runner(c, device, options);
    assert_in_range(bpt_runner_params(r)->trained_elements, 1, MOST_PARAMETERS);
    for (int i = 0; i < 2; ++i) assert_ok(bpt_runner_train(r, &part, &update, &result));
    assert_ok(bpt_runner_read_gradient(r, out));
    bpt_runner_destroy(r);
}

static void inputs_on_disk_change_no_bit(void **state) {
    (void)state;
    static const char *const backends[] = {"ref", "cpu", "opencl", "vulkan"};
    static fixture_batch_t b;
    const uint32_t lengths[] = {21, 9, 32};
    bpt_model_config_t configs[] = {fixture_lm(), fixture_classifier(), fixture_lm()};
    configs[2].model = BPT_MODEL_TRANSFORMER;
    for (size_t d = 0; d < BPT_COUNT(backends); ++d) {
        if (!test_backend_usable(backends[d])) continue;
        bpt_device_t *device = fixture_open(backends[d]);
        for (size_t c = 0; c < BPT_COUNT(configs); ++c)
            for (int chunk = 0; chunk < 14; chunk += 7) {
                const bpt_step_options_t step = {.chunk_rows = chunk};
                const char *folder = empty_folder();
                configs[c].layers = 4;
                configs[c].dropout_hidden = 0.2f;
                fixture_fill(&b, &configs[c], 32, 3, lengths, 5);
                gradients(device, &configs[c], &b.batch, (bpt_runner_options_t){.step = step}, memory);
                gradients(device, &configs[c], &b.batch, (bpt_runner_options_t){.step = step, .offload = folder}, disk);
                assert_memory_equal(memory, disk, sizeof disk);
                assert_int_equal(rmdir(folder), 0);  // nothing is left in it
            }
        fixture_close(device);
    }
}

static bpt_plan_summary_t plan_of(bpt_device_t *device, int32_t layers, bool offload) {
    bpt_model_config_t c = fixture_lm();
    c.layers = layers;
    const bpt_step_key_t key = {.kind = BPT_STEP_TRAIN, .shape = bpt_batch_buckets(4096, 1)};
    const bpt_runner_options_t options = {.step = {.recompute = true, .offload = offload, .chunk_rows = 256}};
    bpt_plan_summary_t plan;
    bpt_runner_t *r = fixture_runner(&c, device, options);
    assert_ok(bpt_runner_plan(r, &key, &plan, NULL));
    bpt_runner_destroy(r);
    return plan;
}

// A layer's input is 8191 rows of 16 numbers.
static void memory_does_not_grow_with_layers(void **state) {
    (void)state;
    bpt_device_t *device = fixture_open("cpu");
    const size_t input = (size_t)8000 * 16 * 4;
    const bpt_plan_summary_t few = plan_of(device, 4, true), many = plan_of(device, 12, true), kept = plan_of(device, 12, false);
    assert_true(many.workspace_bytes < few.workspace_bytes + input);
    assert_true(kept.workspace_bytes > many.workspace_bytes + 6 * input);
    assert_true(many.offload_bytes >= few.offload_bytes + 8 * input);
    assert_int_equal(kept.offload_bytes, 0);
    fixture_close(device);
}

// Puts a file in place of the one without a name that this process has in the folder.
static void replace_file(const char *folder, const char *by) {
#ifdef _WIN32
    skip();  // under Wine there is a /proc, which is that of Linux
#endif
    if (access("/proc/self/fd", R_OK)) skip();
    const int found = test_open_file_in(folder);
    assert_true(found >= 0);
    const int file = open(by, O_RDWR);
    assert_true(file >= 0);
    assert_int_equal(dup2(file, found), found);
    close(file);
}

static const char *waiting, *instead;

static void after_the_line(void *user, const bpt_metrics_line_t *line) {
    (void)user;
    if (line->step == 3) replace_file(waiting, instead);
}

static bpt_status_t train(const char *name) {
    bpt_model_config_t c = fixture_lm();
    c.layers = 3;
    bpt_train_config_t t = fixture_training(6);
    char folder[512];
    bpt_device_t *device = fixture_open("cpu");
    fixture_source_t data;
    bpt_run_t *run;
    bpt_trainer_t *trainer;
    snprintf(folder, sizeof folder, "%s", empty_folder());
    waiting = t.offload = folder;
    t.recompute = true;
    t.log_every = 1;
    t.save_every = 100;
    fixture_source(&data, &c, 12, 4, 1);
    assert_ok(bpt_run_create(test_path("%s", name), &run));
    const bpt_trainer_options_t options = {
        .model = &c, .train = &t, .device = device, .train_data = &data.base, .run = run, .on_line = after_the_line};
    assert_ok(bpt_trainer_create(&options, &trainer));
    const bpt_status_t status = bpt_trainer_run(trainer);
    bpt_trainer_destroy(trainer);
    bpt_run_close(run);
    fixture_close(device);
    return status;
}

// A disk that is full, and one that gives back zeros.
static void a_disk_that_fails_costs_no_step(void **state) {
    (void)state;
    static const char *const files[] = {"/dev/full", "/dev/zero"}, *const says[] = {"No space left", "damaged"};
    for (size_t i = 0; i < BPT_COUNT(files); ++i) {
        char name[32];
        snprintf(name, sizeof name, "failed-%zu", i);
        instead = files[i];
        assert_fails(train(name), BPT_ERR_IO, says[i]);
        assert_non_null(strstr(bpt_error_message(), "the state after step 3 is saved"));
        assert_int_equal(access(test_path("%s/checkpoints/step-3/model.safetensors", name), R_OK), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_on_disk_change_no_bit),
        cmocka_unit_test(memory_does_not_grow_with_layers),
        cmocka_unit_test(a_disk_that_fails_costs_no_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
