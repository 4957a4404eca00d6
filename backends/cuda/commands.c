// Recorded dispatches, replayed in the device's one stream: as a CUDA graph, which is captured from that very stream once, or launch by
// launch. In the graph, dispatches without a barrier between them are branches that run side by side; launch by launch the stream orders
// all.
#include <sched.h>
#include <time.h>

#include "backends/cuda/cublaslt.h"
#include "backends/cuda/internal.h"
#include "bpt/alloc.h"
#include "bpt/clock.h"

typedef struct {
    CUfunction function;              // or
    bpt_cublaslt_product_t *product;  // or
    CUevent mark;
    bool behind_barrier;  // waits for everything before it
    uint32_t groups[3], group_size;
    int n_bindings;
    CUdeviceptr bindings[BPT_GPU_MAX_BINDINGS];
    uint8_t params[BPT_GPU_PARAMS_BYTES];
} step_t;

struct bpt_gpu_commands {
    bpt_cuda_api_t *api;
    step_t *steps;
    size_t n_steps, steps_capacity;
    CUevent *marks;
    size_t n_marks, marks_capacity;
    CUgraphExec graph;  // NULL: launch by launch
    bool barrier;       // in front of the next step
};

bpt_status_t bpt_cuda_commands_create(bpt_gpu_api_t *api, bpt_gpu_commands_t **out) {
    BPT_TRY(bpt_alloc(1, sizeof **out, out));
    (*out)->api = (bpt_cuda_api_t *)api;
    return BPT_OK;
}

static void forget_steps(bpt_gpu_commands_t *c) {
    for (size_t i = 0; i < c->n_steps; ++i) bpt_cublaslt_forget(c->steps[i].product);
    bpt_free(c->steps);
    c->steps = NULL;
    c->n_steps = c->steps_capacity = 0;
}

void bpt_cuda_commands_destroy(bpt_gpu_api_t *base, bpt_gpu_commands_t *c) {
    bpt_cuda_api_t *api = (bpt_cuda_api_t *)base;
    if (!c) return;
    if (bpt_cuda_idle(api)) {
        if (c->graph) api->cuda->cuGraphExecDestroy(c->graph);
        for (size_t i = 0; i < c->n_marks; ++i) api->cuda->cuEventDestroy(c->marks[i]);
    }
    forget_steps(c);
    bpt_free(c->marks);
    bpt_free(c);
}

// ---- Recording -------------------------------------------------------------------------------------------------------

static bpt_status_t append(bpt_gpu_commands_t *c, const step_t *step) {
    BPT_TRY(bpt_grow(&c->steps, c->n_steps, &c->steps_capacity, sizeof *c->steps));
    c->steps[c->n_steps] = *step;
    c->steps[c->n_steps++].behind_barrier = c->barrier;
    c->barrier = false;
    return BPT_OK;
}

bpt_status_t bpt_cuda_dispatch(bpt_gpu_commands_t *c, const bpt_gpu_dispatch_t *d) {
    const bpt_gpu_kernel_info_t *info = d->program->info;
    step_t step = {
        .function = d->program->function, .groups = {d->groups[0], d->groups[1], d->groups[2]}, .group_size = d->program->group_size};
    for (; step.n_bindings < BPT_GPU_MAX_BINDINGS && info->bindings[step.n_bindings].name; ++step.n_bindings) {
        const bpt_gpu_binding_t *b = &d->bindings[step.n_bindings];
        if (b->memory) step.bindings[step.n_bindings] = b->memory->address + b->offset_bytes;
    }
    for (uint32_t i = 0; i < d->params_bytes; ++i) step.params[i] = d->params[i];
    return append(c, &step);
}

bpt_status_t bpt_cuda_product(bpt_gpu_commands_t *c, const bpt_gpu_product_t *product) {
    step_t step = {.function = NULL};
    bpt_status_t status = bpt_cublaslt_record(c->api, product, &step.product);
    if (status == BPT_OK) status = append(c, &step);
    if (status != BPT_OK) bpt_cublaslt_forget(step.product);
    return status;
}

bpt_status_t bpt_cuda_barrier(bpt_gpu_commands_t *c) {
    c->barrier = true;
    return BPT_OK;
}

bpt_status_t bpt_cuda_mark(bpt_gpu_commands_t *c) {
    step_t step = {.function = NULL};
    BPT_TRY(bpt_cuda_enter(c->api));
    BPT_TRY(bpt_grow(&c->marks, c->n_marks, &c->marks_capacity, sizeof(CUevent)));
    BPT_TRY(bpt_cuda_check(c->api, c->api->cuda->cuEventCreate(&step.mark, CU_EVENT_DEFAULT), "making a mark"));
    c->marks[c->n_marks++] = step.mark;
    return append(c, &step);
}

