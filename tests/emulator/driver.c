// A libcuda.so.1 without a GPU: memory is the host's, kernels are shared objects for the processor (compiler.c) that run when they are put
// into a stream (block.c), and launches are noted. It is strict where CUDA is: no call without a current context, external events in
// captures and nowhere else, no use of an unrecorded event, no pointer to what is no memory, nothing but errors after that of a kernel.
#include "emulator/emulator.h"

#include <cuda.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#undef cuEventElapsedTime  // the name that drivers of all versions have

#include "emulator/fibers.h"
#include "emulator/internal.h"

emulator_t emulator = EMULATOR_AT_START;

struct CUevent_st {
    CUstream of;  // recorded in its capture
    double time;  // of its record; < 0: never recorded
    int queries;  // that have not been answered with "ready" yet
    bool timing;
};
typedef struct {
    CUevent event;  // or
    CUhostFn host;  // or a launch
    void *user;
    CUfunction function;
    emulator_launch_t launch;
} action_t;
struct CUgraph_st {
    action_t *actions;
    int n_actions, capacity;
    CUstream origin, branch[16];  // streams that were captured, and take part until the origin waits for them
    int n_branches;
};
struct CUstream_st {
    CUgraph capturing;
};
struct CUctx_st {
    int unused;
};
struct CUfunc_st {
    const emulated_kernel_t *kernel;
    char name[64];
};
struct CUmod_st {
    void *library;
    struct CUfunc_st function;
};

static struct CUctx_st primary;
static __thread CUcontext current;
static double now;
static int fault;  // of a kernel: until the context is gone, all calls fail with it

static bool fails(const char *function) { return emulator.fails && !strcmp(emulator.fails, function); }
#define MAY_FAIL \
    if (fails(__func__)) return (CUresult)emulator.fails_with
#define NEEDS_CONTEXT \
    MAY_FAIL;         \
    if (!current) return CUDA_ERROR_INVALID_CONTEXT
#define NEEDS_HEALTH \
    NEEDS_CONTEXT;   \
    if (fault) return (CUresult)fault

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
    *version = emulator.version;
    return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult code, const char **text) {
    *text = code == CUDA_ERROR_ILLEGAL_ADDRESS      ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : code == CUDA_ERROR_MISALIGNED_ADDRESS ? "CUDA_ERROR_MISALIGNED_ADDRESS"
            : code == CUDA_ERROR_LAUNCH_FAILED      ? "CUDA_ERROR_LAUNCH_FAILED"
            : code == CUDA_ERROR_OUT_OF_MEMORY      ? "CUDA_ERROR_OUT_OF_MEMORY"
                                                    : "CUDA_ERROR";
    return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult code, const char **text) {
    *text = code == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : "an error";
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int *count) {
    *count = emulator.n_devices;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int index) {
    *device = index;
    return index < emulator.n_devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char *name, int bytes, CUdevice device) {
    snprintf(name, (size_t)bytes, "emulated GPU %d", device);
    return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
    (void)device;
    *bytes = emulator.memory_bytes;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device) {
    (void)device;
    switch ((int)what) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = emulator.capability / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = emulator.capability % 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: *value = emulator.compute_mode; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = INT32_MAX; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = EMULATED_MOST_THREADS; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 49152; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: *value = emulator.has_pools; break;
    default: *value = 0;
    }
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    (void)device;
    MAY_FAIL;
    emulator.contexts++;
    *context = &primary;
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    (void)device;
    if (--emulator.contexts == 0) fault = 0;
    return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
    MAY_FAIL;
    current = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
    *context = current;
    return CUDA_SUCCESS;
}

// ---- Memory ----------------------------------------------------------------------------------------------------------

static struct {
    char *start;
    size_t bytes;
    bool of_pool;
} blocks[4096];

static CUresult add_block(void *start, size_t bytes, bool of_pool) {
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) {
        if (blocks[i].start) continue;
        blocks[i].start = start;
        blocks[i].bytes = bytes;
        blocks[i].of_pool = of_pool;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}
static bool is_memory(uint64_t address) {
    const char *at = (const char *)(uintptr_t)address;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i)
        if (blocks[i].start && at >= blocks[i].start && at <= blocks[i].start + blocks[i].bytes) return true;
    return false;
}

