// Run directories to be damaged (see run_files.h).
#include "support/run_files.h"

#include <glob.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/train/own_checksum.h"
#include "support/check.h"
#include "support/scratch.h"

const char *test_copy_run(const char *run) {
    static char copy[512];
    char line[2048];
    snprintf(copy, sizeof copy, "%s", test_path("copy"));
    snprintf(line, sizeof line, "rm -rf %s && cp -a %s %s", copy, run, copy);
    assert_int_equal(system(line), 0);
    return copy;
}

char *test_in_run(const char *run, const char *name) {
    static char path[4][1024];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[0], "%s/%s", run, name);
    return path[turn];
}

void test_flip(const char *path, int64_t offset, int bit) {
    size_t length;
    char *bytes = test_read_file(path, &length);
    const size_t place = offset < 0 ? length - (size_t)-offset : (size_t)offset;
    assert_true(place < length);
    bytes[place] = (char)(bytes[place] ^ (1 << bit));
    test_write_file(path, bytes, length);
    free(bytes);
}

void test_edit(const char *path, const char *from, const char *to) {
    char *old = test_read_file(path, NULL), changed[65536];
    const char *at = strstr(old, from);
    if (!at) fail_msg("%s: no %s in it", path, from);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - old), old, to, at + strlen(from));
    test_write_file(path, changed, strlen(changed));
    free(old);
}

static void drop(const char *path, void (*change)(json_t *)) {
    json_t *object = json_load_file(path, 0, NULL);
    assert_non_null(object);
    change(object);
    assert_int_equal(json_dump_file(object, path, JSON_INDENT(2)), 0);
    json_decref(object);
}

static void drop_of_config(json_t *config) { (void)json_object_del(config, "origin"), (void)json_object_del(config, "xxh3"); }
static void drop_all(json_t *state) { (void)json_object_del(state, "files"), (void)json_object_del(state, "xxh3"); }

static void drop_origin(json_t *state) {
    (void)json_object_del(json_object_get(state, "files"), "origin");
    (void)json_object_del(state, "xxh3");
    assert_ok(bpt_json_seal(state));
}

static void drop_of_states(const char *run, void (*change)(json_t *)) {
    glob_t found;
    assert_int_equal(glob(test_in_run(run, "checkpoints/*/state.json"), 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; ++i) drop(found.gl_pathv[i], change);
    globfree(&found);
}

void test_forget_config_checksum(const char *run) {
    drop(test_in_run(run, "config.json"), drop_of_config);
    drop_of_states(run, drop_origin);
}

void test_forget_checksums(const char *run) {
    drop(test_in_run(run, "config.json"), drop_of_config);
    drop_of_states(run, drop_all);
}
