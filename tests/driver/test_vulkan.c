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

// With these variables, where does Mesa keep its machine code? NULL: in its own place.
static bool mesa_keeps(const char *width, const char *cache, const char *own, const char *variable, const char *wanted) {
    const pid_t child = fork();
    if (child == 0) {
        bpt_device_info_t info;
        int count;
        setenv("LP_NATIVE_VECTOR_WIDTH", width, 1);
        setenv("BPT_CACHE", cache, 1);
        unsetenv("MESA_SHADER_CACHE_DIR");
        unsetenv("MESA_SHADER_CACHE_DISABLE");
        if (own) setenv("MESA_SHADER_CACHE_DIR", own, 1);
        if (bpt_vulkan_driver.enumerate(&info, 1, &count) != BPT_OK) print_message("%s\n", bpt_error_message());
        const char *is = getenv(variable);
        const bool ok = is && strlen(is) >= strlen(wanted) && !strcmp(is + strlen(is) - strlen(wanted), wanted);
        if (!ok) print_error("%s=%s\n", variable, is ? is : "(unset)");
        _exit(ok ? 0 : 1);
    }
    return succeeds(child);
}

// What is compiled for vectors of one width is wrong for others, and Mesa 25.0 does not see that.
static void widths_of_the_rasterizer_do_not_share_machine_code(void **state) {
    (void)state;
    assert_true(mesa_keeps("128", "1", NULL, "MESA_SHADER_CACHE_DIR", "/mesa-128"));
    assert_true(mesa_keeps("256", "1", NULL, "MESA_SHADER_CACHE_DIR", "/mesa-256"));
    assert_true(mesa_keeps("256", "0", NULL, "MESA_SHADER_CACHE_DISABLE", "true"));
    assert_true(mesa_keeps("256", "1", "/tmp/mine", "MESA_SHADER_CACHE_DIR", "/tmp/mine"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_loader_it_names_the_packages),
        cmocka_unit_test(without_a_driver_it_names_the_packages),
        cmocka_unit_test(widths_of_the_rasterizer_do_not_share_machine_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include "support/support.h"

int main(void) { return test_skip_program("Vulkan is not compiled in"); }
#endif
