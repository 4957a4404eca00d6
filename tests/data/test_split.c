// `--data PATH`: a folder of three files or one file cut 90/5/5.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/examples/split.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/support.h"

// A folder NAME with the given files; each holds its own name.
static const char *folder_of(const char *name, const char *const *files) {
    const char *folder = test_path("%s", name);
    test_make_folder(folder);
    for (; *files; ++files) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, *files);
        if (strchr(*files, '/'))
            test_make_folder(path);  // "name/": a folder
        else
            test_write_file(path, *files, strlen(*files));
    }
    return folder;
}

static void files_of_a_folder_are_found_by_name(void **state) {
    (void)state;
    static const struct {
        const char *files[6], *parts[BPT_PARTS];
    } cases[] = {
        {{"train.txt", "valid.txt", "test.txt"}, {"train.txt", "valid.txt", "test.txt"}},
        {{"wiki.train.tokens", "wiki.dev.tokens", "README"}, {"wiki.train.tokens", "wiki.dev.tokens", NULL}},
        {{"train", ".train.swp", "train.d/", "newstest2014"}, {"train", NULL, "newstest2014"}},
        {{"ptb.train", "validation"}, {"ptb.train", "validation", NULL}},
        {{"train.tsv", "val.tsv", "test.tsv"}, {"train.tsv", "val.tsv", "test.tsv"}},
        {{"train2017", "val2017"}, {"train2017", "val2017", NULL}},
        {{"train", "test", "test2017", "latest"}, {"train", NULL, "test"}},
        {{"train.en", "test-2016.en", "test.en", "test2017.en"}, {"train.en", NULL, "test.en"}},
        {{"interval.train", "interval_val", "interval-notes"}, {"interval.train", "interval_val", NULL}},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        char name[32];
        snprintf(name, sizeof name, "good%zu", i);
        bpt_split_t split;
        assert_ok(bpt_split_open(BPT_ONE_PATH(folder_of(name, cases[i].files)), BPT_UNIT_BYTE, false, &split));
        for (int p = 0; p < BPT_PARTS; ++p) {
            const char *want = cases[i].parts[p] ? cases[i].parts[p] : "";
            assert_int_equal(split.part[p].bytes, strlen(want));
            if (*want) assert_memory_equal(split.part[p].data, want, strlen(want));
        }
        bpt_split_close(&split);
    }
}

static void folders_that_leave_a_doubt_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *files[6], *message;
    } cases[] = {
        {{"train.en", "train.de", "valid.en"}, "both 'train.de' and 'train.en' could be the train part"},
        {{"train", "valid", "dev"}, "both 'dev' and 'valid' could be the valid part"},
        {{"train", "test2016", "test2017"},
         "both 'test2016' and 'test2017' could be the test part; keep one in the folder, or call it 'test' and no more"},
        {{"train", "test.en", "test.de"}, "both 'test.de' and 'test.en' could be the test part"},
        {{"train", "test/", "test-a", "test-b"}, "both 'test-a' and 'test-b' could be the test part"},
        {{"train", "valid", "val"}, "both 'val' and 'valid' could be the valid part"},
        {{"train_val.txt"}, "'train_val.txt' could be the train part and the valid part"},
        {{"train.txt", "trainval.txt"}, "both 'train.txt' and 'trainval.txt' could be the train part"},
        {{"train-test.txt"}, "'train-test.txt' could be the train part and the test part"},
        {{"valid.txt"}, "no file whose name holds 'train'"},
        {{NULL}, "no file whose name holds 'train'"},
    };
    const size_t live = bpt_alloc_live();
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        char name[32];
        snprintf(name, sizeof name, "bad%zu", i);
        bpt_split_t split;
        assert_fails(bpt_split_open(BPT_ONE_PATH(folder_of(name, cases[i].files)), BPT_UNIT_BYTE, false, &split), BPT_ERR_INPUT,
                     cases[i].message);
    }
    bpt_split_t split;
    test_write_file(test_path("bad0/empty"), "", 0);
    assert_fails(bpt_split_open(BPT_ONE_PATH(test_path("bad0/empty")), BPT_UNIT_BYTE, false, &split), BPT_ERR_INPUT, "is empty");
    assert_fails(bpt_split_open(BPT_ONE_PATH(test_path("nowhere")), BPT_UNIT_BYTE, false, &split), BPT_ERR_IO, "nowhere");
    assert_int_equal(bpt_alloc_live(), live);
}

