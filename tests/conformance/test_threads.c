// The cpu backend cuts attention by the number of threads: whole sequences, heads side by side, or pieces of a sequence. The order of
// all sums stays the same.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/check.h"
#include "support/conformance.h"
#include "support/execute.h"

enum { LONG = 1000, MOST_THREADS = 5 };

static void run_with_threads(int threads, const test_case_t *c, test_data_t *data) {
    const bpt_backend_t *cpu = bpt_backend_find("cpu");
    const bpt_device_options_t options = {.threads = threads};
    bpt_device_t *device;
    test_data_create(c, data);
    assert_ok(cpu->open(0, &options, &device));
    test_must_execute(device, c, data);
    cpu->close(device);
}

static void attention_has_the_same_bits_with_any_number_of_threads(void **state) {
    (void)state;
    int seen = 0;
    for (size_t i = 0; i < test_attention_cases.count(); ++i) {
        test_case_t c;
        test_data_t first;
        test_attention_cases.make(i, &c);
        if (c.call.attrs.attention.graph.kind == BPT_GRAPH_TABLE || c.call.attrs.attention.graph.n < LONG) continue;
        run_with_threads(1, &c, &first);
        for (int threads = 2; threads <= MOST_THREADS; ++threads) {
            test_data_t data;
            run_with_threads(threads, &c, &data);
            test_same_bits(c.name, &c, &data, &first);
            test_data_destroy(&data);
        }
        test_data_destroy(&first);
        ++seen;
    }
    assert_true(seen >= 32);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(attention_has_the_same_bits_with_any_number_of_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
