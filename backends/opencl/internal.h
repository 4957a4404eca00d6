// What the files of the OpenCL driver share.
#ifndef BPT_OPENCL_INTERNAL_H
#define BPT_OPENCL_INTERNAL_H

#include <pthread.h>

#include "backends/gpu/driver.h"
#include "backends/opencl/loader.h"

typedef struct {
    cl_platform_id platform;
    cl_device_id device;
} bpt_opencl_id_t;

typedef struct {
    bpt_gpu_api_t base;
    const bpt_opencl_functions_t *cl;
    bpt_opencl_id_t id;
    char name[128], version[128];  // of the device and of its driver
    cl_context context;
    cl_command_queue queue;
    uint64_t submitted;
    pthread_t helper;  // helper.c, where has_helper
    bool has_helper;
    // Shared with the helper and with the driver's callback threads.
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t finished;
    int pending;  // callbacks that have not come yet
    bool failed;
    bool closing;
} bpt_opencl_api_t;

extern const bpt_gpu_driver_t bpt_opencl_driver;
extern const bpt_gpu_compiler_t bpt_opencl_compiler;  // targets.c

// Devices, discrete before integrated before software (devices.c).
extern const bpt_loader_t bpt_opencl_loader;  // files.c
bpt_status_t bpt_opencl_enumerate(bpt_device_info_t *infos, int capacity, int *count);
bpt_status_t bpt_opencl_find(int index, bpt_opencl_id_t *id, bpt_device_info_t *info);
// A processor and nothing else: simulators say that they are everything.
bool bpt_opencl_is_processor(const bpt_opencl_functions_t *cl, cl_device_id device);
bpt_status_t bpt_opencl_limits(const bpt_opencl_functions_t *cl, cl_device_id device, bpt_gpu_limits_t *limits);

// The thread that helps the driver of a processor (helper.c); for other devices there is none.
bpt_status_t bpt_opencl_helper_start(bpt_opencl_api_t *api);
void bpt_opencl_helper_stop(bpt_opencl_api_t *api);

// `what` begins the sentence. The status follows from the code: memory, device lost, or a bug of ours.
bpt_status_t bpt_opencl_fail(cl_int code, const char *what);
static inline bpt_status_t bpt_opencl_check(cl_int code, const char *what) {
    return code == CL_SUCCESS ? BPT_OK : bpt_opencl_fail(code, what);
}

// Programs and commands (program.c, commands.c): see driver.h.
struct bpt_gpu_program {
    cl_program program;
    bpt_gpu_kernel_t kernel;
    const bpt_gpu_kernel_info_t *info;
    uint32_t group_size;
};
struct bpt_gpu_memory {
    cl_mem buffer;
};
// The compiler's options: -D for the group size, the kernel's constants and the element types of its bindings.
void bpt_opencl_options(const bpt_gpu_variant_t *variant, char *text, size_t bytes);
bpt_status_t bpt_opencl_program_create(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out);
void bpt_opencl_program_destroy(bpt_gpu_api_t *api, bpt_gpu_program_t *program);
bpt_status_t bpt_opencl_commands_create(bpt_gpu_api_t *api, bpt_gpu_commands_t **out);
void bpt_opencl_commands_destroy(bpt_gpu_api_t *api, bpt_gpu_commands_t *commands);
bpt_status_t bpt_opencl_dispatch(bpt_gpu_commands_t *commands, const bpt_gpu_dispatch_t *dispatch);
bpt_status_t bpt_opencl_product(bpt_gpu_commands_t *commands, const bpt_gpu_product_t *product);
bpt_status_t bpt_opencl_barrier(bpt_gpu_commands_t *commands);
bpt_status_t bpt_opencl_mark(bpt_gpu_commands_t *commands);
bpt_status_t bpt_opencl_finish(bpt_gpu_commands_t *commands);
bpt_status_t bpt_opencl_submit(bpt_gpu_api_t *api, bpt_gpu_commands_t *commands, uint64_t *ticket);
bpt_status_t bpt_opencl_wait(bpt_gpu_api_t *api, uint64_t ticket, uint64_t timeout_ns);
bpt_status_t bpt_opencl_marks(bpt_gpu_commands_t *commands, double *seconds, int capacity, int *count);

#endif
