// Exchanges between the memories of GPUs in several processes by NCCL (libnccl.so.2, or what BPT_NCCL_LIBRARY names), opened at run time.
#ifndef BPT_CUDA_NCCL_H
#define BPT_CUDA_NCCL_H

#include "backends/gpu/driver.h"

extern const bpt_gpu_links_t bpt_nccl_links;

#endif
