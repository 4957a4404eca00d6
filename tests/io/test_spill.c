// Bytes that wait on disk: they come back as they were, in any order and read ahead, and damage or a full disk is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "bpt/spill.h"
#include "support/check.h"
#include "support/scratch.h"

enum { PIECES = 9, LAST = 1000 };

static char *bytes, *back;

static void fill(size_t piece, char *out) {
    for (size_t i = 0; i < BPT_SPILL_PIECE; ++i) out[i] = (char)(piece * 31 + i * 7 + i / 4096);
}

static const char *empty_folder(void) {
    static int count;
    const char *folder = test_path("spill-%d", ++count);
    assert_int_equal(mkdir(folder, 0700), 0);
    return folder;
}

static size_t length_of(size_t piece) { return piece + 1 == PIECES ? LAST : BPT_SPILL_PIECE; }
static size_t offset_of(size_t piece) { return piece * BPT_SPILL_PIECE; }

static bpt_spill_t *written(const char *folder) {
    bpt_spill_t *s;
    assert_ok(bpt_spill_create(folder, &s));
    assert_ok(bpt_spill_reserve(s, offset_of(PIECES - 1) + LAST));
    for (size_t p = 0; p < PIECES; ++p) {
        fill(p, bytes);
        assert_ok(bpt_spill_write(s, offset_of(p), bytes, length_of(p)));
    }
    return s;
}

static void expect(bpt_spill_t *s, size_t piece) {
    fill(piece, bytes);
    memset(back, 0, BPT_SPILL_PIECE);
    assert_ok(bpt_spill_read(s, offset_of(piece), back, length_of(piece)));
    assert_memory_equal(back, bytes, length_of(piece));
}

static int setup(void **state) {
    (void)state;
    return bpt_alloc(BPT_SPILL_PIECE, 1, &bytes) != BPT_OK || bpt_alloc(BPT_SPILL_PIECE, 1, &back) != BPT_OK;
}

static int teardown(void **state) {
    (void)state;
    bpt_free(bytes);
    bpt_free(back);
    return 0;
}

static void bytes_come_back(void **state) {
    (void)state;
    const char *folder = empty_folder();
    bpt_spill_t *s = written(folder);
    const size_t order[] = {3, 0, 8, 1};
    for (size_t i = 0; i < BPT_COUNT(order); ++i) expect(s, order[i]);
    bpt_spill_read_ahead(s, 0, offset_of(PIECES - 1) + LAST);
    for (size_t p = 0; p < PIECES; ++p) expect(s, p);
    // Another order than it was announced in, an announcement that is not followed, and a new one in the middle of one.
    bpt_spill_read_ahead(s, offset_of(2), 3 * (size_t)BPT_SPILL_PIECE);
    expect(s, 7);
    expect(s, 2);
    expect(s, 3);
    bpt_spill_read_ahead(s, offset_of(5), 4 * (size_t)BPT_SPILL_PIECE - BPT_SPILL_PIECE + LAST);
    for (size_t p = 5; p < PIECES; ++p) expect(s, p);
    expect(s, 0);
    // What has been written anew is what comes back, and more room keeps what is there.
    assert_ok(bpt_spill_reserve(s, offset_of(2 * PIECES)));
    fill(100, bytes);
    assert_ok(bpt_spill_write(s, offset_of(4), bytes, BPT_SPILL_PIECE));
    assert_ok(bpt_spill_read(s, offset_of(4), back, BPT_SPILL_PIECE));
    assert_memory_equal(back, bytes, BPT_SPILL_PIECE);
    expect(s, 1);
    bpt_spill_destroy(s);
    assert_int_equal(rmdir(folder), 0);  // nothing is left in it
}

static void damage_is_told(void **state) {
    (void)state;
    const char *folder = empty_folder();
    bpt_spill_t *s = written(folder);
    const int file = test_open_file_in(folder);  // it is known to this process alone, by its number
    if (file >= 0) {
        const char wrong = 'x';
        assert_int_equal(pwrite(file, &wrong, 1, (off_t)offset_of(2) + 12345), 1);
        for (int ahead = 0; ahead < 2; ++ahead) {
            if (ahead) bpt_spill_read_ahead(s, offset_of(2), BPT_SPILL_PIECE);
            assert_int_equal(bpt_spill_read(s, offset_of(2), back, BPT_SPILL_PIECE), BPT_ERR_IO);
            assert_non_null(strstr(bpt_error_message(), "damaged"));
            assert_non_null(strstr(bpt_error_message(), folder));
        }
        expect(s, 3);
        assert_int_equal(ftruncate(file, (off_t)offset_of(5)), 0);  // what is not there any more
        assert_int_equal(bpt_spill_read(s, offset_of(6), back, BPT_SPILL_PIECE), BPT_ERR_IO);
    }
    bpt_spill_destroy(s);
    assert_int_equal(rmdir(folder), 0);
}

static void a_folder_that_cannot_be_used_is_refused(void **state) {
    (void)state;
    bpt_spill_t *s;
    assert_int_equal(bpt_spill_create("/nowhere/at/all", &s), BPT_ERR_IO);
    assert_non_null(strstr(bpt_error_message(), "/nowhere/at/all"));
    assert_non_null(strstr(bpt_error_message(), "--offload"));
}

static void a_disk_without_room_is_told(void **state) {
    (void)state;
    const char *folder = empty_folder();
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_IGN);
    small = old;
    small.rlim_cur = (rlim_t)offset_of(2);
    bpt_spill_t *s;
    assert_ok(bpt_spill_create(folder, &s));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(bpt_spill_reserve(s, offset_of(3)), BPT_ERR_IO);
    assert_non_null(strstr(bpt_error_message(), "free space"));
    fill(0, bytes);
    assert_int_equal(bpt_spill_write(s, offset_of(2), bytes, BPT_SPILL_PIECE), BPT_ERR_IO);
    assert_non_null(strstr(bpt_error_message(), folder));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    bpt_spill_destroy(s);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_back),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(a_folder_that_cannot_be_used_is_refused),
        cmocka_unit_test(a_disk_without_room_is_told),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
