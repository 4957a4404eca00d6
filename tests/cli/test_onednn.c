// A oneDNN that opens and does not multiply is refused where it was named, with a reason and a remedy, and nothing of what it says gets
// into the program's output. Without oneDNN, an OpenBLAS with old kernels is left alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "support/process.h"

#define COMMAND "bench gemm --backend cpu --threads 1 --tokens 64 --n 64 --d-model 16 --d-ff 16 --heads 2 --json"
#define SYCL "; it was built for SYCL, which needs a CPU device of OpenCL: take a build for OpenMP"

static void expect(const char *fault, const char *reason) {
    setenv("FAKE_ONEDNN", fault, 1);
    test_process_t p = test_run_line(COMMAND);
    unsetenv("FAKE_ONEDNN");
    if (strstr(p.out, "onednn_verbose")) fail_msg("%s: its words are in the output: %s", fault, p.out);
    if (p.exit_status != 1 || !strstr(p.err, reason) || !strstr(p.err, "; name another file, none, or leave it out"))
        fail_msg("%s: exit %d: %s", fault, p.exit_status, p.err);
    test_process_free(&p);
}

// Products in bf16 are tried where the processor has instructions for them.
static bool processor_multiplies_bf16(void) {
    char line[8192];
    FILE *file = fopen("/proc/cpuinfo", "r");
    bool any = false;
    while (file && fgets(line, sizeof line, file)) any |= strstr(line, "_bf16") != NULL;
    if (file) fclose(file);
    return any;
}

static void a_library_that_does_not_multiply_is_refused(void **state) {
    (void)state;
    const char *fake = getenv("BPT_FAKE_ONEDNN"), *before = getenv("BPT_ONEDNN_LIBRARY");
    assert_non_null(fake);
    const bool bf16 = processor_multiplies_bf16();
    setenv("BPT_ONEDNN_LIBRARY", fake, 1);
    expect("engine", "oneDNN 3.13.2 gives no CPU engine (status 2)" SYCL);
#if defined(__x86_64__)
    expect("sgemm", "oneDNN 3.13.2 is not used: a small f32 product fails, or has another result" SYCL);
    expect("wrong", "oneDNN 3.13.2 is not used: a small f32 product fails, or has another result" SYCL);
#endif
    if (bf16) {
        expect("create", "oneDNN 3.13.2 is not used: it cannot make a small bf16 product" SYCL);
        expect("execute", "oneDNN 3.13.2 is not used: a small bf16 product fails, or has another result" SYCL);
    }
    test_process_t p = test_run_line(COMMAND);
    if (p.exit_status != (bf16 ? 1 : 0)) fail_msg("its bf16 products do nothing, and are tried where there are such: %s", p.err);
    test_process_free(&p);
    if (before)
        setenv("BPT_ONEDNN_LIBRARY", before, 1);
    else
        unsetenv("BPT_ONEDNN_LIBRARY");
}

static void one_that_lacks_a_library_is_not_called_missing(void **state) {
    (void)state;
    const char *broken = test_file("libdnnl.so.3", "no library");
    setenv("BPT_ONEDNN_LIBRARY", broken, 1);
    test_refused(1, "libdnnl.so.3: it cannot be opened: ", COMMAND);
    unsetenv("BPT_ONEDNN_LIBRARY");
}

// An OpenBLAS that does not know the processor takes kernels of 2004: the products of this project are faster, unless it is named.
static void an_openblas_without_avx_is_used_only_where_it_is_named(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2")) skip();
    const char *before = getenv("OPENBLAS_CORETYPE");
    setenv("BPT_ONEDNN_LIBRARY", "none", 1);
    setenv("OPENBLAS_CORETYPE", "Prescott", 1);
    test_process_t found = test_run_to(0, "devices --backend cpu");
    setenv("BPT_OPENBLAS_LIBRARY", "libopenblas.so.0", 1);
    test_process_t named = test_run_to(0, "devices --backend cpu");
    unsetenv("BPT_OPENBLAS_LIBRARY");
    unsetenv("BPT_ONEDNN_LIBRARY");
    if (before)
        setenv("OPENBLAS_CORETYPE", before, 1);
    else
        unsetenv("OPENBLAS_CORETYPE");
    if (!strstr(found.out, "driver own products (OpenBLAS has only Prescott kernels here)")) fail_msg("%s", found.out);
    if (!strstr(named.out, "driver OpenBLAS (Prescott kernels)")) fail_msg("%s", named.out);
    test_process_free(&found), test_process_free(&named);
#else
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_does_not_multiply_is_refused),
        cmocka_unit_test(one_that_lacks_a_library_is_not_called_missing),
        cmocka_unit_test(an_openblas_without_avx_is_used_only_where_it_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
