// Compiling without a device: NVRTC for the architectures that it knows, and what ptxas, which it holds, says of registers and memory.
#include <stdio.h>
#include <string.h>

#include "backends/cuda/internal.h"
#include "bpt/alloc.h"

// What every device from compute capability 7.5 on allows a work-group without asking for more.
static bpt_gpu_limits_t limits_of(int capability) {
    return (bpt_gpu_limits_t){.max_groups = {INT32_MAX, 65535, 65535},
                              .max_group_size = 1024,
                              .local_bytes = 49152,
                              .max_binding_bytes = UINT64_C(1) << 36,
                              .max_allocation_bytes = UINT64_C(1) << 36,
                              .memory_bytes = UINT64_C(1) << 36,
                              .offset_alignment = 1,
                              .subgroup_size = 32,
                              .f16 = true,
                              .mma = capability >= 80,
                              .disjoint_writes = true};
}

// Those that NVRTC compiles for; where it is not here, those of version 13.5, whose kernels can be listed all the same.
bpt_status_t bpt_cuda_targets(bpt_device_info_t *infos, int capacity, int *count) {
    static const int usual[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121};
    const bpt_nvrtc_functions_t *nvrtc = NULL;
    if (bpt_nvrtc_load(&nvrtc) != BPT_OK) bpt_error_clear();
    *count = nvrtc ? nvrtc->n_archs : (int)BPT_COUNT(usual);
    for (int i = 0; i < *count && i < capacity; ++i) {
        const int arch = nvrtc ? nvrtc->archs[i] : usual[i];
        const bpt_gpu_limits_t limits = limits_of(arch);
        const bpt_gpu_info_t gpu = {.max_binding_bytes = limits.max_binding_bytes,
                                    .binding_alignment = 1,
                                    .max_group_size = limits.max_group_size,
                                    .max_local_bytes = limits.local_bytes,
                                    .mma = limits.mma};
        infos[i] = (bpt_device_info_t){.type = "discrete", .bf16 = true, .f16 = true, .usable = true};
        snprintf(infos[i].name, sizeof infos[i].name, "sm_%d", arch);
        snprintf(infos[i].driver, sizeof infos[i].driver, "NVRTC");
        if (nvrtc) snprintf(infos[i].driver, sizeof infos[i].driver, "NVRTC %d.%d", nvrtc->major, nvrtc->minor);
        bpt_gpu_info_set(&infos[i], &gpu);
    }
    return BPT_OK;
}

bpt_status_t bpt_cuda_compiler_open(int index, const char *target, bpt_gpu_api_t **out) {
    bpt_cuda_api_t *api;
    bpt_status_t status;
    BPT_TRY(bpt_alloc(1, sizeof *api, &api));
    if (target) {
        const bool known = sscanf(target, "sm_%d", &api->capability) == 1;
        status = known ? BPT_OK : bpt_fail(BPT_ERR_UNAVAILABLE, "'%s' is no architecture of NVRTC", target);
        api->base.limits = limits_of(api->capability);
        snprintf(api->arch, sizeof api->arch, "%s", target);
    } else {
        status = bpt_cuda_find(index, api);
    }
    if (status != BPT_OK) {
        bpt_free(api);
        return status;
    }
    *out = &api->base;
    return BPT_OK;
}

void bpt_cuda_compiler_close(bpt_gpu_api_t *api) { bpt_free((bpt_cuda_api_t *)api); }

// The number in front of `words` in the listing, -1 when there is none: "Used 48 registers", "16 bytes spill stores".
static int64_t number_before(const char *listing, const char *words) {
    const char *at = strstr(listing, words);
    long long number = -1;
    while (at && at > listing && at[-1] == ' ') --at;
    while (at && at > listing && at[-1] >= '0' && at[-1] <= '9') --at;
    return at && sscanf(at, "%lld", &number) == 1 ? number : -1;
}

bpt_status_t bpt_cuda_compiler_name(bpt_gpu_api_t *api, char *text, size_t bytes) {
    const bpt_nvrtc_functions_t *nvrtc;
    (void)api;
    BPT_TRY(bpt_nvrtc_load(&nvrtc));
    snprintf(text, bytes, "NVRTC %d.%d", nvrtc->major, nvrtc->minor);
    return BPT_OK;
}

bpt_status_t bpt_cuda_compiler_source(bpt_gpu_api_t *base, const bpt_gpu_variant_t *variant, void **source, size_t *bytes) {
    char *text;
    BPT_TRY(bpt_cuda_source(variant, ((const bpt_cuda_api_t *)base)->capability, &text));
    *source = text;
    *bytes = strlen(text);
    return BPT_OK;
}

bpt_status_t bpt_cuda_compiler_compile(bpt_gpu_api_t *base, const bpt_gpu_variant_t *variant, bpt_gpu_resources_t *out) {
    const bpt_cuda_api_t *api = (const bpt_cuda_api_t *)base;
    const bpt_nvrtc_functions_t *nvrtc;
    char *listing;
    size_t code;
    BPT_TRY(bpt_nvrtc_load(&nvrtc));
    BPT_TRY(bpt_cuda_list(nvrtc, variant, api->arch, &listing, &code));
    const int64_t local = number_before(listing, "bytes smem");
    out->registers = number_before(listing, "registers");
    out->spilled = number_before(listing, "bytes spill stores");
    out->scratch_bytes = number_before(listing, "bytes stack frame");
    out->local_bytes = local < 0 && out->registers >= 0 ? 0 : local;  // it is not said where there is none
    out->subgroup = out->registers >= 0 ? 32 : -1;
    out->code_bytes = code ? (int64_t)code : -1;
    out->instructions = code ? (int64_t)code / 16 : -1;  // of 128 bits each
    bpt_free(listing);
    return BPT_OK;
}
