// Ranks: joining, small exchanges, sums of long arrays (see bpt/ranks.h). What connects them is a module (module.h).
#include "bpt/ranks.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "bpt/env.h"
#include "bpt/library.h"
#include "bpt/machine.h"
#include "core/ranks/internal.h"
#include "core/ranks/launcher.h"
#include "core/ranks/sums.h"

enum { DEFAULT_SECONDS = 600 };

struct bpt_ranks {
    bpt_ranks_module_t module;
    char (*hosts)[BPT_RANKS_HOST_BYTES];  // [size]
    char name[BPT_RANKS_HOST_BYTES + 32];
    double patience, seconds;  // how long an exchange may take; spent in the small ones
    int *counts;               // [4][size], of a swap: counts and starts of what is given, and of what is taken
    double *terms;             // [size][..], of small sums
    size_t term_room;
    bpt_sums_t *sums;  // long arrays
};

// ---- Joining

// By its plain name a module is found through the run path of the program, $ORIGIN and the folder of libraries. The second one goes with
// every MPI that has the standard ABI of MPI 5, where that with which the first was built is missing. Open MPI's own modules look
// for symbols of MPI among the global ones.
static bpt_status_t open_module(bpt_ranks_module_open_t *out) {
    const char *other = bpt_env_text("BPT_MPI_LIBRARY"), *path = other ? other : "libbpt_mpi.so";
    char reason[512] = "";
    if (!other && *bpt_machine_os())
        return bpt_fail(BPT_ERR_UNAVAILABLE, "processes that train together are connected by MPI, which bpt uses on Linux alone (WSL 2 is one)");
    void *library = bpt_library_open_file(path, true);
    if (!library) snprintf(reason, sizeof reason, "%s", bpt_library_error());
    if (!library && !other) library = bpt_library_open_file("libbpt_mpi_abi.so", true);
    if (!library)
        return bpt_fail(BPT_ERR_UNAVAILABLE,
                        "%s cannot be opened (%s); build bpt where MPI is installed (Debian: libopenmpi-dev), or name the file in "
                        "BPT_MPI_LIBRARY",
                        path, reason);
    void *symbol = bpt_library_symbol(library, BPT_RANKS_MODULE_OPEN);
    if (!symbol) return bpt_fail(BPT_ERR_UNAVAILABLE, "%s is no module of bpt: it has no %s", path, BPT_RANKS_MODULE_OPEN);
    memcpy(out, &symbol, sizeof symbol);
    return BPT_OK;
}

bpt_status_t bpt_ranks_find_mpi(void) {
    bpt_ranks_module_open_t open;
    return open_module(&open);
}

static bpt_status_t prepare(bpt_ranks_t *r, const bpt_launchers_t *launchers) {
    const size_t size = (size_t)r->module.size;
    uint64_t seconds;
    BPT_TRY(bpt_launchers_check(launchers, r->module.size, r->module.library));
    BPT_TRY(bpt_env_number("BPT_MPI_SECONDS", DEFAULT_SECONDS, &seconds));
    r->patience = (double)seconds;
    BPT_TRY(bpt_sums_create(&r->module, r->patience, &r->sums));
    BPT_TRY(bpt_alloc(4 * size, sizeof *r->counts, &r->counts));
    BPT_TRY(bpt_alloc(size, sizeof *r->hosts, &r->hosts));
    return bpt_ranks_gather(r, r->module.host, sizeof r->module.host, r->hosts);
}

static void free_ranks(bpt_ranks_t *r) {
    bpt_sums_destroy(r->sums);
    bpt_free(r->counts);
    bpt_free(r->hosts);
    bpt_free(r->terms);
    bpt_free(r);
}

