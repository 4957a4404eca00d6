// Kernels compiled from their text with the constants of a variant.
#include <stdio.h>
#include <string.h>

#include "backends/opencl/opencl.h"
#include "backends/opencl/texts.h"
#include "bpt/alloc.h"

// -D for the group size, the kernel's constants and the element types of its bindings.
static void write_options(const bpt_gpu_variant_t *variant, char *text, size_t bytes) {
    const bpt_gpu_kernel_info_t *info = &bpt_gpu_kernels[variant->kernel];
    size_t used = (size_t)snprintf(text, bytes, "-cl-std=CL1.2 -DWG=%uu", variant->group_size);
    for (int i = 0; i < BPT_GPU_MAX_CONSTANTS && info->constants[i] && used < bytes; ++i)
        used += (size_t)snprintf(text + used, bytes - used, " -D%s=%uu", info->constants[i], variant->constants[i]);
    for (int i = 0; i < BPT_GPU_MAX_BINDINGS && info->bindings[i].name && used < bytes; ++i)
        if (info->bindings[i].kind == BPT_GPU_BINDING_F)
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
    const char *start = strstr(log, "error");
    while (start && start > log && start[-1] != '\n') --start;
    if (!start) start = log + strspn(log, "\n ");
    snprintf(line, bytes, "%.*s", (int)strcspn(start, "\n"), start);
    bpt_free(log);
}

static bpt_status_t build(const bpt_opencl_api_t *api, const bpt_gpu_variant_t *variant, cl_program program) {
    char options[2048], line[400];
    write_options(variant, options, sizeof options);
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

bpt_status_t bpt_opencl_program_create(bpt_gpu_api_t *base, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out) {
    bpt_opencl_api_t *api = (bpt_opencl_api_t *)base;
    const char *text = bpt_gpu_opencl_text[variant->kernel];
    bpt_gpu_program_t *p;
    cl_int code;
    BPT_TRY(bpt_alloc(1, sizeof *p, &p));
    p->info = &bpt_gpu_kernels[variant->kernel];
    p->group_size = variant->group_size;
    p->program = api->cl->clCreateProgramWithSource(api->context, 1, &text, NULL, &code);
    bpt_status_t status = bpt_opencl_check(code, "loading its text");
    if (status == BPT_OK) status = build(api, variant, p->program);
    if (status == BPT_OK) status = check_group(api, p);
    if (status != BPT_OK) {
        bpt_opencl_program_destroy(base, p);
        return status;
    }
    *out = p;
    return BPT_OK;
}

void bpt_opencl_program_destroy(bpt_gpu_api_t *base, bpt_gpu_program_t *p) {
    if (!p) return;
    if (p->program) ((bpt_opencl_api_t *)base)->cl->clReleaseProgram(p->program);
    bpt_free(p);
}
