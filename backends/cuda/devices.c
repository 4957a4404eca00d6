// The CUDA devices, what they are and what they allow.
#include <stdio.h>

#include "backends/cuda/internal.h"

static int number(const bpt_cuda_functions_t *cuda, CUdevice device, CUdevice_attribute what) {
    int value = 0;
    return cuda->cuDeviceGetAttribute(&value, what, device) == CUDA_SUCCESS ? value : 0;
}

static int capability_of(const bpt_cuda_functions_t *cuda, CUdevice device) {
    return 10 * number(cuda, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
           number(cuda, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

// Why a device cannot run the kernels; "" when it can.
static void judge(const bpt_cuda_functions_t *cuda, CUdevice device, bpt_device_info_t *info) {
    const bpt_nvrtc_functions_t *nvrtc;
    char arch[24];
    if (number(cuda, device, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) == CU_COMPUTEMODE_PROHIBITED)
        snprintf(info->reason, sizeof info->reason,
                 "its compute mode forbids all use; an administrator allows it by nvidia-smi -c DEFAULT");
    else if (bpt_nvrtc_load(&nvrtc) != BPT_OK || bpt_cuda_arch(nvrtc, capability_of(cuda, device), arch) != BPT_OK)
        snprintf(info->reason, sizeof info->reason, "%.255s", bpt_error_message());
    info->usable = !*info->reason;
}

static void describe(const bpt_cuda_functions_t *cuda, CUdevice device, bpt_device_info_t *info) {
    const bpt_nvrtc_functions_t *nvrtc;
    const int capability = capability_of(cuda, device);
    size_t bytes = 0;
    char library[256];
    *info = (bpt_device_info_t){.bf16 = true, .f16 = true};  // stored only: the kernels compute in f32
    if (cuda->cuDeviceGetName(info->name, (int)sizeof info->name, device) != CUDA_SUCCESS)
        snprintf(info->name, sizeof info->name, "NVIDIA GPU");
    if (cuda->cuDeviceTotalMem(&bytes, device) != CUDA_SUCCESS) bytes = 0;
    const int used = snprintf(info->driver, sizeof info->driver, "CUDA %d.%d", cuda->version / 1000, cuda->version % 1000 / 10);
    if (bpt_nvrtc_load(&nvrtc) == BPT_OK)
        snprintf(info->driver + used, sizeof info->driver - (size_t)used, ", NVRTC %d.%d", nvrtc->major, nvrtc->minor);
    snprintf(info->type, sizeof info->type, "%s", number(cuda, device, CU_DEVICE_ATTRIBUTE_INTEGRATED) ? "integrated" : "discrete");
    snprintf(info->features, sizeof info->features, "sm_%d", capability);
    snprintf(info->pci, sizeof info->pci, "%04x:%02x:%02x.0", (unsigned)number(cuda, device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID) & 0xffff,
             (unsigned)number(cuda, device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) & 0xff,
             (unsigned)number(cuda, device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID) & 0xff);
    info->memory_bytes = info->max_buffer_bytes = bytes;
    info->units = number(cuda, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    judge(cuda, device, info);
    const bpt_gpu_info_t gpu = {
        .max_binding_bytes = bytes,
        .binding_alignment = 1,
        .max_group_size = (uint32_t)number(cuda, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .max_local_bytes = (uint32_t)number(cuda, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .mma = capability >= 80,
        .library = info->usable && bpt_cublaslt_describe(library, sizeof library),
    };
    bpt_gpu_info_set(info, &gpu);
}

static bpt_status_t count_devices(const bpt_cuda_functions_t **cuda, int *count) {
    *count = 0;
    BPT_TRY(bpt_cuda_load(cuda));
    const CUresult code = (*cuda)->cuDeviceGetCount(count);
    if (code == CUDA_SUCCESS) return BPT_OK;
    *count = 0;
    return bpt_fail(BPT_ERR_UNAVAILABLE, "the NVIDIA driver does not count its devices (error %d)", (int)code);
}

bpt_status_t bpt_cuda_enumerate(bpt_device_info_t *infos, int capacity, int *count) {
    const bpt_cuda_functions_t *cuda;
    BPT_TRY(count_devices(&cuda, count));
    for (int i = 0; i < *count && i < capacity; ++i) {
        CUdevice device;
        infos[i] = (bpt_device_info_t){.name = "NVIDIA GPU", .reason = "the NVIDIA driver does not open it"};
        if (cuda->cuDeviceGet(&device, i) == CUDA_SUCCESS) describe(cuda, device, &infos[i]);
    }
    return BPT_OK;
}

static bpt_gpu_limits_t limits_of(const bpt_cuda_functions_t *cuda, CUdevice device, const bpt_device_info_t *info) {
    return (bpt_gpu_limits_t){
        .max_groups = {(uint32_t)number(cuda, device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                       (uint32_t)number(cuda, device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                       (uint32_t)number(cuda, device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
        .max_group_size = bpt_gpu_info(info).max_group_size,
        .local_bytes = bpt_gpu_info(info).max_local_bytes,
        .max_binding_bytes = bpt_gpu_info(info).max_binding_bytes,  // a binding is a pointer: only memory limits it
        .max_allocation_bytes = info->max_buffer_bytes,
        .memory_bytes = info->memory_bytes,
        .offset_alignment = bpt_gpu_info(info).binding_alignment,
        .subgroup_size = (uint32_t)number(cuda, device, CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        .f16 = info->f16,
        .mma = bpt_gpu_info(info).mma,
        .unified = number(cuda, device, CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0,
        .disjoint_writes = true,
    };
}

bpt_status_t bpt_cuda_find(int index, bpt_cuda_api_t *api) {
    bpt_device_info_t info;
    int count;
    BPT_TRY(count_devices(&api->cuda, &count));
    if (index < 0 || index >= count) return bpt_fail(BPT_ERR_UNAVAILABLE, "CUDA has %d devices; device %d was asked for", count, index);
    BPT_TRY(bpt_nvrtc_load(&api->nvrtc));
    BPT_TRY(bpt_cuda_check(api, api->cuda->cuDeviceGet(&api->device, index), "finding the device"));
    api->capability = capability_of(api->cuda, api->device);
    api->pools = number(api->cuda, api->device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    BPT_TRY(bpt_cuda_arch(api->nvrtc, api->capability, api->arch));
    describe(api->cuda, api->device, &info);
    snprintf(api->name, sizeof api->name, "%s", info.name);
    api->base.limits = limits_of(api->cuda, api->device, &info);
    return BPT_OK;
}
