// Ranks by MPI, as the library libbpt_mpi.so (see ../module.h). Every exchange is a call that does not block, which is asked until it is
// done: a rank that waits gives its core to others, and notices when no answer comes any more. Two threads may exchange at the same time:
// long arrays have a communicator of their own, and one thread at a time is inside of MPI.
#ifdef BPT_MPI_ABI
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/ranks/module.h"

enum { YIELDS = 64, PAUSE_NS = 20000 };  // a wait asks so often in a row, and then after pauses

static MPI_Comm ranks = MPI_COMM_NULL, long_arrays = MPI_COMM_NULL;
static pthread_mutex_t inside = PTHREAD_MUTEX_INITIALIZER;
static int own_rank, n_ranks;
static int *received_counts, *received_starts;  // of an exchange
static _Thread_local char failure[MPI_MAX_ERROR_STRING + 64];

static const char *explain(int code) {
    int length = 0;
    if (code == MPI_SUCCESS) return NULL;
    if (MPI_Error_string(code, failure, &length)) snprintf(failure, sizeof failure, "MPI error %d", code);
    return failure;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Lets others go on, and the other thread into MPI.
static void rest(unsigned asked) {
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    pthread_mutex_unlock(&inside);
    if (asked < YIELDS)
        sched_yield();
    else
        nanosleep(&pause, NULL);
    pthread_mutex_lock(&inside);
}

// A call that was started with `code` by this thread, which has locked `inside` since.
static const char *wait_for(int code, MPI_Request *request, double seconds) {
    const double start = now();
    int done = 0;
    bool late = false;
    for (unsigned asked = 1; code == MPI_SUCCESS && !done && !late; ++asked) {
        code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS && !done) rest(asked);
        late = asked % YIELDS == 0 && now() - start > seconds;
    }
    pthread_mutex_unlock(&inside);
    if (code != MPI_SUCCESS || done) return explain(code);
    snprintf(failure, sizeof failure, "the other ranks have not answered for %.0f seconds", seconds);
    return failure;
}

static const char *gather(const void *mine, size_t bytes, void *all, double seconds) {
    MPI_Request request;
    pthread_mutex_lock(&inside);
    const int code = MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, ranks, &request);
    return wait_for(code, &request, seconds);
}

static const char *exchange(const float *values, const int *counts, const int *starts, float *received, double seconds) {
    MPI_Request request;
    for (int r = 0; r < n_ranks; ++r) received_counts[r] = counts[own_rank], received_starts[r] = r * counts[own_rank];
    pthread_mutex_lock(&inside);
    const int code =
        MPI_Ialltoallv(values, counts, starts, MPI_FLOAT, received, received_counts, received_starts, MPI_FLOAT, long_arrays, &request);
    return wait_for(code, &request, seconds);
}

static const char *collect(float *values, const int *counts, const int *starts, double seconds) {
    MPI_Request request;
    pthread_mutex_lock(&inside);
    const int code = MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, counts, starts, MPI_FLOAT, long_arrays, &request);
    return wait_for(code, &request, seconds);
}

static const char *swap(const void *give, const int *give_counts, const int *give_starts, void *take, const int *take_counts,
                        const int *take_starts, double seconds) {
    MPI_Request request;
    pthread_mutex_lock(&inside);
    const int code = MPI_Ialltoallv(give, give_counts, give_starts, MPI_BYTE, take, take_counts, take_starts, MPI_BYTE, ranks, &request);
    return wait_for(code, &request, seconds);
}

static void leave(void) {
    free(received_counts);
    free(received_starts);
    received_counts = received_starts = NULL;
    MPI_Comm_free(&long_arrays);
    MPI_Comm_free(&ranks);
    MPI_Finalize();
}

static void end_all(int exit_status) {
    pthread_mutex_lock(&inside);
    MPI_Abort(MPI_COMM_WORLD, exit_status);
    pthread_mutex_unlock(&inside);
}

// Its first words: "Open MPI v4.1.4", "MPICH Version: 5.0.2".
static const char *name_library(char *out, size_t bytes) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    const int code = MPI_Get_library_version(text, &length);
    if (code != MPI_SUCCESS) return explain(code);
    text[strcspn(text, ",\n")] = 0;
    size_t n = 0;
    for (const char *c = text; *c && n + 1 < bytes; ++c) {
        const char one = *c == '\t' ? ' ' : *c;
        if (one != ' ' || (n && out[n - 1] != ' ')) out[n++] = one;
    }
    out[n] = 0;
    return NULL;
}

static const char *join(bpt_ranks_module_t *out) {
    MPI_Comm local;
    int code = MPI_Comm_dup(MPI_COMM_WORLD, &ranks);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(ranks, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Comm_dup(ranks, &long_arrays);  // with the error handler
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(ranks, &own_rank);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(ranks, &n_ranks);
    if (code == MPI_SUCCESS) code = MPI_Comm_split_type(ranks, MPI_COMM_TYPE_SHARED, own_rank, MPI_INFO_NULL, &local);
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(local, &out->local_rank);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(local, &out->local_size);
    if (code == MPI_SUCCESS) code = MPI_Comm_free(&local);
    out->rank = own_rank;
    out->size = n_ranks;
    return explain(code);
}

// Open MPI answers Ctrl-C and SIGTERM to mpirun by the same signal to every rank, so signals stay with the program.
__attribute__((visibility("default"))) const char *bpt_ranks_module_open(int version, bpt_ranks_module_t *out);
const char *bpt_ranks_module_open(int version, bpt_ranks_module_t *out) {
    int provided;
    if (version != BPT_RANKS_MODULE_VERSION) return "it belongs to another version of bpt";
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    if (code != MPI_SUCCESS) return explain(code);
    if (provided < MPI_THREAD_SERIALIZED)
        return "it was built without support for threads; install an MPI that gives MPI_THREAD_SERIALIZED, as Open MPI and MPICH do";
    const char *reason = name_library(out->library, sizeof out->library);
    if (!reason) reason = join(out);
    if (reason) return reason;
    received_counts = calloc((size_t)n_ranks, sizeof *received_counts);
    received_starts = calloc((size_t)n_ranks, sizeof *received_starts);
    if (!received_counts || !received_starts) return "out of memory";
    if (gethostname(out->host, sizeof out->host)) snprintf(out->host, sizeof out->host, "unknown host");
    out->host[sizeof out->host - 1] = 0;
    out->gather = gather;
    out->exchange = exchange;
    out->collect = collect;
    out->swap = swap;
    out->leave = leave;
    out->abort = end_all;
    return NULL;
}
