// The table of one instruction set (isa.h).
#include "backends/cpu/kernels/isa.h"

#define BPT_ISA_STRING_(isa) #isa
#define BPT_ISA_STRING(isa) BPT_ISA_STRING_(isa)

const bpt_cpu_kernels_t BPT_KERNEL_NAME(table) = {
    .isa = BPT_ISA_STRING(BPT_ISA),
#if defined(__AVX512BF16__)
    .multiplies_bf16 = true,
#endif
#define BPT_KERNEL(type, name, args) .name = BPT_KERNEL_BASE_NAME(name),
#define BPT_DOT_KERNEL(type, name, args) .name = BPT_KERNEL_NAME(name),
#include "backends/cpu/kernels/kernels.def"
#undef BPT_DOT_KERNEL
#undef BPT_KERNEL
};
