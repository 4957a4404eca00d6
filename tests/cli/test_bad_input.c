// Bad data, files and folders: one clear sentence, the right exit status, nothing on stdout, nothing lost or left behind.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/process.h"

#define SMALL "--backend ref --quiet --layers 1 --d-model 8 --heads 2 --batch-tokens 64 --steps 2"
#define TINY SMALL " --context 16"

static void expect(const char *line, int exit_status, const char *says) {
    test_process_t p = test_run_line(line);
    const char *newline = strchr(p.err, '\n');
    if (p.exit_status != exit_status || p.out_length || !newline || newline[1] || strncmp(p.err, "bpt: error: ", 12) ||
        !strstr(p.err, says))
        fail_msg("bpt %s: exit %d, stdout '%s', stderr '%s', wanted %d and '%s'", line, p.exit_status, p.out, p.err, exit_status, says);
    test_process_free(&p);
}

// Paths that outlive the ring of test_path; freed at the end.
static char *kept_paths[128];
static size_t n_kept_paths;

static char *keep(const char *path) {
    assert_true(n_kept_paths < sizeof kept_paths / sizeof kept_paths[0]);
    char *copy = strdup(path);
    assert_non_null(copy);
    return kept_paths[n_kept_paths++] = copy;
}

static int free_kept_paths(void **state) {
    (void)state;
    while (n_kept_paths) free(kept_paths[--n_kept_paths]);
    return 0;
}

static void write_bytes(const char *path, const char *bytes, size_t length) { test_write_file(path, bytes, length); }

// ---- Texts
static const char long_line[] =
    "the quick brown fox jumps over the lazy dog and then it runs away from all of them as fast as it can for a long time\n";

static char *repeated(const char *name, const char *line, int times) {
    char *bytes = calloc(strlen(line) * (size_t)times + 1, 1);
    assert_non_null(bytes);
    for (int i = 0; i < times; ++i) strcat(bytes, line);
    char *path = keep(test_file(name, bytes));
    free(bytes);
    return path;
}

static char *folder_of(const char *name, const char *train, const char *valid) {
    char *path = keep(test_path("%s", name));
    assert_int_equal(mkdir(path, 0755), 0);
    if (train) write_bytes(test_path("%s/train.txt", name), train, strlen(train));
    if (valid) write_bytes(test_path("%s/valid.txt", name), valid, strlen(valid));
    return path;
}

