// The random numbers of numpy.random.default_rng(seed), so that samples are those which a program in Python draws: PCG64 (O'Neill 2014),
// seeded by a SeedSequence. Not for the project's own draws, which are those of bpt/rng.h.
#ifndef BPT_DATA_SCORE_NUMPY_RANDOM_H
#define BPT_DATA_SCORE_NUMPY_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t high, low;
} bpt_u128_t;

typedef struct {
    bpt_u128_t state, increment;
    uint32_t kept;  // the second half of the last 64 bits
    bool has_kept;
} bpt_numpy_random_t;

bpt_numpy_random_t bpt_numpy_random(uint64_t seed);
// A number below `end`, 1 .. 2^32 - 1: one draw of choice(end, size=.., replace=True).
uint32_t bpt_numpy_random_below(bpt_numpy_random_t *random, uint32_t end);

#endif
