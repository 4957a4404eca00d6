// Every op but attention: every backend against ref (cases in case_<family>.c), and a gate: no op without a case.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/conformance.h"

static const test_family_t *const families[] = {
#define TEST_FAMILY(name) &test_##name##_cases,
#define TEST_ATTENTION_FAMILY(name)
#include "conformance/cases.def"
    NULL,
};

int main(void) {
    const test_suite_t suite = {.name = "ops against ref", .families = families};
    return test_conformance_main(&suite);
}
