// Compiling alone: for a device that is here by its driver, for Intel GPUs that are not by their offline compiler.
#include <stdio.h>
#include <string.h>

#include "backends/gpu/preprocess.h"
#include "backends/opencl/internal.h"
#include "backends/opencl/ocloc.h"
#include "backends/opencl/texts.h"
#include "bpt/alloc.h"

// Families of Intel GPUs as ocloc names them, the largest work-group that their driver reports, and the smallest subgroup.
static const struct {
    const char *name, *type;
    uint32_t group_size, least_subgroup;
} families[] = {
    {"skl", "integrated", 256, 8},  {"icllp", "integrated", 256, 8}, {"tgllp", "integrated", 512, 8},  {"adl-p", "integrated", 512, 8},
    {"mtl", "integrated", 1024, 8}, {"lnl", "integrated", 1024, 16}, {"dg2-g10", "discrete", 1024, 8}, {"dg2-g11", "discrete", 1024, 8},
    {"bmg", "discrete", 1024, 16},  {"pvc", "discrete", 1024, 16},
};

static bpt_gpu_limits_t limits_of(size_t family) {
    return (bpt_gpu_limits_t){.max_groups = {1u << 20, 65535, 65535},
                              .max_group_size = families[family].group_size,
                              .local_bytes = 65536,
                              .max_binding_bytes = UINT64_C(4) << 30,
                              .max_allocation_bytes = UINT64_C(4) << 30,
                              .memory_bytes = UINT64_C(8) << 30,
                              .offset_alignment = 1,
                              .f16 = true};
}

bpt_status_t bpt_opencl_targets(bpt_device_info_t *infos, int capacity, int *count) {
    *count = (int)BPT_COUNT(families);
    for (int i = 0; i < *count && i < capacity; ++i) {
        const bpt_gpu_limits_t limits = limits_of((size_t)i);
        const bpt_gpu_info_t gpu = {.max_binding_bytes = limits.max_binding_bytes,
                                    .binding_alignment = 1,
                                    .max_group_size = limits.max_group_size,
                                    .max_local_bytes = limits.local_bytes,
                                    .least_subgroup = families[i].least_subgroup};
        infos[i] = (bpt_device_info_t){.f16 = true, .usable = true};
        snprintf(infos[i].name, sizeof infos[i].name, "%s", families[i].name);
        snprintf(infos[i].type, sizeof infos[i].type, "%s", families[i].type);
        snprintf(infos[i].driver, sizeof infos[i].driver, "Intel ocloc");
        bpt_gpu_info_set(&infos[i], &gpu);
    }
    return BPT_OK;
}

// A family, or a device that is here.
typedef struct {
    bpt_gpu_api_t base;
    bpt_gpu_api_t *device;  // NULL: a family
    const char *family;
} compiler_t;

static bpt_status_t open_family(const char *target, compiler_t *c) {
    for (size_t i = 0; i < BPT_COUNT(families); ++i)
        if (!strcmp(families[i].name, target)) {
            c->family = families[i].name;
            c->base.limits = limits_of(i);
            return BPT_OK;
        }
    return bpt_fail(BPT_ERR_UNAVAILABLE, "'%s' is no family of Intel GPUs that is known here", target);
}

static bpt_status_t open_compiler(int index, const char *target, bpt_gpu_api_t **out) {
    compiler_t *c;
    BPT_TRY(bpt_alloc(1, sizeof *c, &c));
    const bpt_status_t status = target ? open_family(target, c) : bpt_opencl_driver.open(index, &c->device);
    if (status != BPT_OK) {
        bpt_free(c);
        return status;
    }
    if (c->device) c->base.limits = c->device->limits;
    *out = &c->base;
    return BPT_OK;
}

static void close_compiler(bpt_gpu_api_t *api) {
    compiler_t *c = (compiler_t *)api;
    if (c->device) bpt_opencl_driver.close(c->device);
    bpt_free(c);
}

// A number about a kernel, -1 where the driver does not know the question.
static int64_t ask(const bpt_opencl_api_t *api, cl_kernel kernel, cl_kernel_work_group_info what) {
    cl_ulong number = 0;  // drivers write 4 or 8 bytes
    return api->cl->clGetKernelWorkGroupInfo(kernel, api->id.device, what, sizeof number, &number, NULL) == CL_SUCCESS ? (int64_t)number
                                                                                                                       : -1;
}

static bpt_status_t compile_here(bpt_gpu_api_t *device, const bpt_gpu_variant_t *variant, bpt_gpu_resources_t *out) {
    enum { SPILL_BYTES_INTEL = 0x4109, REGISTERS_INTEL = 0x425B };  // of later versions of cl_ext.h
    const bpt_opencl_api_t *api = (const bpt_opencl_api_t *)device;
    bpt_gpu_program_t *program;
    cl_int code;
    BPT_TRY(bpt_opencl_program_create(device, variant, &program));
    cl_kernel kernel = api->cl->clCreateKernel(program->program, program->info->name, &code);
    if (code == CL_SUCCESS) {
        out->local_bytes = ask(api, kernel, CL_KERNEL_LOCAL_MEM_SIZE);
        out->scratch_bytes = ask(api, kernel, CL_KERNEL_PRIVATE_MEM_SIZE);
        out->subgroup = ask(api, kernel, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE);
        out->spilled = ask(api, kernel, SPILL_BYTES_INTEL);
        out->registers = ask(api, kernel, REGISTERS_INTEL);
        api->cl->clReleaseKernel(kernel);
    }
    bpt_opencl_program_destroy(device, program);
    return bpt_opencl_check(code, "finding the kernel");
}

static bpt_status_t name_compiler(bpt_gpu_api_t *api, char *text, size_t bytes) {
    const compiler_t *c = (const compiler_t *)api;
    if (!c->device) return bpt_ocloc_version(text, bytes);
    snprintf(text, bytes, "%s", ((const bpt_opencl_api_t *)c->device)->version);
    return BPT_OK;
}

static bpt_status_t give_source(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, void **source, size_t *bytes) {
    char options[2048], *text;
    (void)api;
    bpt_opencl_options(variant, options, sizeof options);
    BPT_TRY(bpt_gpu_preprocess(bpt_gpu_opencl_text[variant->kernel], options, &text));
    *source = text;
    *bytes = strlen(text);
    return BPT_OK;
}

static bpt_status_t compile(bpt_gpu_api_t *api, const bpt_gpu_variant_t *variant, bpt_gpu_resources_t *out) {
    const compiler_t *c = (const compiler_t *)api;
    char options[2048];
    if (c->device) return compile_here(c->device, variant, out);
    bpt_opencl_options(variant, options, sizeof options);
    return bpt_ocloc_compile(c->family, bpt_gpu_opencl_text[variant->kernel], options, out);
}

const bpt_gpu_compiler_t bpt_opencl_compiler = {.targets = bpt_opencl_targets,
                                                .open = open_compiler,
                                                .close = close_compiler,
                                                .name = name_compiler,
                                                .source = give_source,
                                                .compile = compile};
