// Kernels compiled by NVRTC, which needs no GPU and no driver.
#ifndef BPT_CUDA_COMPILE_H
#define BPT_CUDA_COMPILE_H

#include "backends/cuda/loader.h"
#include "backends/gpu/driver.h"

// For a device of this compute capability (90 = 9.0): "sm_90", machine code of the device's generation, or, where NVRTC is older than the
// device, "compute_90", assembly that the driver translates. BPT_ERR_UNSUPPORTED: NVRTC no longer compiles for so old a device.
bpt_status_t bpt_cuda_arch(const bpt_nvrtc_functions_t *nvrtc, int capability, char arch[24]);

// The image for cuModuleLoadData, from bpt_alloc. BPT_ERR_UNSUPPORTED with the first line of the log that speaks of an error.
bpt_status_t bpt_cuda_compile(const bpt_nvrtc_functions_t *nvrtc, const bpt_gpu_variant_t *variant, const char *arch, char **image,
                              size_t *bytes);
// The kernel's text after the preprocessor, from bpt_alloc; needs no NVRTC.
bpt_status_t bpt_cuda_source(const bpt_gpu_variant_t *variant, int capability, char **out);
// What ptxas says of the kernel, from bpt_alloc, "" where the image is assembly; *code_bytes are those of its machine code, 0: unknown.
bpt_status_t bpt_cuda_list(const bpt_nvrtc_functions_t *nvrtc, const bpt_gpu_variant_t *variant, const char *arch, char **listing,
                           size_t *code_bytes);

#endif
