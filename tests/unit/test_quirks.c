// Variables that suit a driver, by its version and by the processor.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/gpu/quirks.h"
#include "bpt/base.h"

static bool has_avx512(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

// What the variable is to be, "" where it is left alone.
static const char *value_of(const char *backend, const char *driver, const char *name) {
    bpt_gpu_variable_t v;
    for (int i = 0; bpt_gpu_quirks_variable(backend, driver, i, &v); ++i)
        if (!strcmp(v.name, name)) return v.value;
    return "";
}

static void lavapipe_is_widened_before_mesa_26_only(void **state) {
    (void)state;
    const char *name = "LP_NATIVE_VECTOR_WIDTH", *wide = has_avx512() ? "512" : "";
    assert_string_equal(value_of("vulkan", "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)", name), wide);
    assert_string_equal(value_of("vulkan", "llvmpipe Mesa 25.0.7-2 (LLVM 19.1.7)", name), wide);
    assert_string_equal(value_of("vulkan", "llvmpipe Mesa 26.1.6-1~bpo13+1 (LLVM 19.1.7)", name), "");
    assert_string_equal(value_of("vulkan", "llvmpipe version 0x68000001", name), "");
    assert_string_equal(value_of("vulkan", "radv Mesa 22.3.6", name), "");
    assert_string_equal(value_of("opencl", "rusticl Mesa 22.3.6 llvmpipe", name), "");
}

static void each_width_has_a_cache_of_its_own(void **state) {
    (void)state;
    bpt_gpu_variable_t v = {0};
    int i = 0;
    while (bpt_gpu_quirks_variable("vulkan", "llvmpipe Mesa 26.1.6", i, &v) && strcmp(v.name, "MESA_SHADER_CACHE_DIR") != 0) ++i;
    assert_string_equal(v.name, "MESA_SHADER_CACHE_DIR");
    assert_string_equal(v.per, "LP_NATIVE_VECTOR_WIDTH");
}

static void intels_compiler_of_2024_is_held_back(void **state) {
    (void)state;
    const char *name = "CL_CONFIG_CPU_TARGET_ARCH";
    assert_string_equal(value_of("opencl", "Intel(R) OpenCL 2024.16.1.0.29_160000", name), has_avx512() ? "skx" : "");
    assert_string_equal(value_of("opencl", "Intel(R) OpenCL 2026.2.0", name), "");
}

static void without_quirks_nothing_is_set(void **state) {
    (void)state;
    setenv("BPT_DISABLE", "quirks", 1);
    assert_string_equal(value_of("vulkan", "llvmpipe Mesa 22.3.6", "LP_NATIVE_VECTOR_WIDTH"), "");
    unsetenv("BPT_DISABLE");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lavapipe_is_widened_before_mesa_26_only),
        cmocka_unit_test(each_width_has_a_cache_of_its_own),
        cmocka_unit_test(intels_compiler_of_2024_is_held_back),
        cmocka_unit_test(without_quirks_nothing_is_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
