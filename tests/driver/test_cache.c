// The cache of results: what was put comes back; whatever is wrong with an entry is a miss, after which it can be replaced; where no folder
// can be written there is no cache, and no error.
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

#include "backends/gpu/cache.h"
#include "bpt/alloc.h"
#include "bpt/file.h"
#include "support/check.h"
#include "support/scratch.h"

static const char payload[] = "what took a driver long to make";

static bpt_cache_key_t key_of(const char *first, const char *second) {
    const char *const parts[] = {first, second};
    return bpt_cache_key("test", parts, 2);
}

static bool holds(const bpt_cache_key_t *key, const void *bytes, size_t length) {
    void *data = NULL;
    size_t got = 0;
    if (!bpt_cache_get(key, &data, &got)) return false;
    const bool same = got == length && !memcmp(data, bytes, length) && !((char *)data)[length];
    bpt_free(data);
    assert_true(same);  // wrong bytes are worse than none
    return true;
}

// The only entry of the folder.
static const char *entry_of(const char *folder) {
    static char path[700];
    char **names;
    size_t count;
    assert_ok(bpt_folder_list(folder, &names, &count));
    assert_int_equal(count, 1);
    snprintf(path, sizeof path, "%s/%s", folder, names[0]);
    bpt_names_free(names, count);
    return path;
}

static const char *fresh_folder(const char *name) {
    const char *folder = test_path("%s", name);
    setenv("BPT_CACHE_DIR", folder, 1);
    return folder;
}

static void what_was_put_comes_back(void **state) {
    (void)state;
    fresh_folder("a/new/folder");
    const bpt_cache_key_t key = key_of("text", "options"), empty = key_of("", "");
    assert_false(holds(&key, payload, sizeof payload));
    bpt_cache_put(&key, payload, sizeof payload);
    assert_true(holds(&key, payload, sizeof payload));
    bpt_cache_put(&key, "another", 7);
    assert_true(holds(&key, "another", 7));
    bpt_cache_put(&empty, "", 0);
    assert_true(holds(&empty, "", 0));
}

static void keys_differ_in_every_part(void **state) {
    (void)state;
    const bpt_cache_key_t keys[] = {key_of("ab", "c"), key_of("a", "bc"), key_of("abc", ""), key_of("", "abc"), key_of("c", "ab")};
    fresh_folder("keys");
    for (size_t i = 0; i < BPT_COUNT(keys); ++i) bpt_cache_put(&keys[i], &i, sizeof i);
    for (size_t i = 0; i < BPT_COUNT(keys); ++i) assert_true(holds(&keys[i], &i, sizeof i));
}

// ---- Damage ----------------------------------------------------------------------------------------------------------

typedef enum { BYTES_CHANGED, CUT, LONGER, EMPTY, FOREIGN, OTHER_KEY, A_FOLDER, DANGLING_LINK, NO_PERMISSION } damage_t;

static void do_damage(damage_t damage, const char *path, size_t at) {
    size_t length;
    char *bytes = test_read_file(path, &length);
    assert_non_null(bytes);
    switch (damage) {
    case BYTES_CHANGED: bytes[at] = (char)(bytes[at] ^ 1); break;
    case CUT: length = at; break;
    case LONGER: length += 1; break;  // the NUL behind it
    case EMPTY: length = 0; break;
    case FOREIGN: memset(bytes, 'x', length); break;
    default: break;
    }
    if (damage == A_FOLDER || damage == DANGLING_LINK) assert_int_equal(unlink(path), 0);
    if (damage == A_FOLDER)
        test_make_folder(path);
    else if (damage == DANGLING_LINK)
        assert_int_equal(symlink("/nonexistent/entry", path), 0);
    else if (damage == NO_PERMISSION)
        assert_int_equal(chmod(path, 0), 0);  // which stops nobody who is root
    else
        test_write_file(path, bytes, length);
    free(bytes);
}

