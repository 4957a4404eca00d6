// Word vectors from one file or several through the program: rows of the embedding, what is said, every task, resumption, refusals.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "bpt/safetensors.h"
#include "support/check.h"
#include "support/process.h"
#include "support/run_files.h"
#include "support/scratch.h"
#include "support/support.h"

#define MODEL "--layers 1 --d-model 8 --heads 2 --batch-tokens 64 --steps 4 "
enum { WORDS = 6, COLUMNS = 5 };  // <unk> <eos> a b c d; 3 numbers of one file, 2 of the other

static char classified[512], first[512], second[512];

static void keep(char *to, const char *path) { snprintf(to, 512, "%s", path); }

// A folder with the same text for training, validation and test.
static void make_folder(char path[512], const char *name, const char *text) {
    static const char *const parts[] = {"train.txt", "valid.txt", "test.txt"};
    keep(path, test_path("%s", name));
    assert_int_equal(mkdir(path, 0777), 0);
    for (int part = 0; part < 3; ++part) test_write_file(test_path("%s/%s", name, parts[part]), text, strlen(text));
}

static int setup(void **state) {
    (void)state;
    make_folder(classified, "data", "good\ta a a b b c\nbad\tb a a d\n");
    keep(first, test_file("first.txt", "a 1 2 3\nzz 9 9 9\nb -1 -2 -3\n"));
    keep(second, test_file("second, of two.txt", "2 2\nc 0.5 1.5\na -0.5 0.25\n"));
    return 0;
}

static void embedding_of(const char *run, int step, float rows[WORDS * COLUMNS]) {
    bpt_safetensors_t *file;
    char path[700];
    snprintf(path, sizeof path, "%s/checkpoints/step-%d/model.safetensors", run, step);
    assert_ok(bpt_safetensors_open(path, &file));
    const bpt_safetensors_tensor_t *t = bpt_safetensors_find(file, "embed.weight");
    assert_non_null(t);
    assert_true(t->rank == 2 && t->shape[0] == WORDS && t->shape[1] == COLUMNS);
    assert_ok(bpt_safetensors_read_f32(file, t, 0, t->count, rows));
    bpt_safetensors_close(file);
}

static json_t *config_of(const char *run) {
    char path[700];
    snprintf(path, sizeof path, "%s/config.json", run);
    json_t *config = json_load_file(path, 0, NULL);
    assert_non_null(config);
    return config;
}

// Trains with both files and returns what was said on stderr, to be freed.
static char *train(const char *run, const char *more) {
    test_process_t p = test_run_to(0, "train --task classify --data %s --vectors %s --vectors '%s' --out %s " MODEL "%s", classified, first,
                                   second, run, more);
    char *said = strdup(p.err);
    assert_non_null(said);
    test_process_free(&p);
    return said;
}

// Of the files, for the words that have vectors there.
static const float known[WORDS][COLUMNS] = {[2] = {1, 2, 3, -0.5f, 0.25f}, [3] = {-1, -2, -3, 0, 0}, [4] = {0, 0, 0, 0.5f, 1.5f}};

static void the_vectors_of_a_word_stand_side_by_side(void **state) {
    (void)state;
    const char *run = test_path("zero");
    float rows[WORDS * COLUMNS];
    char *said = train(run, "--backend cpu"), line[700];
    snprintf(line, sizeof line, "vectors for 2 of 6 words (as written, else in lower case), zero for the others: %s\n", first);
    if (!strstr(said, line)) fail_msg("no '%s' in %s", line, said);
    snprintf(line, sizeof line, "vectors for 2 of 6 words (as written, else in lower case), zero for the others: %s\n", second);
    if (!strstr(said, line)) fail_msg("no '%s' in %s", line, said);
    free(said);
    embedding_of(run, 4, rows);  // frozen, so after training too
    assert_memory_equal(rows, known, sizeof rows);
    json_t *config = config_of(run), *paths = json_object_get(config, "vectors");
    assert_int_equal(json_array_size(paths), 2);
    assert_string_equal(json_string_value(json_array_get(paths, 0)), first);
    assert_string_equal(json_string_value(json_array_get(paths, 1)), second);
    assert_string_equal(json_string_value(json_object_get(config, "unknown_vectors")), "zero");
    assert_int_equal(json_integer_value(json_object_get(config, "d_embed")), COLUMNS);
    json_decref(config);
}

