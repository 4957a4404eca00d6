// The CUDA driver: the primary context and one stream per open device, and the table of functions (driver.h).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/cublaslt.h"
#include "backends/cuda/internal.h"
#include "backends/cuda/nccl.h"
#include "backends/gpu/backend.h"
#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "bpt/env.h"
#include "bpt/log.h"

// ---- Devices ---------------------------------------------------------------------------------------------------------

static void cuda_close(bpt_gpu_api_t *base) {
    bpt_cuda_api_t *api = (bpt_cuda_api_t *)base;
    if (!api) return;
    if (api->context && bpt_cuda_idle(api)) {
        bpt_cublaslt_close(api);
        bpt_cuda_staging_free(api);
        for (int i = 0; i < BPT_CUDA_MOST_PENDING; ++i)
            if (api->done[i]) api->cuda->cuEventDestroy(api->done[i]);
        if (api->fork) api->cuda->cuEventDestroy(api->fork);
        for (int b = 0; b < BPT_CUDA_BRANCHES; ++b) {
            if (api->join[b]) api->cuda->cuEventDestroy(api->join[b]);
            if (api->branch[b]) api->cuda->cuStreamDestroy(api->branch[b]);
        }
        if (api->stream) api->cuda->cuStreamDestroy(api->stream);
        api->cuda->cuDevicePrimaryCtxRelease(api->device);
    } else if (api->context) {
        bpt_log(BPT_LOG_WARN, "%s still works; its memory is kept until this process ends", api->name);
    }
    bpt_free(api);
}

extern const bpt_gpu_driver_t bpt_cuda_driver;

static bpt_status_t cuda_open(int index, bpt_gpu_api_t **out) {
    bpt_cuda_api_t *api;
    bpt_status_t status;
    BPT_TRY(bpt_alloc(1, sizeof *api, &api));
    api->base.driver = &bpt_cuda_driver;
    api->graphs = !bpt_env_disabled("cuda-graph");
    BPT_TRY_GOTO(bpt_cuda_find(index, api), failed);
    BPT_TRY_GOTO(bpt_cuda_check(api, api->cuda->cuDevicePrimaryCtxRetain(&api->context, api->device), "opening the device"), failed);
    BPT_TRY_GOTO(bpt_cuda_enter(api), failed);
    BPT_TRY_GOTO(bpt_cuda_check(api, api->cuda->cuStreamCreate(&api->stream, CU_STREAM_NON_BLOCKING), "creating a stream"), failed);
    *out = &api->base;
    return BPT_OK;
failed:
    cuda_close(&api->base);
    return status;
}

static const bpt_gpu_compiler_t compiler = {.targets = bpt_cuda_targets,
                                            .open = bpt_cuda_compiler_open,
                                            .close = bpt_cuda_compiler_close,
                                            .name = bpt_cuda_compiler_name,
                                            .source = bpt_cuda_compiler_source,
                                            .compile = bpt_cuda_compiler_compile};

const bpt_gpu_driver_t bpt_cuda_driver = {
    .compiler = &compiler,
    .enumerate = bpt_cuda_enumerate,
    .open = cuda_open,
    .close = cuda_close,
    .memory_create = bpt_cuda_memory_create,
    .memory_destroy = bpt_cuda_memory_destroy,
    .write = bpt_cuda_write,
    .read = bpt_cuda_read,
    .program_create = bpt_cuda_program_create,
    .program_destroy = bpt_cuda_program_destroy,
    .commands_create = bpt_cuda_commands_create,
    .commands_destroy = bpt_cuda_commands_destroy,
    .dispatch = bpt_cuda_dispatch,
    .barrier = bpt_cuda_barrier,
    .mark = bpt_cuda_mark,
    .finish = bpt_cuda_finish,
    .submit = bpt_cuda_submit,
    .wait = bpt_cuda_wait,
    .marks = bpt_cuda_marks,
    .library = bpt_cublaslt_describe,
    .product_flops = BPT_CUBLASLT_FLOPS,
    .product_can = bpt_cublaslt_can,
    .product_scratch = bpt_cublaslt_scratch,
    .product = bpt_cuda_product,
    .links = &bpt_nccl_links,
};

BPT_GPU_BACKEND(cuda, "kernels through the driver of NVIDIA GPUs", bpt_cublaslt_describe, NULL);
