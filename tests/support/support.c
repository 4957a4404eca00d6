// Shared by all test programs.
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/backend.h"

const char *test_shared_dir(void) { return getenv("BPT_SHARED"); }

static const char *find_reason(const char *name) {
    static bpt_device_info_t infos[8];
    int count = 0;
    const bpt_backend_t *backend = bpt_backend_find(name);
    if (!backend) return "not compiled in";
    if (backend->enumerate(infos, (int)BPT_COUNT(infos), &count) != BPT_OK) return bpt_error_message();
    const char *reason = "no device";
    for (int i = 0; i < count && i < (int)BPT_COUNT(infos); ++i) {
        if (infos[i].usable) return NULL;
        reason = infos[i].reason;
    }
    return reason;
}

bool test_backend_usable(const char *name) {
    static struct {
        char name[16];
        bool usable;
    } known[16];
    static size_t n_known;
    for (size_t i = 0; i < n_known; ++i)
        if (!strcmp(known[i].name, name)) return known[i].usable;
    const char *reason = find_reason(name), *required = getenv("BPT_REQUIRE_BACKENDS");
    if (reason && required && strstr(required, name)) fail_msg("backend %s is required, but: %s", name, reason);
    if (reason) print_message("%s: not tested (%s)\n", name, reason);
    if (n_known < BPT_COUNT(known)) {
        snprintf(known[n_known].name, sizeof known[n_known].name, "%s", name);
        known[n_known++].usable = !reason;
    }
    return !reason;
}

static void says_why_and_is_skipped(void **state) {
    print_message("not tested: %s\n", (const char *)*state);
    skip();
}

int test_skip_program(const char *why) {
    const struct CMUnitTest tests[] = {
        {.name = "not_compiled_in", .test_func = says_why_and_is_skipped, .initial_state = (void *)(uintptr_t)why}};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