static void other_words_get_random_numbers_that_are_the_same_on_every_backend(void **state) {
    (void)state;
    static const char *const options[] = {"--unknown-vectors random --backend cpu", "--unknown-vectors random --backend ref",
                                          "--unknown-vectors random --backend cpu --seed 5"};
    float rows[3][WORDS * COLUMNS];
    for (int i = 0; i < 3; ++i) {
        char *said = train(test_path("random-%d", i), options[i]);
        if (!strstr(said, "vectors for 2 of 6 words (as written, else in lower case), random numbers of deviation 2.16 for the others: "))
            fail_msg("%s", said);
        if (!strstr(said, "vectors for 2 of 6 words (as written, else in lower case), random numbers of deviation 0.7153 for the others: "))
            fail_msg("%s", said);
        free(said);
        embedding_of(test_path("random-%d", i), 4, rows[i]);
        for (int id = 0; id < WORDS; ++id)
            for (int c = 0; c < COLUMNS; ++c) {
                const float number = rows[i][id * COLUMNS + c], want = known[id][c];
                const bool in_file = c < 3 ? id == 2 || id == 3 : id == 2 || id == 4;
                if (in_file ? number != want : number == 0) fail_msg("word %d, column %d: %g", id, c, (double)number);
            }
    }
    assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
    assert_memory_not_equal(rows[0], rows[2], sizeof rows[0]);
    json_t *config = config_of(test_path("random-0"));
    assert_string_equal(json_string_value(json_object_get(config, "unknown_vectors")), "random");
    json_decref(config);
}

// The files are read when a run begins, and never again.
static void a_resumed_run_needs_no_files(void **state) {
    (void)state;
    char whole[512], halves[512], away[512];
    size_t whole_bytes, halves_bytes;
    keep(whole, test_path("whole"));
    keep(halves, test_path("halves"));
    keep(away, test_path("away.txt"));
    free(train(whole, "--unknown-vectors random --no-freeze-embed --backend cpu"));
    free(train(halves, "--unknown-vectors random --no-freeze-embed --backend cpu --stop-at 2"));
    test_process_t p = test_run_to(2, "train --resume --out %s --vectors '%s' --vectors %s", halves, second, first);
    if (!strstr(p.err, "--vectors cannot change when a run is resumed")) fail_msg("%s", p.err);
    test_process_free(&p);
    p = test_run_to(2, "train --resume --out %s --unknown-vectors zero", halves);
    if (!strstr(p.err, "--unknown-vectors cannot change when a run is resumed")) fail_msg("%s", p.err);
    test_process_free(&p);
    assert_int_equal(rename(first, away), 0);
    p = test_run_to(0, "train --resume --out %s --stop-at 4 --quiet --vectors %s --vectors '%s'", halves, first, second);
    assert_int_equal(rename(away, first), 0);
    test_process_free(&p);
    json_t *config = config_of(halves);
    assert_int_equal(json_array_size(json_object_get(config, "vectors")), 2);
    json_decref(config);
    char *x = test_read_file(test_path("whole/checkpoints/step-4/model.safetensors"), &whole_bytes);
    char *y = test_read_file(test_path("halves/checkpoints/step-4/model.safetensors"), &halves_bytes);
    assert_true(x && y && whole_bytes == halves_bytes);
    assert_memory_equal(x, y, whole_bytes);
    free(x);
    free(y);
}

// Runs of versions that knew one file have its name, or an empty text, in place of a list.
static void a_configuration_with_one_name_is_read(void **state) {
    (void)state;
    const char *run = test_path("single"), *path = test_path("single/config.json");
    test_process_t p = test_run_to(0, "train --task classify --data %s --vectors %s --out %s --stop-at 2 --backend cpu --quiet " MODEL,
                                   classified, first, run);
    test_process_free(&p);
    test_forget_config_checksum(run);
    json_t *config = config_of(run);
    json_object_set_new(config, "vectors", json_string(first));
    json_object_del(config, "unknown_vectors");
    assert_int_equal(json_dump_file(config, path, 0), 0);
    json_decref(config);
    p = test_run_to(0, "train --resume --out %s --quiet", run);
    test_process_free(&p);
    config = config_of(run);
    assert_string_equal(json_string_value(json_array_get(json_object_get(config, "vectors"), 0)), first);
    json_decref(config);
    char options[512];
    keep(options, test_file("options.json", "{\"vectors\": [\"first.txt\", 3]}"));
    p = test_run_to(2, "train --task classify --data %s --config %s --print-config", classified, options);
    if (!strstr(p.err, "key \"vectors\" must be a list of strings, not of a whole number")) fail_msg("%s", p.err);
    test_process_free(&p);
    keep(options, test_file("options.json", "{\"vectors\": [\"one\", \"two\"], \"unknown_vectors\": \"random\"}"));
    p = test_run_to(0, "train --task classify --data %s --config %s --vectors three --print-config", classified, options);
    config = json_loads(p.out, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(config, "vectors")), 1);  // the command line's list replaces the file's
    assert_string_equal(json_string_value(json_object_get(config, "unknown_vectors")), "random");
    json_decref(config);
    test_process_free(&p);
}

