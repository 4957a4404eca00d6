// An NCCL for processes of one machine whose GPUs are emulated in host memory (tests/emulator): what is sent is a file in a folder that all
// ranks know, what is received is read from there. It is strict where NCCL is: sends and receives belong to a group and a stream, and the
// sizes of both ends are the same. FAKE_NCCL_FAILS names a function that fails.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS, SYSTEM_ERROR = 2, INTERNAL_ERROR, INVALID_ARGUMENT, INVALID_USAGE, REMOTE_ERROR, MOST_RANKS = 16, PATIENCE_S = 120 };

typedef struct {
    char folder[128];
} unique_id_t;
typedef struct {
    char folder[128];
    int size, rank;
    uint64_t sent[MOST_RANKS], received[MOST_RANKS];  // messages so far
} comm_t;
typedef struct {
    comm_t *comm;
    void *data;
    size_t bytes;
    int peer;
    bool sends;
} transfer_t;

static transfer_t group[2 * MOST_RANKS];
static int n_transfers, depth;

static bool fails(const char *function) {
    const char *name = getenv("FAKE_NCCL_FAILS");
    return name && !strcmp(name, function);
}

static int write_message(transfer_t *t) {
    char path[300], made[320];
    snprintf(path, sizeof path, "%s/%d-%d-%llu", t->comm->folder, t->comm->rank, t->peer, (unsigned long long)t->comm->sent[t->peer]++);
    snprintf(made, sizeof made, "%s.part", path);
    FILE *file = fopen(made, "wb");
    if (!file) return SYSTEM_ERROR;
    const bool written = fwrite(t->data, 1, t->bytes, file) == t->bytes;
    return fclose(file) == 0 && written && rename(made, path) == 0 ? SUCCESS : SYSTEM_ERROR;
}

static int read_message(transfer_t *t) {
    char path[300];
    snprintf(path, sizeof path, "%s/%d-%d-%llu", t->comm->folder, t->peer, t->comm->rank, (unsigned long long)t->comm->received[t->peer]++);
    FILE *file = NULL;
    for (const time_t end = time(NULL) + PATIENCE_S; !(file = fopen(path, "rb")) && time(NULL) < end;)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    if (!file) return REMOTE_ERROR;
    const bool whole = fread(t->data, 1, t->bytes, file) == t->bytes && fgetc(file) == EOF;
    fclose(file);
    unlink(path);
    return whole ? SUCCESS : INVALID_USAGE;
}

static int note(void *data, size_t bytes, int type, int peer, comm_t *comm, const void *stream, bool sends) {
    if (!comm || !data || !stream || type != 1 || peer < 0 || peer >= comm->size) return INVALID_ARGUMENT;
    if (!depth || n_transfers == 2 * MOST_RANKS) return INVALID_USAGE;
    group[n_transfers++] = (transfer_t){comm, data, bytes, peer, sends};
    return SUCCESS;
}

int ncclGetVersion(int *version) {
    *version = 21803;
    return SUCCESS;
}
const char *ncclGetErrorString(int code) {
    static const char *const texts[] = {"no error",         "cuda",          "system error", "internal error",
                                        "invalid argument", "invalid usage", "remote"};
    return code >= 0 && code < (int)(sizeof texts / sizeof *texts) ? texts[code] : "unknown";
}
int ncclGetUniqueId(unique_id_t *id) {
    const char *base = getenv("TMPDIR");
    snprintf(id->folder, sizeof id->folder, "%s/fake-nccl-XXXXXX", base ? base : "/tmp");
    return mkdtemp(id->folder) ? SUCCESS : SYSTEM_ERROR;
}
int ncclCommInitRank(comm_t **comm, int size, unique_id_t id, int rank) {
    if (fails("ncclCommInitRank")) return INTERNAL_ERROR;
    if (size < 1 || size > MOST_RANKS || rank < 0 || rank >= size) return INVALID_ARGUMENT;
    *comm = calloc(1, sizeof **comm);
    if (!*comm) return SYSTEM_ERROR;
    memcpy((*comm)->folder, id.folder, sizeof id.folder);
    (*comm)->size = size;
    (*comm)->rank = rank;
    return SUCCESS;
}
int ncclCommDestroy(comm_t *comm) {
    rmdir(comm->folder);  // the last one finds it empty
    free(comm);
    return SUCCESS;
}
int ncclCommAbort(comm_t *comm) { return ncclCommDestroy(comm); }
int ncclCommGetAsyncError(comm_t *comm, int *code) {
    *code = SUCCESS;
    return comm ? SUCCESS : INVALID_ARGUMENT;
}
int ncclGroupStart(void) {
    if (depth++ == 0) n_transfers = 0;
    return SUCCESS;
}
int ncclGroupEnd(void) {
    if (depth == 0) return INVALID_USAGE;
    if (--depth) return SUCCESS;
    int code = fails("ncclGroupEnd") ? INTERNAL_ERROR : SUCCESS;
    for (int i = 0; i < n_transfers && code == SUCCESS; ++i)
        if (group[i].sends) code = write_message(&group[i]);
    for (int i = 0; i < n_transfers && code == SUCCESS; ++i)
        if (!group[i].sends) code = read_message(&group[i]);
    return code;
}
int ncclSend(const void *data, size_t bytes, int type, int peer, comm_t *comm, void *stream) {
    return note((void *)(uintptr_t)data, bytes, type, peer, comm, stream, true);
}
int ncclRecv(void *data, size_t bytes, int type, int peer, comm_t *comm, void *stream) {
    return note(data, bytes, type, peer, comm, stream, false);
}
