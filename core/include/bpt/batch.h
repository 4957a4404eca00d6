// A micro-batch on the host, and a source of them. Written by data/, read by models/: neither knows the other.
#ifndef BPT_BATCH_H
#define BPT_BATCH_H

#include "bpt/status.h"

BPT_BEGIN_DECLS

// B sequences in a bucket of n leaves. All arrays are owned by the source and valid until its next call.
// Padding: tokens beyond a sequence's length are 0; sequences beyond n_real have length 1, token 0 and weight 0.
typedef struct bpt_batch {
    int64_t n, batch, n_real;
    const uint32_t *tokens;     // [batch, n]
    const uint32_t *targets;    // [n_targets]; lm: [batch, n], classify: [batch]
    const float *weights;       // as targets: 1 = scored, 0 = not
    const uint32_t *lengths;    // [batch], 1..n
    const uint32_t *sequences;  // [batch]: index in the epoch's order while training, index in the file when evaluating
    int64_t n_targets;          // lm: batch * n, classify: batch
    int64_t n_scored;           // targets of weight 1 in this micro-batch
    int64_t n_tokens;           // real leaves in this micro-batch
    int64_t window_scored;      // targets of weight 1 in the whole optimiser step this micro-batch belongs to
    bool first, last;           // position inside the optimiser step
    int64_t epoch;              // 0, 1, ..
    double epoch_end;           // epochs finished after this micro-batch's step, e.g. 1.25
} bpt_batch_t;

typedef struct bpt_batch_source bpt_batch_source_t;
struct bpt_batch_source {
    // Gives the next micro-batch; *end = true (and no batch) after the last one. A training source never ends.
    bpt_status_t (*next)(bpt_batch_source_t *source, bpt_batch_t *batch, bool *end);
    // Goes to the start of optimiser step `step` (0-based, counted from the start of training; 0 for evaluation).
    bpt_status_t (*seek)(bpt_batch_source_t *source, int64_t step);
    void (*destroy)(bpt_batch_source_t *source);
    int64_t steps_per_epoch;          // optimiser steps
    int64_t n_shapes;                 // the (n, batch) pairs that can occur, largest first, for planning memory before the first step
    const int64_t (*shapes)[2];
};

BPT_END_DECLS

#endif