static void check_damage(damage_t damage, size_t at, bool must_miss) {
    const bpt_cache_key_t key = key_of("text", "options");
    const char *folder = fresh_folder("damage");
    assert_ok(bpt_path_remove(folder));
    bpt_cache_put(&key, payload, sizeof payload);
    do_damage(damage, entry_of(folder), at);
    if (holds(&key, payload, sizeof payload) && must_miss) fail_msg("damage %d at %zu was not noticed", (int)damage, at);
    bpt_cache_put(&key, "new", 3);
    if (!holds(&key, "new", 3)) fail_msg("damage %d at %zu: the entry was not replaced", (int)damage, at);
}

static void a_changed_byte_anywhere_is_noticed(void **state) {
    (void)state;
    size_t length;
    const bpt_cache_key_t key = key_of("text", "options");
    const char *folder = fresh_folder("length");
    bpt_cache_put(&key, payload, sizeof payload);
    free(test_read_file(entry_of(folder), &length));
    assert_true(length > sizeof payload);
    for (size_t at = 0; at < length; ++at) check_damage(BYTES_CHANGED, at, true);
    for (size_t at = 0; at < length; ++at) check_damage(CUT, at, true);
}

static void other_damage_is_noticed_and_mended(void **state) {
    (void)state;
    check_damage(LONGER, 0, true);
    check_damage(EMPTY, 0, true);
    check_damage(FOREIGN, 0, true);
    check_damage(A_FOLDER, 0, true);
    check_damage(NO_PERMISSION, 0, geteuid() != 0);
}

static void an_entry_of_another_key_is_a_miss(void **state) {
    (void)state;
    const bpt_cache_key_t key = key_of("text", "options"), other = key_of("text", "other options");
    char mine[700];
    size_t length;
    const char *folder = fresh_folder("mine");
    bpt_cache_put(&key, payload, sizeof payload);
    snprintf(mine, sizeof mine, "%s", entry_of(folder));
    folder = fresh_folder("theirs");
    bpt_cache_put(&other, "other", 5);
    char *bytes = test_read_file(entry_of(folder), &length);
    test_write_file(mine, bytes, length);
    free(bytes);
    setenv("BPT_CACHE_DIR", test_path("mine"), 1);
    assert_false(holds(&key, payload, sizeof payload));
}

static void a_link_to_nowhere_is_a_miss(void **state) {
    (void)state;
    const bpt_cache_key_t key = key_of("text", "options");
    const char *folder = fresh_folder("link");
    bpt_cache_put(&key, payload, sizeof payload);
    do_damage(DANGLING_LINK, entry_of(folder), 0);
    assert_false(holds(&key, payload, sizeof payload));
}

static void a_full_cache_loses_what_was_unused_longest_and_nothing_else(void **state) {
    (void)state;
    enum { N = 10, BYTES = 1000 };
    static char bytes[BYTES];
    char folder[600], numbers[N][8];
    bpt_cache_key_t keys[N];
    snprintf(folder, sizeof folder, "%s", fresh_folder("full"));
    for (int i = 0; i < N; ++i) {
        snprintf(numbers[i], sizeof numbers[i], "%d", i);
        keys[i] = key_of("entry", numbers[i]);
        bpt_cache_put(&keys[i], bytes, BYTES);
        usleep(20000);  // so that the times of their files differ
    }
    test_write_file(test_path("full/notes.txt"), bytes, BYTES);
    test_write_file(test_path("full/notes-0123"), bytes, BYTES);
    assert_ok(bpt_cache_prune(folder, N * (BYTES + 100)));  // all fit
    for (int i = 0; i < N; ++i) {
        assert_true(holds(&keys[i], bytes, BYTES));
        usleep(20000);
    }
    assert_true(holds(&keys[0], bytes, BYTES));            // the oldest one was used just now
    assert_ok(bpt_cache_prune(folder, 8 * (BYTES + 40)));  // leaves at most six, each with a header of 48 bytes
    int kept = 0;
    for (int i = 0; i < N; ++i) kept += holds(&keys[i], bytes, BYTES);
    assert_in_range(kept, 4, 6);
    assert_true(holds(&keys[0], bytes, BYTES));
    assert_false(holds(&keys[1], bytes, BYTES));
    assert_true(holds(&keys[N - 1], bytes, BYTES));
    assert_true(bpt_file_exists(test_path("full/notes.txt")) && bpt_file_exists(test_path("full/notes-0123")));
}

