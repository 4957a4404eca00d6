// A stand-in for libcuda.so.1 and for NVRTC, for tests of the CUDA driver's host side on machines without a GPU. Memory is the host's, work
// is done when it is put into a stream, and kernels do nothing (but the canary, so that whole backends run): their launches are noted. It
// is strict where CUDA is: no call without a current context, external events in captures and nowhere else, no use of an unrecorded event.
#include "driver/fake_cuda.h"

#include <cuda.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#undef cuEventElapsedTime  // the name that drivers of all versions have

#include "backends/gpu/kernel.h"

fake_cuda_t fake_cuda = {.version = 13000, .n_devices = 1, .capability = 90, .memory_bytes = (size_t)1 << 30, .not_ready = 2};

struct CUevent_st {
    double time;  // of its record; < 0: never recorded
    int queries;  // that have not been answered with "ready" yet
    bool timing;
};
typedef struct {
    CUevent event;  // NULL: a launch
    fake_launch_t launch;
} action_t;
struct CUgraph_st {
    action_t *actions;
    int n_actions, capacity;
};
struct CUstream_st {
    CUgraph capturing;
};
struct CUctx_st {
    int unused;
};
struct CUfunc_st {
    const bpt_gpu_kernel_info_t *info;
};
struct CUmod_st {
    struct CUfunc_st function;
};

static struct CUctx_st primary;
static __thread CUcontext current;
static double now;

static bool fails(const char *function) { return fake_cuda.fails && !strcmp(fake_cuda.fails, function); }
#define MAY_FAIL \
    if (fails(__func__)) return (CUresult)fake_cuda.fails_with
#define NEEDS_CONTEXT \
    MAY_FAIL;         \
    if (!current) return CUDA_ERROR_INVALID_CONTEXT

// Objects that nobody destroys stay reachable, for the sanitizer.
static void *objects[8192];

static void *make(size_t bytes) {
    for (size_t i = 0; i < sizeof objects / sizeof *objects; ++i)
        if (!objects[i]) return objects[i] = calloc(1, bytes);
    abort();
}
static void drop(void *object) {
    for (size_t i = 0; i < sizeof objects / sizeof *objects; ++i)
        if (objects[i] == object) objects[i] = NULL;
    free(object);
}

// ---- Devices ---------------------------------------------------------------------------------------------------------

CUresult cuInit(unsigned flags) {
    MAY_FAIL;
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int *version) {
    *version = fake_cuda.version;
    return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult code, const char **text) {
    *text = code == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : code == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                               : "CUDA_ERROR";
    return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult code, const char **text) {
    *text = code == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : "an error";
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int *count) {
    *count = fake_cuda.n_devices;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int index) {
    *device = index;
    return index < fake_cuda.n_devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char *name, int bytes, CUdevice device) {
    snprintf(name, (size_t)bytes, "GPU %d whose kernels do nothing", device);
    return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
    (void)device;
    *bytes = fake_cuda.memory_bytes;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device) {
    (void)device;
    switch ((int)what) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = fake_cuda.capability / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = fake_cuda.capability % 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: *value = fake_cuda.compute_mode; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = INT32_MAX; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 49152; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    default: *value = 0;
    }
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    (void)device;
    MAY_FAIL;
    fake_cuda.contexts++;
    *context = &primary;
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    (void)device;
    fake_cuda.contexts--;
    return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
    MAY_FAIL;
    current = context;
    return CUDA_SUCCESS;
}

