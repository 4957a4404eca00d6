// What GPU backends say of a device beyond bpt_device_info_t: it travels in `detail` there, so that the op-level boundary needs no word of
// GPUs. Knows no API.
#ifndef BPT_GPU_INFO_H
#define BPT_GPU_INFO_H

#include <string.h>

#include "bpt/backend.h"

// Units of a device for products of small matrices, rows x depth by depth x columns, which a subgroup of work-items holds together.
typedef struct {
    uint32_t rows, columns, depth, subgroup;
} bpt_fragments_t;

typedef struct {
    // Range and alignment of a binding, work-items and local memory of a work-group; 0 = not said.
    uint64_t max_binding_bytes;
    uint32_t binding_alignment, max_group_size, max_local_bytes;
    bpt_fragments_t fragments;  // of f16 with f32 sums; 0 = none
    bool mma;                   // CUDA: warps have the instruction for products of 16-bit matrices
    bool as_gpu;                // a driver in software that is worked on as a GPU (BPT_LIMITS=software=0)
    uint32_t vector_lanes;      // OpenCL on processors: floats of a vector register
    uint32_t subgroup_size;     // Vulkan: work-items that run side by side
    uint32_t least_subgroup;    // the smallest number of them that a compiler may choose; 0 = not said
    bool pretended;             // without hardware: kernels compile for it, and nothing runs (pretended.h)
    bool library;               // products by the library of the API, where it can be trusted, are what suits the device
    // The rule for products of matrices, by what it applies ("shipped", "tuned", "BPT_TUNING"), and why no other one does.
    char rule[224], rule_origin[16], rule_note[560];
} bpt_gpu_info_t;

_Static_assert(sizeof(bpt_gpu_info_t) <= sizeof((bpt_device_info_t){0}.detail), "bpt_device_info_t.detail is too small");

// All zero for a device that is no GPU.
static inline bpt_gpu_info_t bpt_gpu_info(const bpt_device_info_t *info) {
    bpt_gpu_info_t gpu;
    memcpy(&gpu, info->detail, sizeof gpu);
    return gpu;
}

static inline void bpt_gpu_info_set(bpt_device_info_t *info, const bpt_gpu_info_t *gpu) { memcpy(info->detail, gpu, sizeof *gpu); }

#endif
