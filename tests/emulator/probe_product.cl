// The kernel that multiplies by fragments, whose text is that of Vulkan's shader, in CUDA.
#include "cl/matrix/matmul_matrix.inc"
KERNEL_TYPES
#include "cl/matrix/matmul_matrix.cl"
