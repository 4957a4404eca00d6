// Names of files as every system has them, and links where a system makes none: files with one line. Also built for Windows.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/paths.h"
#include "models/train/run_dir.h"
#include "support/check.h"
#include "support/scratch.h"

#ifdef _WIN32
#define BACKSLASH_SEPARATES true
#else
#define BACKSLASH_SEPARATES false
#endif

static void the_name_is_behind_the_last_separator(void **state) {
    (void)state;
    static const struct {
        const char *path, *name, *name_on_windows;
    } cases[] = {{"a", "a", "a"},     {"", "", ""},         {"a/b.txt", "b.txt", "b.txt"}, {"/a", "a", "a"},
                 {"a/b/", "", ""},    {"a\\b", "a\\b", "b"}, {"a/b\\c", "b\\c", "c"},       {"C:\\x\\y z.txt", "C:\\x\\y z.txt", "y z.txt"},
                 {"a\\b/c", "c", "c"}};
    for (size_t i = 0; i < BPT_COUNT(cases); ++i)
        assert_string_equal(bpt_path_name(cases[i].path), BACKSLASH_SEPARATES ? cases[i].name_on_windows : cases[i].name);
    assert_true(bpt_path_separates('/'));
    assert_int_equal(bpt_path_separates('\\'), BACKSLASH_SEPARATES);
}

// Every separator that the system knows, and names beyond ASCII.
static void folders_above_are_made_and_files_replaced_in_them(void **state) {
    (void)state;
    const size_t live = bpt_alloc_live();
    const char *paths[] = {test_path("one/two/file"), test_path("schön/文 字/file"), test_path("back\\slash\\file")};
    for (size_t i = 0; i < BPT_COUNT(paths); ++i) {
        size_t length;
        assert_ok(bpt_parents_create(paths[i]));
        for (int again = 0; again < 2; ++again) assert_ok(bpt_file_write(paths[i], "text", 4));
        char *text = test_read_file(paths[i], &length);
        assert_non_null(text);
        assert_string_equal(text, "text");
        free(text);
    }
    assert_int_equal(bpt_folder_exists(test_path("back")), BACKSLASH_SEPARATES);
    assert_int_equal(bpt_alloc_live(), live);
}

static bpt_status_t save(bpt_run_t *run, int64_t step) {
    const char *folder;
    BPT_TRY(bpt_run_checkpoint_begin(run, step, &folder));
    return bpt_run_checkpoint_commit(run, false, 10);
}

static void assert_leads_to(const bpt_run_t *run, const char *which, int64_t step) {
    char *folder;
    assert_ok(bpt_run_checkpoint_find(run, which, &folder));
    assert_int_equal(bpt_run_checkpoint_step(folder), step);
    bpt_free(folder);
}

static void a_file_with_one_line_is_a_link(void **state) {
    (void)state;
    static const char *const links[] = {"checkpoints/step-10\n", "checkpoints/step-10\r\n", "checkpoints/step-10"};
    const size_t live = bpt_alloc_live();
    char target[64];
    bpt_run_t *run;
    assert_ok(bpt_run_create(test_path("run"), &run));
    assert_ok(bpt_file_write(bpt_run_config_path(run), "{}\n", 3));
    assert_ok(save(run, 10));
    assert_ok(save(run, 20));
    assert_leads_to(run, "latest", 20);
    for (size_t i = 0; i < BPT_COUNT(links); ++i) {
        assert_ok(bpt_path_remove(test_path("run/latest")));
        test_write_file(test_path("run/latest"), links[i], strlen(links[i]));
        assert_true(bpt_link_read(test_path("run/latest"), target, sizeof target));
        assert_string_equal(target, "checkpoints/step-10");
        assert_leads_to(run, "latest", 10);
    }
    assert_ok(save(run, 30));  // moves the link on
    assert_leads_to(run, "latest", 30);
    bpt_run_close(run);
    assert_int_equal(bpt_alloc_live(), live);
}

static void no_other_file_is_taken_for_a_link_and_replaced(void **state) {
    (void)state;
    char longer[400], target[4096];
    memset(longer, 'x', sizeof longer);
    const struct {
        const char *text;
        size_t length;
    } files[] = {{"", 0}, {"\n", 1}, {"one\ntwo\n", 8}, {longer, sizeof longer}};
    const char *link = test_path("file");
    for (size_t i = 0; i < BPT_COUNT(files); ++i) {
        size_t length;
        test_write_file(link, files[i].text, files[i].length);
        assert_false(bpt_link_read(link, target, sizeof target));
        assert_fails(bpt_link_swap(link, "elsewhere"), BPT_ERR_IO, "cannot replace link");
        char *text = test_read_file(link, &length);
        assert_int_equal(length, files[i].length);
        assert_memory_equal(text, files[i].text, length);
        free(text);
    }
    assert_ok(bpt_path_remove(link));
    assert_ok(bpt_link_swap(link, "elsewhere"));
    assert_true(bpt_link_read(link, target, sizeof target));
    assert_string_equal(target, "elsewhere");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_is_behind_the_last_separator),
        cmocka_unit_test(folders_above_are_made_and_files_replaced_in_them),
        cmocka_unit_test(a_file_with_one_line_is_a_link),
        cmocka_unit_test(no_other_file_is_taken_for_a_link_and_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
