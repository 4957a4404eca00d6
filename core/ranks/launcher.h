// What started this process together with others, as its environment tells, whatever MPI thinks.
#ifndef BPT_RANKS_LAUNCHER_H
#define BPT_RANKS_LAUNCHER_H

#include "bpt/ranks.h"

enum { BPT_LAUNCHERS = 5 };
typedef struct {
    struct {
        long size, rank;  // -1: it does not tell
    } told[BPT_LAUNCHERS];
} bpt_launchers_t;

// To be read before MPI starts: Open MPI sets variables itself where it finds that it is alone.
bpt_launchers_t bpt_launchers_read(void);
// BPT_ERR_UNAVAILABLE where a launcher has started more processes than MPI sees (`size`): it belongs to another MPI than `library`, and
// each process would train by itself.
bpt_status_t bpt_launchers_check(const bpt_launchers_t *l, int size, const char *library) BPT_MUST_USE;

#endif
