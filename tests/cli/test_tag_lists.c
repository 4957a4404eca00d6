// `bpt tag --n-best` and bpt_model_tag_n_best, of a CRF and of a softmax: the first is the best one, probabilities add up to 1.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/alloc.h"
#include "models/api/model.h"
#include "support/check.h"
#include "support/process.h"

enum { TAGS = 3, K = 100 };
#define ON "--quiet --backend cpu --threads 1"

static char run[2][600];
static const char *const options[] = {"--crf", ""};

static int train(void **state) {
    (void)state;
    char folder[600], path[700], all[6000];
    snprintf(folder, sizeof folder, "%s", test_path("tags"));
    snprintf(path, sizeof path, "mkdir -p %s", folder);
    assert_int_equal(system(path), 0);
    for (int i = 0; i < 2; ++i) {
        *all = 0;
        for (int k = 0; k < (i ? 2 : 20); ++k) strcat(all, "Anna NAME\nsings VERB\nloudly ADV\n\nBob NAME\nsings VERB\n\nloudly ADV\n\n");
        snprintf(path, sizeof path, "%s/%s.txt", folder, i ? "valid" : "train");
        test_write_file(path, all, strlen(all));
    }
    for (int i = 0; i < 2; ++i) {
        snprintf(run[i], sizeof run[i], "%s", test_path("run-%d", i));
        test_succeed("train --task tag --model star --data %s --out %s --layers 1 --d-model 16 --heads 2 --lr 0.02 --steps 5 %s " ON,
                     folder, run[i], options[i]);
    }
    return 0;
}

static json_t *answer(int which, const char *input, const char *more) {
    test_process_t p = test_run_to(0, "tag %s %s --json %s " ON, run[which], input, more);
    json_t *object = json_loads(p.out, JSON_DISABLE_EOF_CHECK, NULL);
    assert_non_null(object);
    test_process_free(&p);
    return object;
}

static void lists_begin_with_the_best_and_add_up(void **state) {
    (void)state;
    for (int r = 0; r < 2; ++r) {
        const char *input = test_file("two.txt", "Bob sings loudly\n");
        json_t *plain = answer(r, input, ""), *lists = answer(r, input, "--n-best 100"), *all = json_object_get(lists, "n_best");
        double sum = 0, before = 0;
        assert_int_equal(json_array_size(all), TAGS * TAGS * TAGS);
        assert_true(json_equal(json_object_get(plain, "tags"), json_object_get(json_array_get(all, 0), "tags")));
        assert_true(json_equal(json_object_get(plain, "tags"), json_object_get(lists, "tags")));
        for (size_t i = 0; i < json_array_size(all); ++i) {
            const double log_p = json_real_value(json_object_get(json_array_get(all, i), "log_probability"));
            assert_true(log_p <= before);
            before = log_p, sum += exp(log_p);
        }
        assert_true(fabs(sum - 1) < 1e-6);
        json_decref(plain), json_decref(lists);
    }
}

static void text_has_a_line_before_each(void **state) {
    (void)state;
    test_process_t p = test_run_to(0, "tag %s %s --n-best 2 " ON, run[0], test_file("lines.txt", "Bob sings\n\nAnna\n"));
    const char *first = strstr(p.out, "# tags 1 -"), *second = strstr(p.out, "# tags 2 -");
    assert_true(first == p.out && second && strstr(first, "\nBob\t") && strstr(second, "\nsings\t") && strstr(second, "\n\n\n# tags 1 -"));
    test_process_free(&p);
}

static void the_library_gives_the_same(void **state) {
    (void)state;
    static const char *const texts[] = {"Bob sings loudly", "Anna"};
    for (int r = 0; r < 2; ++r) {
        bpt_model_t *model;
        uint32_t tokens[8], tags[4 * K], best[4];
        int64_t lengths[2], count = 0;
        double log_p[2 * K];
        assert_ok(bpt_model_open(run[r], NULL, &model));
        for (int i = 0; i < 2; ++i) {
            uint32_t *own;
            assert_ok(bpt_model_tokenize(model, texts[i], strlen(texts[i]), &own, &lengths[i]));
            memcpy(tokens + count, own, (size_t)lengths[i] * sizeof *own);
            count += lengths[i];
            bpt_free(own);
        }
        const bpt_sequences_t sequences = {.tokens = tokens, .lengths = lengths, .count = 2};
        assert_ok(bpt_model_tag(model, &sequences, best, NULL));
        assert_ok(bpt_model_tag_n_best(model, &sequences, K, tags, log_p));
        assert_memory_equal(tags, best, 3 * sizeof *tags);
        assert_int_equal(tags[3 * K], best[3]);
        assert_true(isinf(log_p[27]) && isinf(log_p[K + 3]) && isfinite(log_p[K + 2]));
        json_t *lists = answer(r, test_file("same.txt", "Bob sings loudly\n"), "--n-best 5");
        for (size_t i = 0; i < 5; ++i) {
            const json_t *one = json_array_get(json_object_get(lists, "n_best"), i);
            assert_true(fabs(json_real_value(json_object_get(one, "log_probability")) - log_p[i]) < 1e-5);
            for (size_t t = 0; t < 3; ++t)
                assert_string_equal(json_string_value(json_array_get(json_object_get(one, "tags"), t)),
                                    bpt_model_label(model, tags[3 * i + t]));
        }
        json_decref(lists);
        assert_int_equal(bpt_model_tag_n_best(model, &sequences, 0, tags, log_p), BPT_ERR_USAGE);
        assert_int_equal(bpt_model_tag_n_best(model, &sequences, 2, NULL, log_p), BPT_ERR_USAGE);
        bpt_model_close(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_begin_with_the_best_and_add_up),
        cmocka_unit_test(text_has_a_line_before_each),
        cmocka_unit_test(the_library_gives_the_same),
    };
    return cmocka_run_group_tests(tests, train, NULL);
}