static void every_task_takes_them(void **state) {
    (void)state;
    static const struct {
        const char *task, *options, *data;
    } tasks[] = {
        {"lm", "--unit word --context 4", "a a a b b c\nb a a d\n"},
        {"classify", "", "good\ta a a b b c\nbad\tb a a d\n"},
        {"pair", "--model star --d-mlp 8", "good\ta a a b\tb c\nbad\tb a\ta d\n"},
        {"tag", "--model star", "a X\na O\na O\nb O\nb O\nc O\n\nb O\na O\na O\nd O\n"},
        {"regress", "--model star", "0.5\ta a a b b c\n-1\tb a a d\n"},
    };
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; ++i) {
        char data[512], run[512];
        float rows[WORDS * COLUMNS];
        make_folder(data, tasks[i].task, tasks[i].data);
        keep(run, test_path("%s-run", tasks[i].task));
        test_process_t p =
            test_run_to(0, "train --task %s %s --data %s --vectors %s --vectors '%s' --unknown-vectors random --out %s " MODEL,
                        tasks[i].task, tasks[i].options, data, first, second, run);
        test_process_free(&p);
        embedding_of(run, 4, rows);
        for (int id = 2; id < WORDS; ++id)
            for (int c = 0; c < COLUMNS; ++c)
                if (known[id][c] != 0 ? rows[id * COLUMNS + c] != known[id][c] : rows[id * COLUMNS + c] == 0)
                    fail_msg("%s: word %d, column %d: %g", tasks[i].task, id, c, (double)rows[id * COLUMNS + c]);
    }
}

static void odd_vectors_are_named_in_one_warning(void **state) {
    (void)state;
    const char *odd = test_file("odd.txt", "7 3\n. . . 9 9 9.5\na 1 2 3\n  9 9 9\n\t 9 9 9\na 8 8 8\n26 000 .1 .2 .3\nb -1 -2 -3\n\n");
    const char *run = test_path("odd");
    test_process_t p = test_run_to(0, "train --task classify --data %s --out %s " MODEL "--vectors %s", classified, run, odd);
    const char *says = strstr(
        p.err, "odd.txt: 2 vectors of a blank or an empty word left out, the first in line 4; 1 vector of words that had one left out\n");
    if (!says || !strstr(p.err, "vectors for 2 of 6 words")) fail_msg("%s", p.err);
    test_process_free(&p);
    const char *wrong = test_file("wrong.vec", "3 3\na 1 2 3\n");
    p = test_run_to(0, "train --task classify --data %s --out %s " MODEL "--vectors %s", classified, test_path("wrong"), wrong);
    if (!strstr(p.err, "wrong.vec: its first line says 3 vectors, there are 1\n")) fail_msg("%s", p.err);
    test_process_free(&p);
    test_refused(1, "cut.vec: its first line says 3 vectors, and it ends inside the line of vector 1; the file is cut off",
                 "train --task classify --data %s --out %s " MODEL "--vectors %s", classified, test_path("cut"),
                 test_file("cut.vec", "3 3\na 1 2 3"));
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    char both[1200], linked[512], twice[1200], joined[1200], missing[1200];
    keep(linked, test_path("link.txt"));
    assert_int_equal(symlink(first, linked), 0);
    snprintf(both, sizeof both, "--vectors %s --vectors '%s' --d-embed 8", first, second);
    snprintf(twice, sizeof twice, "--vectors %s --vectors %s", first, linked);
    snprintf(joined, sizeof joined, "--vectors %s,%s", first, linked);
    snprintf(missing, sizeof missing, "--vectors %s --vectors /nowhere/v.txt", first);
    const struct {
        const char *options;
        int exit_status;
        const char *says;
    } cases[] = {
        {both, 2, "3 + 2 = 5 numbers side by side where the model's embedding has 8; set --d-embed 5"},
        {twice, 2, "first.txt is given twice; leave one out"},
        {joined, 2, "give --vectors once for each file"},
        {missing, 1, "/nowhere/v.txt: No such file"},
        {"--unknown-vectors random", 2, "--unknown-vectors random is for words that --vectors FILE lacks, and there is no --vectors"},
        {"--unknown-vectors mean", 2, "--unknown-vectors must be zero or random, not 'mean'"},
        {"--vectors=", 2, "--vectors needs a value, not an empty text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const char *run = test_path("refused-%d", (int)i);
        test_process_t p = test_run_to(cases[i].exit_status, "train --task classify --data %s --out %s --quiet " MODEL "%s", classified,
                                       run, cases[i].options);
        if (!strstr(p.err, cases[i].says)) fail_msg("%s: %s", cases[i].options, p.err);
        test_process_free(&p);
        assert_int_equal(access(run, F_OK), -1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_a_word_stand_side_by_side),
        cmocka_unit_test(other_words_get_random_numbers_that_are_the_same_on_every_backend),
        cmocka_unit_test(a_resumed_run_needs_no_files),
        cmocka_unit_test(a_configuration_with_one_name_is_read),
        cmocka_unit_test(every_task_takes_them),
        cmocka_unit_test(odd_vectors_are_named_in_one_warning),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
