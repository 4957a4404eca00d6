// Products by cuBLASLt, where it is installed (loader.h). It puts its kernels into the device's stream, captured or not. Knows no list
// and no op.
#ifndef BPT_CUDA_CUBLASLT_H
#define BPT_CUDA_CUBLASLT_H

#include "backends/cuda/internal.h"

#define BPT_CUBLASLT_FLOPS 68719476736.0  // of one product: 64 GFLOP, some 20 ms on the slowest device

// As in bpt_gpu_driver_t.
bool bpt_cublaslt_can(bpt_gpu_api_t *api, const bpt_gpu_product_t *product);
bpt_status_t bpt_cublaslt_scratch(bpt_gpu_api_t *api, const bpt_gpu_product_t *product, size_t *bytes);

// A recorded product: its description and the algorithm, chosen once.
typedef struct bpt_cublaslt_product bpt_cublaslt_product_t;
// *out is set as soon as there is something to forget, also on failure.
bpt_status_t bpt_cublaslt_record(bpt_cuda_api_t *api, const bpt_gpu_product_t *product, bpt_cublaslt_product_t **out);
bpt_status_t bpt_cublaslt_enqueue(bpt_cuda_api_t *api, const bpt_cublaslt_product_t *product);
void bpt_cublaslt_forget(bpt_cublaslt_product_t *product);
void bpt_cublaslt_close(bpt_cuda_api_t *api);  // nothing runs any more

#endif
