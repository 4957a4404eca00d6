// Products by CLBlast, where it is installed: libclblast.so.1, or what BPT_CLBLAST_LIBRARY names ("none": not used), opened at run time. It
// puts its kernels into a queue by itself.
#ifndef BPT_OPENCL_CLBLAST_H
#define BPT_OPENCL_CLBLAST_H

#include "backends/opencl/internal.h"

// A recorded product: the scratch as a buffer of its own.
typedef struct {
    bpt_gpu_product_t product;
    cl_mem scratch;
} bpt_opencl_product_t;

#define BPT_CLBLAST_FLOPS 4294967296.0  // of one product: some 4 GFLOP, for slow devices too

bool bpt_clblast_describe(char *text, size_t bytes);  // as bpt_gpu_driver_t's library
bool bpt_clblast_can(bpt_gpu_api_t *api, const bpt_gpu_product_t *product);
bpt_status_t bpt_clblast_scratch(bpt_gpu_api_t *api, const bpt_gpu_product_t *product, size_t *bytes);
bpt_status_t bpt_clblast_record(bpt_opencl_api_t *api, const bpt_gpu_product_t *product, bpt_opencl_product_t **out);
void bpt_clblast_forget(bpt_opencl_api_t *api, bpt_opencl_product_t *product);
// `event` NULL: none is wanted.
bpt_status_t bpt_clblast_enqueue(bpt_opencl_api_t *api, const bpt_opencl_product_t *product, cl_event *event);
void bpt_clblast_close(void);  // before a context goes: it keeps compiled kernels of every context

#endif
