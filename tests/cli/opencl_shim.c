// An OpenCL library that misbehaves on demand and passes everything else on to the real one. Environment variables:
//   SHIM_FAIL_AT=N         the N-th kernel launch since this was set fails as if the driver had reset the device; with SHIM_FAIL_ALWAYS
//                          all later ones too
//   SHIM_COUNT=FILE        the number of launches is written to this file when the process ends
//   SHIM_CRASH             the process dies when it asks for platforms
//   SHIM_EXIT              it calls exit(0) then
//   SHIM_VERSION=TEXT      what the devices say they offer
//   SHIM_TYPE=KIND         all devices are "discrete" or "integrated" GPUs at 0000:03:00.0
//   SHIM_BREAK_BUILD       kernels are compiled with an option that breaks their text
//   SHIM_NO_TEXT           kernels can be made from binaries only;  SHIM_NO_BINARY: from their text only
//   SHIM_MAX_BLOCK=BYTES   larger blocks of memory cannot be had
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(name)                 \
    static __typeof__(name) *real; \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)

static long launches;

__attribute__((destructor)) static void write_count(void) {
    FILE *f = getenv("SHIM_COUNT") ? fopen(getenv("SHIM_COUNT"), "w") : NULL;
    if (!f) return;
    fprintf(f, "%ld\n", launches);
    fclose(f);
}

EXPORT cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                     const size_t *global, const size_t *local, cl_uint n_events, const cl_event *events, cl_event *event) {
    REAL(clEnqueueNDRangeKernel);
    static long first;
    const char *fail_at = getenv("SHIM_FAIL_AT");
    const long wanted = fail_at ? atol(fail_at) : 0;
    if (wanted != first) launches = 0;
    first = wanted;
    ++launches;
    if (first && (launches == first || (launches > first && getenv("SHIM_FAIL_ALWAYS")))) return CL_OUT_OF_RESOURCES;
    return real(queue, kernel, dimensions, offset, global, local, n_events, events, event);
}

EXPORT cl_int clGetPlatformIDs(cl_uint capacity, cl_platform_id *platforms, cl_uint *count) {
    REAL(clGetPlatformIDs);
    if (getenv("SHIM_CRASH")) {
        signal(SIGSEGV, SIG_DFL);  // also where a sanitizer would turn it into an exit
        raise(SIGSEGV);
    }
    if (getenv("SHIM_EXIT")) exit(0);
    return real(capacity, platforms, count);
}

static cl_int give(const void *value, size_t bytes, size_t capacity, void *out, size_t *length) {
    if (length) *length = bytes;
    if (out && capacity < bytes) return CL_INVALID_VALUE;
    if (out) memcpy(out, value, bytes);
    return CL_SUCCESS;
}

EXPORT cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t capacity, void *out, size_t *length) {
    REAL(clGetDeviceInfo);
    enum { PCI_BUS_INFO_KHR = 0x410F };
    const char *version = getenv("SHIM_VERSION"), *type = getenv("SHIM_TYPE");
    const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    const cl_bool unified = type && !strcmp(type, "integrated");
    const cl_uint place[4] = {0, 3, 0, 0};
    static const char extensions[] = "cl_khr_pci_bus_info";
    if (version && what == CL_DEVICE_VERSION) return give(version, strlen(version) + 1, capacity, out, length);
    if (type && what == CL_DEVICE_TYPE) return give(&gpu, sizeof gpu, capacity, out, length);
    if (type && what == CL_DEVICE_HOST_UNIFIED_MEMORY) return give(&unified, sizeof unified, capacity, out, length);
    if (type && what == CL_DEVICE_EXTENSIONS) return give(extensions, sizeof extensions, capacity, out, length);
    if (type && what == PCI_BUS_INFO_KHR) return give(place, sizeof place, capacity, out, length);
    return real(device, what, capacity, out, length);
}

EXPORT cl_int clBuildProgram(cl_program program, cl_uint n_devices, const cl_device_id *devices, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    REAL(clBuildProgram);
    char broken[4096];
    snprintf(broken, sizeof broken, "%s -DWG=broken", options);
    return real(program, n_devices, devices, getenv("SHIM_BREAK_BUILD") ? broken : options, notify, user);
}

EXPORT cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *code) {
    REAL(clCreateProgramWithSource);
    if (!getenv("SHIM_NO_TEXT")) return real(context, count, texts, lengths, code);
    *code = CL_INVALID_OPERATION;
    return NULL;
}

EXPORT cl_program clCreateProgramWithBinary(cl_context context, cl_uint n_devices, const cl_device_id *devices, const size_t *lengths,
                                            const unsigned char **binaries, cl_int *statuses, cl_int *code) {
    REAL(clCreateProgramWithBinary);
    if (!getenv("SHIM_NO_BINARY")) return real(context, n_devices, devices, lengths, binaries, statuses, code);
    *code = CL_INVALID_BINARY;
    return NULL;
}

EXPORT cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *code) {
    REAL(clCreateBuffer);
    const char *most = getenv("SHIM_MAX_BLOCK");
    if (!most || bytes <= strtoull(most, NULL, 10)) return real(context, flags, bytes, host, code);
    *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return NULL;
}
