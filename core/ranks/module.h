// What a module gives that connects processes (module/mpi.c): bytes and floats that go from rank to rank. A module is a library of its own,
// opened at run time, so that bpt starts without MPI; it uses nothing of bpt.
#ifndef BPT_RANKS_MODULE_H
#define BPT_RANKS_MODULE_H

#include <stddef.h>

enum { BPT_RANKS_MODULE_VERSION = 4, BPT_RANKS_HOST_BYTES = 64 };
#define BPT_RANKS_MODULE_OPEN "bpt_ranks_module_open"

// Functions return NULL, or what went wrong, as a text that stays until the thread's next call. They give up after `seconds` without an
// answer.
typedef struct {
    int rank, size, local_rank, local_size;
    char host[BPT_RANKS_HOST_BYTES];
    char library[BPT_RANKS_HOST_BYTES];  // which MPI it is
    const char *(*gather)(const void *mine, size_t bytes, void *all, double seconds);
    // Bytes for all ranks: give_counts[r] from give_starts[r] on go to rank r, take_counts[r] come from it to take_starts[r].
    const char *(*swap)(const void *give, const int *give_counts, const int *give_starts, void *take, const int *take_counts,
                        const int *take_starts, double seconds);
    // ---- Of long arrays. Another thread than that of the other functions may call these two at the same time.
    // Slice r of `values` goes to rank r: counts[r] floats from starts[r] on. received[size][counts[own rank]].
    const char *(*exchange)(const float *values, const int *counts, const int *starts, float *received, double seconds);
    // Slice r of `values` comes from rank r.
    const char *(*collect)(float *values, const int *counts, const int *starts, double seconds);
    void (*leave)(void);
    void (*abort)(int exit_status);
} bpt_ranks_module_t;

// BPT_RANKS_MODULE_OPEN: joins the other ranks. `version` is that of the caller.
typedef const char *(*bpt_ranks_module_open_t)(int version, bpt_ranks_module_t *out);

#endif
