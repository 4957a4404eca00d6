// Recorded dispatches. Each has a kernel object of its own, whose arguments are set once, so that a replay only enqueues. The queue is in
// order: barriers are free.
#include <errno.h>
#include <time.h>

#include "backends/opencl/clblast.h"
#include "backends/opencl/internal.h"
#include "bpt/alloc.h"

typedef struct {
    cl_kernel kernel;               // or
    bpt_opencl_product_t *product;  // by CLBlast
    size_t global[3], local[3];
    bool timed;  // a mark stands before or after it
    cl_event event;
} step_t;

struct bpt_gpu_commands {
    bpt_opencl_api_t *api;
    step_t *steps;
    size_t n_steps, steps_capacity;
    cl_event begin;  // of a submission that begins with a product, whose own event tells of its last kernel only
    size_t *marks;   // the number of dispatches before each mark
    size_t n_marks, marks_capacity;
};

bpt_status_t bpt_opencl_commands_create(bpt_gpu_api_t *api, bpt_gpu_commands_t **out) {
    BPT_TRY(bpt_alloc(1, sizeof **out, out));
    (*out)->api = (bpt_opencl_api_t *)api;
    return BPT_OK;
}

static void release_events(bpt_gpu_commands_t *c) {
    if (c->begin) c->api->cl->clReleaseEvent(c->begin);
    c->begin = NULL;
    for (size_t i = 0; i < c->n_steps; ++i) {
        if (c->steps[i].event) c->api->cl->clReleaseEvent(c->steps[i].event);
        c->steps[i].event = NULL;
    }
}

void bpt_opencl_commands_destroy(bpt_gpu_api_t *api, bpt_gpu_commands_t *c) {
    (void)api;
    if (!c) return;
    release_events(c);
    for (size_t i = 0; i < c->n_steps; ++i) {
        if (c->steps[i].kernel) c->api->cl->clReleaseKernel(c->steps[i].kernel);
        bpt_clblast_forget(c->api, c->steps[i].product);
    }
    bpt_free(c->steps);
    bpt_free(c->marks);
    bpt_free(c);
}

// Some memory of a dispatch; every kernel writes to one.
static const bpt_gpu_memory_t *some_memory(const bpt_gpu_dispatch_t *d) {
    for (int i = 0; i < BPT_GPU_MAX_BINDINGS; ++i)
        if (d->bindings[i].memory) return d->bindings[i].memory;
    return NULL;
}

// Per binding the memory and the offset in bytes, then the parameter block. What is absent is never read, and is some memory all the same:
// rusticl on llvmpipe (Mesa 25.0) reads where a work-item that does not take a branch would read, and crashes at NULL.
static cl_int set_arguments(const bpt_opencl_functions_t *cl, cl_kernel kernel, const bpt_gpu_dispatch_t *d) {
    const bpt_gpu_kernel_info_t *info = d->program->info;
    const bpt_gpu_memory_t *some = some_memory(d);
    cl_uint argument = 0;
    cl_int code = CL_SUCCESS;
    for (int i = 0; i < BPT_GPU_MAX_BINDINGS && info->bindings[i].name && code == CL_SUCCESS; ++i) {
        const bpt_gpu_binding_t *b = &d->bindings[i];
        const bpt_gpu_memory_t *memory = b->memory ? b->memory : some;
        const cl_ulong offset = b->memory ? b->offset_bytes : 0;
        code = cl->clSetKernelArg(kernel, argument++, sizeof memory->buffer, memory ? &memory->buffer : NULL);
        if (code == CL_SUCCESS) code = cl->clSetKernelArg(kernel, argument++, sizeof offset, &offset);
    }
    return code == CL_SUCCESS ? cl->clSetKernelArg(kernel, argument, d->params_bytes, d->params) : code;
}

static bpt_status_t append(bpt_gpu_commands_t *c, step_t **out) {
    BPT_TRY(bpt_grow(&c->steps, c->n_steps, &c->steps_capacity, sizeof *c->steps));
    *out = &c->steps[c->n_steps];
    **out = (step_t){.timed = c->n_marks && c->marks[c->n_marks - 1] == c->n_steps};
    c->n_steps++;
    return BPT_OK;
}

bpt_status_t bpt_opencl_dispatch(bpt_gpu_commands_t *c, const bpt_gpu_dispatch_t *d) {
    const bpt_opencl_functions_t *cl = c->api->cl;
    step_t *step = NULL;
    cl_int code;
    BPT_TRY(append(c, &step));
    for (int axis = 0; axis < 3; ++axis) {
        step->local[axis] = axis ? 1 : d->program->group_size;
        step->global[axis] = step->local[axis] * d->groups[axis];
    }
    step->kernel = cl->clCreateKernel(d->program->program, d->program->info->name, &code);
    BPT_TRY(bpt_opencl_check(code, "making a kernel object"));
    return bpt_opencl_check(set_arguments(cl, step->kernel, d), "setting a kernel's arguments");
}

bpt_status_t bpt_opencl_product(bpt_gpu_commands_t *c, const bpt_gpu_product_t *product) {
    step_t *step = NULL;
    BPT_TRY(append(c, &step));
    return bpt_clblast_record(c->api, product, &step->product);
}

