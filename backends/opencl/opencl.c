// The OpenCL driver: a context and an in-order queue per open device, memory, and the table of functions (driver.h). OpenCL 1.2.
#include "backends/opencl/internal.h"

#include <string.h>

#include "backends/gpu/backend.h"
#include "backends/opencl/clblast.h"
#include "bpt/alloc.h"

static void opencl_close(bpt_gpu_api_t *base) {
    bpt_opencl_api_t *api = (bpt_opencl_api_t *)base;
    if (!api) return;
    bpt_opencl_helper_stop(api);
    bpt_clblast_close();
    if (api->queue) api->cl->clReleaseCommandQueue(api->queue);
    if (api->context) api->cl->clReleaseContext(api->context);
    pthread_mutex_lock(&api->mutex);
    const bool leak = api->pending > 0;  // a callback may still come: after a loss its memory must outlive us
    pthread_mutex_unlock(&api->mutex);
    if (leak) return;
    pthread_cond_destroy(&api->changed);
    pthread_mutex_destroy(&api->mutex);
    bpt_free(api);
}

static bpt_status_t open_queue(bpt_opencl_api_t *api) {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)api->id.platform, 0};
    cl_int code;
    api->context = api->cl->clCreateContext(properties, 1, &api->id.device, NULL, NULL, &code);
    BPT_TRY(bpt_opencl_check(code, "opening the device"));
    api->queue = api->cl->clCreateCommandQueue(api->context, api->id.device, CL_QUEUE_PROFILING_ENABLE, &code);
    BPT_TRY(bpt_opencl_check(code, "creating a queue"));
    BPT_TRY(bpt_opencl_helper_start(api));
    return bpt_opencl_limits(api->cl, api->id.device, &api->base.limits);
}

static bpt_status_t opencl_open(int index, bpt_gpu_api_t **out) {
    bpt_opencl_api_t *api;
    bpt_device_info_t info;
    bpt_opencl_id_t id;
    BPT_TRY(bpt_opencl_find(index, &id, &info));
    BPT_TRY(bpt_alloc(1, sizeof *api, &api));
    api->base.driver = &bpt_opencl_driver;
    api->id = id;
    memcpy(api->name, info.name, sizeof api->name);
    memcpy(api->version, info.driver, sizeof api->version);
    pthread_mutex_init(&api->mutex, NULL);
    pthread_cond_init(&api->changed, NULL);
    bpt_status_t status = bpt_opencl_load(&api->cl);
    if (status == BPT_OK) status = open_queue(api);
    if (status != BPT_OK) {
        opencl_close(&api->base);
        return status;
    }
    *out = &api->base;
    return BPT_OK;
}

static void memory_destroy(bpt_gpu_api_t *base, bpt_gpu_memory_t *memory) {
    if (!memory) return;
    if (memory->buffer) ((bpt_opencl_api_t *)base)->cl->clReleaseMemObject(memory->buffer);
    bpt_free(memory);
}

static bpt_status_t memory_create(bpt_gpu_api_t *base, size_t bytes, bpt_gpu_memory_t **out) {
    bpt_opencl_api_t *api = (bpt_opencl_api_t *)base;
    const cl_uchar zero = 0;
    bpt_gpu_memory_t *memory;
    cl_int code;
    BPT_TRY(bpt_alloc(1, sizeof *memory, &memory));
    memory->buffer = api->cl->clCreateBuffer(api->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    bpt_status_t status = bpt_opencl_check(code, "allocating memory");
    if (status == BPT_OK)
        status = bpt_opencl_check(api->cl->clEnqueueFillBuffer(api->queue, memory->buffer, &zero, sizeof zero, 0, bytes, 0, NULL, NULL),
                                  "clearing memory");
    if (status == BPT_OK) status = bpt_opencl_check(api->cl->clFinish(api->queue), "clearing memory");
    if (status != BPT_OK) {
        memory_destroy(base, memory);
        return bpt_context(status, "a block of %.1f MiB", (double)bytes / 1048576);
    }
    *out = memory;
    return BPT_OK;
}

static bpt_status_t write_memory(bpt_gpu_api_t *base, bpt_gpu_memory_t *memory, size_t offset, const void *source, size_t bytes) {
    bpt_opencl_api_t *api = (bpt_opencl_api_t *)base;
    if (bytes == 0) return BPT_OK;  // which OpenCL 1.2 would refuse
    return bpt_opencl_check(api->cl->clEnqueueWriteBuffer(api->queue, memory->buffer, CL_TRUE, offset, bytes, source, 0, NULL, NULL),
                            "writing to the device");
}

static bpt_status_t read_memory(bpt_gpu_api_t *base, bpt_gpu_memory_t *memory, size_t offset, void *target, size_t bytes) {
    bpt_opencl_api_t *api = (bpt_opencl_api_t *)base;
    if (bytes == 0) return BPT_OK;
    return bpt_opencl_check(api->cl->clEnqueueReadBuffer(api->queue, memory->buffer, CL_TRUE, offset, bytes, target, 0, NULL, NULL),
                            "reading from the device");
}

const bpt_gpu_driver_t bpt_opencl_driver = {
    .compiler = &bpt_opencl_compiler,
    .enumerate = bpt_opencl_enumerate,
    .open = opencl_open,
    .close = opencl_close,
    .memory_create = memory_create,
    .memory_destroy = memory_destroy,
    .write = write_memory,
    .read = read_memory,
    .program_create = bpt_opencl_program_create,
    .program_destroy = bpt_opencl_program_destroy,
    .commands_create = bpt_opencl_commands_create,
    .commands_destroy = bpt_opencl_commands_destroy,
    .dispatch = bpt_opencl_dispatch,
    .barrier = bpt_opencl_barrier,
    .mark = bpt_opencl_mark,
    .finish = bpt_opencl_finish,
    .submit = bpt_opencl_submit,
    .wait = bpt_opencl_wait,
    .marks = bpt_opencl_marks,
    .library = bpt_clblast_describe,
    .product_flops = BPT_CLBLAST_FLOPS,
    .product_can = bpt_clblast_can,
    .product_scratch = bpt_clblast_scratch,
    .product = bpt_opencl_product,
};

BPT_GPU_BACKEND(opencl, "kernels through any OpenCL 1.2 driver", bpt_clblast_describe, NULL);
