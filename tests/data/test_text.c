// Texts in memory: reading, lines, blocks, UTF-8, words for messages.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/text/text.h"
#include "support/check.h"
#include "support/scratch.h"

static void a_file_is_read_whole_with_nul_bytes(void **state) {
    (void)state;
    const char bytes[] = "a\0b\n\xFF";
    const char *path = test_path("nul.txt");
    test_write_file(path, bytes, 5);
    bpt_text_t *text;
    assert_ok(bpt_text_open(path, &text));
    const bpt_range_t range = bpt_text_range(text);
    assert_int_equal(range.bytes, 5);
    assert_memory_equal(range.data, bytes, 5);
    assert_string_equal(range.path, path);
    assert_int_equal(range.line, 1);
    bpt_text_close(text);
    bpt_text_close(NULL);
}

static void what_is_no_text_is_refused_with_its_path(void **state) {
    (void)state;
    const size_t live = bpt_alloc_live();
    bpt_text_t *text;
    test_write_file(test_path("empty.txt"), "", 0);
    assert_fails(bpt_text_open(test_path("empty.txt"), &text), BPT_ERR_INPUT, "empty.txt is empty");
    assert_fails(bpt_text_open(test_path("none.txt"), &text), BPT_ERR_IO, "none.txt: No such file");
    assert_fails(bpt_text_open(test_scratch_dir(), &text), BPT_ERR_IO, "directory");
    assert_int_equal(bpt_alloc_live(), live);
}

static void a_pipe_is_a_text_too(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "from a pipe", 11), 11);
    close(ends[1]);
    char path[64];
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    bpt_text_t *text;
    assert_ok(bpt_text_open(path, &text));
    assert_int_equal(bpt_text_range(text).bytes, 11);
    bpt_text_close(text);
    close(ends[0]);
}

static void lines_end_at_newlines_with_or_without_carriage_return(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int n;
        const char *lines[4];
    } cases[] = {
        {"", 0, {0}},
        {"\n", 1, {""}},
        {"a", 1, {"a"}},
        {"a\n", 1, {"a"}},
        {"a\nb", 2, {"a", "b"}},
        {"a\r\nb\r\n", 2, {"a", "b"}},
        {"a\n\nb\n", 3, {"a", "", "b"}},
        {"a\rb\n", 1, {"a\rb"}},
        {"\xEF\xBB\xBF"
         "a\nb",
         2,
         {"a", "b"}},
        {"\xEF\xBB\xBF", 0, {0}},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_range_t rest = bpt_range_of("x", cases[i].text, strlen(cases[i].text)), line;
        int n = 0;
        for (; bpt_range_next_line(&rest, &line); ++n) {
            assert_in_range(n, 0, cases[i].n - 1);
            assert_int_equal(line.bytes, strlen(cases[i].lines[n]));
            assert_memory_equal(line.data, cases[i].lines[n], line.bytes);
            assert_int_equal(line.line, n + 1);
            assert_ptr_equal(line.data, cases[i].text + line.offset);
        }
        assert_int_equal(n, cases[i].n);
    }
}

static void invalid_utf8_is_named_by_line_and_byte(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;  // NULL: valid
    } cases[] = {
        {"plain ascii, more than eight bytes", NULL},
        {"gr\xC3\xBC\xC3\x9F e \xE2\x82\xAC \xF0\x9F\x98\x80", NULL},
        {"abcdefgh\nij\xFFk", "line 2, byte 11: not valid UTF-8 (byte 0xFF)"},
        {"\xC3", "byte 0:"},
        {"ab\xE2\x82", "byte 2:"},
        {"\xC0\x80", "byte 0:"},          // overlong
        {"\xED\xA0\x80", "byte 0:"},      // surrogate
        {"\xF4\x90\x80\x80", "byte 0:"},  // beyond U+10FFFF
        {"a\n\n\x80", "line 3, byte 3:"},
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        const bpt_range_t range = bpt_range_of("x", cases[i].text, strlen(cases[i].text));
        if (cases[i].message)
            assert_fails(bpt_range_check_utf8(&range), BPT_ERR_INPUT, cases[i].message);
        else
            assert_ok(bpt_range_check_utf8(&range));
    }
    const bpt_range_t part = {"x", "\xFF", 1, 1000, 40};  // of a larger file
    assert_fails(bpt_range_check_utf8(&part), BPT_ERR_INPUT, "line 40, byte 1000:");
}

static void blocks_hold_whole_lines_and_keep_count(void **state) {
    (void)state;
    char content[2000];
    size_t size = 0;
    for (int i = 0; i < 100; ++i) size += (size_t)snprintf(content + size, sizeof content - size, "%0*d\n", 1 + i * 7 % 19, i);
    const char *path = test_path("blocks.txt");
    for (int newline = 0; newline < 2; ++newline) {
        test_write_file(path, content, size - (newline ? 0 : 1));
        for (size_t block = 1; block < 100; block += 7) {
            bpt_text_blocks_t *blocks;
            bpt_range_t lines, line;
            bool end = false;
            int64_t n = 0;
            assert_ok(bpt_text_blocks_open(path, block, &blocks));
            for (;;) {
                assert_ok(bpt_text_blocks_next(blocks, &lines, &end));
                if (end) break;
                while (bpt_range_next_line(&lines, &line)) {
                    char number[32] = {0};
                    memcpy(number, line.data, line.bytes);
                    assert_int_equal(strtol(number, NULL, 10), n);
                    assert_int_equal(line.line, ++n);
                    assert_memory_equal(line.data, content + line.offset, line.bytes);
                }
            }
            assert_int_equal(n, 100);
            bpt_text_blocks_close(blocks);
        }
    }
    bpt_text_blocks_t *blocks;
    assert_fails(bpt_text_blocks_open(test_path("none"), 8, &blocks), BPT_ERR_IO, "No such file");
}

static void shown_tokens_are_short_and_printable(void **state) {
    (void)state;
    assert_string_equal(bpt_show("gr\xC3\xBC\xC3\x9F", 6).text, "gr\xC3\xBC\xC3\x9F");
    assert_string_equal(bpt_show("a\n\x1B\xFF", 4).text, "a\\x0a\\x1b\\xff");
    char worst[400];
    memset(worst, 0xFF, sizeof worst);
    const bpt_shown_t shown = bpt_show(worst, sizeof worst);
    assert_int_equal(strlen(shown.text), 40 * 4 + 3);
    assert_string_equal(shown.text + 160, "...");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_whole_with_nul_bytes),
        cmocka_unit_test(what_is_no_text_is_refused_with_its_path),
        cmocka_unit_test(a_pipe_is_a_text_too),
        cmocka_unit_test(lines_end_at_newlines_with_or_without_carriage_return),
        cmocka_unit_test(invalid_utf8_is_named_by_line_and_byte),
        cmocka_unit_test(blocks_hold_whole_lines_and_keep_count),
        cmocka_unit_test(shown_tokens_are_short_and_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
