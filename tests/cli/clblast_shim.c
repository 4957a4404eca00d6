// A CLBlast that misbehaves: SHIM_CLBLAST=nothing computes nothing and says that all is well, =error refuses with a code of CLBlast's,
// =crash ends the process.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int CLBlastSgemmWithTempBuffer(int layout, int a_transpose, int b_transpose, size_t m, size_t n, size_t k, float alpha, void *a,
                                      size_t a_offset, size_t a_ld, void *b, size_t b_offset, size_t b_ld, float beta, void *c,
                                      size_t c_offset, size_t c_ld, void **queue, void **event, void *temporary);
EXPORT int CLBlastSgemmWithTempBuffer(int layout, int a_transpose, int b_transpose, size_t m, size_t n, size_t k, float alpha, void *a,
                                      size_t a_offset, size_t a_ld, void *b, size_t b_offset, size_t b_ld, float beta, void *c,
                                      size_t c_offset, size_t c_ld, void **queue, void **event, void *temporary) {
    (void)layout, (void)a_transpose, (void)b_transpose, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)a_offset, (void)a_ld;
    (void)b, (void)b_offset, (void)b_ld, (void)beta, (void)c, (void)c_offset, (void)c_ld, (void)queue, (void)event, (void)temporary;
    const char *how = getenv("SHIM_CLBLAST");
    enum { INVALID_LOCAL_MEMORY = -2046 };
    if (how && !strcmp(how, "crash")) abort();
    return how && !strcmp(how, "error") ? INVALID_LOCAL_MEMORY : 0;
}

EXPORT int CLBlastSGemmTempBufferSize(int layout, int a_transpose, int b_transpose, size_t m, size_t n, size_t k, size_t a_offset,
                                      size_t a_ld, size_t b_offset, size_t b_ld, size_t c_offset, size_t c_ld, void **queue, size_t *bytes);
EXPORT int CLBlastSGemmTempBufferSize(int layout, int a_transpose, int b_transpose, size_t m, size_t n, size_t k, size_t a_offset,
                                      size_t a_ld, size_t b_offset, size_t b_ld, size_t c_offset, size_t c_ld, void **queue,
                                      size_t *bytes) {
    (void)layout, (void)a_transpose, (void)b_transpose, (void)m, (void)n, (void)k, (void)a_offset, (void)a_ld;
    (void)b_offset, (void)b_ld, (void)c_offset, (void)c_ld, (void)queue;
    *bytes = 0;
    return 0;
}

EXPORT int CLBlastClearCache(void);
EXPORT int CLBlastClearCache(void) { return 0; }
