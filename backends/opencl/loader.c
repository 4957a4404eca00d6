// Finds libOpenCL.so.1 and its functions (see loader.h). The library stays loaded: drivers do not survive being unloaded.
#include "backends/opencl/loader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/library.h"
#include "bpt/platforms.h"

static struct {
    bpt_opencl_functions_t functions;
    char reason[512];  // "" when loaded
} library;

// The linker names the file that it did not find: the loader, or something that the loader needs.
static void say_why_not(const char *name, const char *error) {
    if (strstr(error, "No such file") && strncmp(error, name, strlen(name)))
        snprintf(
            library.reason, sizeof library.reason,
            "the OpenCL loader %s is there, but not all that it needs (%s); install what is missing, or the package of the loader again",
            name, error);
    else
        snprintf(library.reason, sizeof library.reason, "the OpenCL loader cannot be opened (%s); %s, and a driver", error,
                 bpt_platform_remedy(BPT_NEED_OPENCL_LOADER));
}

static void load(void) {
    const char *other = getenv("BPT_OPENCL_LIBRARY");
    void *handle = bpt_library_open(BPT_LIBRARY_OPENCL, other);
    if (!handle) {
        say_why_not(other && *other ? other : bpt_library_name(BPT_LIBRARY_OPENCL), bpt_library_error());
        return;
    }
#define BPT_OPENCL_FIND(name)                                                          \
    library.functions.name = (__typeof__(library.functions.name))bpt_library_symbol(handle, #name); \
    if (!library.functions.name)                                                       \
        snprintf(library.reason, sizeof library.reason, "the OpenCL loader is too old: it has no %s (OpenCL 1.2)", #name);
    BPT_OPENCL_FUNCTIONS(BPT_OPENCL_FIND)
#undef BPT_OPENCL_FIND
}

bpt_status_t bpt_opencl_load(const bpt_opencl_functions_t **out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (*library.reason) return bpt_fail(BPT_ERR_UNAVAILABLE, "%s", library.reason);
    *out = &library.functions;
    return BPT_OK;
}

const char *bpt_opencl_error_name(cl_int code) {
    switch (code) {
    case CL_DEVICE_NOT_AVAILABLE: return "CL_DEVICE_NOT_AVAILABLE";
    case CL_COMPILER_NOT_AVAILABLE: return "CL_COMPILER_NOT_AVAILABLE";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
    case CL_OUT_OF_RESOURCES: return "CL_OUT_OF_RESOURCES";
    case CL_OUT_OF_HOST_MEMORY: return "CL_OUT_OF_HOST_MEMORY";
    case CL_BUILD_PROGRAM_FAILURE: return "CL_BUILD_PROGRAM_FAILURE";
    case CL_INVALID_VALUE: return "CL_INVALID_VALUE";
    case CL_INVALID_BUFFER_SIZE: return "CL_INVALID_BUFFER_SIZE";
    case CL_INVALID_WORK_GROUP_SIZE: return "CL_INVALID_WORK_GROUP_SIZE";
    case CL_INVALID_KERNEL_ARGS: return "CL_INVALID_KERNEL_ARGS";
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: return "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST";
    case -1001: return "CL_PLATFORM_NOT_FOUND_KHR";
    default: return "OpenCL error";
    }
}
