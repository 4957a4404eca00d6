// Errors of the OpenCL driver (see internal.h).
#include "backends/opencl/internal.h"

bpt_status_t bpt_opencl_fail(cl_int code, const char *what) {
    const bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
    const bool lost =
        code == CL_OUT_OF_RESOURCES || code == CL_DEVICE_NOT_AVAILABLE || code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return bpt_fail(memory ? BPT_ERR_NO_MEMORY
                    : lost ? BPT_ERR_DEVICE_LOST
                           : BPT_ERR_INTERNAL,
                    "OpenCL: %s failed with %s (%d)", what, bpt_opencl_error_name(code), code);
}
