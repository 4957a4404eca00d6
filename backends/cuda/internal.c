// Errors of the CUDA driver, and the context of a thread (see internal.h).
#include "backends/cuda/internal.h"

#include <time.h>

#include "bpt/clock.h"

// Errors of kernels and of the machine, after which every call on the context fails.
static bool is_loss(CUresult code) {
    switch ((int)code) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case 226:  // CUDA_ERROR_CONTAINED of later headers
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN: return true;
    default: return false;
    }
}

bpt_status_t bpt_cuda_fail(bpt_cuda_api_t *api, CUresult code, const char *what) {
    const char *name = NULL, *remedy = "";
    const bool loss = is_loss(code);
    const bpt_status_t status = code == CUDA_ERROR_OUT_OF_MEMORY        ? BPT_ERR_NO_MEMORY
                                : code == CUDA_ERROR_DEVICE_UNAVAILABLE ? BPT_ERR_UNAVAILABLE
                                : loss                                  ? BPT_ERR_DEVICE_LOST
                                                                        : BPT_ERR_INTERNAL;
    if (api->cuda->cuGetErrorName(code, &name) != CUDA_SUCCESS || !name) name = "an unknown error";
    if (code == CUDA_ERROR_LAUNCH_TIMEOUT) remedy = ": the watchdog of a GPU with a display; lower --submit-ms";
    if (code == CUDA_ERROR_DEVICE_UNAVAILABLE) remedy = ": another program has it for itself (nvidia-smi shows which)";
    api->lost = api->lost || loss;
    return bpt_fail(status, "CUDA: %s failed with %s (%d)%s", what, name, (int)code, remedy);
}

bpt_status_t bpt_cuda_enter(bpt_cuda_api_t *api) {
    if (api->lost) return bpt_fail(BPT_ERR_DEVICE_LOST, "%s was lost earlier; open it again", api->name);
    return bpt_cuda_check(api, api->cuda->cuCtxSetCurrent(api->context), "entering the context");
}

bool bpt_cuda_idle(bpt_cuda_api_t *api) {
    enum { GRACE_S = 10 };
    const double end = bpt_clock_seconds() + (api->stuck ? 0 : GRACE_S);
    if (!api->stream) return true;
    api->cuda->cuCtxSetCurrent(api->context);
    do {
        if (api->cuda->cuStreamQuery(api->stream) != CUDA_ERROR_NOT_READY) {  // done, or lost: nothing runs in a lost context
            api->finished = api->submitted;
            api->stuck = false;
            return true;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    } while (bpt_clock_seconds() < end);
    api->stuck = true;
    return false;
}
