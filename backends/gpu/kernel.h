// The kernels by name, and what C must know of each: its constants, bindings, parameter block and local arrays, all read from
// cl/<room>/<kernel>.inc, which the kernel texts read too; and what it needs of a device. Knows no API and no op.
#ifndef BPT_GPU_KERNEL_H
#define BPT_GPU_KERNEL_H

#include "bpt/base.h"

enum {
    BPT_GPU_MAX_CONSTANTS = 32,
    BPT_GPU_MAX_BINDINGS = 16,
    BPT_GPU_PARAMS_BYTES = 128,  // what every Vulkan device has for push constants
};

// Every parameter block begins with this. The work-groups of one dispatch may be a part of a kernel's whole range; a binding begins
// `skew` elements before the operand, where an API can bind multiples of some alignment only (Vulkan; elsewhere 0).
#define BPT_GPU_PARAMS_HEAD \
    uint32_t first_group;   \
    uint8_t skew[BPT_GPU_MAX_BINDINGS];

// Per kernel: <kernel>_params_t, and enumerators <kernel>_<constant>, <kernel>_<binding> for their numbers.
#define BPT_PASTE3_(a, b, c) a##b##c
#define BPT_PASTE3(a, b, c) BPT_PASTE3_(a, b, c)
#define BPT_GPU_VISIT "backends/gpu/kernel_types.h"
#include "backends/gpu/kernels.def"
#undef BPT_GPU_VISIT

typedef enum {
#define BPT_GPU_VISIT "backends/gpu/kernel_enum.h"
#include "backends/gpu/kernels.def"
#undef BPT_GPU_VISIT
    BPT_GPU_KERNEL_COUNT
} bpt_gpu_kernel_t;

typedef enum {
    BPT_GPU_BINDING_F,  // any float type
    BPT_GPU_BINDING_G,  // any float type, only read
    BPT_GPU_BINDING_R,  // f32
    BPT_GPU_BINDING_U,  // u32
    BPT_GPU_BINDING_V,  // f32 by fours
    BPT_GPU_BINDING_T,  // f32 by fours, only read
    BPT_GPU_BINDING_E,  // f16, alone or by eights
} bpt_gpu_binding_kind_t;

// Is the element type of such a binding part of a variant?
static inline bool bpt_gpu_binding_is_typed(bpt_gpu_binding_kind_t kind) { return kind == BPT_GPU_BINDING_F || kind == BPT_GPU_BINDING_G; }
// May a variant read such a binding as texels?
static inline bool bpt_gpu_binding_has_texels(bpt_gpu_binding_kind_t kind) {
    return kind == BPT_GPU_BINDING_G || kind == BPT_GPU_BINDING_T;
}

// What a kernel needs of a device beyond what every one has: the sections of kernels.def.
typedef enum {
    BPT_GPU_NEEDS_NOTHING,
    BPT_GPU_NEEDS_WARPS,      // whose items share matrix units (limits.mma), in CUDA alone
    BPT_GPU_NEEDS_FRAGMENTS,  // that a subgroup shares (limits.fragments)
    BPT_GPU_NEEDS_TEXELS,     // buffers read as texels (limits.max_texels)
} bpt_gpu_needs_t;

typedef struct {
    const char *name;
    bpt_gpu_needs_t needs;
    const char *constants[BPT_GPU_MAX_CONSTANTS];  // NULL after the last
    struct {
        const char *name;  // NULL after the last
        bpt_gpu_binding_kind_t kind;
    } bindings[BPT_GPU_MAX_BINDINGS];
    uint32_t params_bytes;
    uint64_t (*local_bytes)(uint32_t group_size, const uint32_t *constants);  // local memory of a group
} bpt_gpu_kernel_info_t;

extern const bpt_gpu_kernel_info_t bpt_gpu_kernels[BPT_GPU_KERNEL_COUNT];

#endif
