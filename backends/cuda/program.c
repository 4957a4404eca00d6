// Compiled kernels as the device's driver takes them.
#include "backends/cuda/internal.h"
#include "bpt/alloc.h"

static bpt_status_t load_image(bpt_cuda_api_t *api, const char *image, bpt_gpu_program_t *p) {
    const CUresult code = api->cuda->cuModuleLoadData(&p->module, image);
    switch ((int)code) {
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        return bpt_fail(
            BPT_ERR_UNSUPPORTED,
            "the driver (CUDA %d.%d) does not take what NVRTC %d.%d compiles for %s (error %d): update the driver, or name an older "
            "NVRTC by BPT_NVRTC_LIBRARY",
            api->cuda->version / 1000, api->cuda->version % 1000 / 10, api->nvrtc->major, api->nvrtc->minor, api->arch, (int)code);
    default: return bpt_cuda_check(api, code, "loading a kernel");
    }
}

// Registers may allow smaller groups for this kernel than for the device.
static bpt_status_t check_group(bpt_cuda_api_t *api, const bpt_gpu_program_t *p) {
    int most = 0;
    BPT_TRY(bpt_cuda_check(api, api->cuda->cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, p->function),
                           "the kernel's group size"));
    if (most >= (int)p->group_size) return BPT_OK;
    return bpt_fail(BPT_ERR_UNSUPPORTED, "the driver runs it in groups of at most %d work-items, %u are needed", most, p->group_size);
}

static bpt_status_t make(bpt_cuda_api_t *api, const bpt_gpu_variant_t *variant, bpt_gpu_program_t *p) {
    char *image;
    size_t bytes;
    BPT_TRY(bpt_cuda_enter(api));
    BPT_TRY(bpt_cuda_compile(api->nvrtc, variant, api->arch, &image, &bytes));
    const bpt_status_t status = load_image(api, image, p);
    bpt_free(image);
    BPT_TRY(status);
    BPT_TRY(bpt_cuda_check(api, api->cuda->cuModuleGetFunction(&p->function, p->module, p->info->name), "finding the kernel"));
    return check_group(api, p);
}

bpt_status_t bpt_cuda_program_create(bpt_gpu_api_t *base, const bpt_gpu_variant_t *variant, bpt_gpu_program_t **out) {
    bpt_gpu_program_t *p;
    BPT_TRY(bpt_alloc(1, sizeof *p, &p));
    p->info = &bpt_gpu_kernels[variant->kernel];
    p->group_size = variant->group_size;
    const bpt_status_t status = make((bpt_cuda_api_t *)base, variant, p);
    if (status != BPT_OK) {
        bpt_cuda_program_destroy(base, p);
        return status;
    }
    *out = p;
    return BPT_OK;
}

void bpt_cuda_program_destroy(bpt_gpu_api_t *base, bpt_gpu_program_t *p) {
    bpt_cuda_api_t *api = (bpt_cuda_api_t *)base;
    if (!p) return;
    if (p->module && bpt_cuda_idle(api)) api->cuda->cuModuleUnload(p->module);
    bpt_free(p);
}