// ---- Memory ----------------------------------------------------------------------------------------------------------

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
    NEEDS_CONTEXT;
    void *block = bytes <= fake_cuda.memory_bytes ? make(bytes) : NULL;
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    memset(block, 0xA5, bytes);
    *address = (CUdeviceptr)(uintptr_t)block;
    fake_cuda.blocks++;
    return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
    NEEDS_CONTEXT;
    drop((void *)(uintptr_t)address);
    fake_cuda.blocks--;
    fake_cuda.n_frees++;
    return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, CUstream stream) {
    NEEDS_CONTEXT;
    (void)stream;
    memset((void *)(uintptr_t)address, value, bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    NEEDS_CONTEXT;
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    NEEDS_CONTEXT;
    (void)stream;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

// ---- Kernels ---------------------------------------------------------------------------------------------------------

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    NEEDS_CONTEXT;
    if (memcmp(image,
               "\x7F"
               "ELF",
               4) &&
        memcmp(image, "//", 2))
        return CUDA_ERROR_INVALID_IMAGE;
    *module = make(sizeof **module);
    fake_cuda.modules++;
    return *module ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuModuleUnload(CUmodule module) {
    NEEDS_CONTEXT;
    drop(module);
    fake_cuda.modules--;
    return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    NEEDS_CONTEXT;
    for (int i = 0; i < BPT_GPU_KERNEL_COUNT; ++i)
        if (!strcmp(bpt_gpu_kernels[i].name, name)) module->function.info = &bpt_gpu_kernels[i];
    *function = &module->function;
    return module->function.info ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute what, CUfunction function) {
    NEEDS_CONTEXT;
    (void)what, (void)function;
    *value = 512;
    return CUDA_SUCCESS;
}

static void run(const fake_launch_t *launch, bool in_graph) {
    if (fake_cuda.n_launches < FAKE_MOST_LAUNCHES) {
        fake_cuda.launches[fake_cuda.n_launches] = *launch;
        fake_cuda.launches[fake_cuda.n_launches++].in_graph = in_graph;
    }
    if (!strcmp(launch->kernel, "canary")) ++*(uint32_t *)(uintptr_t)launch->bindings[0];
    now += 1e-3 * launch->groups[0] * launch->groups[1] * launch->groups[2];
}

static CUresult capture(CUgraph graph, const action_t *action) {
    if (graph->n_actions == graph->capacity) {
        graph->capacity = graph->capacity ? 2 * graph->capacity : 16;
        graph->actions = realloc(graph->actions, (size_t)graph->capacity * sizeof *action);
        if (!graph->actions) abort();
    }
    graph->actions[graph->n_actions++] = *action;
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        CUstream stream, void **arguments, void **extra) {
    action_t action = {.launch = {.kernel = function->info->name, .groups = {gx, gy, gz}, .group_size = bx}};
    int n = 0;
    NEEDS_CONTEXT;
    if (!gx || !gy || !gz || !bx || by != 1 || bz != 1 || shared || extra || gy > 65535 || gz > 65535) return CUDA_ERROR_INVALID_VALUE;
    for (; n < BPT_GPU_MAX_BINDINGS && function->info->bindings[n].name; ++n)
        memcpy(&action.launch.bindings[n], arguments[n], sizeof(uint64_t));
    memcpy(action.launch.params, arguments[n], function->info->params_bytes);
    if (stream->capturing) return capture(stream->capturing, &action);
    run(&action.launch, false);
    return CUDA_SUCCESS;
}

// ---- Streams, events and graphs --------------------------------------------------------------------------------------

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    NEEDS_CONTEXT;
    *stream = make(sizeof **stream);
    fake_cuda.streams++;
    return flags == CU_STREAM_NON_BLOCKING && *stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuStreamDestroy(CUstream stream) {
    NEEDS_CONTEXT;
    drop(stream);
    fake_cuda.streams--;
    return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) {
    NEEDS_CONTEXT;
    if (stream->capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return fake_cuda.hung ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
    NEEDS_CONTEXT;
    return stream->capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent *event, unsigned flags) {
    NEEDS_CONTEXT;
    *event = make(sizeof **event);
    if (!*event) return CUDA_ERROR_OUT_OF_MEMORY;
    (*event)->time = -1;
    (*event)->timing = !(flags & CU_EVENT_DISABLE_TIMING);
    fake_cuda.events++;
    return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
    NEEDS_CONTEXT;
    drop(event);
    fake_cuda.events--;
    return CUDA_SUCCESS;
}
static void record(CUevent event) {
    event->time = now;
    event->queries = fake_cuda.not_ready;
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    NEEDS_CONTEXT;
    const bool external = flags == CU_EVENT_RECORD_EXTERNAL;
    if (external && !stream->capturing) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capturing) return external ? capture(stream->capturing, &(action_t){.event = event}) : CUDA_SUCCESS;
    record(event);
    return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
    NEEDS_CONTEXT;
    if (event->time < 0) return CUDA_ERROR_INVALID_HANDLE;
    return fake_cuda.hung || event->queries-- > 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end);
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end) {
    NEEDS_CONTEXT;
    if (start->time < 0 || end->time < 0 || !start->timing || !end->timing) return CUDA_ERROR_INVALID_HANDLE;
    *ms = (float)((end->time - start->time) * 1e3);
    return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
    NEEDS_CONTEXT;
    (void)mode;
    if (stream->capturing) return CUDA_ERROR_ILLEGAL_STATE;
    stream->capturing = make(sizeof *stream->capturing);
    return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    NEEDS_CONTEXT;
    *graph = stream->capturing;
    stream->capturing = NULL;
    if (!*graph) return CUDA_ERROR_ILLEGAL_STATE;
    fake_cuda.graphs++;
    return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
    NEEDS_CONTEXT;
    CUgraph copy = make(sizeof *copy);
    if (!copy || flags) return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < graph->n_actions; ++i) capture(copy, &graph->actions[i]);
    *exec = (CUgraphExec)copy;
    fake_cuda.execs++;
    fake_cuda.n_graphs_built++;
    return CUDA_SUCCESS;
}
static void free_graph(CUgraph graph) {
    free(graph->actions);
    drop(graph);
}
CUresult cuGraphDestroy(CUgraph graph) {
    NEEDS_CONTEXT;
    free_graph(graph);
    fake_cuda.graphs--;
    return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
    NEEDS_CONTEXT;
    free_graph((CUgraph)exec);
    fake_cuda.execs--;
    return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    NEEDS_CONTEXT;
    const CUgraph graph = (CUgraph)exec;
    if (stream->capturing) return CUDA_ERROR_ILLEGAL_STATE;
    fake_cuda.n_graph_launches++;
    for (int i = 0; i < graph->n_actions; ++i)
        if (graph->actions[i].event)
            record(graph->actions[i].event);
        else
            run(&graph->actions[i].launch, true);
    return CUDA_SUCCESS;
}