static bpt_status_t launch(bpt_cuda_api_t *api, step_t *s, CUstream stream) {
    void *arguments[BPT_GPU_MAX_BINDINGS + 1];
    for (int b = 0; b < s->n_bindings; ++b) arguments[b] = &s->bindings[b];
    arguments[s->n_bindings] = s->params;
    return bpt_cuda_check(
        api,
        api->cuda->cuLaunchKernel(s->function, s->groups[0], s->groups[1], s->groups[2], s->group_size, 1, 1, 0, stream, arguments, NULL),
        "starting a kernel");
}

// Puts steps into the stream, which may be capturing.
static bpt_status_t enqueue(bpt_gpu_commands_t *c, size_t first, size_t end, unsigned event_flags) {
    bpt_cuda_api_t *api = c->api;
    for (size_t i = first; i < end; ++i) {
        step_t *s = &c->steps[i];
        if (s->product)
            BPT_TRY(bpt_cublaslt_enqueue(api, s->product));
        else if (s->function)
            BPT_TRY(launch(api, s, api->stream));
        else
            BPT_TRY(bpt_cuda_check(api, api->cuda->cuEventRecordWithFlags(s->mark, api->stream, event_flags), "recording a mark"));
    }
    return BPT_OK;
}

// ---- As a graph ------------------------------------------------------------------------------------------------------

static bpt_status_t open_branches(bpt_cuda_api_t *api) {
    const bpt_cuda_functions_t *cuda = api->cuda;
    if (!api->fork) BPT_TRY(bpt_cuda_check(api, cuda->cuEventCreate(&api->fork, CU_EVENT_DISABLE_TIMING), "making an event"));
    for (int b = 0; b < BPT_CUDA_BRANCHES; ++b) {
        if (!api->branch[b])
            BPT_TRY(bpt_cuda_check(api, cuda->cuStreamCreate(&api->branch[b], CU_STREAM_NON_BLOCKING), "creating a stream"));
        if (!api->join[b]) BPT_TRY(bpt_cuda_check(api, cuda->cuEventCreate(&api->join[b], CU_EVENT_DISABLE_TIMING), "making an event"));
    }
    return BPT_OK;
}

static bpt_status_t after(bpt_cuda_api_t *api, CUstream stream, CUevent event, CUstream of) {
    BPT_TRY(bpt_cuda_check(api, api->cuda->cuEventRecordWithFlags(event, of, CU_EVENT_RECORD_DEFAULT), "recording a branch of a graph"));
    return bpt_cuda_check(api, api->cuda->cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT), "waiting for a branch of a graph");
}

// Kernels that no barrier orders: each of the branches takes every BPT_CUDA_BRANCHES-th.
static bpt_status_t capture_branches(bpt_gpu_commands_t *c, size_t first, size_t end) {
    bpt_cuda_api_t *api = c->api;
    const size_t branches = end - first < BPT_CUDA_BRANCHES ? end - first : BPT_CUDA_BRANCHES;
    for (size_t b = 0; b < branches; ++b) BPT_TRY(after(api, api->branch[b], api->fork, api->stream));
    for (size_t i = first; i < end; ++i) BPT_TRY(launch(api, &c->steps[i], api->branch[(i - first) % branches]));
    for (size_t b = 0; b < branches; ++b) BPT_TRY(after(api, api->stream, api->join[b], api->branch[b]));
    return BPT_OK;
}

static bpt_status_t capture(bpt_gpu_commands_t *c) {
    for (size_t first = 0, end; first < c->n_steps; first = end) {
        for (end = first; end < c->n_steps && c->steps[end].function && (end == first || !c->steps[end].behind_barrier);) ++end;
        if (end == first) ++end;  // a product or a mark: alone
        BPT_TRY(end - first > 1 ? capture_branches(c, first, end) : enqueue(c, first, end, CU_EVENT_RECORD_EXTERNAL));
    }
    return BPT_OK;
}

