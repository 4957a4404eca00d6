// --offload: the bits of a training whose layers' inputs stay in memory, no file left behind, one sentence where the folder cannot be used,
// and a saved run where its disk is full. With --half-inputs too.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/process.h"
#include "support/scratch.h"

#define MODEL "--task lm --unit byte --layers 4 --d-model 16 --heads 2 --context 64 --batch-tokens 256 --recompute --backend cpu --quiet "

static void make_text(void) {
    static char text[20000];
    for (size_t i = 0; i < sizeof text; ++i) text[i] = (char)(i % 61 == 60 ? '\n' : 'a' + (i * i / 7 + i / 13) % 26);
    test_write_file(test_path("text"), text, sizeof text);
}

static const char *folder_named(const char *name) {
    const char *folder = test_path("%s", name);
    assert_int_equal(mkdir(folder, 0700), 0);
    return folder;
}

static void train(const char *run, const char *options) {
    test_succeed("train " MODEL "--data %s --out %s %s", test_path("text"), test_path("%s", run), options);
}

static void expect_same_weights(const char *a, const char *b, int step, bool same) {
    size_t a_bytes = 0, b_bytes = 0;
    char *x = test_read_file(test_path("%s/checkpoints/step-%d/model.safetensors", a, step), &a_bytes);
    char *y = test_read_file(test_path("%s/checkpoints/step-%d/model.safetensors", b, step), &b_bytes);
    assert_non_null(x);
    assert_non_null(y);
    assert_int_equal(a_bytes, b_bytes);
    assert_int_equal(memcmp(x, y, a_bytes) == 0, same);
    free(x);
    free(y);
}

static void inputs_on_disk_change_no_bit(void **state) {
    (void)state;
    char options[512];
    const char *folder = folder_named("waiting");
    train("memory", "--steps 4");
    snprintf(options, sizeof options, "--steps 4 --offload %s", folder);
    train("disk", options);
    expect_same_weights("memory", "disk", 4, true);
    assert_int_equal(rmdir(folder), 0);  // it is empty
    // A run goes on with other settings, and the folder is no part of it.
    folder = folder_named("waiting-too");
    snprintf(options, sizeof options, "--steps 4 --stop-at 2 --offload %s", folder);
    train("begun", options);
    test_succeed("train --resume --out %s --stop-at 4 --backend cpu --quiet", test_path("begun"));
    expect_same_weights("memory", "begun", 4, true);
    char *config = test_read_file(test_path("disk/config.json"), NULL);
    assert_non_null(config);
    assert_null(strstr(config, "waiting"));
    free(config);
    snprintf(options, sizeof options, "--steps 4 --precision bf16 --half-inputs --offload %s", folder);
    train("half", options);
    train("half-memory", "--steps 4 --precision bf16 --half-inputs");
    expect_same_weights("half", "half-memory", 4, true);
    train("bf16", "--steps 4 --precision bf16");
    expect_same_weights("half", "bf16", 4, false);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    const char *const begin = "train " MODEL "--steps 2 --data %s --out %s %s %s";
    const char *text = test_path("text"), *out = test_path("none");
    test_refused(1, "no file can be made in the folder", begin, text, out, "--offload", test_path("no/such/folder"));
    test_refused(2, "--recompute", begin, text, out, "--no-recompute --offload", test_scratch_dir());
    test_refused(2, "--half-inputs", begin, text, out, "--half-inputs", "");
}

static void a_plan_says_what_goes_to_disk(void **state) {
    (void)state;
    test_process_t p = test_run_to(0, "train " MODEL "--data %s --steps 2 --dry-run --offload %s", test_path("text"), test_scratch_dir());
    assert_non_null(strstr(p.out, "inputs of layers"));
    test_process_free(&p);
}

static int setup(void **state) {
    (void)state;
    make_text();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_on_disk_change_no_bit),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_plan_says_what_goes_to_disk),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
