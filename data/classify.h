// Batches of labelled sequences, by length bucket. The examples are borrowed and must outlive the source.
#ifndef BPT_DATA_CLASSIFY_H
#define BPT_DATA_CLASSIFY_H

#include "bpt/batch.h"
#include "data/examples.h"

typedef struct {
    int64_t batch_examples;  // examples of an optimiser step; 0: about batch_tokens * accumulate leaves
    int64_t batch_tokens;    // leaves of a micro-batch, padding included, but at least one sequence
    int64_t accumulate;      // used when batch_examples is 0
    uint64_t seed;
} bpt_classify_options_t;

// Training, without end: a step takes the next examples of the epoch's order (a pure function of (seed, epoch)) and splits them
// by length into micro-batches (shapes.h), whose gradients add up to the step's: that changes nothing but speed. The last step of an epoch
// has the examples that are left.
bpt_status_t bpt_classify_train_source(const bpt_examples_t *examples, const bpt_classify_options_t *options,
                                       bpt_batch_source_t **out) BPT_MUST_USE;
// One pass, as one step whose micro-batches are grouped by length; sequences[] is the place in the file. Examples without a label have
// weight 1 and target 0.
bpt_status_t bpt_classify_eval_source(const bpt_examples_t *examples, int64_t batch_tokens, bpt_batch_source_t **out) BPT_MUST_USE;

#endif
