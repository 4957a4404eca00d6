// What `bpt train` does where nothing is said: enough small steps on little data, the old values on much, and a warning about schedules
// that cannot work.
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

#include "support/process.h"

#define bpt(...) test_run_to(0, __VA_ARGS__)

// Lines of eight words of which two tell the label. Every label has 60 such words, so that they must be learnt from a few sightings each.
static const char *reviews(const char *name, int lines) {
    char *text = malloc((size_t)lines * 128), *to = text;
    uint32_t random = 12345;
    for (int i = 0; i < lines; ++i) {
        to += sprintf(to, i % 2 ? "good\t" : "bad\t");
        for (int w = 0; w < 8; ++w) {
            random = random * 1664525u + 1013904223u;
            const unsigned value = random >> 8;
            to += w == 2 || w == 5 ? sprintf(to, "%c%u%c", i % 2 ? 'g' : 'b', value % 60, w < 7 ? ' ' : '\n')
                                   : sprintf(to, "n%u%c", value % 400, w < 7 ? ' ' : '\n');
        }
    }
    const char *path = test_file(name, text);
    free(text);
    return path;
}

static const char *prose(const char *name, int bytes) {
    char *text = malloc((size_t)bytes + 1);
    for (int i = 0; i < bytes; ++i) text[i] = (char)('a' + i * 7 % 26);
    text[bytes] = 0;
    const char *path = test_file(name, text);
    free(text);
    return path;
}

static void a_small_classifier_learns_without_any_flag(void **state) {
    (void)state;
    char data[512], run[512];
    snprintf(data, sizeof data, "%s", reviews("reviews.tsv", 1200));
    snprintf(run, sizeof run, "%s", test_path("classifier"));
    test_process_t p = bpt("train --task classify --data %s --out %s --backend cpu --threads 1 --quiet", data, run);
    test_process_free(&p);
    p = bpt("eval %s --json --quiet", run);
    json_t *result = json_loads(p.out, 0, NULL);
    if (json_number_value(json_object_get(result, "accuracy")) < 0.9) fail_msg("%s", p.out);
    json_decref(result);
    test_process_free(&p);
}

static void defaults_follow_the_amount_of_data(void **state) {
    (void)state;
    char few[512], many[512], little[512], much[512];
    snprintf(few, sizeof few, "%s", reviews("few.tsv", 1200));
    snprintf(many, sizeof many, "%s", reviews("many.tsv", 12000));
    snprintf(little, sizeof little, "%s", prose("little.txt", 100000));
    snprintf(much, sizeof much, "%s", prose("much.txt", 10000000));
    const struct {
        const char *options, *data, *says[4];
    } cases[] = {
        {"--task classify", few, {" 16 examples a step", "1020, 68 an epoch: 15.00", "cosine, 100 steps of warm-up", "after every epoch"}},
        {"--task classify", many, {" 54 examples a step", "1000, 200 an epoch: 5.00", "embedding, 3162880 layers", "100 steps of warm-up"}},
        {"--task classify --epochs 2", few, {" 16 examples a step", "136, 68 an epoch: 2.00", " 13 steps of warm-up", "every epoch"}},
        {"--task classify --batch-examples 540 --steps 60", few, {"60, 2 an epoch: 30.00", " 6 steps of warm-up", "every 4 steps", "work"}},
        {"--task classify --warmup 7 --eval-every 9", few, {" 7 steps of warm-up", "every 9 steps", "1020", "work"}},
        {"", little, {"4 sequences of 512", "1012, 44 an epoch: 23.00", "100 steps of warm-up", "every 88 steps"}},
        {"", much, {"16 sequences of 512", "1099, 1099 an epoch: 1.00", "100 steps of warm-up", "after every epoch"}},
        {"--preset small", little, {"16 sequences of 256", "600, 22 an epoch: 27.27", " 50 steps of warm-up", "every 200 steps"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        test_process_t p = bpt("train --dry-run --data %s %s --backend cpu", cases[i].data, cases[i].options);
        for (size_t s = 0; s < 4; ++s)
            if (!strstr(p.out, cases[i].says[s])) fail_msg("%s: no '%s' in\n%s", cases[i].options, cases[i].says[s], p.out);
        if (strstr(p.err, "warning")) fail_msg("%s: %s", cases[i].options, p.err);
        test_process_free(&p);
    }
}

static void the_size_follows_the_examples_unless_it_is_given(void **state) {
    (void)state;
    static const struct {
        const char *options;
        double layers, d_model, d_ff, lr, dropout;
    } cases[] = {
        {"", 1, 128, 512, 0.005, 0.6},
        {"--lr 0.001 --dropout-input 0.2", 1, 128, 512, 0.001, 0.2},
        {"--layers 3", 3, 256, 1024, 0.001, 0.1},
        {"--d-model 16", 4, 16, 64, 0.001, 0.1},
    };
    char data[512], run[512], config[600];
    snprintf(data, sizeof data, "%s", reviews("few.tsv", 40));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        snprintf(run, sizeof run, "%s", test_path("size-%zu", i));
        snprintf(config, sizeof config, "%s/config.json", run);
        test_process_t p = bpt("train --task classify --data %s --out %s --steps 1 --backend cpu --quiet %s", data, run, cases[i].options);
        test_process_free(&p);
        json_t *c = json_load_file(config, 0, NULL);
        double value[5];
        static const char *const keys[] = {"layers", "d_model", "d_ff", "lr", "dropout_input"};
        for (int k = 0; k < 5; ++k) value[k] = json_number_value(json_object_get(c, keys[k]));
        if (value[0] != cases[i].layers || value[1] != cases[i].d_model || value[2] != cases[i].d_ff || value[3] != cases[i].lr ||
            value[4] != cases[i].dropout)
            fail_msg("%s: %g %g %g %g %g", cases[i].options, value[0], value[1], value[2], value[3], value[4]);
        json_decref(c);
    }
}

static void schedules_that_cannot_work_are_warned_about(void **state) {
    (void)state;
    static const struct {
        const char *options, *says;
    } cases[] = {
        {"--steps 80 --warmup 100", "the warm-up of 100 steps is not over when training ends at step 80"},
        {"--preset small --steps 50", "the warm-up of 50 steps"},
        {"--steps 49", "only 49 steps in all"},
        {"--steps 80 --eval-every 81", "--eval-every 81 is behind the end of training at step 80"},
        {"--steps 80 --warmup 79 --eval-every 80", NULL},
    };
    char data[512];
    snprintf(data, sizeof data, "%s", prose("text.txt", 60000));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        test_process_t p = bpt("train --dry-run --data %s %s --backend cpu", data, cases[i].options);
        const bool warned = strstr(p.err, "warning") != NULL;
        if (warned != (cases[i].says != NULL) || (warned && !strstr(p.err, cases[i].says))) fail_msg("%s: %s", cases[i].options, p.err);
        test_process_free(&p);
    }
}

