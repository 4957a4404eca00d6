// `bpt bench`: every measurement is a line of JSON with the keys that scripts read.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "support/process.h"

#define TINY "--backend cpu --threads 1 --quiet --tokens 32 --layers 2 --d-model 16 --d-ff 32 --heads 2 --repeat 2"

static void expect_positive(const json_t *object, const char *key, const char *line) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value) || !(json_number_value(value) > 0)) fail_msg("%s: no positive %s", line, key);
}

static void every_measurement_is_a_line_of_json(void **state) {
    (void)state;
    static const struct {
        const char *what, *keys[8];
        int lines;  // 0: any number
    } cases[] = {
        {"train --n 16,32 --k 2", {"n", "k", "s_per_step", "tokens_per_s", "gflops", "peak_device_bytes"}, 2},
        {"train --n 32 --norm rms --ffn swiglu --optimizer muon", {"s_per_step", "tokens_per_s", "gflops"}, 1},
        {"infer --n 32 --k 1,2", {"s_per_step", "tokens_per_s", "gflops", "gbytes_per_s", "peak_host_bytes"}, 2},
        {"attention --n 32", {"s_per_step", "tokens_per_s", "gflops"}, 1},
        {"decode --n 32", {"s_per_step", "s_per_step_p99", "s_per_step_slowest", "tokens_per_s"}, 1},
        {"translate --n 16 --beam 1,3 --batch 2",
         {"n", "k", "target_n", "sentences_per_s", "source_tokens_per_s", "s_per_token_first_quarter", "s_per_token_last_quarter"},
         2},
        {"gemm", {"m", "n", "k", "s_per_step", "gflops", "share_of_best"}, 12},
        {"ops --n 32", {"n", "k", "calls", "limit_gflops", "limit_gbytes_per_s"}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[512];
        snprintf(line, sizeof line, "bench %s --json " TINY, cases[i].what);
        test_process_t p = test_run_line(line);
        if (p.exit_status) fail_msg("bpt %s: exit %d: %s", line, p.exit_status, p.err);
        int lines = 0;
        char *rest = NULL;
        for (char *one = strtok_r(p.out, "\n", &rest); one; one = strtok_r(NULL, "\n", &rest), ++lines) {
            json_t *object = json_loads(one, JSON_REJECT_DUPLICATES, NULL);
            if (!object) fail_msg("bpt %s: not JSON: %s", line, one);
            for (int k = 0; k < 8 && cases[i].keys[k]; ++k) expect_positive(object, cases[i].keys[k], line);
            assert_memory_equal(cases[i].what, json_string_value(json_object_get(object, "bench")), 3);
            if (strcmp(cases[i].what, "gemm") != 0) assert_string_equal(json_string_value(json_object_get(object, "model")), "bpt");
            assert_string_equal(json_string_value(json_object_get(object, "backend")), "cpu");
            assert_string_equal(json_string_value(json_object_get(object, "precision")), "f32");
            assert_true(json_string_length(json_object_get(object, "device")) > 0);
            json_decref(object);
        }
        if (!lines || (cases[i].lines && lines != cases[i].lines)) fail_msg("bpt %s: %d lines", line, lines);
        test_process_free(&p);
    }
}

// A beam is a line. No translation ends before it has as many tokens as its text; 512 are the most.
static void translations_run_to_their_longest_length(void **state) {
    (void)state;
    static const struct {
        const char *options;
        int beams[2], batch, n, target_n;
    } cases[] = {{"--n 20 --beam 2,3 --batch 3", {2, 3}, 3, 20, 20}, {"--model transformer --n 600 --beam 1", {1}, 1, 600, 512}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        test_process_t p = test_run_to(0, "bench translate %s --json " TINY, cases[i].options);
        char *rest = NULL;
        int lines = 0;
        for (char *one = strtok_r(p.out, "\n", &rest); one; one = strtok_r(NULL, "\n", &rest), ++lines) {
            json_t *object = json_loads(one, 0, NULL);
            const double seconds = json_number_value(json_object_get(object, "s_per_step"));
            const double tokens = json_number_value(json_object_get(object, "tokens_per_s")) * seconds;
            assert_int_equal(json_integer_value(json_object_get(object, "beam")), cases[i].beams[lines]);
            assert_int_equal(json_integer_value(json_object_get(object, "batch")), cases[i].batch);
            assert_int_equal(json_integer_value(json_object_get(object, "n")), cases[i].n);
            assert_int_equal(json_integer_value(json_object_get(object, "target_n")), cases[i].target_n);
            assert_true(tokens > 0.999 * cases[i].batch * cases[i].target_n && tokens < 1.001 * cases[i].batch * cases[i].target_n);
            json_decref(object);
        }
        assert_int_equal(lines, cases[i].beams[1] ? 2 : 1);
        test_process_free(&p);
    }
}

// A flat tree has one node, others one less than tokens: their batches take more memory.
static void trees_of_any_form_are_measured(void **state) {
    (void)state;
    static const char *const forms[] = {"flat", "balanced", "right"};
    double bytes[3];
    for (int i = 0; i < 3; ++i) {
        test_process_t p = test_run_to(0, "bench train --model tree --n 32 --trees %s --json " TINY, forms[i]);
        json_t *object = json_loads(p.out, 0, NULL);
        assert_string_equal(json_string_value(json_object_get(object, "trees")), forms[i]);
        expect_positive(object, "s_per_step", p.out);
        bytes[i] = json_number_value(json_object_get(object, "peak_device_bytes"));
        json_decref(object);
        test_process_free(&p);
    }
    assert_true(bytes[0] > 0 && bytes[0] < bytes[1] && bytes[1] <= bytes[2]);
    test_succeed("bench translate --model tree --trees right --n 8 --beam 2 " TINY);
}

static void models_that_cannot_be_are_refused(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"train --d-model 100 --heads 8", "heads do not divide d_model"},
                                           {"infer --model star --d-model 30 --heads 7", "7 heads do not divide d_model = 30"},
                                           {"infer --model star --d-model 30 --heads 40", "40 heads are more than the columns of d_model"},
                                           {"train --model transformer --k 4", "--k is for --model bpt"},
                                           {"train --no-ring", "--ring is for --model star, and this is --model bpt"},
                                           {"train --model segtree --no-radical", "--radical is for --model star"},
                                           {"train --trees flat", "--trees is for --model tree, and this is --model bpt"},
                                           {"infer --model tree --trees file", "--trees must be balanced, right or flat"},
                                           {"infer --optimizer muon", "--optimizer is for bench train, ops and cluster"},
                                           {"train --head-dim 8", "--head-dim is for --model star"},
                                           {"translate --model star", "star"},
                                           {"translate --beam 0", "--beam"},
                                           {"trian", "choose train, infer"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[256];
        snprintf(line, sizeof line, "bench %s", cases[i][0]);
        test_process_t p = test_run_line(line);
        if (p.exit_status != 2 || !strstr(p.err, cases[i][1])) fail_msg("bpt %s: exit %d: %s", line, p.exit_status, p.err);
        test_process_free(&p);
    }
}

static void shares_of_ops_add_up_to_one(void **state) {
    (void)state;
    test_process_t p = test_run_line("bench ops --n 32 --json " TINY);
    double sum = 0;
    char *rest = NULL;
    for (char *one = strtok_r(p.out, "\n", &rest); one; one = strtok_r(NULL, "\n", &rest)) {
        json_t *object = json_loads(one, 0, NULL);
        sum += json_number_value(json_object_get(object, "share"));
        json_decref(object);
    }
    assert_true(sum > 0.999 && sum < 1.001);
    test_process_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_measurement_is_a_line_of_json), cmocka_unit_test(translations_run_to_their_longest_length),
        cmocka_unit_test(trees_of_any_form_are_measured),      cmocka_unit_test(models_that_cannot_be_are_refused),
        cmocka_unit_test(shares_of_ops_add_up_to_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
