// Examples that are arrays of numbers: sequences of vectors, each with numbers to be predicted. From a safetensors file, or made.
#ifndef BPT_DATA_ARRAYS_H
#define BPT_DATA_ARRAYS_H

#include "data/examples/examples.h"

// Whether the path is that of a safetensors file.
bool bpt_arrays_is_file(const char *path);
// Tensors `x` [examples, n, columns] and `y` [examples, values] of floats, every number finite. BPT_ERR_INPUT names what is wrong.
bpt_status_t bpt_arrays_read(const char *path, bpt_examples_t *out) BPT_MUST_USE;
// Copies of the examples of one part.
bpt_status_t bpt_arrays_part(const bpt_examples_t *all, const bpt_cut_t *cut, int part, bpt_examples_t *out) BPT_MUST_USE;

// Masked Summation (Guo et al. 2019, section 5.1): n vectors, whose first component is 1 for `sum` of them, drawn without repetition, and 0
// for the others; the other columns - 1 components are uniform in [0, 1). To be predicted is the sum of the marked vectors' other
// components. A pure function of (seed, part).
typedef struct {
    int64_t examples, n, sum, columns;
    uint64_t seed;
    int part;  // another stream of random numbers for each
} bpt_summation_t;
bpt_status_t bpt_summation_make(const bpt_summation_t *summation, bpt_examples_t *out) BPT_MUST_USE;

#endif