// The learning rate in a line of metrics.
static double rate_in_step(const char *run, int step) {
    char path[600], key[32];
    snprintf(path, sizeof path, "%s/metrics.jsonl", run);
    snprintf(key, sizeof key, "{\"step\": %d,", step);
    char *text = test_read_file(path, NULL), *line = strstr(text, key);
    assert_non_null(line);
    json_t *o = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
    const double rate = json_number_value(json_object_get(o, "lr"));
    json_decref(o);
    free(text);
    return rate;
}

static void a_schedule_that_ends_elsewhere_says_how_the_rate_jumps(void **state) {
    (void)state;
    static const struct {
        const char *options, *resumed;
        bool jumps;
    } cases[] = {
        {"--schedule cosine", "--steps 60", true},
        {"--schedule cosine", "--steps 10", true},
        {"--schedule cosine", "", false},
        {"--schedule cosine", "--steps 12", false},
        {"--schedule warmup-stable-decay --decay-share 0.5", "--steps 60", true},
        {"--schedule constant", "--steps 60", false},
        {"--schedule inverse-sqrt", "--steps 60", false},
        {"--schedule noam", "--steps 60", false},
    };
    char data[512], run[512];
    snprintf(data, sizeof data, "%s", prose("text.txt", 6000));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        snprintf(run, sizeof run, "%s", test_path("rate-%zu", i));
        test_process_t p = bpt("train --data %s --out %s --layers 1 --d-model 8 --heads 2 --context 16 --batch-tokens 64 --warmup 2 "
                               "--log-every 1 --steps 12 --stop-at 8 --backend ref --quiet %s",
                               data, run, cases[i].options);
        test_process_free(&p);
        p = bpt("train --out %s --resume --stop-at 10 --backend ref %s", run, cases[i].resumed);
        const char *note = strstr(p.err, "the learning rate jumps");
        if ((note != NULL) != cases[i].jumps) fail_msg("%s, %s: %s", cases[i].options, cases[i].resumed, p.err);
        char says[128];
        snprintf(says, sizeof says, ": it was %.3g in step 8 and is %.3g in step 9\n", rate_in_step(run, 8), rate_in_step(run, 9));
        if (note && !strstr(note, says)) fail_msg("no '%s' in %s", says, note);
        test_process_free(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_classifier_learns_without_any_flag),
        cmocka_unit_test(defaults_follow_the_amount_of_data),
        cmocka_unit_test(the_size_follows_the_examples_unless_it_is_given),
        cmocka_unit_test(schedules_that_cannot_work_are_warned_about),
        cmocka_unit_test(a_schedule_that_ends_elsewhere_says_how_the_rate_jumps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
