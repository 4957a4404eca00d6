// Local arrays of the attention kernels: their .inc files include this, so C reads it too.
#include "core/intervals/rules/sizes.h"
#define MOST_KEYS 64  // keys of single queries that a group takes at once, at most
#define MOST_ROWS 64  // the same of attention_table_grad, rows of either side

// Ranges in local memory: range_begin[r] .. range_end[r] - 1 are nodes, range_start[r] is the place of the first one in the list of all
// ranges' nodes; one more start is the length of the list.
#define RANGE_LOCALS_OF(L, most) L(int, range_begin, most) L(int, range_end, most) L(int, range_start, most + 1)
#define RANGE_LOCALS(L) RANGE_LOCALS_OF(L, MOST_RANGES)