bpt_status_t bpt_opencl_barrier(bpt_gpu_commands_t *c) {
    (void)c;
    return BPT_OK;
}

bpt_status_t bpt_opencl_mark(bpt_gpu_commands_t *c) {
    BPT_TRY(bpt_grow(&c->marks, c->n_marks, &c->marks_capacity, sizeof *c->marks));
    c->marks[c->n_marks++] = c->n_steps;
    if (c->n_steps) c->steps[c->n_steps - 1].timed = true;
    return BPT_OK;
}

bpt_status_t bpt_opencl_finish(bpt_gpu_commands_t *c) {
    (void)c;
    return BPT_OK;
}

static void CL_CALLBACK on_finished(cl_event event, cl_int status, void *user) {
    bpt_opencl_api_t *api = user;
    const bpt_opencl_functions_t *cl = api->cl;  // `api` may be gone as soon as the mutex is free
    pthread_mutex_lock(&api->mutex);
    api->finished++;
    api->pending--;
    if (status < 0) api->failed = true;
    pthread_cond_broadcast(&api->changed);
    pthread_mutex_unlock(&api->mutex);
    cl->clReleaseEvent(event);
}

static bpt_status_t enqueue(bpt_opencl_api_t *api, const step_t *s, cl_event *event) {
    if (s->product) return bpt_clblast_enqueue(api, s->product, event);
    return bpt_opencl_check(api->cl->clEnqueueNDRangeKernel(api->queue, s->kernel, 3, NULL, s->global, s->local, 0, NULL, event),
                            "starting a kernel");
}

bpt_status_t bpt_opencl_submit(bpt_gpu_api_t *base, bpt_gpu_commands_t *c, uint64_t *ticket) {
    bpt_opencl_api_t *api = (bpt_opencl_api_t *)base;
    cl_event last = NULL;
    release_events(c);
    if (c->n_steps && c->steps[0].product && c->steps[0].timed)
        BPT_TRY(bpt_opencl_check(api->cl->clEnqueueMarkerWithWaitList(api->queue, 0, NULL, &c->begin), "marking a moment"));
    for (size_t i = 0; i < c->n_steps; ++i) {
        step_t *s = &c->steps[i];
        BPT_TRY(enqueue(api, s, i + 1 == c->n_steps ? &last : s->timed ? &s->event : NULL));
    }
    if (c->n_steps && c->steps[c->n_steps - 1].timed && api->cl->clRetainEvent(last) == CL_SUCCESS) c->steps[c->n_steps - 1].event = last;
    pthread_mutex_lock(&api->mutex);
    api->pending++;
    pthread_cond_broadcast(&api->changed);  // for the helper
    pthread_mutex_unlock(&api->mutex);
    BPT_TRY(bpt_opencl_check(api->cl->clSetEventCallback(last, CL_COMPLETE, on_finished, api), "asking for the end of a submission"));
    BPT_TRY(bpt_opencl_check(api->cl->clFlush(api->queue), "submitting"));
    *ticket = ++api->submitted;
    return BPT_OK;
}

bpt_status_t bpt_opencl_wait(bpt_gpu_api_t *base, uint64_t ticket, uint64_t timeout_ns) {
    bpt_opencl_api_t *api = (bpt_opencl_api_t *)base;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    const uint64_t ns = (uint64_t)end.tv_nsec + timeout_ns % 1000000000u;
    end.tv_sec += (time_t)(timeout_ns / 1000000000u + ns / 1000000000u);
    end.tv_nsec = (long)(ns % 1000000000u);
    pthread_mutex_lock(&api->mutex);
    int waited = 0;
    while (api->finished < ticket && waited != ETIMEDOUT) waited = pthread_cond_timedwait(&api->changed, &api->mutex, &end);
    const bool late = api->finished < ticket, failed = api->failed;
    pthread_mutex_unlock(&api->mutex);
    if (late)
        return bpt_fail(BPT_ERR_DEVICE_LOST, "no answer within %.0f s; the kernels are too long for it, or the driver hangs",
                        (double)timeout_ns * 1e-9);
    if (failed) return bpt_fail(BPT_ERR_DEVICE_LOST, "a kernel was ended by the driver, probably by its watchdog");
    return BPT_OK;
}

static bpt_status_t time_of(const bpt_gpu_commands_t *c, cl_event event, cl_profiling_info which, double *seconds) {
    cl_ulong ns = 0;
    const cl_int code = c->api->cl->clGetEventProfilingInfo(event, which, sizeof ns, &ns, NULL);
    *seconds = (double)ns * 1e-9;
    return bpt_opencl_check(code, "reading times");
}

bpt_status_t bpt_opencl_marks(bpt_gpu_commands_t *c, double *seconds, int capacity, int *count) {
    *count = (int)c->n_marks;
    for (int i = 0; i < *count && i < capacity; ++i) {
        const size_t before = c->marks[i];
        if (before > 0)
            BPT_TRY(time_of(c, c->steps[before - 1].event, CL_PROFILING_COMMAND_END, &seconds[i]));
        else if (c->begin)
            BPT_TRY(time_of(c, c->begin, CL_PROFILING_COMMAND_END, &seconds[i]));
        else
            BPT_TRY(time_of(c, c->steps[0].event, CL_PROFILING_COMMAND_START, &seconds[i]));
    }
    return BPT_OK;
}