static void texts_that_cannot_be_trained_on_are_refused(void **state) {
    (void)state;
    char *empty = keep(test_file("empty.txt", "")), *one = keep(test_file("one.txt", "x")),
         *shorter = keep(test_file("short.txt", "twelve bytes"));
    char *latin = repeated("latin1.txt", "caf\xe9 and tea and something to eat with it, please, as soon as you can\n", 20);
    char *letters = repeated("letters.txt", "1 2 three 4\n", 50), *huge = repeated("huge.txt", "1 2 99999999999999999999 4\n", 50);
    char *large = repeated("large.txt", "1 2 1000000000 4\n", 50);
    char *no_train = folder_of("no-train", NULL, long_line), *other_chars = folder_of("other-chars", long_line, "Ω\n");
    char *two_trains = folder_of("two-trains", long_line, NULL), *one_word = keep(test_file("one-word.txt", "word"));
    write_bytes(test_path("two-trains/train2.txt"), long_line, strlen(long_line));
    const struct {
        const char *data, *options;
        int exit_status;
        const char *says;
    } cases[] = {
        {empty, "", 1, "is empty"},
        {one, "", 1, "one.txt"},
        {shorter, "", 1, "--context"},
        {latin, "--unit char", 1, "UTF-8"},
        {letters, "--unit ids", 1, "three"},
        {huge, "--unit ids", 1, "huge.txt: line 1: token 99999999999999999999 is outside the vocabulary"},
        {large, "--unit ids", 1, "large.txt: line 1: token 1000000000 is outside the vocabulary"},
        {no_train, "", 1, "train"},
        {two_trains, "", 1, "train"},
        {other_chars, "--unit char", 1,
         "valid.txt: line 1: '\xCE\xA9' is not in the vocabulary, which has no <unk>; train with --vocab-scope all"},
        {one_word, "--unit word", 1, "one-word.txt"},
        {"/nowhere/text.txt", "", 1, "/nowhere/text.txt"},
        {"/dev/null", "", 1, "/dev/null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[2048];
        snprintf(line, sizeof line, "train --data %s --out %s %s " TINY, cases[i].data, test_path("no-run"), cases[i].options);
        expect(line, cases[i].exit_status, cases[i].says);
        assert_int_equal(access(test_path("no-run"), F_OK), -1);
    }
}

static void a_character_that_validation_alone_has_is_known_with_the_vocabulary_of_all_parts(void **state) {
    (void)state;
    const char *folder = folder_of("new-character", long_line, "\xCE\xA9 and a few more\n");
    test_refused(1, "--vocab-scope all", "train --unit char --data %s --out %s " TINY, folder, test_path("new-character-run"));
    test_succeed("train --unit char --vocab-scope all --data %s --out %s " TINY, folder, test_path("new-character-run"));
}

static void unusual_but_valid_texts_are_fine(void **state) {
    (void)state;
    static char bytes[2000];  // NUL bytes, no newline anywhere
    for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (char)(i % 5 ? 0 : 200 + i % 50);
    char *nul = keep(test_path("nul.bin")), *crlf = repeated("crlf.txt", "one two three four five six\r\n", 40),
         *wide = repeated("wide.txt", "Ω≈ç√ 日本語 ", 90);
    write_bytes(nul, bytes, sizeof bytes);
    const char *const cases[][2] = {{nul, ""}, {crlf, "--unit word"}, {wide, "--unit char"}};
    for (int i = 0; i < 3; ++i) {
        char line[2048];
        snprintf(line, sizeof line, "train --data %s --out %s %s " TINY, cases[i][0], test_path("fine-%d", i), cases[i][1]);
        test_process_t p = test_run_line(line);
        if (p.exit_status) fail_msg("bpt %s: %s", line, p.err);
        test_process_free(&p);
    }
}

// ---- Examples and vectors
static void examples_that_cannot_be_learnt_from_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *name, *train, *says;
    } cases[] = {
        {"no-tab", "good\tfine play\njust a text\n", "line 2"},
        {"no-label", "good\tfine play\n\tdull film\n", "line 2"},
        {"no-text", "good\tfine play\nbad\t\n", "line 2"},
        {"one-label", "good\tfine play\ngood\twarm\n", "fewer than two"},
        {"open-bracket", "(3 (2 It) (4 works)\n(1 (2 It) (1 fails))\n", "line 1"},
        {"extra-bracket", "(3 (2 It) (4 works)))\n", "line 1"},
        {"tree-without-label", "( (2 It) (4 works))\n", "line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[2048], *folder = folder_of(cases[i].name, cases[i].train, "good\tfine play\n");
        snprintf(line, sizeof line, "train --task classify --data %s --out %s " SMALL, folder, test_path("no-run"));
        expect(line, 1, cases[i].says);
        assert_int_equal(access(test_path("no-run"), F_OK), -1);
    }
    char line[2048];
    snprintf(line, sizeof line, "train --task classify --data %s --out %s " SMALL " --max-length 1",
             folder_of("too-long", "good\ta b\nbad\ta\n", NULL), test_path("no-run"));
    expect(line, 1, "--max-length 1");
}

static void word_vectors_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *name, *vectors, *options;
        int exit_status;
        const char *says;
    } cases[] = {
        {"v-empty", "", "", 1, "v-empty"},
        {"v-ragged", "fine 1 2 3 4\nplay 1 2 3\n", "", 1, "line 2"},
        {"v-letters", "fine 1 2 3 4\nplay 1 2 x 4\n", "", 1, "line 2"},
        {"v-nan", "fine 1 2 nan 4\n", "", 1, "line 1"},
        {"v-width", "fine 1 2 3 4\nplay 1 2 3 4\n", "--d-embed 8", 2, "set --d-embed 4"},
    };
    char *folder = folder_of("vector-data", "good\tfine play\nbad\tdull film\n", "good\tfine\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[2048], *vectors = keep(test_file(cases[i].name, cases[i].vectors));
        snprintf(line, sizeof line, "train --task classify --data %s --vectors %s --out %s %s " SMALL, folder, vectors,
                 test_path("vector-run-%d", (int)i), cases[i].options);
        expect(line, cases[i].exit_status, cases[i].says);
        assert_int_equal(access(test_path("vector-run-%d", (int)i), F_OK), -1);
    }
}

