// Several files as one text: their names and lines in messages and parts, headers of each, shards of a folder.
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
#include "example_sets.h"
#include "support/check.h"
#include "support/gzip.h"
#include "support/scratch.h"

// The files NAME0, NAME1, .. of these texts.
static bpt_paths_t write_files(const char *name, const char *const *texts, size_t count) {
    static char path[8][256];
    static const char *list[8];
    for (size_t i = 0; i < count; ++i) {
        snprintf(path[i], sizeof path[i], "%s", test_path("%s%zu", name, i));
        test_write_file(path[i], texts[i], strlen(texts[i]));
        list[i] = path[i];
    }
    return (bpt_paths_t){list, count};
}

static void lines_are_those_of_their_files(void **state) {
    (void)state;
    const char *const texts[] = {"a\nb",
                                 "\xEF\xBB\xBF"
                                 "c\nd\n",
                                 "e"};
    const bpt_paths_t paths = write_files("lines", texts, 3);
    bpt_text_t *text;
    bpt_range_t rest, line;
    char seen[200] = "";
    assert_ok(bpt_text_open_files(&paths, &text));
    rest = bpt_text_range(text);
    assert_int_equal(bpt_range_files(&rest), 3);
    while (bpt_range_next_line(&rest, &line))
        sprintf(seen + strlen(seen), "%c%d:%.*s ", line.path[strlen(line.path) - 1], (int)line.line, (int)line.bytes, line.data);
    assert_string_equal(seen, "01:a 02:b 11:c 12:d 21:e ");
    rest = bpt_text_range(text);
    for (uint64_t at = 0; at < rest.bytes; ++at) {  // parts from any byte on
        const bpt_range_t part = bpt_range_part(&rest, at, rest.bytes);
        assert_int_equal(part.path[strlen(part.path) - 1], at < 4 ? '0' : at < 11 ? '1' : '2');
        assert_int_equal(part.line, at < 2 || (at >= 4 && at < 9) || at >= 11 ? 1 : 2);
    }
    bpt_text_close(text);
}

static void each_file_is_read_for_itself(void **state) {
    (void)state;
    static const struct {
        bpt_examples_options_t options;
        const char *text[3], *wanted, *message;
    } cases[] = {
        {{.labelled = true}, {"x\ta\ny\tb", "x\tc\n", "y\td"}, "x: a;y: b;x: c;y: d;", NULL},
        {{.labelled = true, .header = true}, {"l\tt\nx\ta\n", "l\tt\nx\tb\n", "l\tt\ny\tc"}, "x: a;x: b;y: c;", NULL},
        {{.format = BPT_FORMAT_CSV, .labelled = true, .by_name = true},
         {"text,label\na,x\n", "label,text\ny,b\n", "text,label\nc,x"},
         "x: a;y: b;x: c;",
         NULL},
        {{.format = BPT_FORMAT_CONLL, .labelled = true, .per_token = true},
         {"a O\nb X", "c\t1\tX\n", "d O\n\ne O"},
         " a/O b/X; c/X; d/O; e/O;",
         NULL},
        {{.labelled = true}, {"x\ta\n", "x\tb\nno tab\n", "x\tc\n"}, NULL, "bad1: line 2: no tab"},
        {{.labelled = true}, {"x\ta\n", "x\tb\n", "x\tc\nx\t\xFF\n"}, NULL, "bad2: line 2, byte 6: not valid UTF-8"},
        {{.format = BPT_FORMAT_CSV, .labelled = true, .by_name = true},
         {"text,label\n\"a,x\n", "text,label\n\"b\",x\n", "text,label\nc,y\n"},
         NULL,
         "bad0: line 2: the quote that begins here is not closed"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        const bpt_paths_t paths = write_files(cases[i].wanted ? "good" : "bad", cases[i].text, 3);
        bpt_text_t *text;
        set_t s = {0};
        char found[200];
        assert_ok(bpt_text_open_files(&paths, &text));
        const bpt_range_t range = bpt_text_range(text);
        assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &s.vocab));
        const bpt_status_t status = bpt_examples_scan(&range, &cases[i].options, s.vocab, &s.labels);
        if (cases[i].message) {
            assert_fails(status, BPT_ERR_INPUT, cases[i].message);
        } else {
            assert_ok(status);
            bpt_labels_freeze(&s.labels);
            assert_ok(bpt_vocab_freeze(s.vocab));
            assert_ok(bpt_examples_read(&range, &cases[i].options, s.vocab, &s.labels, &s.examples));
            show(&s, found, sizeof found);
            if (strcmp(found, cases[i].wanted)) fail_msg("case %zu: %s", i, found);
        }
        free_set(&s);
        bpt_text_close(text);
    }
}

