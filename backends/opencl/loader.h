// The OpenCL functions, from the ICD loader that is there at run time (libOpenCL.so.1, or what
// BPT_OPENCL_LIBRARY names), never linked. Knows nothing of kernels.
#ifndef BPT_OPENCL_LOADER_H
#define BPT_OPENCL_LOADER_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "bpt/status.h"

#define BPT_OPENCL_FUNCTIONS(X)                                                                                                    \
    X(clGetPlatformIDs)                                                                                                            \
    X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext) X(clReleaseContext) X(clCreateCommandQueue)       \
        X(clReleaseCommandQueue) X(clCreateBuffer) X(clCreateSubBuffer) X(clReleaseMemObject) X(clEnqueueFillBuffer)               \
            X(clEnqueueReadBuffer) X(clEnqueueWriteBuffer) X(clCreateProgramWithSource) X(clBuildProgram) X(clGetProgramBuildInfo) \
                X(clCreateProgramWithBinary) X(clGetProgramInfo) X(clReleaseProgram) X(clCreateKernel) X(clReleaseKernel)          \
                    X(clSetKernelArg) X(clGetKernelWorkGroupInfo) X(clEnqueueNDRangeKernel) X(clEnqueueMarkerWithWaitList)         \
                        X(clRetainCommandQueue) X(clFlush) X(clFinish) X(clRetainEvent) X(clReleaseEvent) X(clGetEventInfo)        \
                            X(clGetEventProfilingInfo) X(clSetEventCallback)

typedef struct {
#define BPT_OPENCL_POINTER(name) __typeof__(name) *name;
    BPT_OPENCL_FUNCTIONS(BPT_OPENCL_POINTER)
#undef BPT_OPENCL_POINTER
} bpt_opencl_functions_t;

// Loads the library on the first call; *out stays valid to the end of the process. BPT_ERR_UNAVAILABLE says what to install.
bpt_status_t bpt_opencl_load(const bpt_opencl_functions_t **out);

const char *bpt_opencl_error_name(cl_int code);

#endif
