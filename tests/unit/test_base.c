// The base layer: errors, memory, strings, random numbers, element types.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/dtype.h"
#include "bpt/names.h"
#include "bpt/rng.h"
#include "bpt/strbuf.h"
#include "support/check.h"

static void failure_keeps_message_and_context(void **state) {
    (void)state;
    bpt_status_t s = bpt_fail(BPT_ERR_INPUT, "line %d is empty", 3);
    s = bpt_context(s, "file %s", "a.txt");
    assert_int_equal(s, BPT_ERR_INPUT);
    assert_string_equal(bpt_error_message(), "file a.txt: line 3 is empty");
}

static void allocation_failure_is_reported_and_leaks_nothing(void **state) {
    (void)state;
    const size_t live = bpt_alloc_live();
    void *p = NULL, *q = NULL;
    bpt_alloc_fail_after(2);
    assert_int_equal(bpt_alloc(1, 8, &p), BPT_OK);
    assert_int_equal(bpt_alloc(1, 8, &q), BPT_ERR_NO_MEMORY);
    bpt_alloc_fail_after(0);
    bpt_free(p);
    assert_int_equal(bpt_alloc_live(), live);
    assert_int_equal(bpt_realloc(&q, SIZE_MAX, 2), BPT_ERR_NO_MEMORY);
}

static void blocks_of_tensors_are_aligned_to_lines_and_large_ones_to_huge_pages(void **state) {
    (void)state;
    const size_t huge = 2 << 20, sizes[] = {0, 1, 65, huge - 1, huge, 3 * huge + 5}, live = bpt_alloc_live();
    for (size_t i = 0; i < BPT_COUNT(sizes); ++i) {
        char *p;
        assert_int_equal(bpt_alloc_aligned(sizes[i], &p), BPT_OK);
        assert_int_equal((uintptr_t)p % (sizes[i] < huge ? 64 : huge), 0);
        memset(p, 1, sizes[i]);
        bpt_free_aligned(p);
    }
    void *p;
    assert_int_equal(bpt_alloc_aligned(SIZE_MAX, &p), BPT_ERR_NO_MEMORY);
    assert_int_equal(bpt_alloc_live(), live);
}

static void strbuf_stops_at_its_limit(void **state) {
    (void)state;
    bpt_strbuf_t buf = {.limit = 10};
    assert_int_equal(bpt_strbuf_printf(&buf, "%s", "12345"), BPT_OK);
    assert_int_equal(bpt_strbuf_append(&buf, "67890", 5), BPT_OK);
    assert_int_equal(bpt_strbuf_append(&buf, "x", 1), BPT_ERR_INPUT);
    assert_string_equal(buf.data, "1234567890");
    bpt_strbuf_free(&buf);
}

static void philox_matches_the_published_vectors(void **state) {
    (void)state;  // Random123 kat_vectors, philox4x32 10
    const uint32_t zero[4] = {0}, key0[2] = {0}, ones[4] = {~0u, ~0u, ~0u, ~0u}, key1[2] = {~0u, ~0u};
    const uint32_t pi[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, keypi[2] = {0xa4093822, 0x299f31d0};
    const uint32_t want[3][4] = {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
                                 {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
                                 {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}};
    uint32_t out[4];
    bpt_philox(zero, key0, out);
    assert_memory_equal(out, want[0], 16);
    bpt_philox(ones, key1, out);
    assert_memory_equal(out, want[1], 16);
    bpt_philox(pi, keypi, out);
    assert_memory_equal(out, want[2], 16);
}

static void half_conversions_round_to_nearest_even(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x10000; ++h) {
        const float x = bpt_from_f16((uint16_t)h);
        if (isnan(x)) continue;
        assert_int_equal(bpt_to_f16(x), h);
        if ((h & 0x7FFF) < 0x7BFF) {  // halfway to the next value goes to the even one
            const float next = bpt_from_f16((uint16_t)(h + 1)), middle = (x + next) / 2;
            assert_int_equal(bpt_to_f16(middle), h & 1 ? h + 1 : h);
        }
        const float b = bpt_from_bf16((uint16_t)h);
        if (!isnan(b)) assert_int_equal(bpt_to_bf16(b), h);
    }
    assert_true(isnan(bpt_from_bf16(bpt_to_bf16(NAN))));
    assert_true(isnan(bpt_from_f16(bpt_to_f16(NAN))));
    assert_true(isinf(bpt_from_f16(bpt_to_f16(65520.0f))));
}

// ---- names
static void names_of_any_bytes_go_through_text_and_back(void **state) {
    (void)state;
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"", ""},
        {"plain name.txt", "plain name.txt"},
        {"Gr\xC3\xBC\xC3\x9F"
         "e \xE2\x82\xAC \xF0\x9F\x98\x80",
         "Gr\xC3\xBC\xC3\x9F"
         "e \xE2\x82\xAC \xF0\x9F\x98\x80"},
        {"a\xFF"
         "b",
         "a\\xffb"},
        {"a\\xff", "a\\\\xff"},
        {"\\", "\\\\"},
        {"\x1B[31m\n", "\\x1b[31m\\x0a"},
        {"\xC3", "\\xc3"},                                        // cut off
        {"\xC0\xAF \xE0\x80\x80", "\\xc0\\xaf \\xe0\\x80\\x80"},  // overlong
        {"\xED\xA0\x80", "\\xed\\xa0\\x80"},                      // a surrogate
        {"\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},             // above U+10FFFF
        {"\xC2\x9B", "\\xc2\\x9b"},                               // a control character
    };
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        bpt_strbuf_t text = {0}, back = {0};
        assert_ok(bpt_name_escape(cases[i].name, &text));
        assert_string_equal(text.data, cases[i].text);
        assert_ok(bpt_name_unescape(text.data, &back));
        assert_string_equal(back.data, cases[i].name);
        bpt_strbuf_free(&text), bpt_strbuf_free(&back);
    }
    bpt_strbuf_t kept = {0};
    assert_ok(bpt_name_unescape("a\\b\\xg\\x0\\x00\\", &kept));  // what is no escape stays
    assert_string_equal(kept.data, "a\\b\\xg\\x0\\x00\\");
    bpt_strbuf_free(&kept);
    char shown[12];
    bpt_message_show("1\t\x1B\\", shown, sizeof shown);
    assert_string_equal(shown, "1\t\\x1b\\");
    bpt_message_show("1234567\xFF"
                     "89",
                     shown, sizeof shown);
    assert_string_equal(shown, "1234567\\xff");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failure_keeps_message_and_context),
        cmocka_unit_test(allocation_failure_is_reported_and_leaks_nothing),
        cmocka_unit_test(blocks_of_tensors_are_aligned_to_lines_and_large_ones_to_huge_pages),
        cmocka_unit_test(strbuf_stops_at_its_limit),
        cmocka_unit_test(philox_matches_the_published_vectors),
        cmocka_unit_test(half_conversions_round_to_nearest_even),
        cmocka_unit_test(names_of_any_bytes_go_through_text_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
