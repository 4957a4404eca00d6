// Files and folders: atomic replacement, full disks, links, the lock, free space, and sentences that name path and remedy.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/safetensors.h"
#include "support/check.h"
#include "support/scratch.h"

static void assert_content(const char *path, const char *wanted) {
    size_t length = 0;
    char *got = test_read_file(path, &length);
    assert_non_null(got);
    assert_int_equal(length, strlen(wanted));
    assert_string_equal(got, wanted);
    free(got);
}

static size_t count_temporaries(const char *folder) {
    char **names;
    size_t count, found = 0;
    assert_ok(bpt_folder_list(folder, &names, &count));
    for (size_t i = 0; i < count; ++i) found += !strncmp(names[i], ".tmp", 4);
    bpt_names_free(names, count);
    return found;
}

static void replacing_a_file_keeps_its_mode_and_follows_links(void **state) {
    (void)state;
    const char *path = test_path("a.txt");
    assert_ok(bpt_file_write(path, "one", 3));
    assert_content(path, "one");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("a.txt", test_path("link")), 0);
    assert_ok(bpt_file_write(test_path("link"), "two", 3));
    assert_content(path, "two");
    struct stat info;
    assert_int_equal(lstat(test_path("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(count_temporaries(test_scratch_dir()), 0);
}

static void an_unfinished_write_leaves_the_old_file(void **state) {
    (void)state;
    const size_t live = bpt_alloc_live();
    const char *path = test_path("b.txt");
    assert_ok(bpt_file_write(path, "old", 3));
    bpt_file_writer_t *w;
    assert_ok(bpt_file_writer_open(path, &w));
    static char big[200000];
    assert_ok(bpt_file_writer_write(w, big, sizeof big));
    assert_int_equal(count_temporaries(test_scratch_dir()), 1);
    bpt_file_writer_close(w);
    assert_content(path, "old");
    assert_int_equal(count_temporaries(test_scratch_dir()), 0);
    assert_int_equal(bpt_alloc_live(), live);
}

static void pieces_of_any_size_arrive_in_order(void **state) {
    (void)state;
    enum { TOTAL = 300000 };
    static char bytes[TOTAL];
    for (int i = 0; i < TOTAL; ++i) bytes[i] = (char)(i * 31 + i / 256);
    bpt_file_writer_t *w;
    assert_ok(bpt_file_writer_open(test_path("pieces"), &w));
    for (size_t at = 0, piece = 1; at < TOTAL; piece = piece * 7 % 100003) {
        const size_t some = piece < TOTAL - at ? piece : TOTAL - at;
        assert_ok(bpt_file_writer_write(w, bytes + at, some));
        at += some;
    }
    assert_ok(bpt_file_writer_commit(w));
    bpt_file_writer_close(w);
    char *got;
    size_t length;
    assert_ok(bpt_file_read(test_path("pieces"), TOTAL, &got, &length));
    assert_int_equal(length, TOTAL);
    assert_memory_equal(got, bytes, TOTAL);
    bpt_free(got);
    assert_fails(bpt_file_read(test_path("pieces"), TOTAL - 1, &got, &length), BPT_ERR_INPUT, "larger than");
    assert_null(got);
}

static void a_full_device_is_an_error(void **state) {
    (void)state;
    if (access("/dev/full", W_OK)) skip();
    assert_fails(bpt_file_write("/dev/full", "x", 1), BPT_ERR_IO, "/dev/full: No space left on device; free some disk space");
    assert_fails(bpt_file_append("/dev/full", "x", 1), BPT_ERR_IO, "No space left");
    static char big[1 << 20];
    assert_fails(bpt_file_write("/dev/full", big, sizeof big), BPT_ERR_IO, "No space left");
}

static void a_file_size_limit_is_an_error_and_keeps_the_old_file(void **state) {
    (void)state;
    const char *path = test_path("limited");
    assert_ok(bpt_file_write(path, "old", 3));
    assert_ok(bpt_file_append(path, "er", 2));
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 100000, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    static char big[150000];
    const bpt_status_t whole = bpt_file_write(path, big, sizeof big);
    char message[256];
    snprintf(message, sizeof message, "%s", bpt_error_message());
    const bpt_status_t appended = bpt_file_append(path, big, sizeof big);  // 100,000 bytes fit: they must go again
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(whole, BPT_ERR_IO);
    assert_non_null(strstr(message, "File too large; raise the file size limit"));
    assert_int_equal(appended, BPT_ERR_IO);
    assert_content(path, "older");
    assert_int_equal(count_temporaries(test_scratch_dir()), 0);
}

static void a_full_disk_is_an_error_and_keeps_the_old_file(void **state) {
    (void)state;
    const char *disk = test_path("disk");
    assert_int_equal(mkdir(disk, 0700), 0);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=1m")) {
        print_message("cannot mount a small tmpfs here (%s): left out\n", strerror(errno));
        skip();
    }
    char *path = NULL;
    static char big[2 << 20];
    bpt_status_t whole = bpt_path_format(&path, "%s/file", disk), space = BPT_OK, appended = BPT_OK;
    char message[3][512] = {""}, *got = NULL;
    if (whole == BPT_OK) whole = bpt_file_write(path, "old", 3);
    if (whole == BPT_OK) whole = bpt_file_write(path, big, sizeof big);
    snprintf(message[0], sizeof message[0], "%s", bpt_error_message());
    appended = bpt_file_append(path, big, sizeof big);
    snprintf(message[1], sizeof message[1], "%s", bpt_error_message());
    space = bpt_disk_require(disk, sizeof big, "the next checkpoint");
    snprintf(message[2], sizeof message[2], "%s", bpt_error_message());
    got = test_read_file(path, NULL);
    const size_t temporaries = count_temporaries(disk);
    umount(disk);
    bpt_free(path);
    assert_int_equal(whole, BPT_ERR_IO);
    assert_non_null(strstr(message[0], "No space left"));
    assert_int_equal(appended, BPT_ERR_IO);
    assert_non_null(strstr(message[1], "No space left"));
    assert_int_equal(space, BPT_ERR_IO);
    assert_non_null(strstr(message[2], "the next checkpoint needs 2.0 MiB but only 1020.0 KiB are free"));
    assert_string_equal(got, "old");
    free(got);
    assert_int_equal(temporaries, 0);
}

static void wrong_paths_say_what_is_wrong(void **state) {
    (void)state;
    char long_name[400], *data;
    size_t length;
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    test_write_file(test_path("plain"), "x", 1);
    assert_int_equal(symlink("circle", test_path("circle")), 0);
    assert_fails(bpt_file_write(test_path("no/such/file"), "x", 1), BPT_ERR_IO, "No such file or directory; check the path");
    assert_fails(bpt_file_write(test_path("plain/below"), "x", 1), BPT_ERR_IO, "Not a directory; a part of the path is a file");
    assert_fails(bpt_file_write(test_scratch_dir(), "x", 1), BPT_ERR_IO, "Is a directory");
    assert_fails(bpt_file_write(test_path("%s", long_name), "x", 1), BPT_ERR_IO, "File name too long; choose a shorter name");
    assert_fails(bpt_file_write(test_path("circle"), "x", 1), BPT_ERR_IO, "circle");
    assert_fails(bpt_file_read(test_path("absent"), 10, &data, &length), BPT_ERR_IO, "cannot open");
    assert_fails(bpt_file_read(test_scratch_dir(), 10, &data, &length), BPT_ERR_IO, "Is a directory");
    assert_fails(bpt_folder_create(test_path("plain")), BPT_ERR_IO, "a part of the path is a file");
    assert_fails(bpt_folder_create(test_path("no/such")), BPT_ERR_IO, "create the missing folder first");
    assert_fails(bpt_folder_create("/proc/bpt"), BPT_ERR_IO, "/proc/bpt");
    assert_fails(bpt_file_write("/proc/version", "x", 1), BPT_ERR_IO, "/proc/version");
    assert_fails(bpt_disk_require(test_path("absent"), 1, "it"), BPT_ERR_IO, "absent");
}

static void a_name_of_255_bytes_can_be_replaced(void **state) {
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    assert_ok(bpt_file_write(test_path("%s", name), "one", 3));
    assert_ok(bpt_file_write(test_path("%s", name), "two", 3));
    assert_content(test_path("%s", name), "two");
}

static void a_read_only_folder_is_an_error(void **state) {
    (void)state;
    assert_int_equal(mkdir(test_path("closed"), 0555) | chmod(test_scratch_dir(), 0755), 0);
    const uid_t self = geteuid();
    if (self == 0 && seteuid(65534)) skip();  // permissions do not bind root
    const bpt_status_t status = bpt_file_write(test_path("closed/file"), "x", 1);
    bpt_folder_lock_t *lock;
    const bpt_status_t locked = bpt_folder_lock_acquire(test_path("closed"), &lock);
    assert_int_equal(seteuid(self), 0);
    assert_int_equal(status, BPT_ERR_IO);
    assert_int_equal(locked, BPT_ERR_IO);
    assert_non_null(strstr(bpt_error_message(), "closed/.lock: Permission denied; choose a place that you may use"));
}

static void a_link_is_swapped_in_one_step(void **state) {
    (void)state;
    assert_ok(bpt_folder_create(test_path("one")));
    assert_ok(bpt_folder_create(test_path("one")));  // again is fine
    assert_ok(bpt_folder_create(test_path("two")));
    assert_ok(bpt_link_swap(test_path("swap"), "one"));
    assert_ok(bpt_link_swap(test_path("swap"), "two"));
    char target[16] = "";
    assert_int_equal(readlink(test_path("swap"), target, sizeof target), 3);
    assert_string_equal(target, "two");
    assert_fails(bpt_link_swap(test_path("one"), "two"), BPT_ERR_IO, "something else has that name");
}

static void folders_trade_places_and_are_removed_with_their_content(void **state) {
    (void)state;
    assert_ok(bpt_folder_create(test_path("new")));
    assert_ok(bpt_folder_create(test_path("old")));
    assert_ok(bpt_file_write(test_path("new/f"), "new", 3));
    assert_ok(bpt_file_write(test_path("old/f"), "old", 3));
    assert_ok(bpt_folder_sync(test_path("new")));
    assert_ok(bpt_folder_rename(test_path("new"), test_path("old")));
    assert_content(test_path("old/f"), "new");
    assert_content(test_path("new/f"), "old");
    assert_ok(bpt_folder_rename(test_path("old"), test_path("third")));
    assert_false(bpt_folder_exists(test_path("old")));
    assert_ok(bpt_folder_create(test_path("new/inner")));
    assert_int_equal(symlink(test_path("third"), test_path("new/inner/link")), 0);
    assert_ok(bpt_path_remove(test_path("new")));
    assert_false(bpt_folder_exists(test_path("new")));
    assert_content(test_path("third/f"), "new");  // a link is not followed
    assert_ok(bpt_path_remove(test_path("new")));
}

static void a_second_opener_is_told_who_holds_the_lock(void **state) {
    (void)state;
    const char *folder = test_scratch_dir();
    bpt_folder_lock_t *lock = NULL;
    int ready[2], done[2];
    assert_int_equal(pipe(ready) | pipe(done), 0);
    const pid_t child = fork();
    if (child == 0) {
        close(done[1]);
        char byte = bpt_folder_lock_acquire(folder, &lock) == BPT_OK;
        if (write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1) pause();
        _exit(1);  // never reached: killed below
    }
    char byte = 0, wanted[64];
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    snprintf(wanted, sizeof wanted, "in use by process %ld", (long)child);
    assert_fails(bpt_folder_lock_acquire(folder, &lock), BPT_ERR_IO, wanted);
    kill(child, SIGKILL);
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_ok(bpt_folder_lock_acquire(folder, &lock));  // a killed holder leaves no lock
    bpt_folder_lock_t *second;
    assert_fails(bpt_folder_lock_acquire(folder, &second), BPT_ERR_IO, "in use by process");
    bool held = false;
    assert_ok(bpt_folder_lock_is_held(folder, &held));
    assert_true(held);
    test_write_file(test_path("word"), "", 0);
    assert_true(bpt_folder_lock_has(lock, test_path("word")));
    bpt_folder_lock_remove(lock, test_path("word"));
    assert_false(bpt_folder_lock_has(lock, test_path("word")) || bpt_file_exists(test_path("word")));
    bpt_folder_lock_release(lock);
    assert_ok(bpt_folder_lock_is_held(folder, &held));
    assert_false(held);
    assert_ok(bpt_folder_lock_is_held(test_path("absent"), &held));
    assert_false(held);
    assert_ok(bpt_folder_lock_acquire(folder, &lock));
    bpt_folder_lock_release(lock);
    assert_fails(bpt_folder_lock_acquire(test_path("absent"), &lock), BPT_ERR_IO, "absent");
}

static void free_space_is_compared_with_the_need(void **state) {
    (void)state;
    assert_ok(bpt_disk_require(test_scratch_dir(), 1, "it"));
    assert_fails(bpt_disk_require(test_scratch_dir(), UINT64_MAX, "the next checkpoint"), BPT_ERR_IO,
                 "the next checkpoint needs 16384.0 PiB but only");
}

static void a_locked_folder_is_known_whatever_its_name(void **state) {
    (void)state;
    char before[512], after[512], file[600], *moved;
    bpt_folder_lock_t *lock;
    bool created;
    snprintf(before, sizeof before, "%s", test_path("locked"));
    snprintf(after, sizeof after, "%s", test_path("locked-elsewhere"));
    snprintf(file, sizeof file, "%s/log", before);
    assert_ok(bpt_folder_create(before));
    assert_ok(bpt_folder_lock_acquire(before, &lock));
    assert_ok(bpt_folder_lock_find(lock, before, &moved));
    assert_null(moved);
    assert_int_equal(rename(before, after), 0);
    assert_ok(bpt_folder_create(before));  // another one takes the name
    assert_ok(bpt_folder_lock_find(lock, before, &moved));
    assert_non_null(moved);
    assert_non_null(strstr(moved, "locked-elsewhere"));
    bpt_free(moved);
    assert_ok(bpt_folder_lock_append(lock, file, "a", 1));
    assert_false(bpt_file_exists(file));
    snprintf(file, sizeof file, "%s/log", after);
    assert_true(bpt_file_exists(file));
    snprintf(file, sizeof file, "%s/inside", before);
    assert_ok(bpt_folder_lock_ensure(lock, file, &created));
    assert_true(created);
    assert_ok(bpt_folder_lock_ensure(lock, file, &created));
    assert_false(created);
    assert_false(bpt_folder_exists(file));
    assert_ok(bpt_path_remove(after));
    assert_fails(bpt_folder_lock_find(lock, before, &moved), BPT_ERR_IO, "was deleted while it was in use");
    assert_fails(bpt_folder_lock_append(lock, file, "a", 1), BPT_ERR_IO, "locked was deleted while it was in use");
    assert_fails(bpt_folder_lock_ensure(lock, file, &created), BPT_ERR_IO, "locked was deleted while it was in use");
    bpt_folder_lock_release(lock);
}

static void pipes_and_devices_are_no_safetensors_and_nobody_waits_for_them(void **state) {
    (void)state;
    bpt_safetensors_t *f;
    assert_int_equal(mkfifo(test_path("pipe"), 0600), 0);
    assert_int_equal(bpt_safetensors_open(test_path("pipe"), &f), BPT_ERR_INPUT);
    assert_int_equal(bpt_safetensors_open("/dev/zero", &f), BPT_ERR_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replacing_a_file_keeps_its_mode_and_follows_links),
        cmocka_unit_test(an_unfinished_write_leaves_the_old_file),
        cmocka_unit_test(pieces_of_any_size_arrive_in_order),
        cmocka_unit_test(a_full_device_is_an_error),
        cmocka_unit_test(a_file_size_limit_is_an_error_and_keeps_the_old_file),
        cmocka_unit_test(a_full_disk_is_an_error_and_keeps_the_old_file),
        cmocka_unit_test(wrong_paths_say_what_is_wrong),
        cmocka_unit_test(a_name_of_255_bytes_can_be_replaced),
        cmocka_unit_test(a_read_only_folder_is_an_error),
        cmocka_unit_test(a_link_is_swapped_in_one_step),
        cmocka_unit_test(folders_trade_places_and_are_removed_with_their_content),
        cmocka_unit_test(a_second_opener_is_told_who_holds_the_lock),
        cmocka_unit_test(free_space_is_compared_with_the_need),
        cmocka_unit_test(a_locked_folder_is_known_whatever_its_name),
        cmocka_unit_test(pipes_and_devices_are_no_safetensors_and_nobody_waits_for_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
