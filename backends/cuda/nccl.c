// Exchanges between GPUs by NCCL (see nccl.h): what goes to each rank and comes from it, as one group of sends and receives in a stream of
// their own, beside the kernels. NCCL's own sums are not used: the order in which they add depends on how the GPUs are connected.
#include "backends/cuda/nccl.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/internal.h"
#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "bpt/env.h"
#include "bpt/library.h"

// The part of NCCL's interface that is used here; it has been the same since 2.7, the first version with sends and receives.
typedef struct ncclComm *nccl_comm_t;
typedef struct {
    char bytes[BPT_LINK_ID_BYTES];
} nccl_id_t;
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_UINT8 = 1 };

#define NCCL_FUNCTIONS(X)                                                \
    X(ncclGetVersion, (int *))                                           \
    X(ncclGetUniqueId, (nccl_id_t *))                                    \
    X(ncclCommInitRank, (nccl_comm_t *, int, nccl_id_t, int))            \
    X(ncclCommDestroy, (nccl_comm_t))                                    \
    X(ncclCommAbort, (nccl_comm_t))                                      \
    X(ncclCommGetAsyncError, (nccl_comm_t, int *))                       \
    X(ncclGroupStart, (void))                                            \
    X(ncclGroupEnd, (void))                                              \
    X(ncclSend, (const void *, size_t, int, int, nccl_comm_t, CUstream)) \
    X(ncclRecv, (void *, size_t, int, int, nccl_comm_t, CUstream))

static struct {
#define NCCL_POINTER(name, parameters) int(*name) parameters;
    NCCL_FUNCTIONS(NCCL_POINTER)
#undef NCCL_POINTER
    const char *(*ncclGetErrorString)(int);
    char text[320];  // name and version, or why it cannot be used
    bool there, named;
} nccl;

struct bpt_gpu_link {
    bpt_cuda_api_t *api;
    nccl_comm_t comm;
    CUstream stream;
    int rank, size;
    bool failed;
};

// ---- Loading

static void *symbol(void *library, const char *name) {
    void *function = bpt_library_symbol(library, name);
    if (!function && !*nccl.text)
        snprintf(nccl.text, sizeof nccl.text, "NCCL is too old: it has no %s; install version 2.7 or newer", name);
    return function;
}

static void load(void) {
    const char *other = bpt_env_text("BPT_NCCL_LIBRARY");
    int version = 0;
    if (other && !strcmp(other, "none")) {
        snprintf(nccl.text, sizeof nccl.text, "NCCL is switched off by BPT_NCCL_LIBRARY=none");
        return;
    }
    nccl.named = other != NULL;
    void *library = bpt_library_open(BPT_LIBRARY_NCCL, other);
    if (!library) {
        snprintf(nccl.text, sizeof nccl.text, "NCCL: %.250s", bpt_library_error());
        return;
    }
#define NCCL_FIND(name, parameters) nccl.name = (int(*) parameters)symbol(library, #name);
    NCCL_FUNCTIONS(NCCL_FIND)
#undef NCCL_FIND
    nccl.ncclGetErrorString = (const char *(*)(int))symbol(library, "ncclGetErrorString");
    if (*nccl.text) return;
    if (nccl.ncclGetVersion(&version) != NCCL_SUCCESS) {
        snprintf(nccl.text, sizeof nccl.text, "NCCL does not say its version");
        return;
    }
    // 2.8.4 is 2804, and since then 2.9.1 is 20901.
    const int major = version < 10000 ? version / 1000 : version / 10000, minor = version / 100 % (version < 10000 ? 10 : 100);
    snprintf(nccl.text, sizeof nccl.text, "NCCL %d.%d.%d", major, minor, version % 100);
    nccl.there = true;
}

static bpt_status_t find(bpt_gpu_api_t *api, bool *there, char *text, size_t bytes) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)api;
    pthread_once(&once, load);
    *there = nccl.there;
    snprintf(text, bytes, "%s", nccl.text);
    if (nccl.there || !nccl.named) return BPT_OK;
    return bpt_fail(BPT_ERR_UNAVAILABLE, "%s; name another library in BPT_NCCL_LIBRARY, or none to exchange through host memory",
                    nccl.text);
}

// ---- Links

static bpt_status_t check(bpt_gpu_link_t *link, int code, const char *what) {
    if (code == NCCL_SUCCESS) return BPT_OK;
    if (link) link->failed = true;
    return bpt_fail(BPT_ERR_IO,
                    "%s: %s failed (%s); go on from the last checkpoint with --resume, or without it with BPT_NCCL_LIBRARY=none", nccl.text,
                    what, nccl.ncclGetErrorString(code));
}

