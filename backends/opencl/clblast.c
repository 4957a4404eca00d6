// CLBlast's SGEMM (see clblast.h). The few declarations of its C interface that are needed stand here, so that nothing of it is needed to
// build. Knows nothing of lists and ops.
#include "backends/opencl/clblast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/library.h"
#include "bpt/platforms.h"

// ---- Its interface, 1.5 ----------------------------------------------------------------------------------------------

enum { BY_ROWS = 101, AS_IT_IS = 111, TRANSPOSED = 112 };

typedef int sgemm_t(int layout, int a_transpose, int b_transpose, size_t m, size_t n, size_t k, float alpha, cl_mem a, size_t a_offset,
                    size_t a_ld, cl_mem b, size_t b_offset, size_t b_ld, float beta, cl_mem c, size_t c_offset, size_t c_ld,
                    cl_command_queue *queue, cl_event *event, cl_mem temporary);
typedef int sgemm_size_t(int layout, int a_transpose, int b_transpose, size_t m, size_t n, size_t k, size_t a_offset, size_t a_ld,
                         size_t b_offset, size_t b_ld, size_t c_offset, size_t c_ld, cl_command_queue *queue, size_t *bytes);

static const char *error_name(int code) {
    switch (code) {
    case -2050: return "its scratch is too small";
    case -2046: return "not enough local memory";
    case -2041: return "the device is not in its tables";
    case -1017: return "an empty matrix";
    case -1011: return "matrix a reaches beyond its memory";
    case -1010: return "matrix b reaches beyond its memory";
    case -1009: return "matrix c reaches beyond its memory";
    default: return bpt_opencl_error_name(code);
    }
}

// OpenCL's own codes are passed on by it.
static bpt_status_t check(int code, const char *what) {
    if (code == 0) return BPT_OK;
    if (code > -1000) return bpt_opencl_fail(code, what);
    return bpt_fail(BPT_ERR_UNSUPPORTED, "CLBlast: %s failed: %s (%d)", what, error_name(code), code);
}

// ---- The library -----------------------------------------------------------------------------------------------------

static struct {
    sgemm_t *sgemm;
    sgemm_size_t *size;
    int (*clear)(void);
    bool there;
    char text[200];  // name and version, or why not
} library;

static void find(const char *other) {
    void *handle = bpt_library_open(BPT_LIBRARY_CLBLAST, other);
    if (!handle) {
        snprintf(library.text, sizeof library.text, "no CLBlast (%.100s); it is optional: %s", bpt_library_error(),
                 bpt_platform_remedy(BPT_NEED_CLBLAST));
        return;
    }
    library.sgemm = (sgemm_t *)bpt_library_symbol(handle, "CLBlastSgemmWithTempBuffer");
    library.size = (sgemm_size_t *)bpt_library_symbol(handle, "CLBlastSGemmTempBufferSize");
    library.clear = (int (*)(void))bpt_library_symbol(handle, "CLBlastClearCache");
    library.there = library.sgemm && library.size && library.clear;
    if (!library.there) {
        snprintf(library.text, sizeof library.text,
                 "CLBlast is too old: it has no products with a buffer of the caller's; 1.5 or newer is needed");
        return;
    }
    // It has no function that tells its version; the name of its file does.
    char file[151];
    const bool known = bpt_library_file_of((void *)library.sgemm, file, sizeof file);
    snprintf(library.text, sizeof library.text, "CLBlast (%.150s)", known ? file : other ? other : bpt_library_name(BPT_LIBRARY_CLBLAST));
}

static void load(void) {
    const char *other = bpt_env_text("BPT_CLBLAST_LIBRARY");
    if (other && !strcmp(other, "none"))
        snprintf(library.text, sizeof library.text, "CLBlast is switched off by BPT_CLBLAST_LIBRARY=none");
    else
        find(other);
}

bool bpt_clblast_describe(char *text, size_t bytes) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    snprintf(text, bytes, "%s", library.text);
    return library.there;
}

static bpt_status_t need(void) {
    char text[sizeof library.text];
    return bpt_clblast_describe(text, sizeof text) ? BPT_OK : bpt_fail(BPT_ERR_UNAVAILABLE, "%s", text);
}

// ---- Products --------------------------------------------------------------------------------------------------------

static int transposition(bool transposed) { return transposed ? TRANSPOSED : AS_IT_IS; }

bool bpt_clblast_can(bpt_gpu_api_t *api, const bpt_gpu_product_t *p) {
    (void)api;
    return p->operands == BPT_F32 && p->result == BPT_F32 && !p->has_bias && !p->relu && !p->masked && !p->tf32;
}

// Bytes of which the beginning of a part of a block must be a multiple.
static size_t alignment_of(const bpt_opencl_api_t *api) {
    cl_uint bits = 0;
    if (api->cl->clGetDeviceInfo(api->id.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL) != CL_SUCCESS || bits < 8)
        return 4096;
    return bits / 8;
}

bpt_status_t bpt_clblast_scratch(bpt_gpu_api_t *base, const bpt_gpu_product_t *p, size_t *bytes) {
    bpt_opencl_api_t *api = (bpt_opencl_api_t *)base;
    *bytes = 0;
    BPT_TRY(need());
    // It needs no copy of an operand at offset 0 that suits its tiles: asked for operands elsewhere, it tells the most.
    BPT_TRY(check(library.size(BY_ROWS, transposition(p->transpose_a), transposition(p->transpose_b), p->m, p->n, p->k, 1, p->lda, 1,
                               p->ldb, 1, p->ldc, &api->queue, bytes),
                  "asking for the scratch of a product"));
    if (*bytes) *bytes += alignment_of(api);
    return BPT_OK;
}

bpt_status_t bpt_clblast_record(bpt_opencl_api_t *api, const bpt_gpu_product_t *product, bpt_opencl_product_t **out) {
    const size_t alignment = alignment_of(api), rest = product->scratch.offset_bytes % alignment, skip = rest ? alignment - rest : 0;
    bpt_opencl_product_t *p;
    BPT_TRY(need());
    BPT_TRY(bpt_alloc(1, sizeof *p, &p));
    p->product = *product;
    *out = p;
    if (!product->scratch.bytes) return BPT_OK;
    const cl_buffer_region region = {product->scratch.offset_bytes + skip, product->scratch.bytes - skip};
    cl_int code;
    p->scratch =
        api->cl->clCreateSubBuffer(product->scratch.memory->buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    return bpt_opencl_check(code, "making the scratch of a product");
}

void bpt_clblast_forget(bpt_opencl_api_t *api, bpt_opencl_product_t *p) {
    if (!p) return;
    if (p->scratch) api->cl->clReleaseMemObject(p->scratch);
    bpt_free(p);
}

bpt_status_t bpt_clblast_enqueue(bpt_opencl_api_t *api, const bpt_opencl_product_t *recorded, cl_event *event) {
    const bpt_gpu_product_t *p = &recorded->product;
    return check(library.sgemm(BY_ROWS, transposition(p->transpose_a), transposition(p->transpose_b), p->m, p->n, p->k, 1,
                               p->a.memory->buffer, p->a.offset_bytes / sizeof(float), p->lda, p->b.memory->buffer,
                               p->b.offset_bytes / sizeof(float), p->ldb, p->add ? 1 : 0, p->c.memory->buffer,
                               p->c.offset_bytes / sizeof(float), p->ldc, &api->queue, event, recorded->scratch),
                 "starting a product");
}

void bpt_clblast_close(void) {
    if (library.there) (void)library.clear();
}
