// Kernels compiled from their text with the constants of a variant, or taken from the cache.
#include <stdio.h>
#include <string.h>

#include "backends/gpu/cache.h"
#include "backends/opencl/internal.h"
#include "backends/opencl/texts.h"
#include "bpt/alloc.h"
#include "bpt/log.h"

void bpt_opencl_options(const bpt_gpu_variant_t *variant, char *text, size_t bytes) {
    const bpt_gpu_kernel_info_t *info = &bpt_gpu_kernels[variant->kernel];
    size_t used = (size_t)snprintf(text, bytes, "-cl-std=CL1.2 -DWG=%uu", variant->group_size);
    for (int i = 0; i < BPT_GPU_MAX_CONSTANTS && info->constants[i] && used < bytes; ++i)
        used += (size_t)snprintf(text + used, bytes - used, " -D%s=%uu", info->constants[i], variant->constants[i]);
    for (int i = 0; i < BPT_GPU_MAX_BINDINGS && info->bindings[i].name && used < bytes; ++i)
        if (bpt_gpu_binding_is_typed(info->bindings[i].kind))
            used += (size_t)snprintf(text + used, bytes - used, " -DDT_%s=%uu", info->bindings[i].name, (unsigned)variant->dtypes[i]);
}

// The first line of the compiler's log that speaks of an error, else its first line.
static void first_error(const bpt_opencl_api_t *api, cl_program program, char *line, size_t bytes) {
    char *log;
    size_t length = 0;
    snprintf(line, bytes, "the driver's compiler gives no reason");
    if (api->cl->clGetProgramBuildInfo(program, api->id.device, CL_PROGRAM_BUILD_LOG, 0, NULL, &length) != CL_SUCCESS || length < 2) return;
    if (bpt_alloc(length + 1, 1, &log) != BPT_OK) return;
    api->cl->clGetProgramBuildInfo(program, api->id.device, CL_PROGRAM_BUILD_LOG, length, log, NULL);
    const char *start = strstr(log, "error:");
    while (start && start > log && start[-1] != '\n') --start;
    if (!start) start = log + strspn(log, "\n ");
    size_t end = strcspn(start, "\n");
    if (end && start[end - 1] == ':') end += strspn(start + end, "\n "), end += strcspn(start + end, "\n");  // a heading
    snprintf(line, bytes, "%.*s", (int)end, start);
    for (char *c = line; *c; ++c)
        if (*c == '\n') *c = ' ';
    bpt_free(log);
}

static bpt_status_t build(const bpt_opencl_api_t *api, const char *options, cl_program program) {
    char line[400];
    const cl_int code = api->cl->clBuildProgram(program, 1, &api->id.device, options, NULL, NULL);
    if (code == CL_SUCCESS) return BPT_OK;
    if (code != CL_BUILD_PROGRAM_FAILURE) return bpt_opencl_fail(code, "compiling");
    first_error(api, program, line, sizeof line);
    return bpt_fail(BPT_ERR_UNSUPPORTED, "the driver cannot compile it: %s (options %.300s)", line, options);
}

// The driver may allow smaller groups for this kernel than for the device.
static bpt_status_t check_group(const bpt_opencl_api_t *api, const bpt_gpu_program_t *p) {
    cl_int code;
    size_t most = 0;
    cl_kernel kernel = api->cl->clCreateKernel(p->program, p->info->name, &code);
    BPT_TRY(bpt_opencl_check(code, "finding the kernel"));
    code = api->cl->clGetKernelWorkGroupInfo(kernel, api->id.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    api->cl->clReleaseKernel(kernel);
    BPT_TRY(bpt_opencl_check(code, "the kernel's group size"));
    if (most >= p->group_size) return BPT_OK;
    return bpt_fail(BPT_ERR_UNSUPPORTED, "the driver runs it in groups of at most %zu work-items, %u are needed", most, p->group_size);
}

static bpt_status_t from_text(const bpt_opencl_api_t *api, const char *options, bpt_gpu_program_t *p) {
    const char *text = bpt_gpu_opencl_text[p->kernel];
    cl_int code;
    p->program = api->cl->clCreateProgramWithSource(api->context, 1, &text, NULL, &code);
    BPT_TRY(bpt_opencl_check(code, "loading its text"));
    BPT_TRY(build(api, options, p->program));
    return check_group(api, p);
}

// ---- Compiled kernels in the cache -----------------------------------------------------------------------------------

static bpt_cache_key_t key_of(const bpt_opencl_api_t *api, const char *options, bpt_gpu_kernel_t kernel) {
    const char *const parts[] = {bpt_gpu_opencl_text[kernel], options, api->name, api->version};
    return bpt_cache_key("opencl", parts, (int)BPT_COUNT(parts));
}

// Drivers may crash on damaged binaries: only what a checksum proves is handed over. False: not there, or the driver wants it no more.
static bool from_cache(const bpt_opencl_api_t *api, const bpt_cache_key_t *key, const char *options, bpt_gpu_program_t *p) {
    void *binary;
    size_t bytes;
    cl_int code, loaded = CL_SUCCESS;
    if (!bpt_cache_get(key, &binary, &bytes)) return false;
    p->program =
        api->cl->clCreateProgramWithBinary(api->context, 1, &api->id.device, &bytes, (const unsigned char **)&binary, &loaded, &code);
    bpt_free(binary);
    const bool good =
        code == CL_SUCCESS && loaded == CL_SUCCESS && build(api, options, p->program) == BPT_OK && check_group(api, p) == BPT_OK;
    if (good) return true;
    if (p->program) api->cl->clReleaseProgram(p->program);
    p->program = NULL;
    bpt_error_clear();
    bpt_debug("cache: the driver refuses the binary of kernel %s; it is compiled again", p->info->name);
    return false;
}

static void into_cache(const bpt_opencl_api_t *api, const bpt_cache_key_t *key, const bpt_gpu_program_t *p) {
    size_t bytes = 0;
    unsigned char *binary;
    if (api->cl->clGetProgramInfo(p->program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS || !bytes) return;
    if (bpt_alloc(bytes, 1, &binary) != BPT_OK) return;
    if (api->cl->clGetProgramInfo(p->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
        bpt_cache_put(key, binary, bytes);
    bpt_free(binary);
}

bpt_status_t bpt_opencl_program_create(bpt_gpu_api_t *base, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out) {
    bpt_opencl_api_t *api = (bpt_opencl_api_t *)base;
    char options[2048];
    bpt_gpu_program_t *p;
    bpt_opencl_options(variant, options, sizeof options);
    const bpt_cache_key_t key = key_of(api, options, variant->kernel);
    BPT_TRY(bpt_alloc(1, sizeof *p, &p));
    p->kernel = variant->kernel;
    p->info = &bpt_gpu_kernels[variant->kernel];
    p->group_size = variant->group_size;
    if (!from_cache(api, &key, options, p)) {
        const bpt_status_t status = from_text(api, options, p);
        if (status != BPT_OK) {
            bpt_opencl_program_destroy(base, p);
            return status;
        }
        into_cache(api, &key, p);
    }
    *out = p;
    return BPT_OK;
}

void bpt_opencl_program_destroy(bpt_gpu_api_t *base, bpt_gpu_program_t *p) {
    if (!p) return;
    if (p->program) ((bpt_opencl_api_t *)base)->cl->clReleaseProgram(p->program);
    bpt_free(p);
}