bpt_status_t bpt_ranks_join_mpi(bpt_ranks_t **out) {
    bpt_ranks_module_open_t open = NULL;
    bpt_ranks_t *r;
    BPT_TRY(open_module(&open));
    BPT_TRY(bpt_alloc(1, sizeof *r, &r));
    const bpt_launchers_t launchers = bpt_launchers_read();
    const char *reason = open(BPT_RANKS_MODULE_VERSION, &r->module);
    const bpt_status_t status = reason ? bpt_fail(BPT_ERR_UNAVAILABLE, "MPI cannot start: %s", reason) : prepare(r, &launchers);
    if (status == BPT_OK)
        *out = r;
    else
        free_ranks(r);
    return status;
}

void bpt_ranks_leave(bpt_ranks_t *r) {
    if (!r) return;
    bpt_sums_destroy(r->sums);
    r->sums = NULL;
    r->module.leave();
    free_ranks(r);
}

void bpt_ranks_abort(bpt_ranks_t *r, int exit_status) {
    if (r && r->module.size > 1) r->module.abort(exit_status);
}

int bpt_ranks_rank(const bpt_ranks_t *r) { return r ? r->module.rank : 0; }
int bpt_ranks_size(const bpt_ranks_t *r) { return r ? r->module.size : 1; }
int bpt_ranks_local_rank(const bpt_ranks_t *r) { return r ? r->module.local_rank : 0; }
int bpt_ranks_local_size(const bpt_ranks_t *r) { return r ? r->module.local_size : 1; }

const char *bpt_ranks_name(const bpt_ranks_t *ranks, int rank) {
    bpt_ranks_t *r = (bpt_ranks_t *)ranks;  // only the text changes
    if (!r) return "rank 0";
    snprintf(r->name, sizeof r->name, "rank %d (%s)", rank, r->hosts[rank]);
    return r->name;
}

double bpt_ranks_patience(const bpt_ranks_t *r) { return r->patience; }
void bpt_ranks_note_wait(bpt_ranks_t *r, double seconds) { r->seconds += seconds; }

// ---- Small exchanges

static bpt_status_t end_exchange(bpt_ranks_t *r, double start, const char *reason) {
    r->seconds += bpt_clock_seconds() - start;
    if (!reason) return BPT_OK;
    return bpt_fail(BPT_ERR_IO, "the exchange with other ranks failed at rank %d: %s; go on from the last checkpoint with --resume",
                    r->module.rank, reason);
}

bpt_status_t bpt_ranks_gather(bpt_ranks_t *r, const void *mine, size_t bytes, void *all) {
    if (!r) {
        memcpy(all, mine, bytes);
        return BPT_OK;
    }
    const double start = bpt_clock_seconds();
    return end_exchange(r, start, r->module.gather(mine, bytes, all, r->patience));
}

bpt_status_t bpt_ranks_add(bpt_ranks_t *r, double *values, int count) {
    if (!r) return BPT_OK;
    const size_t needed = (size_t)r->module.size * (size_t)count;
    if (needed > r->term_room) {
        BPT_TRY(bpt_realloc(&r->terms, needed, sizeof *r->terms));
        r->term_room = needed;
    }
    BPT_TRY(bpt_ranks_gather(r, values, (size_t)count * sizeof *values, r->terms));
    for (int i = 0; i < count; ++i) {
        values[i] = r->terms[i];
        for (int rank = 1; rank < r->module.size; ++rank) values[i] += r->terms[rank * count + i];
    }
    return BPT_OK;
}

bpt_status_t bpt_ranks_any(bpt_ranks_t *r, bool mine, bool *any) {
    double count = mine;
    BPT_TRY(bpt_ranks_add(r, &count, 1));
    *any = count > 0;
    return BPT_OK;
}

typedef struct {
    int32_t status;
    char message[1020];
} outcome_t;

// The failure of one rank; which one, unless all have the same.
static bpt_status_t say_failure(const bpt_ranks_t *r, const outcome_t *all, int rank) {
    bool same = true;
    for (int i = 0; i < r->module.size; ++i) same = same && !memcmp(&all[i], &all[rank], sizeof *all);
    const bpt_status_t status = (bpt_status_t)all[rank].status;
    return same ? bpt_fail(status, "%s", all[rank].message) : bpt_fail(status, "%s: %s", bpt_ranks_name(r, rank), all[rank].message);
}

