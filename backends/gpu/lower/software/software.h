// Devices in software: drivers of a GPU API that run kernels on the processor (OpenCL: PoCL, Intel's; Vulkan: Mesa's llvmpipe). What only
// they need stands in this folder and in cl/software. The rest of lower/ asks bpt_lower_in_software(l) and then one of these functions, so
// that whoever has a GPU need read no further. "False": nothing was emitted, and the call goes on as on a GPU.
#ifndef BPT_GPU_LOWER_SOFTWARE_H
#define BPT_GPU_LOWER_SOFTWARE_H

#include "backends/gpu/lower/gemm.h"

// Is the device Mesa's rasterizer, and may kernels read texels? It pays for every work-item's access to local memory and reads texels of
// many items at once, so there an item takes a whole row, or node, by float4s.
bool bpt_software_reads_texels(const bpt_lower_t *l);
bool bpt_software_is_by_fours(const bpt_view_t *v);  // f32 at a multiple of four elements, or absent
bool bpt_software_are_by_fours(const bpt_view_t *v, int count);

// Work-items of a group that takes a row: as many as Mesa's rasterizer works on side by side, as further ones cost as much again; else one,
// since OpenCL drivers for processors make much better code without barriers.
uint32_t bpt_software_group(const bpt_lower_t *l);

// One window of an op, whose kernel call is filled in as for a GPU.
bool bpt_software_adam(bpt_lower_t *l, const bpt_kernel_call_t *k, const adam_params_t *params);
bool bpt_software_layernorm(bpt_lower_t *l, const bpt_kernel_call_t *k, const layernorm_params_t *params, int64_t rows);
bool bpt_software_layernorm_grad(bpt_lower_t *l, const bpt_kernel_call_t *k, const layernorm_grad_params_t *params, int64_t rows);

// c of a part of a product without local memory, ldc elements from row to row (matmul.c). Also on a GPU that was told to (BPT_TUNING=wide).
bool bpt_software_gemm(bpt_lower_t *l, const bpt_gpu_gemm_t *g, int64_t lda, int64_t ldb, int64_t ldc);
// The same however small it is; columns of c, acc and bias lie by float4s.
void bpt_software_multiply(bpt_lower_t *l, const bpt_gpu_gemm_t *g, int64_t lda, int64_t ldb, int64_t ldc);

#endif