// Parts of a file made of `n` copies of `thing`, in things.
static void assert_cut(const char *thing, size_t n, bool last_newline, bpt_unit_t unit, bool by_lines, const size_t want[BPT_PARTS]) {
    const size_t size = strlen(thing);
    char *text = malloc(n * size);
    for (size_t i = 0; i < n; ++i) memcpy(text + i * size, thing, size);
    const char *path = test_path("one.txt");
    test_write_file(path, text, n * size - (last_newline ? 0 : 1));
    bpt_split_t split;
    assert_ok(bpt_split_open(BPT_ONE_PATH(path), unit, by_lines, &split));
    size_t at = 0;
    for (int p = 0; p < BPT_PARTS; ++p) {
        const bpt_range_t *part = &split.part[p];
        assert_int_equal(part->bytes, want[p] * size - (p == BPT_TEST && !last_newline));
        assert_int_equal(part->offset, at * size);
        assert_int_equal(part->line, 1 + (by_lines ? at : 0));
        assert_string_equal(part->path, path);
        assert_memory_equal(part->data, text + at * size, part->bytes);
        at += want[p];
    }
    assert_int_equal(at, n);
    bpt_split_close(&split);
    free(text);
}

static void one_file_is_cut_by_bytes_code_points_or_lines(void **state) {
    (void)state;
    assert_cut("x", 1000, true, BPT_UNIT_BYTE, false, (size_t[]){900, 50, 50});
    assert_cut("x", 39, true, BPT_UNIT_BYTE, false, (size_t[]){35, 2, 2});
    assert_cut("\xE2\x82\xAC", 1000, true, BPT_UNIT_CHAR, false, (size_t[]){900, 50, 50});
    assert_cut("a b\n", 1000, true, BPT_UNIT_WORD, true, (size_t[]){900, 50, 50});
    assert_cut("a b\n", 1000, false, BPT_UNIT_WORD, true, (size_t[]){900, 50, 50});
    assert_cut("1\n", 40, false, BPT_UNIT_IDS, true, (size_t[]){36, 2, 2});
    for (size_t n = 3; n < 64; ++n) {  // every part has something, and the cuts are those of the percentages when they can be
        size_t valid = n * 95 / 100 - n * 90 / 100, test = n - n * 95 / 100;
        if (!valid || !test) valid = test = 1;
        assert_cut("a\n", n, n % 2, BPT_UNIT_WORD, true, (size_t[]){n - valid - test, valid, test});
    }
}

static void a_file_too_small_to_cut_is_refused(void **state) {
    (void)state;
    bpt_split_t split;
    test_write_file(test_path("two"), "a\nb\n", 4);
    assert_fails(bpt_split_open(BPT_ONE_PATH(test_path("two")), BPT_UNIT_WORD, true, &split), BPT_ERR_INPUT, "two has 2 lines, too few");
    test_write_file(test_path("one"), "a", 1);
    assert_fails(bpt_split_open(BPT_ONE_PATH(test_path("one")), BPT_UNIT_BYTE, false, &split), BPT_ERR_INPUT, "one has 1 byte, too few");
    test_write_file(test_path("latin"), "caf\xE9 au lait\n", 13);
    assert_fails(bpt_split_open(BPT_ONE_PATH(test_path("latin")), BPT_UNIT_CHAR, false, &split), BPT_ERR_INPUT,
                 "line 1, byte 3: not valid UTF-8");
}

static void tinyshakespeare_is_cut_as_its_parts_are(void **state) {
    (void)state;
    if (!test_shared_dir()) skip();
    char folder[512];
    snprintf(folder, sizeof folder, "%s/data/tinyshakespeare", test_shared_dir());
    bpt_split_t parts, whole;
    assert_ok(bpt_split_open(BPT_ONE_PATH(folder), BPT_UNIT_BYTE, false, &parts));
    bpt_strbuf_t all = {0};
    for (int p = 0; p < BPT_PARTS; ++p) assert_ok(bpt_strbuf_append(&all, parts.part[p].data, parts.part[p].bytes));
    test_write_file(test_path("whole.txt"), all.data, all.length);
    assert_ok(bpt_split_open(BPT_ONE_PATH(test_path("whole.txt")), BPT_UNIT_BYTE, false, &whole));
    for (int p = 0; p < BPT_PARTS; ++p) assert_int_equal(whole.part[p].bytes, parts.part[p].bytes);
    bpt_strbuf_free(&all);
    bpt_split_close(&parts);
    bpt_split_close(&whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_a_folder_are_found_by_name),           cmocka_unit_test(folders_that_leave_a_doubt_are_refused),
        cmocka_unit_test(one_file_is_cut_by_bytes_code_points_or_lines), cmocka_unit_test(a_file_too_small_to_cut_is_refused),
        cmocka_unit_test(tinyshakespeare_is_cut_as_its_parts_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
