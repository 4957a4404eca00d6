// The table of one instruction set (isa.h).
#include "backends/cpu/kernels/isa.h"

#define BPT_ISA_STRING_(isa) #isa
#define BPT_ISA_STRING(isa) BPT_ISA_STRING_(isa)

const bpt_cpu_kernels_t BPT_KERNEL_NAME(table) = {
    .isa = BPT_ISA_STRING(BPT_ISA),
#define BPT_KERNEL(type, name, args) .name = BPT_KERNEL_NAME(name),
#include "backends/cpu/kernels/kernels.def"
#undef BPT_KERNEL
};