static bpt_status_t make_id(bpt_gpu_api_t *base, unsigned char *id) {
    nccl_id_t made;
    BPT_TRY(bpt_cuda_enter((bpt_cuda_api_t *)base));
    BPT_TRY(check(NULL, nccl.ncclGetUniqueId(&made), "beginning"));
    memcpy(id, &made, sizeof made);
    return BPT_OK;
}

// What has failed, or does not answer, is broken off: it would not come to an end.
static void close_link(bpt_gpu_link_t *link) {
    if (!link) return;
    link->api->cuda->cuCtxSetCurrent(link->api->context);
    if (link->comm && link->failed)
        (void)nccl.ncclCommAbort(link->comm);
    else if (link->comm)
        (void)nccl.ncclCommDestroy(link->comm);
    if (link->stream) link->api->cuda->cuStreamDestroy(link->stream);
    bpt_free(link);
}

static bpt_status_t open_link(bpt_gpu_api_t *base, const unsigned char *id, int rank, int size, bpt_gpu_link_t **out) {
    bpt_cuda_api_t *api = (bpt_cuda_api_t *)base;
    bpt_gpu_link_t *link;
    nccl_id_t made;
    memcpy(&made, id, sizeof made);
    BPT_TRY(bpt_cuda_enter(api));
    BPT_TRY(bpt_alloc(1, sizeof *link, &link));
    *link = (bpt_gpu_link_t){.api = api, .rank = rank, .size = size};
    bpt_status_t status = bpt_cuda_check(api, api->cuda->cuStreamCreate(&link->stream, CU_STREAM_NON_BLOCKING), "creating a stream");
    if (status == BPT_OK) status = check(link, nccl.ncclCommInitRank(&link->comm, size, made, rank), "connecting the GPUs");
    if (status == BPT_OK)
        *out = link;
    else
        close_link(link);
    return status;
}

static void *pointer(const bpt_gpu_memory_t *memory, size_t at) { return (void *)(uintptr_t)(memory->address + at); }

static bpt_status_t send_and_receive(bpt_gpu_link_t *link, int rank, bpt_gpu_memory_t *from, bpt_gpu_memory_t *to,
                                     const bpt_swap_part_t *p) {
    if (p->send_bytes)
        BPT_TRY(
            check(link, nccl.ncclSend(pointer(from, p->send_at), p->send_bytes, NCCL_UINT8, rank, link->comm, link->stream), "sending"));
    if (!p->receive_bytes) return BPT_OK;
    return check(link, nccl.ncclRecv(pointer(to, p->receive_at), p->receive_bytes, NCCL_UINT8, rank, link->comm, link->stream),
                 "receiving");
}

static bpt_status_t swap(bpt_gpu_link_t *link, bpt_gpu_memory_t *from, bpt_gpu_memory_t *to, const bpt_swap_part_t *parts) {
    BPT_TRY(bpt_cuda_enter(link->api));
    BPT_TRY(check(link, nccl.ncclGroupStart(), "beginning an exchange"));
    bpt_status_t status = BPT_OK;
    for (int rank = 0; rank < link->size && status == BPT_OK; ++rank) {
        const bool stays = rank == link->rank && from == to && parts[rank].send_at == parts[rank].receive_at;
        if (!stays) status = send_and_receive(link, rank, from, to, &parts[rank]);
    }
    const int ended = nccl.ncclGroupEnd();  // also after a failure
    return status == BPT_OK ? check(link, ended, "beginning an exchange") : status;
}

static bpt_status_t wait_for(bpt_gpu_link_t *link, double seconds) {
    const double start = bpt_clock_seconds();
    BPT_TRY(bpt_cuda_enter(link->api));
    for (;;) {
        int code = NCCL_SUCCESS;
        const CUresult state = link->api->cuda->cuStreamQuery(link->stream);
        const double passed = bpt_clock_seconds() - start;
        if (state != CUDA_ERROR_NOT_READY) return bpt_cuda_check(link->api, state, "exchanging with other GPUs");
        BPT_TRY(check(link, nccl.ncclCommGetAsyncError(link->comm, &code), "exchanging"));
        if (code != NCCL_IN_PROGRESS) BPT_TRY(check(link, code, "exchanging"));
        if (passed > seconds) break;
        nanosleep(&(struct timespec){.tv_nsec = passed < 1e-3 ? 20000 : 200000}, NULL);
    }
    link->failed = true;
    return bpt_fail(
        BPT_ERR_IO,
        "the exchange with other ranks failed at rank %d: the other ranks have not answered for %.0f seconds; go on from the last "
        "checkpoint with --resume",
        link->rank, seconds);
}

const bpt_gpu_links_t bpt_nccl_links = {find, make_id, open_link, close_link, swap, wait_for};