// ---- Model files
static char *model_file(const char *name, uint64_t header_length, const char *header, size_t data_bytes) {
    char *path = keep(test_path("%s.safetensors", name)), bytes[8192] = {0};
    const size_t length = strlen(header);
    for (int i = 0; i < 8; ++i) bytes[i] = (char)(header_length >> (8 * i));
    memcpy(bytes + 8, header, length);
    write_bytes(path, bytes, 8 + length + data_bytes);
    return path;
}

#define CONFIG                                                                                                                         \
    "\"__metadata__\": {\"format\": \"bpt\", \"config\": \"{\\\"model\\\": \\\"bpt\\\", \\\"task\\\": \\\"lm\\\", \\\"layers\\\": 1, " \
    "\\\"d_model\\\": 4, "                                                                                                             \
    "\\\"d_ff\\\": 4, \\\"heads\\\": 2, \\\"k\\\": 1, \\\"rel_levels\\\": 1, \\\"vocab\\\": 3}\"}"

static void model_files_that_are_broken_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *name, *header, *says;
        uint64_t length;  // 0: the true one
        size_t data;
    } cases[] = {
        {"overlap",
         "{\"a\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 8]}, \"b\": {\"dtype\": \"F32\", \"shape\": [2], "
         "\"data_offsets\": [4, 12]}}",
         "overlap", 0, 12},
        {"outside", "{\"a\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 8]}}", "outside", 0, 4},
        {"giant", "{}", "giant", (uint64_t)1 << 60, 0},
        {"not-json", "{\"a\": [1, }", "not-json", 0, 0},
        {"truncated", "{\"a\": ", "truncated", 4000, 0},
        {"no-config", "{\"a\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [0, 4]}}", "config", 0, 4},
        {"no-tensors", "{" CONFIG "}", "embed", 0, 0},
        {"other-shape", "{" CONFIG ", \"embed.weight\": {\"dtype\": \"F32\", \"shape\": [4, 3], \"data_offsets\": [0, 48]}}",
         "embed.weight", 0, 48},
        {"unknown-tensor", "{" CONFIG ", \"wings\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [0, 4]}}", "unknown-tensor", 0,
         4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[2048],
            *path = model_file(cases[i].name, cases[i].length ? cases[i].length : strlen(cases[i].header), cases[i].header, cases[i].data);
        snprintf(line, sizeof line, "import %s --out %s --quiet", path, test_path("no-run"));
        expect(line, 1, cases[i].says);
        assert_int_equal(access(test_path("no-run"), F_OK), -1);
    }
}

// ---- Run folders
static char *trained(const char *name) {
    char line[2048], *data = repeated("text.txt", long_line, 30), *run = keep(test_path("%s", name));
    snprintf(line, sizeof line, "train --data %s --out %s " TINY, data, run);
    test_process_t p = test_run_line(line);
    if (p.exit_status) fail_msg("bpt %s: %s", line, p.err);
    test_process_free(&p);
    return run;
}

