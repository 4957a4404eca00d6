// What Vulkan says where it has no loader, no driver or no such device: one sentence with a remedy, at once. And that its validation layer
// sees what it is there for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
        setenv("BPT_OS_RELEASE", "/nonexistent", 1);  // of an unknown system messages name all
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

// ---- Validation ------------------------------------------------------------------------------------------------------

static bpt_status_t fill_then_copy(bpt_gpu_api_t *api, bool barrier) {
    enum { WG = 64, COUNT = 1024 };
    const bpt_gpu_driver_t *driver = api->driver;
    bpt_gpu_memory_t *a = NULL, *b = NULL;
    bpt_gpu_program_t *fill = NULL, *copy = NULL;
    bpt_gpu_commands_t *commands = NULL;
    bpt_status_t status;
    uint64_t ticket;
    BPT_TRY_GOTO(driver->memory_create(api, COUNT * 4, &a), done);
    BPT_TRY_GOTO(driver->memory_create(api, COUNT * 4, &b), done);
    BPT_TRY_GOTO(driver->program_create(api, &(bpt_gpu_variant_t){.kernel = BPT_GPU_fill, .group_size = WG}, &fill), done);
    BPT_TRY_GOTO(driver->program_create(api, &(bpt_gpu_variant_t){.kernel = BPT_GPU_copy, .group_size = WG}, &copy), done);
    BPT_TRY_GOTO(driver->commands_create(api, &commands), done);
    const bpt_gpu_binding_t all_of_a = {a, 0, COUNT * 4}, all_of_b = {b, 0, COUNT * 4};
    bpt_gpu_dispatch_t first = {.program = fill, .params_bytes = sizeof(fill_params_t), .groups = {COUNT / WG, 1, 1}};
    bpt_gpu_dispatch_t second = {.program = copy, .params_bytes = sizeof(copy_params_t), .groups = {COUNT / WG, 1, 1}};
    first.bindings[fill_result] = second.bindings[copy_x] = all_of_a;
    second.bindings[copy_y] = all_of_b;
    memcpy(first.params, &(fill_params_t){.count = COUNT, .value = 1}, sizeof(fill_params_t));
    memcpy(second.params, &(copy_params_t){.count = COUNT}, sizeof(copy_params_t));
    BPT_TRY_GOTO(driver->dispatch(commands, &first), done);
    if (barrier) BPT_TRY_GOTO(driver->barrier(commands), done);
    BPT_TRY_GOTO(driver->dispatch(commands, &second), done);
    BPT_TRY_GOTO(driver->finish(commands), done);
    BPT_TRY_GOTO(driver->submit(api, commands, &ticket), done);
    status = driver->wait(api, ticket, 120000000000);
done:
    driver->commands_destroy(api, commands);
    driver->program_destroy(api, fill);
    driver->program_destroy(api, copy);
    driver->memory_destroy(api, a);
    driver->memory_destroy(api, b);
    return status;
}

enum { NO_DEVICE = 77 };

// In a child, under validation: 0 when the layer complains of the missing barrier, and of nothing when it is there.
static int validate(bool barrier) {
    bpt_gpu_api_t *api = NULL;
    setenv("BPT_VULKAN_VALIDATION", "1", 1);
    if (bpt_vulkan_driver.open(0, &api) != BPT_OK) {
        print_message("not tested: %s\n", bpt_error_message());
        return NO_DEVICE;
    }
    const bpt_status_t status = fill_then_copy(api, barrier);
    const unsigned messages = bpt_vulkan_validation_messages();
    const bool right =
        barrier ? status == BPT_OK && !messages : status == BPT_ERR_INTERNAL && messages && strstr(bpt_error_message(), "READ_AFTER_WRITE");
    if (!right)
        print_error("%s a barrier: %u messages of the validation layer; %s\n", barrier ? "with" : "without", messages,
                    status == BPT_OK ? "success" : bpt_error_message());
    bpt_vulkan_driver.close(api);
    return right ? 0 : 1;
}

// Each version of the layer, as it is used, must see what validation is there for.
static void validation_tells_of_a_barrier_left_out(void **state) {
    (void)state;
    for (int barrier = 1; barrier >= 0; --barrier) {
        int status = -1;
        const pid_t child = fork();
        if (child == 0) _exit(validate(barrier));
        assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
        if (WEXITSTATUS(status) == NO_DEVICE && !getenv("BPT_REQUIRE_BACKENDS")) skip();
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_loader_it_names_the_packages),
        cmocka_unit_test(without_a_driver_it_names_the_packages),
        cmocka_unit_test(no_variable_is_set),
        cmocka_unit_test(validation_tells_of_a_barrier_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include "support/support.h"

int main(void) { return test_skip_program("Vulkan is not compiled in"); }
#endif
