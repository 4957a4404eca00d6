// The folder of a run is deleted, emptied or renamed when a checkpoint is due, and while it is written: the steps since the last one are
// saved where there is room for them, and the message says what became of them.
#include "fixture_source.h"

#include <stdlib.h>
#include <unistd.h>

#include "models/train/trainer.h"

enum { DUE = 5, END = 10 };

static char folder[512], pending[600];
static const char *command;  // what happens to the folder once; its path in place of %s
static const bpt_backend_t *cpu;

static void strike(void) {
    char line[2048];
    if (!command) return;
    snprintf(line, sizeof line, command, folder, folder);
    command = NULL;
    assert_int_equal(system(line), 0);
}

static void after_the_line(void *user, const bpt_metrics_line_t *line) {
    (void)user;
    if (line->step == DUE) strike();
}

// The weights are read from the device when the checkpoint has been begun.
static bpt_status_t read_while_writing(bpt_device_t *device, bpt_buffer_t *buffer, size_t offset, void *bytes, size_t count) {
    if (!access(pending, F_OK)) strike();
    return cpu->read(device, buffer, offset, bytes, count);
}

static bpt_status_t train(const char *name, const char *what, bool writing) {
    const bpt_model_config_t c = fixture_lm();
    bpt_train_config_t t = fixture_training(END);
    t.log_every = t.save_every = DUE;
    bpt_device_t *device = fixture_open("cpu");
    fixture_source_t data;
    fixture_source(&data, &c, 12, 4, 1);
    bpt_backend_t slow = *device->backend;
    bpt_run_t *run;
    bpt_trainer_t *trainer;
    snprintf(folder, sizeof folder, "%s", test_path("%s-%d", name, writing));
    snprintf(pending, sizeof pending, "%s/checkpoints/.tmp-step-%d", folder, DUE);
    cpu = device->backend;
    slow.read = read_while_writing;
    if (writing) device->backend = &slow;
    assert_ok(bpt_run_create(folder, &run));
    const bpt_trainer_options_t options = {
        .model = &c, .train = &t, .device = device, .train_data = &data.base, .run = run, .on_line = writing ? NULL : after_the_line};
    assert_ok(bpt_trainer_create(&options, &trainer));
    command = what;
    const bpt_status_t status = bpt_trainer_run(trainer);
    assert_null(command);
    bpt_trainer_destroy(trainer);
    bpt_run_close(run);
    device->backend = cpu;
    fixture_close(device);
    return status;
}

static bool has_checkpoint(const char *ending, int step) {
    char path[700];
    snprintf(path, sizeof path, "%s%s/checkpoints/step-%d/model.safetensors", folder, ending, step);
    return !access(path, R_OK);
}

static void the_state_of_a_deleted_run_is_said_to_be_lost(void **state) {
    (void)state;
    for (int writing = 0; writing < 2; ++writing) {
        assert_fails(train("deleted", "rm -r %s", writing), BPT_ERR_IO, "was deleted while it was in use");
        assert_non_null(strstr(bpt_error_message(), "the state after step 5 could not be saved"));
        assert_int_not_equal(access(folder, F_OK), 0);
    }
}

static void a_folder_that_has_the_name_now_stays_empty(void **state) {
    (void)state;
    for (int writing = 0; writing < 2; ++writing) {
        assert_fails(train("replaced", "rm -r %s; mkdir %s", writing), BPT_ERR_IO, "was deleted while it was in use");
        assert_non_null(strstr(bpt_error_message(), "the state after step 5 could not be saved"));
        assert_int_equal(rmdir(folder), 0);
    }
}

static void the_state_of_an_emptied_run_is_saved(void **state) {
    (void)state;
    for (int writing = 0; writing < 2; ++writing) {
        assert_fails(train("emptied", "rm -r %s/*", writing), BPT_ERR_IO, "were deleted while it was trained");
        assert_non_null(strstr(bpt_error_message(), "the state after step 5 is saved"));
        assert_true(has_checkpoint("", DUE));
        assert_false(has_checkpoint("", END));
    }
}

static void a_renamed_run_goes_on(void **state) {
    (void)state;
    for (int writing = 0; writing < 2; ++writing) {
        assert_ok(train("renamed", "mv %s %s-new", writing));
        assert_true(has_checkpoint("-new", DUE) && has_checkpoint("-new", END));
        assert_int_not_equal(access(folder, F_OK), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_of_a_deleted_run_is_said_to_be_lost),
        cmocka_unit_test(a_folder_that_has_the_name_now_stays_empty),
        cmocka_unit_test(the_state_of_an_emptied_run_is_saved),
        cmocka_unit_test(a_renamed_run_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
