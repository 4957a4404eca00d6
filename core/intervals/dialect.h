// The kernels' arithmetic of graphs (core/intervals/rules/intervals.h) as C: as much of the kernel dialect as it uses.
#ifndef BPT_INTERVALS_DIALECT_H
#define BPT_INTERVALS_DIALECT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int32_t x, y, z, w;
} int4;

static inline int32_t min(int32_t a, int32_t b) { return a < b ? a : b; }
static inline int32_t max(int32_t a, int32_t b) { return a > b ? a : b; }

#define FUNCTION static inline __attribute__((always_inline))  // the rule then is a loop of its own, twice as quick
#define INT4(a, b, c, d) ((int4){a, b, c, d})
#define TO_INT(x) ((int32_t)(x))
#define TO_UINT(x) ((uint32_t)(x))
#define POPCOUNT(x) __builtin_popcount(x)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"  // a rule need not use all that it is given
#include "core/intervals/rules/intervals.h"
#pragma GCC diagnostic pop

#endif
