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
#include "bpt/rng.h"
#include "bpt/strbuf.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failure_keeps_message_and_context),
        cmocka_unit_test(allocation_failure_is_reported_and_leaks_nothing),
        cmocka_unit_test(blocks_of_tensors_are_aligned_to_lines_and_large_ones_to_huge_pages),
        cmocka_unit_test(strbuf_stops_at_its_limit),
        cmocka_unit_test(philox_matches_the_published_vectors),
        cmocka_unit_test(half_conversions_round_to_nearest_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