// ---- NVRTC -----------------------------------------------------------------------------------------------------------

struct _nvrtcProgram {
    int unused;
};
static const char cubin[] = "\x7F"
                            "ELF",
                  ptx[] = "// assembly";

nvrtcResult nvrtcVersion(int *major, int *minor) {
    *major = 13, *minor = 0;
    return NVRTC_SUCCESS;
}
const char *nvrtcGetErrorString(nvrtcResult code) { return code == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR"; }
nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
    *count = 3;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int *archs) {
    archs[0] = 75, archs[1] = 80, archs[2] = 90;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *text, const char *name, int n_headers, const char *const *headers,
                               const char *const *names) {
    (void)text, (void)name, (void)n_headers, (void)headers, (void)names;
    *program = calloc(1, sizeof **program);
    return *program ? NVRTC_SUCCESS : NVRTC_ERROR_OUT_OF_MEMORY;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
    free(*program);
    *program = NULL;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int n_options, const char *const *options) {
    size_t used = 0;
    (void)program;
    fake_cuda.options[0] = '\0';
    for (int i = 0; i < n_options && used < sizeof fake_cuda.options; ++i)
        used += (size_t)snprintf(fake_cuda.options + used, sizeof fake_cuda.options - used, "%s ", options[i]);
    fake_cuda.n_compiled++;
    return fake_cuda.compile_log ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes) {
    (void)program;
    *bytes = sizeof ptx;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *image) {
    (void)program;
    memcpy(image, ptx, sizeof ptx);
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) {
    (void)program;
    *bytes = sizeof cubin;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *image) {
    (void)program;
    memcpy(image, cubin, sizeof cubin);
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes) {
    (void)program;
    *bytes = fake_cuda.compile_log ? strlen(fake_cuda.compile_log) + 1 : 1;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
    (void)program;
    strcpy(log, fake_cuda.compile_log ? fake_cuda.compile_log : "");
    return NVRTC_SUCCESS;
}
