// Every op but attention: every backend against ref (cases in case_<family>.c), and a gate: no op without a case.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/conformance.h"

static const test_family_t *const families[] = {
    &test_pointwise_cases,
    &test_matmul_cases,
    &test_layernorm_cases,
    &test_gather_cases,
    &test_rows_cases,
    &test_reduce_cases,
    &test_segment_cases,
    &test_tree_cases,
    &test_crf_cases,
    &test_xent_cases,
    &test_adam_cases,
    &test_cast_cases,
    NULL,
};

int main(void) {
    const test_suite_t suite = {.name = "ops against ref", .families = families};
    return test_conformance_main(&suite);
}