static void expect_part(const bpt_split_t *split, int part, const char *wanted) {
    const bpt_range_t *range = &split->part[part];
    if (range->bytes != strlen(wanted) || (range->bytes && memcmp(range->data, wanted, range->bytes)))
        fail_msg("part %d: '%.*s', wanted '%s'", part, (int)range->bytes, range->data, wanted);
}

static void shards_are_one_part(void **state) {
    (void)state;
    bpt_split_t split;
    char folder[256], other[256], years[256];
    snprintf(folder, sizeof folder, "%s", test_path("shards")), snprintf(other, sizeof other, "%s", test_path("other"));
    snprintf(years, sizeof years, "%s", test_path("years"));
    test_make_folder(folder);
    test_make_folder(other);
    test_make_folder(years);
    for (int i = 0; i < 12; ++i) {
        char name[64], text[16];
        const int n = sprintf(text, "%d\n", i);
        snprintf(name, sizeof name, "shards/train-%d-of-12.txt.gz", i);
        test_write_gzip(test_path("%s", name), text, (size_t)n);
    }
    test_write_file(test_path("shards/valid.txt"), "v\n", 2);
    assert_ok(bpt_split_open(BPT_ONE_PATH(folder), BPT_UNIT_WORD, true, &split));
    expect_part(&split, BPT_TRAIN, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
    expect_part(&split, BPT_VALID, "v\n");
    bpt_split_close(&split);
    test_write_file(test_path("other/train.txt"), "o", 1);
    test_write_file(test_path("other/test1.txt"), "s", 1), test_write_file(test_path("other/test2.txt"), "t", 1);
    char file[256];
    snprintf(file, sizeof file, "%s", test_path("valid-too"));
    test_write_file(file, "w\n", 2);
    const bpt_paths_t several = {(const char *const[]){other, folder, file}, 3};
    assert_ok(bpt_split_open(&several, BPT_UNIT_WORD, true, &split));
    expect_part(&split, BPT_TRAIN, "o\n0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
    expect_part(&split, BPT_VALID, "v\nw\n");
    expect_part(&split, BPT_TEST, "s\nt");
    bpt_split_close(&split);
    test_write_file(test_path("years/train"), "a", 1);
    test_write_file(test_path("years/test2013"), "b", 1), test_write_file(test_path("years/test2014"), "c", 1);
    assert_fails(bpt_split_open(BPT_ONE_PATH(years), BPT_UNIT_WORD, true, &split), BPT_ERR_INPUT,
                 "both 'test2013' and 'test2014' could be the test part");
    const bpt_paths_t beside = {(const char *const[]){folder, test_path("lines0")}, 2};
    assert_fails(bpt_split_open(&beside, BPT_UNIT_WORD, true, &split), BPT_ERR_INPUT, "lines0: its name says no part");
}

static void files_are_parts_or_cut(void **state) {
    (void)state;
    bpt_split_t split;
    const char *const names[] = {"train_a.txt", "train_b.txt", "dev_a.txt"};
    char path[3][256];
    for (int i = 0; i < 3; ++i) {
        snprintf(path[i], sizeof path[i], "%s", test_path("%s", names[i]));
        test_write_file(path[i], names[i], strlen(names[i]));
    }
    const bpt_paths_t parts = {(const char *const[]){path[0], path[2], path[1]}, 3}, whole = {(const char *const[]){path[0], path[1]}, 2};
    assert_true(bpt_split_has_parts(&parts) && !bpt_split_has_parts(&whole));
    assert_ok(bpt_split_open(&parts, BPT_UNIT_WORD, true, &split));
    expect_part(&split, BPT_TRAIN, "train_a.txt\ntrain_b.txt");
    expect_part(&split, BPT_VALID, "dev_a.txt");
    bpt_split_close(&split);
    assert_ok(bpt_split_open(&whole, BPT_UNIT_BYTE, false, &split));
    expect_part(&split, BPT_TRAIN, "train_a.txt\ntrain_b.");
    expect_part(&split, BPT_VALID, "t");
    assert_string_equal(split.part[BPT_VALID].path, path[1]);
    bpt_split_close(&split);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_those_of_their_files),
        cmocka_unit_test(each_file_is_read_for_itself),
        cmocka_unit_test(shards_are_one_part),
        cmocka_unit_test(files_are_parts_or_cut),
    };
    return cmocka_run_group_tests_name("several_files", tests, NULL, NULL);
}
