// Included once per kernel by kernel.h, after the kernel's .inc: its enumerator, BPT_GPU_<kernel>.
BPT_PASTE3(BPT_GPU, _, KERNEL),
#include "backends/gpu/kernel_undef.h"
