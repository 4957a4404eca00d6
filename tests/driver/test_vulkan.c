// What Vulkan says where it has no loader, no driver or no such device: one sentence with a remedy, at once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpt/status.h"
#ifdef BPT_WITH_VULKAN
#include "backends/vulkan/vulkan.h"

// The loader is opened once in a process, so everything happens in children.
static bool succeeds(pid_t child) {
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool refuses(const char *variable, const char *value, const char *part) {
    const pid_t child = fork();
    if (child == 0) {
        bpt_device_info_t info;
        bpt_gpu_api_t *api = NULL;
        int count = -1;
        setenv(variable, value, 1);
        bool ok = bpt_vulkan_driver.enumerate(&info, 1, &count) == BPT_ERR_UNAVAILABLE && count == 0 && strstr(bpt_error_message(), part);
        ok = ok && bpt_vulkan_driver.open(0, &api) == BPT_ERR_UNAVAILABLE && strstr(bpt_error_message(), part) && !api;
        if (!ok) print_error("%s=%s: \"%s\"\n", variable, value, bpt_error_message());
        _exit(ok ? 0 : 1);
    }
    return succeeds(child);
}

static void without_a_loader_it_names_the_packages(void **state) {
    (void)state;
    assert_true(refuses("BPT_VULKAN_LIBRARY", "/nonexistent/libvulkan.so.1", "vulkan-icd-loader"));
}

static void without_a_driver_it_names_the_packages(void **state) {
    (void)state;
    assert_true(refuses("VK_DRIVER_FILES", "/nonexistent/icd.json", "mesa-vulkan-drivers"));
}

// The environment belongs to the program that uses the library, and other drivers read it too.
static void no_variable_is_set(void **state) {
    (void)state;
    static const char *const names[] = {"LP_NATIVE_VECTOR_WIDTH", "MESA_SHADER_CACHE_DIR", "MESA_SHADER_CACHE_DISABLE"};
    const pid_t child = fork();
    if (child == 0) {
        bpt_device_info_t info;
        int count;
        bool ok = true;
        for (size_t i = 0; i < 3; ++i) unsetenv(names[i]);
        if (bpt_vulkan_driver.enumerate(&info, 1, &count) != BPT_OK) print_message("%s\n", bpt_error_message());
        for (size_t i = 0; i < 3; ++i) ok = ok && !getenv(names[i]);
        _exit(ok ? 0 : 1);
    }
    assert_true(succeeds(child));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_loader_it_names_the_packages),
        cmocka_unit_test(without_a_driver_it_names_the_packages),
        cmocka_unit_test(no_variable_is_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include "support/support.h"

int main(void) { return test_skip_program("Vulkan is not compiled in"); }
#endif
