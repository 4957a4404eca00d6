// All arrays that examples have, in one list: what training reads of them is what is freed, counted and told from other data.
#ifndef BPT_DATA_EXAMPLES_ARRAYS_H
#define BPT_DATA_EXAMPLES_ARRAYS_H

#include "data/examples/examples.h"

// Texts of all examples, of one side.
uint64_t bpt_examples_texts(const bpt_examples_t *examples);
// Calls `take` with each array that is there, in an order that stays.
typedef void bpt_take_array_t(void *user, const char *name, const void *data, uint64_t bytes);
void bpt_examples_each_array(const bpt_examples_t *examples, bpt_take_array_t *take, void *user);
// Memory that the examples fill.
uint64_t bpt_examples_bytes(const bpt_examples_t *examples);

#endif