// Copies from pinned memory read it as late as they may: when something else is done in the stream, or somebody knows that they have.
static struct {
    void *to;
    const void *from;
    size_t bytes;
} late[64];
static int n_late;

static void catch_up(void) {
    for (int i = 0; i < n_late; ++i) memcpy(late[i].to, late[i].from, late[i].bytes);
    n_late = 0;
}

static struct {
    char *start;
    size_t bytes;
} pinned[16];

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
    NEEDS_HEALTH;
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned && !flags; ++i) {
        if (pinned[i].start) continue;
        *out = pinned[i].start = malloc(bytes);
        pinned[i].bytes = bytes;
        emulator.pinned += *out != NULL;
        return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemFreeHost(void *start) {
    NEEDS_CONTEXT;
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; ++i) {
        if (pinned[i].start != start) continue;
        catch_up();
        free(start);
        pinned[i].start = NULL;
        emulator.pinned--;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}
static bool is_pinned(const char *at, size_t bytes) {
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; ++i)
        if (pinned[i].start && at >= pinned[i].start && at + bytes <= pinned[i].start + pinned[i].bytes) return true;
    return false;
}

static CUresult take(CUdeviceptr *address, size_t bytes, bool of_pool) {
    void *start = NULL;
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > emulator.memory_bytes || posix_memalign(&start, 256, bytes) || add_block(start, bytes, of_pool)) {
        free(start);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(start, 0xA5, bytes);
    *address = (CUdeviceptr)(uintptr_t)start;
    emulator.blocks++;
    return CUDA_SUCCESS;
}
static CUresult give(CUdeviceptr address, bool to_pool) {
    catch_up();
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) {
        if (blocks[i].start != (char *)(uintptr_t)address) continue;
        if (to_pool && !blocks[i].of_pool) return CUDA_ERROR_INVALID_VALUE;
        free(blocks[i].start);
        blocks[i].start = NULL;
        emulator.blocks--;
        emulator.n_frees++;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
    NEEDS_HEALTH;
    return take(address, bytes, false);
}
CUresult cuMemFree(CUdeviceptr address) {
    NEEDS_CONTEXT;
    return give(address, false);
}
CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream) {
    NEEDS_HEALTH;
    return !emulator.has_pools ? CUDA_ERROR_NOT_SUPPORTED : !stream ? CUDA_ERROR_INVALID_VALUE : take(address, bytes, true);
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    NEEDS_CONTEXT;
    return stream ? give(address, true) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, CUstream stream) {
    NEEDS_HEALTH;
    catch_up();
    (void)stream;
    memset((void *)(uintptr_t)address, value, bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    NEEDS_HEALTH;
    (void)stream;
    if (is_pinned(from, bytes)) {
        if (n_late == sizeof late / sizeof *late) catch_up();
        late[n_late].to = (void *)(uintptr_t)to;
        late[n_late].from = from;
        late[n_late++].bytes = bytes;
        return CUDA_SUCCESS;
    }
    catch_up();
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    NEEDS_HEALTH;
    catch_up();
    (void)stream;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

// ---- Kernels ---------------------------------------------------------------------------------------------------------

// An image is a shared object, as "assembly" behind a line with its size: how many bytes, 0 if it is neither.
static size_t image_bytes(const char **image) {
    Elf64_Ehdr header;
    if (!memcmp(*image, "//", 2)) {
        const size_t bytes = strtoul(*image + 2, NULL, 10);
        *image = strchr(*image, '\n') + 1;
        return bytes;
    }
    memcpy(&header, *image, sizeof header);
    return memcmp(header.e_ident, ELFMAG, SELFMAG) ? 0 : header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
}

static void *open_image(const char *image) {
    const size_t bytes = image_bytes(&image);
    const char *folder = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/bpt-kernel-XXXXXX", folder ? folder : "/tmp");
    const int file = bytes ? mkstemp(path) : -1;
    if (file < 0) return NULL;
    void *library = write(file, image, bytes) == (ssize_t)bytes ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    close(file);
    unlink(path);
    return library;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    NEEDS_HEALTH;
    void *library = open_image(image);
    if (!library) return CUDA_ERROR_INVALID_IMAGE;
    *module = make(sizeof **module);
    (*module)->library = library;
    emulator.modules++;
    return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
    NEEDS_CONTEXT;
    dlclose(module->library);
    drop(module);
    emulator.modules--;
    return CUDA_SUCCESS;
}
// Arguments are pointers to memory, and behind them one block of parameters.
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    const emulated_kernel_t *kernel = dlsym(module->library, EMULATED_EXPORT);
    NEEDS_HEALTH;
    if (!kernel || !dlsym(module->library, name)) return CUDA_ERROR_NOT_FOUND;
    for (int i = 0; i < kernel->n_arguments - 1; ++i)
        if (kernel->argument_bytes[i] != sizeof(CUdeviceptr)) return CUDA_ERROR_INVALID_IMAGE;
    if (kernel->n_arguments < 1 || kernel->n_arguments > EMULATOR_MOST_BINDINGS + 1 ||
        kernel->argument_bytes[kernel->n_arguments - 1] > EMULATOR_PARAMS)
        return CUDA_ERROR_INVALID_IMAGE;
    module->function.kernel = kernel;
    snprintf(module->function.name, sizeof module->function.name, "%s", name);
    *function = &module->function;
    return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute what, CUfunction function) {
    NEEDS_HEALTH;
    if (what != CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) return CUDA_ERROR_INVALID_VALUE;
    *value = function->kernel->most_threads < emulator.most_threads ? function->kernel->most_threads : emulator.most_threads;
    return CUDA_SUCCESS;
}

// What a kernel does wrong is found out by a later call.
static void run(const action_t *action, bool in_graph) {
    emulator_launch_t launch = action->launch;
    const int n = action->function->kernel->n_arguments - 1;
    void *arguments[EMULATOR_MOST_BINDINGS + 1];
    launch.in_graph = in_graph;
    if (emulator.n_launches < EMULATOR_MOST_LAUNCHES) emulator.launches[emulator.n_launches++] = launch;
    for (int i = 0; i < n && !fault; ++i) {
        arguments[i] = &launch.bindings[i];
        if (!launch.bindings[i] || is_memory(launch.bindings[i])) continue;
        fprintf(stderr, "CUDA emulator: kernel %s, argument %d: no address of the device's memory\n", launch.kernel, i);
        fault = CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    arguments[n] = launch.params;
    if (!fault) fault = emulated_launch(action->function->kernel, launch.kernel, launch.groups, launch.group_size, arguments);
    now += emulator.group_seconds * launch.groups[0] * launch.groups[1] * launch.groups[2];
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
    action_t action = {.function = function, .launch = {.groups = {gx, gy, gz}, .group_size = bx}};
    const int n = function->kernel->n_arguments - 1;
    NEEDS_HEALTH;
    catch_up();
    if (!gx || !gy || !gz || !bx || by != 1 || bz != 1 || shared || extra || gx > INT32_MAX || gy > 65535 || gz > 65535 ||
        (int)bx > function->kernel->most_threads)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(action.launch.kernel, sizeof action.launch.kernel, "%s", function->name);
    for (int i = 0; i < n; ++i) memcpy(&action.launch.bindings[i], arguments[i], sizeof(CUdeviceptr));
    memcpy(action.launch.params, arguments[n], function->kernel->argument_bytes[n]);
    if (stream->capturing) return capture(stream->capturing, &action);
    run(&action, false);
    return CUDA_SUCCESS;
}

// What libraries put into a stream (fake_cublaslt.c).
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user) {
    NEEDS_HEALTH;
    catch_up();
    if (stream->capturing) return capture(stream->capturing, &(action_t){.host = function, .user = user});
    function(user);
    return CUDA_SUCCESS;
}

// ---- Streams, events and graphs --------------------------------------------------------------------------------------

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    NEEDS_HEALTH;
    *stream = make(sizeof **stream);
    emulator.streams++;
    return flags == CU_STREAM_NON_BLOCKING && *stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuStreamDestroy(CUstream stream) {
    NEEDS_CONTEXT;
    drop(stream);
    emulator.streams--;
    return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) {
    NEEDS_HEALTH;
    catch_up();
    if (stream->capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return emulator.hung ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
    NEEDS_HEALTH;
    catch_up();
    return stream->capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent *event, unsigned flags) {
    NEEDS_HEALTH;
    *event = make(sizeof **event);
    if (!*event) return CUDA_ERROR_OUT_OF_MEMORY;
    (*event)->time = -1;
    (*event)->timing = !(flags & CU_EVENT_DISABLE_TIMING);
    emulator.events++;
    return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
    NEEDS_CONTEXT;
    drop(event);
    emulator.events--;
    return CUDA_SUCCESS;
}
static void record(CUevent event) {
    event->time = now;
    event->queries = emulator.not_ready;
}
static void join(CUgraph graph, CUstream stream) {
    if (graph->n_branches == (int)(sizeof graph->branch / sizeof *graph->branch)) abort();
    graph->branch[graph->n_branches++] = stream;
    emulator.n_branches++;
    stream->capturing = graph;
}
static void leave(CUgraph graph, CUstream stream) {
    for (int i = 0; i < graph->n_branches; ++i)
        if (graph->branch[i] == stream) {
            graph->branch[i] = graph->branch[--graph->n_branches];
            stream->capturing = NULL;
            return;
        }
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    NEEDS_HEALTH;
    const bool external = flags == CU_EVENT_RECORD_EXTERNAL;
    if (external && !stream->capturing) return CUDA_ERROR_INVALID_VALUE;
    event->of = NULL;
    if (stream->capturing && external) return capture(stream->capturing, &(action_t){.event = event});
    event->of = stream->capturing ? stream : NULL;
    if (!stream->capturing) record(event);
    return CUDA_SUCCESS;
}
// Orders captured work only: elsewhere all streams are one. A stream that waits for captured work takes part in the capture.
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    NEEDS_HEALTH;
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (!event->of) return event->time < 0 ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
    const CUgraph graph = event->of->capturing;
    if (!graph || (stream->capturing && stream->capturing != graph)) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    if (stream == graph->origin)
        leave(graph, event->of);
    else if (!stream->capturing)
        join(graph, stream);
    return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
    NEEDS_HEALTH;
    if (event->time < 0) return CUDA_ERROR_INVALID_HANDLE;
    catch_up();
    return emulator.hung || event->queries-- > 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) {
    NEEDS_HEALTH;
    catch_up();
    return event->time < 0 ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end);
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end) {
    NEEDS_HEALTH;
    if (start->time < 0 || end->time < 0 || !start->timing || !end->timing) return CUDA_ERROR_INVALID_HANDLE;
    *ms = (float)((end->time - start->time) * 1e3);
    return CUDA_SUCCESS;
}
static void free_graph(CUgraph graph) {
    free(graph->actions);
    drop(graph);
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
    NEEDS_HEALTH;
    (void)mode;
    if (stream->capturing) return CUDA_ERROR_ILLEGAL_STATE;
    stream->capturing = make(sizeof *stream->capturing);
    stream->capturing->origin = stream;
    return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    NEEDS_HEALTH;
    *graph = stream->capturing;
    stream->capturing = NULL;
    if (!*graph) return CUDA_ERROR_ILLEGAL_STATE;
    if ((*graph)->n_branches) {
        while ((*graph)->n_branches) leave(*graph, (*graph)->branch[0]);
        free_graph(*graph);
        *graph = NULL;
        return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    }
    emulator.graphs++;
    return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
    NEEDS_HEALTH;
    CUgraph copy = make(sizeof *copy);
    if (!copy || flags) return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < graph->n_actions; ++i) capture(copy, &graph->actions[i]);
    *exec = (CUgraphExec)copy;
    emulator.execs++;
    emulator.n_graphs_built++;
    return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
    NEEDS_CONTEXT;
    free_graph(graph);
    emulator.graphs--;
    return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
    NEEDS_CONTEXT;
    free_graph((CUgraph)exec);
    emulator.execs--;
    return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    NEEDS_HEALTH;
    catch_up();
    const CUgraph graph = (CUgraph)exec;
    if (stream->capturing) return CUDA_ERROR_ILLEGAL_STATE;
    emulator.n_graph_launches++;
    for (int i = 0; i < graph->n_actions; ++i)
        if (graph->actions[i].event)
            record(graph->actions[i].event);
        else if (graph->actions[i].host)
            graph->actions[i].host(graph->actions[i].user);
        else
            run(&graph->actions[i], true);
    return CUDA_SUCCESS;
}
