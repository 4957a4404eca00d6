// Batches of examples of their own lengths. The examples are borrowed and must outlive the source.
#ifndef BPT_DATA_EXAMPLES_SOURCE_H
#define BPT_DATA_EXAMPLES_SOURCE_H

#include "bpt/batch.h"
#include "data/batches/batching.h"
#include "data/examples/examples.h"

// Training, without end: a step takes the next examples of the epoch's order (a pure function of (seed, epoch)) and splits them
// into micro-batches, by length where they are in buckets (shapes.h), whose gradients add up to the step's: that changes nothing but speed.
// The last step of an epoch has the examples that are left.
bpt_status_t bpt_examples_train_source(const bpt_examples_t *examples, const bpt_batching_t *batching,
                                       bpt_batch_source_t **out) BPT_MUST_USE;
//
// Texts with translations have two sides in buckets of the same length, that of the longer one, in steps of finer classes; batch_tokens
// bounds the padded rows of a side. A step's examples have about the same length (bpt_epoch_order_by_length). Side 1 is what the model
// reads of the translations, with a target for each row. Windows over documents list their texts as segments: in training all of them
// count, in an evaluation only a window's own.
//
// One pass, as one step; sequences[] is the place in the file (of the texts: 2e and 2e + 1 where examples have two). Examples without a
// label have weight 1 and target 0.
bpt_status_t bpt_examples_eval_source(const bpt_examples_t *examples, const bpt_batching_t *batching,
                                      bpt_batch_source_t **out) BPT_MUST_USE;

// Examples of an evaluation that have a loss: those whose label the model knows; where texts are scored, all labels of their tokens.
uint64_t bpt_examples_scored(const bpt_examples_t *examples, const bpt_batching_t *batching);

#endif
