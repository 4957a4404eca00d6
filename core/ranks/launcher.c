// Whether the launcher and MPI agree (see launcher.h).
#include "core/ranks/launcher.h"

#include <stdlib.h>

#define OTHER_MPI "start bpt with the mpirun of that MPI"

// The first are launchers of MPIs, which set their variables for the processes that they start. What follows may be further away, the
// nearer first: around a launcher of an MPI, or around the shell where a person calls one, and then says nothing of this process.
// SLURM_NTASKS is no sign: the shells of salloc and sbatch have it too, and are no tasks of a step.
enum { OF_MPI = 3 };
static const struct {
    const char *name;
    const char *size, *rank;  // variables: how many processes there are, which one this is
    const char *remedy;
} launchers[BPT_LAUNCHERS] = {
    {"mpirun of Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", OTHER_MPI},
    {"mpiexec of MPICH or one of its relatives", "PMI_SIZE", "PMI_RANK", OTHER_MPI},
    {"mpiexec of MVAPICH", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", OTHER_MPI},
    {"a launcher with PMIx", NULL, "PMIX_RANK", OTHER_MPI},
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "give srun the --mpi=.. that this MPI understands (srun --mpi=list)"},
};

static long number_of(const char *variable) {
    const char *text = variable ? getenv(variable) : NULL;
    char *end;
    if (!text || *text < '0' || *text > '9') return -1;
    const long value = strtol(text, &end, 10);
    return *end ? -1 : value;
}

bpt_launchers_t bpt_launchers_read(void) {
    bpt_launchers_t l;
    for (int i = 0; i < BPT_LAUNCHERS; ++i) {
        l.told[i].size = number_of(launchers[i].size);
        l.told[i].rank = number_of(launchers[i].rank);
    }
    return l;
}

// How many processes it has started at least, 0 where it has no part in this one. A rank is enough to know that there are those before it.
static long started_by(const bpt_launchers_t *l, int i) {
    const long size = l->told[i].size, rank = l->told[i].rank;
    return size > rank + 1 ? size : rank + 1;
}

static bpt_status_t refuse(const bpt_launchers_t *l, int i, int size, const char *library) {
    const long started = started_by(l, i);
    const bool by_size = l->told[i].size == started;
    return bpt_fail(
        BPT_ERR_UNAVAILABLE,
        "%s has started %s%ld processes (%s=%ld), and MPI, which is %s here, sees %d, so that each would train by itself; %s, or name a "
        "module that was built with the launcher's MPI in BPT_MPI_LIBRARY",
        launchers[i].name, by_size ? "" : "at least ", started, by_size ? launchers[i].size : launchers[i].rank,
        by_size ? started : started - 1, library, size, launchers[i].remedy);
}

// One of these started the process; others may be around it: a shell in which a person calls mpirun. *known: one tells how many there are.
static bpt_status_t check(const bpt_launchers_t *l, int first, int end, int size, const char *library, bool *known) {
    int disagrees = -1;
    for (int i = first; i < end; ++i) {
        *known |= l->told[i].size > 0;
        if (l->told[i].size == size && started_by(l, i) == size) return BPT_OK;
        if (started_by(l, i) > size) disagrees = i;
    }
    return disagrees >= 0 ? refuse(l, disagrees, size, library) : BPT_OK;
}

bpt_status_t bpt_launchers_check(const bpt_launchers_t *l, int size, const char *library) {
    bool known = false;
    BPT_TRY(check(l, 0, OF_MPI, size, library, &known));
    for (int i = OF_MPI; i < BPT_LAUNCHERS && !known; ++i) BPT_TRY(check(l, i, i + 1, size, library, &known));
    return BPT_OK;
}
