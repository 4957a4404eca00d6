// Tiny training runs through GPU backends (see gpu_fault.h).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/gpu_fault.h"

static bool usable(const char *backend) {
    char line[128];
    snprintf(line, sizeof line, "devices --backend %s --json", backend);
    test_process_t p = test_run_line(line);
    const bool found = strstr(p.out, "\"usable\": true");
    test_process_free(&p);
    return found;
}

bool test_shim_use(const char *backend) {
    const bool vulkan = !strcmp(backend, "vulkan");
    const char *shim = getenv(vulkan ? "BPT_VULKAN_SHIM" : "BPT_OPENCL_SHIM"), *required = getenv("BPT_REQUIRE_BACKENDS");
    const char *why = !shim ? "no library was found when the tests were configured" : usable(backend) ? NULL : "no usable device";
    if (why && required && strstr(required, backend)) fail_msg("%s is required, but: %s", backend, why);
    if (why)
        print_message("%s: not tested (%s)\n", backend, why);
    else
        setenv(vulkan ? "BPT_VULKAN_LIBRARY" : "BPT_OPENCL_LIBRARY", shim, 1);
    return !why;
}

void test_shim_drop(void) {
    unsetenv("BPT_VULKAN_LIBRARY");
    unsetenv("BPT_OPENCL_LIBRARY");
}

test_process_t test_train_tiny(const char *backend, const char *run, const char *more) {
    static char bytes[2001];
    char line[2048];
    for (int i = 0; i < 2000; ++i) bytes[i] = (char)('a' + (i * 5 + i / 13) % 26);
    snprintf(line, sizeof line,
             "train --backend %s --data %s --out %s --steps 2 --layers 1 --d-model 16 --heads 2 --k 2 --context 16 --batch-tokens 32 "
             "--eval-every 100%s%s",
             backend, test_file("tiny.txt", bytes), run, *more ? " " : "", more);
    return test_run_line(line);
}

void test_expect_error(test_process_t *process, int exit_status, const char *const *parts) {
    const char *error = strstr(process->err, "bpt: error: ");
    if (process->exit_status != exit_status || !error)
        fail_msg("exit status %d, not %d: %s", process->exit_status, exit_status, process->err);
    if (strchr(error, '\n') != error + strlen(error) - 1) fail_msg("more than one line: %s", error);
    for (; *parts; ++parts)
        if (!strstr(error, *parts)) fail_msg("no '%s' in: %s", *parts, error);
    test_process_free(process);
}
