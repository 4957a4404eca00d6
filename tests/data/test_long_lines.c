// Files without line ends: where a line is held whole, one of more than 64 MiB is an error with file, line and remedy, found without
// holding more than that; words have a limit too. Texts of bytes and code points, and lines of words, may be as long as they like.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/examples/examples.h"
#include "data/examples/split.h"
#include "data/vocab/vectors.h"
#include "data/vocab/vocab.h"
#include "support/check.h"
#include "support/scratch.h"
#include "text_file.h"

static char long_line[512];  // a first line, then one without end: zeros, of which the disk holds none

static int write_files(void **state) {
    (void)state;
    snprintf(long_line, sizeof long_line, "%s", test_path("long.txt"));
    test_write_file(long_line, "a 1 2\n", 6);
    return truncate(long_line, (off_t)(BPT_LINE_BYTES + 100));
}

static void expect_too_long(bpt_status_t status) {
    if (status != BPT_ERR_INPUT || !strstr(bpt_error_message(), "long.txt: line 2 is longer than 64 MiB; check that it is the right file"))
        fail_msg("%s: %s", bpt_status_name(status), bpt_error_message());
}

static void a_line_that_would_be_held_whole_has_a_limit(void **state) {
    (void)state;
    bpt_text_t *text;
    bpt_labels_t labels;
    bpt_examples_t examples;
    bpt_vocab_t *vocab;
    const bpt_examples_options_t options = {0};
    float rows[8];
    const bpt_vectors_place_t place = {.rows = rows, .stride = 2, .dimension = 2};
    bpt_vectors_found_t found;
    assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &vocab));
    assert_ok(bpt_vocab_freeze(vocab));
    assert_ok(bpt_text_open(long_line, &text));
    const bpt_range_t range = bpt_text_range(text);
    expect_too_long(labels_of_file(long_line, &labels));
    expect_too_long(bpt_vectors_read(long_line, vocab, &place, &found));
    expect_too_long(bpt_examples_scan(&range, &options, vocab, NULL));
    expect_too_long(bpt_examples_read(&range, &options, vocab, NULL, &examples));
    bpt_text_close(text);
    bpt_vocab_destroy(vocab);
}

static void a_vocabulary_file_has_a_limit_of_its_lines(void **state) {
    (void)state;
    bpt_vocab_t *vocab;
    char path[512];
    snprintf(path, sizeof path, "%s", test_path("vocab.txt"));
    test_write_file(path, "<unk>\n<eos>\n", 12);
    assert_int_equal(truncate(path, (off_t)(BPT_LINE_BYTES + 100)), 0);
    assert_fails(vocab_of_file(path, BPT_UNIT_WORD, &vocab), BPT_ERR_INPUT, "vocab.txt: line 3 is longer than 64 MiB");
}

static void a_word_has_a_limit_and_a_line_of_words_has_none(void **state) {
    (void)state;
    bpt_vocab_t *vocab;
    bpt_ids_t ids;
    char *bytes;
    const size_t length = BPT_LINE_BYTES + 1000;
    assert_ok(bpt_alloc(length, 1, &bytes));
    memset(bytes, 'x', length);
    for (size_t i = 0; i < length; i += BPT_WORD_BYTES) bytes[i] = ' ';
    const bpt_range_t words = bpt_range_of("words", bytes, length);
    assert_ok(bpt_vocab_create(BPT_UNIT_WORD, false, &vocab));
    assert_ok(bpt_vocab_count(vocab, &words));
    assert_ok(bpt_vocab_freeze(vocab));
    assert_ok(bpt_vocab_encode(vocab, &words, true, &ids));
    assert_int_equal(ids.count, length / BPT_WORD_BYTES + 2);
    bpt_ids_free(&ids);
    bytes[1] = '\n';
    bytes[BPT_WORD_BYTES] = bytes[2 * BPT_WORD_BYTES] = 'x';
    assert_fails(bpt_vocab_count(vocab, &words), BPT_ERR_INPUT, "words: line 2: the word 'xxx");
    assert_fails(bpt_vocab_encode(vocab, &words, true, &ids), BPT_ERR_INPUT,
                 "is longer than 1 MiB; check that the file is a text of words");
    bpt_vocab_destroy(vocab);
    bpt_free(bytes);
}

static void texts_of_bytes_and_code_points_need_no_line(void **state) {
    (void)state;
    const bpt_unit_t units[] = {BPT_UNIT_BYTE, BPT_UNIT_CHAR};
    for (int i = 0; i < 2; ++i) {
        bpt_split_t split;
        assert_ok(bpt_split_open(BPT_ONE_PATH(long_line), units[i], false, &split));
        assert_true(split.part[BPT_TRAIN].bytes > BPT_LINE_BYTES / 100 * 89);
        bpt_split_close(&split);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_that_would_be_held_whole_has_a_limit),
        cmocka_unit_test(a_vocabulary_file_has_a_limit_of_its_lines),
        cmocka_unit_test(a_word_has_a_limit_and_a_line_of_words_has_none),
        cmocka_unit_test(texts_of_bytes_and_code_points_need_no_line),
    };
    return cmocka_run_group_tests(tests, write_files, NULL);
}
