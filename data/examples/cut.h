// One file of examples in three parts: which part each example has. Examples are dealt out at random, so that a file that is sorted by
// class, by source or by date gives parts that are alike.
#ifndef BPT_DATA_CUT_H
#define BPT_DATA_CUT_H

#include "data/examples/split.h"

// How one file of examples becomes three parts: at random, or the first 90 % are for training and the last for validation and test.
typedef enum { BPT_CUT_SHUFFLED, BPT_CUT_IN_ORDER } bpt_cut_kind_t;
extern const char *const bpt_cut_names[];  // "shuffled", "in-order"

// A pure function of the seed and the classes. class [count]: that of each example, below `classes`; NULL: there are none. Training gets
// 90 %, validation and test 5 % each, rounded as in bpt_split_open, and each class its share of them. A class of three or more examples is
// in all parts as far as a tenth of the examples is enough for that. `path` is for the message: fewer than three examples are
// BPT_ERR_INPUT. out->part is freed with bpt_free.
bpt_status_t bpt_cut_make(const char *path, uint64_t count, const uint32_t *class, size_t classes, uint64_t seed,
                          bpt_cut_t *out) BPT_MUST_USE;
// The same of examples that keep their order: the first 90 % are for training.
bpt_status_t bpt_cut_make_in_order(const char *path, uint64_t count, bpt_cut_t *out) BPT_MUST_USE;

#endif
