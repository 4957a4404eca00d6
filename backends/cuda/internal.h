// What the files of the CUDA driver share.
#ifndef BPT_CUDA_INTERNAL_H
#define BPT_CUDA_INTERNAL_H

#include "backends/cuda/compile.h"
#include "backends/cuda/loader.h"
#include "backends/gpu/driver.h"

enum {
    BPT_CUDA_MOST_PENDING = 256,  // submissions that nobody has waited for yet
    BPT_CUDA_BRANCHES = 8,        // of a graph, that run side by side
};

// Pinned memory of the host in two halves (memory.c), NULL until the first write.
typedef struct {
    char *memory;
    CUevent read[2];  // behind the copies from a half
    bool pending[2];  // that event was recorded, and nobody has waited for it
    int half;         // that is being filled
    size_t used;      // bytes of it
} bpt_cuda_staging_t;

typedef struct {
    bpt_gpu_api_t base;
    const bpt_cuda_functions_t *cuda;
    const bpt_nvrtc_functions_t *nvrtc;
    CUdevice device;
    CUcontext context;                   // the device's primary one, which all of a process shares
    CUstream stream;                     // everything runs in it, in order
    CUstream branch[BPT_CUDA_BRANCHES];  // while a graph is captured: of dispatches that no barrier orders
    CUevent fork, join[BPT_CUDA_BRANCHES];
    cublasLtHandle_t cublaslt;  // NULL until its first product
    bpt_cuda_staging_t staging;
    char name[128], arch[24];
    int capability;                       // 90 = 9.0
    bool graphs;                          // lists are replayed as CUDA graphs
    bool pools;                           // memory comes and goes in the order of the stream
    CUevent done[BPT_CUDA_MOST_PENDING];  // the end of submission t is done[t % BPT_CUDA_MOST_PENDING]
    uint64_t submitted, finished;
    bool lost;   // an error after which the context is of no use, or a wait that was given up
    bool stuck;  // what was given up still runs: its objects are left to the end of the process
} bpt_cuda_api_t;

struct bpt_gpu_memory {
    CUdeviceptr address;
};
struct bpt_gpu_program {
    CUmodule module;
    CUfunction function;
    const bpt_gpu_kernel_info_t *info;
    uint32_t group_size;
};

// Devices in CUDA's own order, the fastest first (devices.c).
bpt_status_t bpt_cuda_enumerate(bpt_device_info_t *infos, int capacity, int *count);
// Fills device, name, arch and limits.
bpt_status_t bpt_cuda_find(int index, bpt_cuda_api_t *api);

// `what` begins the sentence. The status follows from the code: memory, device lost, or a bug of ours. Notes a loss.
bpt_status_t bpt_cuda_fail(bpt_cuda_api_t *api, CUresult code, const char *what);
static inline bpt_status_t bpt_cuda_check(bpt_cuda_api_t *api, CUresult code, const char *what) {
    return code == CUDA_SUCCESS ? BPT_OK : bpt_cuda_fail(api, code, what);
}
// Before any other call of a function: makes the context the thread's. Fails once the device is lost.
bpt_status_t bpt_cuda_enter(bpt_cuda_api_t *api);
// Before objects are destroyed: nothing runs any more. False when that cannot be waited for; they are left alone then.
bool bpt_cuda_idle(bpt_cuda_api_t *api);

// Compiling without a device: bpt_gpu_compiler_t (targets.c). Of its api only nvrtc, arch and limits are there.
bpt_status_t bpt_cuda_targets(bpt_device_info_t *infos, int capacity, int *count);
bpt_status_t bpt_cuda_compiler_open(int index, const char *target, bpt_gpu_api_t **out);
void bpt_cuda_compiler_close(bpt_gpu_api_t *api);
bpt_status_t bpt_cuda_compiler_name(bpt_gpu_api_t *api, char *text, size_t bytes);
bpt_status_t bpt_cuda_compiler_source(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, void **source, size_t *bytes);
bpt_status_t bpt_cuda_compiler_compile(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, bpt_gpu_resources_t *out);

// See driver.h (memory.c, program.c, commands.c).
bpt_status_t bpt_cuda_memory_create(bpt_gpu_api_t *api, size_t bytes, bpt_gpu_memory_t **out);
void bpt_cuda_memory_destroy(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory);
bpt_status_t bpt_cuda_write(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory, size_t offset, const void *source, size_t bytes);
bpt_status_t bpt_cuda_read(bpt_gpu_api_t *api, bpt_gpu_memory_t *memory, size_t offset, void *target, size_t bytes);
void bpt_cuda_staging_free(bpt_cuda_api_t *api);
bpt_status_t bpt_cuda_program_create(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out);
void bpt_cuda_program_destroy(bpt_gpu_api_t *api, bpt_gpu_program_t *program);
bpt_status_t bpt_cuda_commands_create(bpt_gpu_api_t *api, bpt_gpu_commands_t **out);
void bpt_cuda_commands_destroy(bpt_gpu_api_t *api, bpt_gpu_commands_t *commands);
bpt_status_t bpt_cuda_dispatch(bpt_gpu_commands_t *commands, const bpt_gpu_dispatch_t *dispatch);
bpt_status_t bpt_cuda_product(bpt_gpu_commands_t *commands, const bpt_gpu_product_t *product);
bpt_status_t bpt_cuda_barrier(bpt_gpu_commands_t *commands);
bpt_status_t bpt_cuda_mark(bpt_gpu_commands_t *commands);
bpt_status_t bpt_cuda_finish(bpt_gpu_commands_t *commands);
bpt_status_t bpt_cuda_submit(bpt_gpu_api_t *api, bpt_gpu_commands_t *commands, uint64_t *ticket);
bpt_status_t bpt_cuda_wait(bpt_gpu_api_t *api, uint64_t ticket, uint64_t timeout_ns);
bpt_status_t bpt_cuda_marks(bpt_gpu_commands_t *commands, double *seconds, int capacity, int *count);

#endif
