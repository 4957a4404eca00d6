// The cpu backend cuts attention by the number of threads: whole sequences, heads side by side, or pieces of a sequence. The order of
// all sums stays the same.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/execute.h"

enum { LONG = 1000 };  // leaves

static void attention_has_the_same_bits_with_any_number_of_threads(void **state) {
    (void)state;
    int seen = 0;
    for (size_t i = 0; i < test_attention_cases.count(); ++i) {
        test_case_t c;
        test_attention_cases.make(i, &c);
        if (c.call.attrs.attention.graph.n < LONG) continue;
        test_same_bits_with_any_number_of_threads(&c);
        ++seen;
    }
    assert_true(seen >= 32);
}

static void attention_over_tables_has_the_same_bits_with_any_number_of_threads(void **state) {
    (void)state;
    int seen = 0;
    for (size_t i = 0; i < test_attention_table_cases.count(); ++i) {
        test_case_t c;
        test_attention_table_cases.make(i, &c);
        if (c.call.in[0].shape.dim[0] < LONG / 10 && c.call.in[1].shape.dim[0] < LONG / 10) continue;
        test_same_bits_with_any_number_of_threads(&c);
        ++seen;
    }
    assert_true(seen >= 32);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(attention_has_the_same_bits_with_any_number_of_threads),
                                       cmocka_unit_test(attention_over_tables_has_the_same_bits_with_any_number_of_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