static void folders_that_cannot_be_written_are_refused(void **state) {
    (void)state;
    char line[2048], *data = repeated("text.txt", long_line, 30), *file = keep(test_file("a-file", "")),
                     *foreign = folder_of("foreign", long_line, NULL);
    const struct {
        const char *out;
        int exit_status;
        const char *says;
    } cases[] = {{"/proc/nowhere/run", 1, "/proc/nowhere"}, {file, 1, "a-file"}, {"/proc/run", 1, "/proc/run"}, {foreign, 2, "foreign"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        snprintf(line, sizeof line, "train --data %s --out %s " TINY, data, cases[i].out);
        expect(line, cases[i].exit_status, cases[i].says);
    }
    size_t length;
    char *kept = test_read_file(test_path("foreign/train.txt"), &length);
    assert_string_equal(kept, long_line);
    free(kept);
}

static void damaged_runs_are_refused_and_left_as_they_are(void **state) {
    (void)state;
    static const struct {
        const char *file, *content;
        int exit_status;
        const char *says;
    } cases[] = {
        {"config.json", "{\"task\": \"lm\"", 1, "config.json: line 1"},
        {"config.json", "{\"k\": \"four\"}", 1, "config.json: line 1: key \"k\""},
        {"vocab.txt", "a\nb\n", 1, "vocab.txt"},
        {"latest/model.safetensors", "short", 1, "model.safetensors"},
        {"latest/optimizer.safetensors", "", 1, "optimizer.safetensors"},
        {"latest/state.json", "{}", 1, "state.json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[2048], path[1024], name[32];
        snprintf(name, sizeof name, "damaged-%d", (int)i);
        char *run = trained(name);
        snprintf(path, sizeof path, "%s/%s", run, cases[i].file);
        write_bytes(path, cases[i].content, strlen(cases[i].content));
        snprintf(line, sizeof line, "train --out %s --resume --steps 4 --quiet", run);
        expect(line, cases[i].exit_status, cases[i].says);
        size_t length;
        char *kept = test_read_file(path, &length);
        assert_string_equal(kept, cases[i].content);
        free(kept);
    }
}

static void ids_that_a_resumed_model_does_not_know_are_named(void **state) {
    (void)state;
    char line[2048], *data = repeated("numbers.txt", "1 2 3 4 5 6 7 8 9\n", 50), *run = keep(test_path("of-numbers"));
    snprintf(line, sizeof line, "train --data %s --unit ids --out %s " TINY, data, run);
    test_process_t p = test_run_line(line);
    assert_int_equal(p.exit_status, 0);
    test_process_free(&p);
    repeated("numbers.txt", "1 2 3 4 5 6 7 8 10\n", 50);
    snprintf(line, sizeof line, "train --out %s --resume --steps 4 --quiet", run);
    expect(line, 1, "numbers.txt: line 1: token 10 is outside the vocabulary, whose ids are 0 to 9");
}

// As a user who may read but not write the run.
static void a_read_only_run_can_be_evaluated_but_not_resumed(void **state) {
    (void)state;
    char line[4096], *run = trained("read-only");
    const bool is_root = geteuid() == 0;
    snprintf(line, sizeof line, "chmod -R a+rX,a-w %s && chmod a+rx %s", run, test_scratch_dir());
    assert_int_equal(system(line), 0);
    // Root may write everything: be somebody else, if the program can be reached as such.
    const char *as = is_root ? "setpriv --reuid 65534 --regid 65534 --clear-groups " : "";
    snprintf(line, sizeof line, "%s\"$BPT_PROGRAM\" --version >/dev/null 2>&1", as);
    if (system(line)) skip();
    snprintf(line, sizeof line, "%s\"$BPT_PROGRAM\" eval %s --backend ref --quiet >/dev/null", as, run);
    assert_int_equal(system(line), 0);
    snprintf(line, sizeof line, "%s\"$BPT_PROGRAM\" train --out %s --resume --steps 4 --quiet 2>&1 | grep -q '^bpt: error: .*read-only'",
             as, run);
    assert_int_equal(system(line), 0);
    snprintf(line, sizeof line, "chmod -R u+w %s", run);
    assert_int_equal(system(line), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_that_cannot_be_trained_on_are_refused),
        cmocka_unit_test(a_character_that_validation_alone_has_is_known_with_the_vocabulary_of_all_parts),
        cmocka_unit_test(unusual_but_valid_texts_are_fine),
        cmocka_unit_test(examples_that_cannot_be_learnt_from_are_refused),
        cmocka_unit_test(word_vectors_that_do_not_fit_are_refused),
        cmocka_unit_test(model_files_that_are_broken_are_refused),
        cmocka_unit_test(folders_that_cannot_be_written_are_refused),
        cmocka_unit_test(damaged_runs_are_refused_and_left_as_they_are),
        cmocka_unit_test(ids_that_a_resumed_model_does_not_know_are_named),
        cmocka_unit_test(a_read_only_run_can_be_evaluated_but_not_resumed),
    };
    return cmocka_run_group_tests(tests, NULL, free_kept_paths);
}
