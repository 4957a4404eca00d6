// Interval attention: every backend against ref (cases in case_attention.c), and on every case, on the backend and on ref:
// a query reads its keys and nothing else, bit for bit (tables: so do keys, backward); padding, other sequences and the bucket do not
// matter.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/attention.h"
#include "support/conformance.h"

static void check_independence(bpt_device_t *device, const test_case_t *c, const test_data_t *result) {
    if (c->call.in[6].present) {
        test_attention_table_rows_are_independent(device, c, result);
        return;
    }
    if (c->call.op == BPT_OP_ATTENTION) test_attention_reads_only_its_keys(device, c, result);
    test_attention_ignores_padding_and_mates(device, c, result);
    test_attention_ignores_the_bucket(device, c, result);
}

int main(void) {
    static const test_family_t *const families[] = {
#define TEST_FAMILY(name)
#define TEST_ATTENTION_FAMILY(name) &test_##name##_cases,
#include "conformance/cases.def"
        NULL,
    };
    const test_suite_t suite = {.name = "attention against ref", .families = families, .extra = check_independence};
    return test_conformance_main(&suite);
}
