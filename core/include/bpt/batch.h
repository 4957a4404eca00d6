// A micro-batch on the host, and a source of them. Written by data/, read by models/: neither knows the other.
#ifndef BPT_BATCH_H
#define BPT_BATCH_H

#include "bpt/status.h"

#include <string.h>

BPT_BEGIN_DECLS

// A micro-batch has sequences on one side or on two: texts on the first; what they are translated to on the second. A pair of texts that
// one encoder reads is two sequences of the first side, 2e and 2e + 1 for example e.
enum { BPT_SIDES = 2 };

#define BPT_PLACEHOLDER 0xFFFFFFFFu  // in place of a token: its embedding is zero

// What a program is compiled for: micro-batches of one shape share it. Shapes are the same when all numbers are.
typedef struct {
    int64_t batch;  // sequences of a side, padding included
    struct {
        int64_t n;           // buckets of n rows, one for each sequence; 0: packed rows, one sequence behind the other
        int64_t rows;        // of tokens, padding included; in buckets batch * n. 0: the side is absent
        int64_t bag;         // entries of `bag`; 0: there are none
        int64_t nodes;       // nodes of trees above the tokens, padding included; 0: there are no trees
        int64_t node_slots;  // back slots that their subtrees need (bpt_lists_subtrees_back_slots), or more
    } side[BPT_SIDES];
} bpt_batch_shape_t;

// The rows of a side. Padding rows have token 0 or numbers 0, and an empty bag; they are in no sequence.
typedef struct {
    const uint32_t *tokens;           // [rows]; NULL where numbers are read
    const uint32_t *start, *lengths;  // [batch]: sequence s is rows start[s] .. start[s] + lengths[s] - 1
    const uint32_t
        *whole_lengths;    // [batch], where the rows are a range of sequences that several processes share: of whole ones; else NULL
    const float *numbers;  // [rows, columns]: vectors in place of tokens; NULL: none
    int64_t columns;
    const uint32_t *bag, *bag_ranges;  // [bag] and [rows, 2] (begin, end in `bag`): the character n-grams of each token; NULL: none
    const uint32_t *segment_start, *segment_lengths;  // documents: [segments] the rows of each segment; NULL: each sequence is one
    // Trees; NULL: none. Nodes are rows behind the tokens, each tree's in post-order; padding is a node without parent and leaves.
    const uint32_t *links;                     // [rows + nodes, 3]: bpt/lists.h
    const uint32_t *node_labels;               // [nodes]: the symbol that a node begins with; BPT_PLACEHOLDER for padding
    const uint32_t *node_start, *node_counts;  // [batch]: the nodes of sequence s are rows node_start[s] .. + node_counts[s] - 1
    const uint32_t *vertex_labels;  // [rows + nodes]: classes of tokens and nodes, BPT_PLACEHOLDER where one has none; NULL: none are known
} bpt_side_t;

// All arrays are owned by the source and valid until its next call. In buckets start[s] is s n, and sequences beyond n_real have length 1;
// in packed rows they have length 0 and start at the end of the rows. Both have weight 0.
typedef struct bpt_batch {
    bpt_batch_shape_t shape;
    int64_t n_real;  // sequences that are not padding
    bpt_side_t side[BPT_SIDES];
    // Targets: of each row of the last side for tasks that have one for each token, else of each example.
    const uint32_t *targets;  // [n_targets]; NULL where values are
    const float *values;      // [n_targets, value_columns], regression; NULL: none
    const float *weights;     // [n_targets]: 1 = scored, 0 = not
    // [n_targets]: labels that the model does not have, numbered from its number of classes on: target and weight are 0 there, and no
    // answer is right. BPT_PLACEHOLDER elsewhere; NULL: the model has them all.
    const uint32_t *unknown;
    const uint32_t *sequences;  // [batch]: index in the epoch's order while training, index in the file when evaluating
    // Documents: sequence s has the segments first_segment[s] .. first_segment[s + 1] - 1 on both sides, one behind the other, which fill
    // its rows; segment t of the last side belongs to segment t of the first. Sequences of padding have none.
    const uint32_t *first_segment;  // [batch + 1]; NULL: there are no documents
    int64_t segments;
    int64_t n_targets, value_columns;
    int64_t n_scored;       // targets of weight 1 in this micro-batch
    int64_t n_unknown;      // labels in it that the model does not have
    int64_t n_tokens;       // real rows of the first side in this micro-batch
    int64_t window_scored;  // targets of weight 1 in the whole optimiser step this micro-batch belongs to
    bool first, last;       // position inside the optimiser step
    int64_t left;           // micro-batches of the step that come after this one
    int64_t epoch;          // 0, 1, ..
    double epoch_end;       // epochs finished after this micro-batch's step, e.g. 1.25
} bpt_batch_t;

// The label of target i, also one that the model does not have.
static inline bool bpt_batch_knows(const bpt_batch_t *b, int64_t i) { return !b->unknown || b->unknown[i] == BPT_PLACEHOLDER; }
static inline uint32_t bpt_batch_label(const bpt_batch_t *b, int64_t i) { return bpt_batch_knows(b, i) ? b->targets[i] : b->unknown[i]; }

static inline bool bpt_batch_shape_same(const bpt_batch_shape_t *a, const bpt_batch_shape_t *b) {
    bool same = a->batch == b->batch;
    for (int i = 0; i < BPT_SIDES; ++i)
        same = same && a->side[i].n == b->side[i].n && a->side[i].rows == b->side[i].rows && a->side[i].bag == b->side[i].bag &&
               a->side[i].nodes == b->side[i].nodes && a->side[i].node_slots == b->side[i].node_slots;
    return same;
}
// Tokens that may be hidden in a batch, of which each sequence has one at least or 15 % (models that predict hidden tokens).
static inline int64_t bpt_batch_most_masked(const bpt_batch_shape_t *shape) { return shape->side[0].rows * 15 / 100 + shape->batch; }
// One side of `batch` buckets of n rows.
static inline bpt_batch_shape_t bpt_batch_buckets(int64_t n, int64_t batch) {
    bpt_batch_shape_t shape;  // filled without designated initialisers: C++ reads this header too
    memset(&shape, 0, sizeof shape);
    shape.batch = batch;
    shape.side[0].n = n;
    shape.side[0].rows = batch * n;
    return shape;
}

typedef struct bpt_batch_source bpt_batch_source_t;
struct bpt_batch_source {
    // Gives the next micro-batch; *end = true (and no batch) after the last one. A training source never ends.
    bpt_status_t (*next)(bpt_batch_source_t *source, bpt_batch_t *batch, bool *end);
    // Goes to the start of optimiser step `step` (0-based, counted from the start of training; 0 for evaluation).
    bpt_status_t (*seek)(bpt_batch_source_t *source, int64_t step);
    void (*destroy)(bpt_batch_source_t *source);
    int64_t steps_per_epoch;  // optimiser steps
    int64_t n_shapes;         // those that can occur, largest first, for planning memory before the first step; of packed rows one that
                              // no other exceeds in any number
    const bpt_batch_shape_t *shapes;
};

BPT_END_DECLS

#endif
