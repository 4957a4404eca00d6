// `bpt info`: what a run, one of its checkpoints and an exported file are; damage and what is neither are refused as everywhere.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/file.h"
#include "support/process.h"

static char run[600], file[600];

static int train_a_classifier(void **state) {
    (void)state;
    char lines[4096];
    size_t used = 0;
    for (int i = 0; i < 60; ++i) used += (size_t)snprintf(lines + used, sizeof lines - used, "%s\tfilm %d\n", i % 2 ? "good" : "bad", i);
    snprintf(run, sizeof run, "%s", test_path("run"));
    snprintf(file, sizeof file, "%s", test_path("model.safetensors"));
    test_succeed("train --task classify --data %s --out %s --layers 1 --d-model 16 --heads 2 --steps 8 --eval-every 4 --threads 1 --quiet "
                 "--backend cpu",
                 test_file("lines.tsv", lines), run);
    test_succeed("export %s --out %s", run, file);
    return 0;
}

static json_t *info(const char *arguments, const char *path) {
    test_process_t p = test_run_to(0, "info %s --json%s", path, arguments);
    json_t *o = json_loads(p.out, 0, NULL);
    if (!o) fail_msg("not JSON: %s", p.out);
    test_process_free(&p);
    return o;
}
static int64_t number(const json_t *o, const char *key) { return json_integer_value(json_object_get(o, key)); }

static void a_run_and_its_checkpoints(void **state) {
    (void)state;
    json_t *o = info(" --checkpoint 4", run);
    assert_string_equal(json_string_value(json_object_get(o, "kind")), "run");
    assert_int_equal(number(o, "step"), 4);
    assert_int_equal(number(o, "steps"), 8);
    assert_int_equal(number(json_object_get(o, "model"), "d_model"), 16);
    assert_string_equal(json_string_value(json_array_get(json_object_get(o, "labels"), 0)), "bad");
    json_decref(o);
    o = info(" --checkpoint latest", run);
    assert_int_equal(number(o, "step"), 8);
    json_decref(o);
    test_process_t p = test_run_to(0, "info %s", run);
    if (!strstr(p.out, "labels      2: bad good") || !strstr(p.out, "as the checkpoint says")) fail_msg("%s", p.out);
    test_process_free(&p);
}

static void a_model_file_has_the_same_model_and_no_training(void **state) {
    (void)state;
    char packed[600];
    json_t *of_run = info("", run), *of_file = info("", file);
    assert_string_equal(json_string_value(json_object_get(of_file, "kind")), "model file");
    assert_true(json_equal(json_object_get(of_run, "model"), json_object_get(of_file, "model")));
    assert_true(json_equal(json_object_get(of_run, "labels"), json_object_get(of_file, "labels")));
    assert_int_equal(number(of_run, "parameters"), number(of_file, "parameters"));
    assert_null(json_object_get(of_file, "step"));
    assert_string_equal(json_string_value(json_object_get(of_file, "types")), "F32");
    json_decref(of_run);
    json_decref(of_file);
    snprintf(packed, sizeof packed, "%s", test_path("packed.safetensors"));
    test_succeed("export %s --weights q8 --out %s", run, packed);
    json_t *of_packed = info("", packed);
    assert_non_null(strstr(json_string_value(json_object_get(of_packed, "types")), "I8"));
    json_decref(of_packed);
    test_refused(2, "has no checkpoints", "info %s --checkpoint 4", file);
}

static void what_is_damaged_or_neither_is_refused(void **state) {
    (void)state;
    char path[700];
    test_refused(2, "bpt info needs RUN|FILE", "info");
    test_refused(1, "there is no such folder", "info %s", test_path("nowhere"));
    test_refused(1, "not a valid safetensors file: it is a text", "info %s", test_file("words.txt", "some words, and no model at all"));
    snprintf(path, sizeof path, "%s/checkpoints/step-8/model.safetensors", run);
    FILE *weights = fopen(path, "r+b");
    assert_non_null(weights);
    assert_int_equal(fseek(weights, -3, SEEK_END), 0);
    assert_int_equal(fputc('x', weights), 'x');
    assert_int_equal(fclose(weights), 0);
    test_refused(1, "has the checksum", "info %s --checkpoint 8", run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_and_its_checkpoints),
        cmocka_unit_test(a_model_file_has_the_same_model_and_no_training),
        cmocka_unit_test(what_is_damaged_or_neither_is_refused),
    };
    return cmocka_run_group_tests(tests, train_a_classifier, NULL);
}
