// The functions of the CUDA driver (libcuda.so.1, or what BPT_CUDA_LIBRARY names) and of the compiler NVRTC (libnvrtc.so.13 or .12, or what
// BPT_NVRTC_LIBRARY names), and of the library of products cuBLASLt (libcublasLt.so.13 or .12, or what BPT_CUBLASLT_LIBRARY names), opened
// at run time, never linked. Knows nothing of kernels.
#ifndef BPT_CUDA_LOADER_H
#define BPT_CUDA_LOADER_H

#include <cublasLt.h>
#include <cuda.h>
#include <nvrtc.h>

#include "bpt/backend.h"
#include "bpt/status.h"

// Of each function the symbol whose signature the headers declare: cuda.h renames functions from version to version.
#define BPT_CUDA_FUNCTIONS(X)                                     \
    X(cuInit, "cuInit")                                           \
    X(cuDriverGetVersion, "cuDriverGetVersion")                   \
    X(cuGetErrorName, "cuGetErrorName")                           \
    X(cuGetErrorString, "cuGetErrorString")                       \
    X(cuDeviceGetCount, "cuDeviceGetCount")                       \
    X(cuDeviceGet, "cuDeviceGet")                                 \
    X(cuDeviceGetName, "cuDeviceGetName")                         \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute")               \
    X(cuDeviceTotalMem, "cuDeviceTotalMem_v2")                    \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")       \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2")  \
    X(cuCtxSetCurrent, "cuCtxSetCurrent")                         \
    X(cuMemAlloc, "cuMemAlloc_v2")                                \
    X(cuMemFree, "cuMemFree_v2")                                  \
    X(cuMemAllocAsync, "cuMemAllocAsync")                         \
    X(cuMemFreeAsync, "cuMemFreeAsync")                           \
    X(cuMemsetD8Async, "cuMemsetD8Async")                         \
    X(cuMemHostAlloc, "cuMemHostAlloc")                           \
    X(cuMemFreeHost, "cuMemFreeHost")                             \
    X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2")                  \
    X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2")                  \
    X(cuModuleLoadData, "cuModuleLoadData")                       \
    X(cuModuleUnload, "cuModuleUnload")                           \
    X(cuModuleGetFunction, "cuModuleGetFunction")                 \
    X(cuFuncGetAttribute, "cuFuncGetAttribute")                   \
    X(cuLaunchKernel, "cuLaunchKernel")                           \
    X(cuStreamCreate, "cuStreamCreate")                           \
    X(cuStreamDestroy, "cuStreamDestroy_v2")                      \
    X(cuStreamQuery, "cuStreamQuery")                             \
    X(cuStreamSynchronize, "cuStreamSynchronize")                 \
    X(cuStreamWaitEvent, "cuStreamWaitEvent")                     \
    X(cuStreamBeginCapture, "cuStreamBeginCapture_v2")            \
    X(cuStreamEndCapture, "cuStreamEndCapture")                   \
    X(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags") \
    X(cuGraphLaunch, "cuGraphLaunch")                             \
    X(cuGraphExecDestroy, "cuGraphExecDestroy")                   \
    X(cuGraphDestroy, "cuGraphDestroy")                           \
    X(cuEventCreate, "cuEventCreate")                             \
    X(cuEventDestroy, "cuEventDestroy_v2")                        \
    X(cuEventRecordWithFlags, "cuEventRecordWithFlags")           \
    X(cuEventQuery, "cuEventQuery")                               \
    X(cuEventSynchronize, "cuEventSynchronize")                   \
    X(cuEventElapsedTime, "cuEventElapsedTime")

#define BPT_NVRTC_FUNCTIONS(X)                                                                                            \
    X(nvrtcVersion)                                                                                                       \
    X(nvrtcGetErrorString)                                                                                                \
    X(nvrtcGetNumSupportedArchs)                                                                                          \
    X(nvrtcGetSupportedArchs)                                                                                             \
    X(nvrtcCreateProgram)                                                                                                 \
    X(nvrtcDestroyProgram) X(nvrtcCompileProgram) X(nvrtcGetPTXSize) X(nvrtcGetPTX) X(nvrtcGetCUBINSize) X(nvrtcGetCUBIN) \
        X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog)

#define BPT_CUBLASLT_FUNCTIONS(X)                                                                                               \
    X(cublasLtGetVersion)                                                                                                       \
    X(cublasLtGetStatusName)                                                                                                    \
    X(cublasLtCreate)                                                                                                           \
    X(cublasLtDestroy)                                                                                                          \
    X(cublasLtMatmulDescCreate)                                                                                                 \
    X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute) X(cublasLtMatrixLayoutCreate) X(cublasLtMatrixLayoutDestroy) \
        X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy) X(cublasLtMatmulPreferenceSetAttribute)            \
            X(cublasLtMatmulAlgoGetHeuristic) X(cublasLtMatmul)

typedef struct {
#define BPT_CUDA_POINTER(name, symbol) __typeof__(name) *name;
    BPT_CUDA_FUNCTIONS(BPT_CUDA_POINTER)
#undef BPT_CUDA_POINTER
    int version;  // of CUDA, as the driver says: 12040 is 12.4
} bpt_cuda_functions_t;

typedef struct {
#define BPT_NVRTC_POINTER(name) __typeof__(name) *name;
    BPT_NVRTC_FUNCTIONS(BPT_NVRTC_POINTER)
#undef BPT_NVRTC_POINTER
    int major, minor;
    int archs[64], n_archs;  // what it compiles for, in rising order: 90 is compute capability 9.0
} bpt_nvrtc_functions_t;

typedef struct {
#define BPT_CUBLASLT_POINTER(name) __typeof__(name) *name;
    BPT_CUBLASLT_FUNCTIONS(BPT_CUBLASLT_POINTER)
#undef BPT_CUBLASLT_POINTER
    int major, minor;
} bpt_cublaslt_functions_t;

extern const bpt_loader_t bpt_cuda_loader;  // the files that are looked for
// Load the library on the first call; *out stays valid to the end of the process. BPT_ERR_UNAVAILABLE says what to install.
bpt_status_t bpt_cuda_load(const bpt_cuda_functions_t **out);
// With a driver the release that it understands comes first, else the newest.
bpt_status_t bpt_nvrtc_load(const bpt_nvrtc_functions_t **out);
// Of a release that the driver understands; BPT_CUBLASLT_LIBRARY=none: it is not used.
bpt_status_t bpt_cublaslt_load(const bpt_cublaslt_functions_t **out);
bool bpt_cublaslt_describe(char *text, size_t bytes);  // as bpt_gpu_driver_t's library

#endif
