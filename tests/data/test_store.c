// Arrays that may be larger than memory, and token ids in them.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/text/ids.h"
#include "data/text/text.h"
#include "support/check.h"
#include "support/scratch.h"

enum { MIB = 1 << 20 };

static uint32_t number(uint64_t i) { return (uint32_t)(i * 2654435761u >> 7); }

// Appends `count` numbers in pieces of growing length; what comes back must be the same.
static void check_store(uint64_t count, bool in_file) {
    const size_t live = bpt_alloc_live();
    bpt_store_t store = {0};
    uint32_t piece[1000];
    const void *data;
    uint64_t bytes;
    for (uint64_t i = 0, length = 1; i < count; i += length, length = length % 997 + 1) {
        if (length > count - i) length = count - i;
        for (uint64_t j = 0; j < length; ++j) piece[j] = number(i + j);
        assert_ok(bpt_store_append(&store, piece, length * 4));
    }
    assert_ok(bpt_store_finish(&store, &data, &bytes));
    assert_int_equal(store.has_file, in_file);
    assert_int_equal(bytes, count * 4);
    for (uint64_t i = 0; i < count; ++i)
        if (((const uint32_t *)data)[i] != number(i))
            fail_msg("number %llu of %llu is another one", (unsigned long long)i, (unsigned long long)count);
    bpt_store_free(&store);
    assert_int_equal(bpt_alloc_live(), live);
}

static void what_is_appended_comes_back_from_memory_and_from_a_file(void **state) {
    (void)state;
    setenv("BPT_TEXT_MEMORY", "1", 1);
    setenv("TMPDIR", test_scratch_dir(), 1);
    check_store(1, false);
    check_store(MIB / 4 - 1, false);
    check_store(MIB / 4, false);
    check_store(MIB / 4 + 1, true);
    check_store(5 * MIB / 4, true);
    check_store(5 * MIB / 4 + 333, true);
    unsetenv("BPT_TEXT_MEMORY");
    check_store(5 * MIB / 4 + 333, false);
    unsetenv("TMPDIR");
}

static void a_limit_that_is_no_number_is_refused(void **state) {
    (void)state;
    static const char *const values[] = {"64M", "0", "-1", "much", "99999999999999999999"};
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
        bpt_store_t store = {0};
        char *at;
        size_t room;
        setenv("BPT_TEXT_MEMORY", values[i], 1);
        assert_fails(bpt_store_room(&store, &at, &room), BPT_ERR_USAGE, "set it to a number of MiB");
        bpt_store_free(&store);
    }
    unsetenv("BPT_TEXT_MEMORY");
}

static void nothing_is_no_data(void **state) {
    (void)state;
    bpt_store_t store = {0};
    const void *data;
    uint64_t bytes;
    assert_ok(bpt_store_finish(&store, &data, &bytes));
    assert_null(data);
    assert_int_equal(bytes, 0);
    bpt_store_free(&store);
}

static void ids_take_as_many_bytes_as_the_vocabulary_needs(void **state) {
    (void)state;
    static const struct {
        int64_t vocabulary;
        uint32_t width, largest;
    } cases[] = {{256, 1, 255}, {257, 2, 256}, {65536, 2, 65535}, {65537, 4, 65536}, {0, 4, UINT32_MAX - 1}};
    for (size_t c = 0; c < BPT_COUNT(cases); ++c) {
        bpt_ids_t ids = bpt_ids_begin(cases[c].vocabulary);
        uint32_t out[3] = {0};
        for (uint32_t i = 0; i < 1000; ++i) assert_ok(bpt_ids_push(&ids, i == 500 ? cases[c].largest : i % 250));
        assert_ok(bpt_ids_finish(&ids));
        assert_int_equal(ids.width, cases[c].width);
        assert_int_equal(ids.count, 1000);
        bpt_ids_copy(&ids, 499, 3, out);
        assert_true(out[0] == 249 && out[1] == cases[c].largest && out[2] == 1);
        bpt_ids_copy(&ids, 999, 1, out);
        assert_int_equal(out[0], 249);
        bpt_ids_free(&ids);
    }
}

static void a_text_beyond_the_limit_lies_in_a_file_and_reads_the_same(void **state) {
    (void)state;
    char *bytes;
    const size_t count = 3 * MIB + 17;
    assert_ok(bpt_alloc(count, 1, &bytes));
    for (size_t i = 0; i < count; ++i) bytes[i] = (char)number(i);
    test_write_file(test_path("large.bin"), bytes, count);
    setenv("BPT_TEXT_MEMORY", "1", 1);
    setenv("TMPDIR", test_scratch_dir(), 1);
    bpt_text_t *text;
    assert_ok(bpt_text_open(test_path("large.bin"), &text));
    test_write_file(test_path("large.bin"), "short now", 9);  // neither kills us nor changes the text
    assert_int_equal(bpt_text_range(text).bytes, count);
    assert_memory_equal(bpt_text_range(text).data, bytes, count);
    bpt_text_close(text);
    bpt_free(bytes);
    unsetenv("TMPDIR");
    unsetenv("BPT_TEXT_MEMORY");
}

// A folder that is not there, and a disk that is full (here: a limit on the length of files).
static void a_folder_without_room_is_one_sentence_with_a_remedy(void **state) {
    (void)state;
    bpt_store_t store = {0};
    char *bytes;
    const size_t live = bpt_alloc_live();
    assert_ok(bpt_alloc(3 * MIB, 1, &bytes));
    setenv("BPT_TEXT_MEMORY", "1", 1);
    setenv("TMPDIR", test_path("nowhere"), 1);
    assert_fails(bpt_store_append(&store, bytes, 3 * MIB), BPT_ERR_IO, "cannot keep a large text in");
    bpt_store_free(&store);

    struct rlimit old, small = {MIB / 2, MIB / 2};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setenv("TMPDIR", test_scratch_dir(), 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const bpt_status_t status = bpt_store_append(&store, bytes, 3 * MIB);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_fails(status, BPT_ERR_IO, "set TMPDIR to a folder on a disk that holds it");
    bpt_store_free(&store);
    bpt_free(bytes);
    unsetenv("TMPDIR");
    unsetenv("BPT_TEXT_MEMORY");
    assert_int_equal(bpt_alloc_live(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_appended_comes_back_from_memory_and_from_a_file),
        cmocka_unit_test(a_limit_that_is_no_number_is_refused),
        cmocka_unit_test(nothing_is_no_data),
        cmocka_unit_test(ids_take_as_many_bytes_as_the_vocabulary_needs),
        cmocka_unit_test(a_text_beyond_the_limit_lies_in_a_file_and_reads_the_same),
        cmocka_unit_test(a_folder_without_room_is_one_sentence_with_a_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
