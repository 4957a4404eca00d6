// An OpenCL library whose SHIM_FAIL_AT-th kernel launch (and, with SHIM_FAIL_ALWAYS, every later one) fails as if the driver had reset the
// device. Everything else is the real library's.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdlib.h>

__attribute__((visibility("default"))) cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                                                     const size_t *offset, const size_t *global, const size_t *local,
                                                                     cl_uint n_events, const cl_event *events, cl_event *event) {
    static __typeof__(clEnqueueNDRangeKernel) *real;
    static long launches;
    const char *fail_at = getenv("SHIM_FAIL_AT");
    const long first = fail_at ? atol(fail_at) : 0;
    ++launches;
    if (first && (launches == first || (launches > first && getenv("SHIM_FAIL_ALWAYS")))) return CL_OUT_OF_RESOURCES;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    return real(queue, kernel, dimensions, offset, global, local, n_events, events, event);
}
