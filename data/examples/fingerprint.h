// What tells the training data of one run from those of another.
#ifndef BPT_DATA_FINGERPRINT_H
#define BPT_DATA_FINGERPRINT_H

#include "data/examples/examples.h"
#include "data/text/ids.h"

enum { BPT_FINGERPRINT_BYTES = 64 };

// Of all that training reads: every array of the examples, or the tokens of a text. `like`: the fingerprint of a run that goes on, which is
// held against one of its own form; NULL or "": the form of today.
bpt_status_t bpt_fingerprint_take(const bpt_ids_t *text, const bpt_examples_t *examples, const char *like,
                                  char out[BPT_FINGERPRINT_BYTES]) BPT_MUST_USE;

#endif