// A graph holds copies of all arguments: the steps are no longer needed.
bpt_status_t bpt_cuda_finish(bpt_gpu_commands_t *c) {
    bpt_cuda_api_t *api = c->api;
    CUgraph graph = NULL;
    BPT_TRY(bpt_cuda_enter(api));
    if (!api->graphs) return BPT_OK;
    BPT_TRY(open_branches(api));
    BPT_TRY(bpt_cuda_check(api, api->cuda->cuStreamBeginCapture(api->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "beginning a graph"));
    bpt_status_t status = capture(c);
    const CUresult ended = api->cuda->cuStreamEndCapture(api->stream, &graph);  // also after a failure: the stream is free again
    if (status == BPT_OK) status = bpt_cuda_check(api, ended, "ending a graph");
    if (status == BPT_OK) status = bpt_cuda_check(api, api->cuda->cuGraphInstantiateWithFlags(&c->graph, graph, 0), "building a graph");
    if (graph) api->cuda->cuGraphDestroy(graph);
    if (status != BPT_OK) return status;
    forget_steps(c);
    return BPT_OK;
}

// ---- Submission ------------------------------------------------------------------------------------------------------

enum { SLOT_PATIENCE_S = 3600 };

static CUevent *done_event(bpt_cuda_api_t *api, uint64_t ticket) { return &api->done[ticket % BPT_CUDA_MOST_PENDING]; }

bpt_status_t bpt_cuda_submit(bpt_gpu_api_t *base, bpt_gpu_commands_t *c, uint64_t *ticket) {
    bpt_cuda_api_t *api = (bpt_cuda_api_t *)base;
    CUevent *done = done_event(api, api->submitted + 1);
    BPT_TRY(bpt_cuda_enter(api));
    if (api->submitted - api->finished == BPT_CUDA_MOST_PENDING)
        BPT_TRY(bpt_cuda_wait(base, api->finished + 1, SLOT_PATIENCE_S * UINT64_C(1000000000)));
    if (!*done) BPT_TRY(bpt_cuda_check(api, api->cuda->cuEventCreate(done, CU_EVENT_DISABLE_TIMING), "making an event"));
    if (c->graph)
        BPT_TRY(bpt_cuda_check(api, api->cuda->cuGraphLaunch(c->graph, api->stream), "starting a graph"));
    else
        BPT_TRY(enqueue(c, 0, c->n_steps, CU_EVENT_RECORD_DEFAULT));
    BPT_TRY(bpt_cuda_check(api, api->cuda->cuEventRecordWithFlags(*done, api->stream, CU_EVENT_RECORD_DEFAULT), "submitting"));
    *ticket = ++api->submitted;
    return BPT_OK;
}

// Asks again and again, at first at once, then at intervals of a sixteenth of the time that has passed, so that a wait neither burns a core
// nor lasts much longer than the work.
static CUresult poll_event(const bpt_cuda_api_t *api, CUevent event, double timeout_s) {
    const double start = bpt_clock_seconds();
    for (;;) {
        const CUresult code = api->cuda->cuEventQuery(event);
        const double passed = bpt_clock_seconds() - start, pause = passed / 16 < 1e-3 ? passed / 16 : 1e-3;
        if (code != CUDA_ERROR_NOT_READY || passed >= timeout_s) return code;
        if (passed < 1e-4)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = (long)(pause * 1e9)}, NULL);
    }
}

bpt_status_t bpt_cuda_wait(bpt_gpu_api_t *base, uint64_t ticket, uint64_t timeout_ns) {
    bpt_cuda_api_t *api = (bpt_cuda_api_t *)base;
    if (ticket <= api->finished) return BPT_OK;
    BPT_TRY(bpt_cuda_enter(api));
    const CUresult code = poll_event(api, *done_event(api, ticket), (double)timeout_ns * 1e-9);
    if (code == CUDA_ERROR_NOT_READY) {
        api->lost = true;
        return bpt_fail(BPT_ERR_DEVICE_LOST, "no answer within %g s; the kernels are too long for it, or the driver hangs",
                        (double)timeout_ns * 1e-9);
    }
    BPT_TRY(bpt_cuda_check(api, code, "waiting for work"));
    api->finished = ticket;
    return BPT_OK;
}

bpt_status_t bpt_cuda_marks(bpt_gpu_commands_t *c, double *seconds, int capacity, int *count) {
    BPT_TRY(bpt_cuda_enter(c->api));
    *count = (int)c->n_marks;
    for (int i = 0; i < *count && i < capacity; ++i) {
        float ms = 0;
        if (i > 0) BPT_TRY(bpt_cuda_check(c->api, c->api->cuda->cuEventElapsedTime(&ms, c->marks[0], c->marks[i]), "reading times"));
        seconds[i] = (double)ms * 1e-3;
    }
    return BPT_OK;
}