bpt_status_t bpt_ranks_agree(bpt_ranks_t *r, bpt_status_t status) {
    outcome_t mine = {.status = (int32_t)status}, *all;
    if (!r) return status;
    if (status != BPT_OK) snprintf(mine.message, sizeof mine.message, "%s", bpt_error_message());
    BPT_TRY(bpt_alloc((size_t)r->module.size, sizeof *all, &all));
    bpt_status_t agreed = bpt_ranks_gather(r, &mine, sizeof mine, all);
    for (int rank = 0; rank < r->module.size && agreed == BPT_OK; ++rank) {
        if (all[rank].status == BPT_OK) continue;
        all[rank].message[sizeof all[rank].message - 1] = 0;
        agreed = say_failure(r, all, rank);
    }
    bpt_free(all);
    return agreed;
}

// ---- Long arrays

static bpt_status_t begin(bpt_ranks_t *r, const bpt_sums_job_t *job, uint64_t *ticket) {
    *ticket = 0;
    return r ? bpt_sums_begin(r->sums, job, ticket) : BPT_OK;
}

static bpt_status_t exchange(bpt_ranks_t *r, const bpt_sums_job_t *job) {
    uint64_t ticket;
    BPT_TRY(begin(r, job, &ticket));
    return bpt_ranks_wait(r, ticket);
}

bpt_status_t bpt_ranks_reduce(bpt_ranks_t *r, float *values, int64_t count) {
    return exchange(r, &(bpt_sums_job_t){values, count, .reduce = true});
}

bpt_status_t bpt_ranks_collect(bpt_ranks_t *r, float *values, int64_t count) {
    return exchange(r, &(bpt_sums_job_t){values, count, .collect = true});
}

bpt_status_t bpt_ranks_begin_sum(bpt_ranks_t *r, float *values, int64_t count, bool whole, uint64_t *ticket) {
    return begin(r, &(bpt_sums_job_t){values, count, .reduce = true, .collect = whole}, ticket);
}

bpt_status_t bpt_ranks_wait(bpt_ranks_t *r, uint64_t ticket) { return r && ticket ? bpt_sums_wait(r->sums, ticket) : BPT_OK; }

double bpt_ranks_seconds(const bpt_ranks_t *r) {
    double exchanged, waited;
    if (!r) return 0;
    bpt_sums_seconds(r->sums, &exchanged, &waited);
    return r->seconds + exchanged;
}

double bpt_ranks_waited(const bpt_ranks_t *r) {
    double exchanged, waited;
    if (!r) return 0;
    bpt_sums_seconds(r->sums, &exchanged, &waited);
    return r->seconds + waited;
}

// Counts and starts of as many bytes for each rank, one behind the other.
static bpt_status_t lay_out(const bpt_ranks_t *r, const size_t *bytes, int *counts, int *starts) {
    size_t at = 0;
    for (int rank = 0; rank < r->module.size; ++rank) {
        if (bytes[rank] > INT_MAX || at + bytes[rank] > INT_MAX)
            return bpt_fail(BPT_ERR_UNSUPPORTED, "one exchange of 2 GiB or more with other ranks; use more ranks or smaller batches");
        counts[rank] = (int)bytes[rank];
        starts[rank] = (int)at;
        at += bytes[rank];
    }
    return BPT_OK;
}

bpt_status_t bpt_ranks_swap(bpt_ranks_t *r, const void *give, const size_t *give_bytes, void *take, const size_t *take_bytes) {
    if (!r) {
        memcpy(take, give, give_bytes[0]);
        return BPT_OK;
    }
    const double start = bpt_clock_seconds();
    const int size = r->module.size;
    int *given = r->counts, *taken = r->counts + 2 * size;
    BPT_TRY(lay_out(r, give_bytes, given, given + size));
    BPT_TRY(lay_out(r, take_bytes, taken, taken + size));
    return end_exchange(r, start, r->module.swap(give, given, given + size, take, taken, taken + size, r->patience));
}