// ---- No cache --------------------------------------------------------------------------------------------------------

static void without_a_folder_there_is_no_cache_and_no_error(void **state) {
    (void)state;
    const bpt_cache_key_t key = key_of("text", "options");
    char folder[600];
    test_write_file(test_path("file"), "x", 1);
    snprintf(folder, sizeof folder, "%s", test_path("file/below"));
    setenv("BPT_CACHE_DIR", folder, 1);
    const bpt_status_t failed = bpt_fail(BPT_ERR_NUMERIC, "a message that is still to be reported");
    bpt_cache_put(&key, payload, sizeof payload);
    assert_false(holds(&key, payload, sizeof payload));
    assert_int_equal(failed, BPT_ERR_NUMERIC);
    assert_string_equal(bpt_error_message(), "a message that is still to be reported");
    bpt_error_clear();
    fresh_folder("off");
    setenv("BPT_DISABLE", "cache", 1);
    bpt_cache_put(&key, payload, sizeof payload);
    assert_false(holds(&key, payload, sizeof payload));
    unsetenv("BPT_DISABLE");
    assert_false(bpt_folder_exists(test_path("off")));
    bpt_cache_put(&key, payload, sizeof payload);
    assert_true(holds(&key, payload, sizeof payload));
}

static void the_folder_follows_the_environment(void **state) {
    (void)state;
    const bpt_cache_key_t key = key_of("text", "options");
    char old_home[600];
    snprintf(old_home, sizeof old_home, "%s", getenv("HOME") ? getenv("HOME") : "");
    unsetenv("BPT_CACHE_DIR");
    setenv("XDG_CACHE_HOME", test_path("xdg"), 1);
    bpt_cache_put(&key, payload, sizeof payload);
    entry_of(test_path("xdg/bpt"));
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", test_path("home"), 1);
    bpt_cache_put(&key, payload, sizeof payload);
    entry_of(test_path("home/.cache/bpt"));
    unsetenv("HOME");
    assert_false(holds(&key, payload, sizeof payload));
    if (*old_home) setenv("HOME", old_home, 1);
}

static void running_out_of_memory_is_a_miss(void **state) {
    (void)state;
    const bpt_cache_key_t key = key_of("text", "options");
    fresh_folder("memory");
    bpt_cache_put(&key, payload, sizeof payload);
    const size_t live = bpt_alloc_live();
    for (size_t nth = 1; nth <= 4; ++nth) {
        bpt_alloc_fail_after(nth);
        (void)holds(&key, payload, sizeof payload);
        bpt_alloc_fail_after(nth);
        bpt_cache_put(&key, payload, sizeof payload);
        bpt_alloc_fail_after(0);
        assert_true(holds(&key, payload, sizeof payload));
    }
    assert_int_equal(bpt_alloc_live(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_comes_back),
        cmocka_unit_test(keys_differ_in_every_part),
        cmocka_unit_test(a_changed_byte_anywhere_is_noticed),
        cmocka_unit_test(other_damage_is_noticed_and_mended),
        cmocka_unit_test(an_entry_of_another_key_is_a_miss),
        cmocka_unit_test(a_link_to_nowhere_is_a_miss),
        cmocka_unit_test(a_full_cache_loses_what_was_unused_longest_and_nothing_else),
        cmocka_unit_test(without_a_folder_there_is_no_cache_and_no_error),
        cmocka_unit_test(the_folder_follows_the_environment),
        cmocka_unit_test(running_out_of_memory_is_a_miss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
