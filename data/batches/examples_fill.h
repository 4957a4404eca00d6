// One micro-batch of examples, as their source has laid it out: what is filled into its arrays. Inside of data/batches.
#ifndef BPT_DATA_EXAMPLES_FILL_H
#define BPT_DATA_EXAMPLES_FILL_H

#include "data/batches/batching.h"
#include "data/batches/buffer.h"
#include "data/batches/shapes.h"
#include "data/examples/examples.h"
#include "data/examples/order.h"

// An example of a step.
typedef struct {
    int64_t bucket, position;  // position in the epoch's order, or in the file
} bpt_member_t;

// The source: which examples a step has, and where it is.
typedef struct {
    bpt_batch_source_t base;
    const bpt_examples_t *examples;
    bpt_batching_t batching;
    int64_t texts;    // of an example
    bool translates;  // there are two sides
    int64_t (*bucket)(int64_t length);
    int64_t a_step;  // examples of an optimiser step; evaluation: all of them
    bool train;
    uint32_t *order;    // train: examples in the order of epoch `ordered`
    uint32_t *lengths;  // train, two sides: of each example
    bpt_dealt_t *pool;
    int64_t ordered;        // -1: none yet
    int64_t step;           // whose micro-batches come next
    size_t next, n_micro;   // n_micro 0: they are not laid out yet
    bpt_member_t *members;  // of the step, by falling bucket
    int64_t *buckets;       // theirs
    bpt_micro_t *micro;
    bpt_batch_buffer_t buffer;
    uint64_t n_bag;   // n-grams of the micro-batch so far
    int64_t n_nodes;  // and nodes
    int64_t *slots;   // [texts]: that the trees over them need
    bpt_shapes_t shapes;
} bpt_examples_source_t;

static inline uint64_t bpt_source_example(const bpt_examples_source_t *s, int64_t position) {
    return s->train ? s->order[position] : (uint64_t)position;
}

static inline int64_t bpt_text_length(const bpt_examples_t *e, uint64_t text) { return (int64_t)(e->offsets[text + 1] - e->offsets[text]); }

static inline int64_t bpt_source_rows(const bpt_examples_source_t *s, uint64_t e) {
    return (int64_t)(s->examples->offsets[(e + 1) * (uint64_t)s->texts] - s->examples->offsets[e * (uint64_t)s->texts]);
}

static inline uint64_t bpt_source_first_text(const bpt_examples_source_t *s, const bpt_micro_t *m, size_t i) {
    return bpt_source_example(s, s->members[m->first + i].position) * (uint64_t)s->texts;
}

static inline int64_t bpt_source_nodes(const bpt_examples_source_t *s, uint64_t first, uint64_t end) {
    return (int64_t)(s->examples->trees.offsets[end] - s->examples->trees.offsets[first]);
}

static inline bool bpt_knows_label(const bpt_examples_t *e, uint32_t label) {
    return !e->labels.classes || label < e->labels.classes || label == BPT_NO_LABEL;
}

// The texts of a micro-batch and their targets; or texts and translations.
void bpt_fill_examples(bpt_examples_source_t *s, const bpt_micro_t *m, bpt_batch_t *out);
void bpt_fill_translations(bpt_examples_source_t *s, const bpt_micro_t *m, bpt_batch_t *out);
// Texts of documents in a micro-batch.
int64_t bpt_fill_segments(const bpt_examples_source_t *s, const bpt_micro_t *m);
// Nodes and tokens of an example that have a label; the label of the root is that of the example.
int64_t bpt_fill_vertices(const bpt_examples_source_t *s, uint64_t example);

#endif
