// One file of examples: `bpt train` cuts it so that each part is like the whole, and `bpt eval --split` and --resume find the same parts.
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
#include "bpt/safetensors.h"
#include "bpt/strbuf.h"
#include "support/check.h"
#include "support/process.h"
#include "support/run_files.h"

#define SMALL "--layers 1 --d-model 16 --d-ff 16 --heads 2 --threads 1 --backend cpu --quiet "

// Two classes, each with a word of its own; the file is sorted by class.
static const char *sorted_file(const char *name, const char *format, int n) {
    bpt_strbuf_t text = {0};
    for (int i = 0; i < n; ++i) {
        const char *word = i < n / 2 ? "good" : "bad";
        assert_ok(bpt_strbuf_printf(&text, format, i < n / 2 ? "pos" : "neg", word, i % 3));
    }
    const char *path = test_path("%s", name);
    test_write_file(path, text.data, text.length);
    bpt_strbuf_free(&text);
    return path;
}

// A model that always answers the same is right for half of each part.
static void every_task_validates_on_all_classes(void **state) {
    (void)state;
    static const struct {
        const char *name, *options, *format;
        int valid;
    } cases[] = {
        {"texts", "--task classify --model transformer", "%s\t%s w%d\n", 10},
        {"pairs", "--task pair --model transformer --pool mean", "%s\t%s\tw%d\n", 10},
        {"trees", "--task classify --model tree", "(%s (x\n  %s) (x\n  w%d))\n", 10},
        {"phrases", "--task classify --model transformer --subtrees", "(%s (pos %s) (neg w%d))\n", 10},
        {"columns", "--task classify --model transformer --label-column 1 --text-column 2", "%s\t%s w%d\n", 10},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        const char *data = sorted_file(cases[i].name, cases[i].format, 200), *run = test_path("run-%s", cases[i].name);
        test_succeed("train %s %s --data %s --lr 0 --steps 1 --out %s", cases[i].options, SMALL, data, run);
        for (int part = 0; part < 3; ++part) {
            static const char *const split[] = {"--split train", "--split valid", ""};
            if (part == 0 && strstr(cases[i].options, "subtrees")) continue;  // has the phrases too
            const double accuracy = test_evaluate(run, split[part], "accuracy"), scored = test_evaluate(run, split[part], "scored");
            if (scored != (part ? cases[i].valid : 180) || accuracy != 0.5)
                fail_msg("%s, part %d: accuracy %g of %g examples", cases[i].name, part, accuracy, scored);
        }
    }
}

static void the_order_of_the_file_is_kept_where_it_is_asked_for(void **state) {
    (void)state;
    const char *data = sorted_file("series", "%s\t%s w%d\n", 200), *run = test_path("in-order");
    test_succeed("train --task classify --model transformer %s --data %s --lr 0 --steps 1 --cut in-order --out %s", SMALL, data, run);
    const double accuracy = test_evaluate(run, "", "accuracy");
    assert_true(accuracy == 0 || accuracy == 1);  // the end of the file has one class
}

static void remove_key(const char *run, const char *key) {
    char path[700];
    snprintf(path, sizeof path, "%s/config.json", run);
    json_t *config = json_load_file(path, 0, NULL);
    assert_int_equal(json_object_del(config, key), 0);
    assert_int_equal(json_dump_file(config, path, JSON_INDENT(2)), 0);
    json_decref(config);
}

// Runs of versions without the option have cut in order: they go on so.
static void a_run_without_the_key_was_cut_in_order(void **state) {
    (void)state;
    const char *data = sorted_file("older", "%s\t%s w%d\n", 200), *run = test_path("older-run"), *shuffled = test_path("newer-run");
    test_succeed("train --task classify --model transformer %s --data %s --lr 0 --steps 1 --cut in-order --out %s", SMALL, data, run);
    test_forget_config_checksum(run);
    remove_key(run, "cut");
    const double accuracy = test_evaluate(run, "--split valid", "accuracy");
    assert_true(accuracy == 0 || accuracy == 1);
    test_succeed("train --out %s --resume --steps 2 --backend cpu --threads 1 --quiet", run);
    test_refused(2, "--cut cannot change", "train --out %s --resume --steps 3 --cut shuffled --backend cpu --threads 1 --quiet", run);
    test_succeed("train --task classify --model transformer %s --data %s --steps 1 --out %s", SMALL, data, shuffled);
    test_succeed("train --out %s --resume --steps 2 --backend cpu --threads 1 --quiet", shuffled);
    test_refused(2, "--cut is for --task", "train %s --data %s --steps 1 --cut in-order --out %s", SMALL, data, test_path("lm"));
}

static const char *vector_file(void) {
    const char *path = test_path("v.safetensors");
    float x[100 * 2 * 3], y[100];
    bpt_safetensors_writer_t *w;
    for (int i = 0; i < 600; ++i) x[i] = (float)i / 600;
    for (int i = 0; i < 100; ++i) y[i] = (float)i;
    assert_ok(bpt_safetensors_writer_create(path, &w));
    assert_ok(bpt_safetensors_writer_declare(w, "x", BPT_ST_F32, 3, (int64_t[]){100, 2, 3}));
    assert_ok(bpt_safetensors_writer_declare(w, "y", BPT_ST_F32, 2, (int64_t[]){100, 1}));
    assert_ok(bpt_safetensors_writer_data(w, x, sizeof x));
    assert_ok(bpt_safetensors_writer_data(w, y, sizeof y));
    assert_ok(bpt_safetensors_writer_finish(w));
    bpt_safetensors_writer_destroy(w);
    return path;
}

static const char *number_file(void) {
    const char *path = test_path("numbers");
    bpt_strbuf_t text = {0};
    for (int i = 0; i < 100; ++i) assert_ok(bpt_strbuf_printf(&text, "%d\tword w%d\n", i, i % 4));
    test_write_file(path, text.data, text.length);
    bpt_strbuf_free(&text);
    return path;
}

// Numbers that grow along the file, as words and as vectors. Together the parts have every example once.
static void parts_of_numbers_are_the_whole_file(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        char run[600], named[700], data[600];
        snprintf(data, sizeof data, "%s", i ? vector_file() : number_file());
        snprintf(run, sizeof run, "%s", test_path("numbers-%zu", i));
        snprintf(named, sizeof named, "--data %s", data);
        test_succeed("train --task regress --model transformer --pool mean %s --data %s --lr 0 --steps 1 --out %s", SMALL, data, run);
        static const double counts[] = {90, 5, 5};
        static const char *const split[] = {"--split train", "--split valid", "--split test"};
        double sum = 0, part[3];
        for (int p = 0; p < 3; ++p) {
            assert_true(test_evaluate(run, split[p], "scored") == counts[p]);
            part[p] = test_evaluate(run, split[p], "mse");
            sum += counts[p] * part[p];
        }
        assert_true(test_evaluate(run, "", "scored") == 5);
        const double whole = test_evaluate(run, named, "mse");
        if (sum / 100 < 0.999 * whole || sum / 100 > 1.001 * whole) fail_msg("%g and %g", sum / 100, whole);
        if (part[2] > 8000) fail_msg("the last numbers are those of the test part: mean square %g", part[2]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_validates_on_all_classes),
        cmocka_unit_test(the_order_of_the_file_is_kept_where_it_is_asked_for),
        cmocka_unit_test(a_run_without_the_key_was_cut_in_order),
        cmocka_unit_test(parts_of_numbers_are_the_whole_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
