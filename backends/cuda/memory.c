// Memory of a device, and the ways of its bytes. Everything goes through the stream of the kernels, allocations and their end too where the
// device has pools of memory: nobody waits for them. What is written is copied into one half of a pinned block and goes to the device from
// there, behind what was submitted before, while the host fills the other half; before a half is filled again its bytes have been read.
#include <string.h>

#include "backends/cuda/internal.h"
#include "bpt/alloc.h"

enum { HALF_BYTES = 4 << 20, ALIGNMENT = 256 };

void bpt_cuda_memory_destroy(bpt_gpu_api_t *base, bpt_gpu_memory_t *memory) {
    bpt_cuda_api_t *api = (bpt_cuda_api_t *)base;
    if (!memory) return;
    if (memory->address && api->pools && !api->stuck) {
        api->cuda->cuCtxSetCurrent(api->context);
        api->cuda->cuMemFreeAsync(memory->address, api->stream);
    } else if (memory->address && !api->pools && bpt_cuda_idle(api)) {
        api->cuda->cuMemFree(memory->address);
    }
    bpt_free(memory);
}

bpt_status_t bpt_cuda_memory_create(bpt_gpu_api_t *base, size_t bytes, bpt_gpu_memory_t **out) {
    bpt_cuda_api_t *api = (bpt_cuda_api_t *)base;
    bpt_gpu_memory_t *memory;
    BPT_TRY(bpt_cuda_enter(api));
    BPT_TRY(bpt_alloc(1, sizeof *memory, &memory));
    const CUresult code =
        api->pools ? api->cuda->cuMemAllocAsync(&memory->address, bytes, api->stream) : api->cuda->cuMemAlloc(&memory->address, bytes);
    bpt_status_t status = bpt_cuda_check(api, code, "allocating memory");
    if (status == BPT_OK)
        status = bpt_cuda_check(api, api->cuda->cuMemsetD8Async(memory->address, 0, bytes, api->stream), "clearing memory");
    if (status != BPT_OK) {
        bpt_cuda_memory_destroy(base, memory);
        return bpt_context(status, "a block of %.1f MiB", (double)bytes / 1048576);
    }
    *out = memory;
    return BPT_OK;
}

static bpt_status_t open_staging(bpt_cuda_api_t *api) {
    bpt_cuda_staging_t *s = &api->staging;
    for (int half = 0; half < 2; ++half)
        if (!s->read[half])
            BPT_TRY(bpt_cuda_check(api, api->cuda->cuEventCreate(&s->read[half], CU_EVENT_DISABLE_TIMING), "making an event"));
    if (s->memory) return BPT_OK;
    return bpt_cuda_check(api, api->cuda->cuMemHostAlloc((void **)&s->memory, 2 * HALF_BYTES, 0), "allocating pinned memory");
}

void bpt_cuda_staging_free(bpt_cuda_api_t *api) {
    for (int half = 0; half < 2; ++half)
        if (api->staging.read[half]) api->cuda->cuEventDestroy(api->staging.read[half]);
    if (api->staging.memory) api->cuda->cuMemFreeHost(api->staging.memory);
}

// Goes over to the other half, once the device has read what was in it.
static bpt_status_t turn(bpt_cuda_api_t *api) {
    bpt_cuda_staging_t *s = &api->staging;
    const CUresult code = api->cuda->cuEventRecordWithFlags(s->read[s->half], api->stream, CU_EVENT_RECORD_DEFAULT);
    BPT_TRY(bpt_cuda_check(api, code, "writing to the device"));
    s->pending[s->half] = true;
    s->half = 1 - s->half;
    s->used = 0;
    if (!s->pending[s->half]) return BPT_OK;
    s->pending[s->half] = false;
    return bpt_cuda_check(api, api->cuda->cuEventSynchronize(s->read[s->half]), "writing to the device");
}

static bpt_status_t stage(bpt_cuda_api_t *api, CUdeviceptr target, const void *source, size_t bytes) {
    bpt_cuda_staging_t *s = &api->staging;
    if (s->used + bytes > HALF_BYTES) BPT_TRY(turn(api));
    char *place = s->memory + (size_t)s->half * HALF_BYTES + s->used;
    memcpy(place, source, bytes);
    s->used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return bpt_cuda_check(api, api->cuda->cuMemcpyHtoDAsync(target, place, bytes, api->stream), "writing to the device");
}

bpt_status_t bpt_cuda_write(bpt_gpu_api_t *base, bpt_gpu_memory_t *memory, size_t offset, const void *source, size_t bytes) {
    bpt_cuda_api_t *api = (bpt_cuda_api_t *)base;
    BPT_TRY(bpt_cuda_enter(api));
    BPT_TRY(open_staging(api));
    for (size_t done = 0, piece; done < bytes; done += piece) {
        piece = bytes - done < HALF_BYTES ? bytes - done : HALF_BYTES;
        BPT_TRY(stage(api, memory->address + offset + done, (const char *)source + done, piece));
    }
    return BPT_OK;
}

bpt_status_t bpt_cuda_read(bpt_gpu_api_t *base, bpt_gpu_memory_t *memory, size_t offset, void *target, size_t bytes) {
    bpt_cuda_api_t *api = (bpt_cuda_api_t *)base;
    BPT_TRY(bpt_cuda_enter(api));
    if (bytes == 0) return BPT_OK;
    const CUresult code = api->cuda->cuMemcpyDtoHAsync(target, memory->address + offset, bytes, api->stream);
    BPT_TRY(bpt_cuda_check(api, code, "reading from the device"));
    return bpt_cuda_check(api, api->cuda->cuStreamSynchronize(api->stream), "reading from the device");
}
