// What the tests of products by cuBLASLt share: the stand-in library, and that nothing was done against its manual.
#ifndef BPT_TEST_CUBLASLT_FIXTURE_H
#define BPT_TEST_CUBLASLT_FIXTURE_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/device.h"
#include "bpt/alloc.h"
#include "driver/fake_cublaslt.h"
#include "support/check.h"

static fake_cublaslt_t *lt;
static const uint64_t PATIENCE_NS = 60000000000;

static void open_fake(void) {
    void *library = dlopen(FAKE_CUBLASLT, RTLD_NOW | RTLD_LOCAL);
    lt = library ? dlsym(library, "fake_cublaslt") : NULL;
    if (!lt) fail_msg("%s", dlerror());
}

static int set_up(void **state) {
    (void)state;
    if (!lt) open_fake();
    *lt = (fake_cublaslt_t){.version = 130100};
    setenv("BPT_DISABLE", "cache", 1);
    unsetenv("BPT_TUNING");
    return 0;
}

// Nothing was done against the manual, nothing is left.
static int tear_down(void **state) {
    (void)state;
    if (*lt->complaint) print_error("the library complains: %s\n", lt->complaint);
    if (lt->objects) print_error("%d objects of the library left\n", lt->objects);
    if (bpt_alloc_live()) print_error("%zu blocks left on the host\n", bpt_alloc_live());
    return *lt->complaint || lt->objects || bpt_alloc_live() ? -1 : 0;
}

static float element(const unsigned char *bytes, bpt_dtype_t dtype, size_t i) {
    uint16_t half;
    float x;
    memcpy(&half, bytes + i * 2, sizeof half);
    if (dtype == BPT_F32) memcpy(&x, bytes + i * 4, sizeof x);
    return dtype == BPT_F32 ? x : dtype == BPT_BF16 ? bpt_from_bf16(half) : bpt_from_f16(half);
}

// Before anything opens a library.
static void use_stand_ins(void) {
    setenv("BPT_CUDA_LIBRARY", CUDA_EMULATOR, 1);
    setenv("BPT_NVRTC_LIBRARY", CUDA_EMULATOR, 1);
    setenv("BPT_CUBLASLT_LIBRARY", FAKE_CUBLASLT, 1);
    setenv("BPT_DISABLE", "cache", 1);
}

#endif
