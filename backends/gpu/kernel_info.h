// Included once per kernel by kernel.c, after the kernel's .inc: its entry in the table of kernels.
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define CONSTANT(number, name) [number] = #name,
#define BINDING(number, kind, name) [number] = {#name, BPT_GPU_BINDING_##kind},
[BPT_PASTE3(BPT_GPU, _, KERNEL)] = {.name = TEXT(KERNEL),
                                    .needs = BPT_PASTE3(BPT_GPU, _NEEDS_, NEEDS),
                                    .constants = {CONSTANTS(CONSTANT)},
                                    .bindings = {BINDINGS(BINDING)},
                                    .local_bytes = BPT_PASTE3(KERNEL, _local, _bytes),
                                    .params_bytes = sizeof(BPT_PASTE3(KERNEL, _params_, t))},
#undef TEXT_
#undef TEXT
#undef CONSTANT
#undef BINDING
#include "backends/gpu/kernel_undef.h"
