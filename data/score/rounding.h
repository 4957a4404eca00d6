// Arithmetic in single precision for scores of samples: that of numpy's float32, in which sacreBLEU computes them. A sum, product or
// quotient of two floats that is computed in double precision and rounded once is the float's own result.
#ifndef BPT_DATA_SCORE_ROUNDING_H
#define BPT_DATA_SCORE_ROUNDING_H

#include <stdbool.h>

static inline double bpt_round(bool single, double value) { return single ? (double)(float)value : value; }

#endif
