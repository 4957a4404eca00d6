// A oneDNN 3.13 that is complete and opens well. FAKE_ONEDNN says what is wrong with it: engine (it finds no device, as a build for SYCL
// where OpenCL has no CPU), sgemm (an f32 product fails), wrong (it has another result), create or execute (of a bf16 product). Its f32
// products are right otherwise. Like the real one it tells what went wrong on standard output, unless it is asked not to.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { INVALID = 2, RUNTIME_SYCL = 0x200 };

static int verbose = 1;

static int fails(const char *what) {
    const char *fault = getenv("FAKE_ONEDNN");
    if (!fault || strcmp(fault, what)) return 0;
    if (verbose) printf("onednn_verbose,v1,common,error,%s\n", what);
    return INVALID;
}

EXPORT const void *dnnl_version(void);
const void *dnnl_version(void) {
    static const struct {
        int major, minor, patch;
        const char *hash;
        unsigned cpu_runtime, gpu_runtime;
    } version = {3, 13, 2, "fake", RUNTIME_SYCL, RUNTIME_SYCL};
    return &version;
}

EXPORT int dnnl_set_verbose(int level);
int dnnl_set_verbose(int level) {
    verbose = level;
    return 0;
}

EXPORT int dnnl_engine_create(void **engine);
int dnnl_engine_create(void **engine) {
    *engine = NULL;
    return fails("engine");
}

EXPORT int dnnl_primitive_create(void **primitive);
int dnnl_primitive_create(void **primitive) {
    *primitive = &verbose;
    return fails("create");
}

EXPORT int dnnl_primitive_execute(void);
int dnnl_primitive_execute(void) { return fails("execute"); }

EXPORT int dnnl_sgemm(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                      int64_t ldb, float beta, float *c, int64_t ldc);
int dnnl_sgemm(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
               float beta, float *c, int64_t ldc) {
    const int status = fails("sgemm");
    if (status) return status;
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            float sum = fails("wrong") ? 1 : 0;
            for (int64_t x = 0; x < k; ++x)
                sum += (ta == 'T' ? a[x * lda + i] : a[i * lda + x]) * (tb == 'T' ? b[j * ldb + x] : b[x * ldb + j]);
            c[i * ldc + j] = alpha * sum + (beta != 0 ? beta * c[i * ldc + j] : 0);
        }
    return 0;
}

EXPORT size_t dnnl_memory_desc_get_size(void);
size_t dnnl_memory_desc_get_size(void) { return 64; }

// What only has to succeed; those that make something leave it as it is.
#define NOTHING(name)             \
    EXPORT int dnnl_##name(void); \
    int dnnl_##name(void) { return 0; }
NOTHING(stream_create)
NOTHING(stream_wait)
NOTHING(stream_destroy)
NOTHING(primitive_attr_create)
NOTHING(primitive_attr_destroy)
NOTHING(primitive_attr_set_scratchpad_mode)
NOTHING(primitive_attr_set_post_ops)
NOTHING(post_ops_create)
NOTHING(post_ops_destroy)
NOTHING(post_ops_append_sum)
NOTHING(primitive_desc_destroy)
NOTHING(primitive_desc_query_md)
NOTHING(primitive_destroy)
NOTHING(memory_create)
NOTHING(memory_destroy)
NOTHING(memory_set_data_handle)
NOTHING(memory_desc_create_with_strides)
NOTHING(memory_desc_destroy)
NOTHING(matmul_primitive_desc_create)
