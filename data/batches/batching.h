// How examples become batches: what a step and its micro-batches hold.
#ifndef BPT_DATA_BATCHING_H
#define BPT_DATA_BATCHING_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t batch_examples;  // examples of an optimiser step; 0: about batch_tokens * accumulate tokens
    int64_t batch_tokens;    // tokens of a micro-batch, padding included, but at least one example
    int64_t accumulate;      // used when batch_examples is 0
    uint64_t seed;
    bool packed;                 // rows without padding inside; else buckets
    bool vertices;               // training on trees: the terms of the loss are the nodes and tokens that have a label
    const float *class_weights;  // of each class in the loss that is trained; NULL: 1. Must outlive the source
    bool scores_texts;           // a term of the loss for each text, though each token has a label
} bpt_batching_t;

#endif
