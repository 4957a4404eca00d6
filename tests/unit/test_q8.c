// Numbers of 8 bits in blocks with a scale: how far they are off, and that they stay what they are.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/q8.h"

enum { N = 1000 };

static float x[N], y[N], z[N];
static int8_t bytes[N], again[N];
static uint16_t scales[N], scales_again[N];

// Of any sizes, from what f16 has no scale for up to its largest.
static void make_numbers(float size) {
    uint32_t word = 1;
    for (int i = 0; i < N; ++i) {
        word = word * 1664525u + 1013904223u;
        x[i] = size * ((float)(word >> 8) / (1 << 23) - 1);
    }
}

static void a_number_is_off_by_half_a_step_and_rounding_twice_changes_nothing(void **state) {
    (void)state;
    static const float sizes[] = {8e6f, 1000, 1, 0.02f, 1e-3f, 2e-4f, 3e-5f, 1e-9f, 0};
    static const int64_t lengths[] = {1, 31, 32, 33, 64, 500, N};
    for (size_t s = 0; s < BPT_COUNT(sizes); ++s)
        for (size_t l = 0; l < BPT_COUNT(lengths); ++l) {
            const int64_t n = lengths[l];
            make_numbers(sizes[s]);
            assert_true(bpt_q8_quantise(x, n, bytes, scales));
            bpt_q8_widen(bytes, scales, n, y);
            for (int64_t i = 0; i < n; ++i) {
                // The scale is rounded down: the largest number of a block may be off by 127 times what the scale lost.
                const float step = bpt_from_f16(scales[i / BPT_Q8_BLOCK]), lost = fmaxf(step / 1024, 0x1p-24f);
                assert_true(fabsf(x[i] - y[i]) <= step / 2 + 127 * lost);
            }
            assert_true(bpt_q8_quantise(y, n, again, scales_again));
            assert_memory_equal(again, bytes, (size_t)n);
            assert_memory_equal(scales_again, scales, (size_t)bpt_q8_blocks(n) * sizeof *scales);
            bpt_q8_widen(again, scales_again, n, z);
            assert_memory_equal(z, y, (size_t)n * sizeof *z);
        }
}

static void what_no_scale_reaches_is_refused(void **state) {
    (void)state;
    make_numbers(1);
    x[40] = 9e6f;
    assert_false(bpt_q8_quantise(x, 64, bytes, scales));
    assert_true(bpt_q8_quantise(x, 32, bytes, scales));
}

static void a_packed_row_has_its_scales_and_bytes_and_zeros(void **state) {
    (void)state;
    uint32_t row[3 * BPT_Q8_UNIT_WORDS];
    make_numbers(1);
    for (int64_t n = 1; n <= 3 * BPT_Q8_UNIT; n += 13) {
        const int64_t units = bpt_q8_units(n);
        assert_true(bpt_q8_quantise(x, n, bytes, scales));
        memset(row, 0xFF, sizeof row);
        bpt_q8_pack(bytes, scales, n, row);
        for (int64_t i = 0; i < units * BPT_Q8_UNIT; ++i) assert_int_equal(bpt_q8_bytes(row, n)[i], i < n ? bytes[i] : 0);
        for (int64_t i = 0; i < 2 * units; ++i) assert_int_equal(bpt_q8_scales(row)[i], i < bpt_q8_blocks(n) ? scales[i] : 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_off_by_half_a_step_and_rounding_twice_changes_nothing),
        cmocka_unit_test(what_no_scale_reaches_is_refused),
        cmocka_unit_test(a_packed_row_has_its_scales_and_bytes_and_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
