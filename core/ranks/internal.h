// What the files of this folder share.
#ifndef BPT_RANKS_INTERNAL_H
#define BPT_RANKS_INTERNAL_H

#include "bpt/ranks.h"

// Seconds after which a rank gives up the others.
double bpt_ranks_patience(const bpt_ranks_t *ranks);
// Adds seconds that this rank has waited for others.
void bpt_ranks_note_wait(bpt_ranks_t *ranks, double seconds);

#endif
