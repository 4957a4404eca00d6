// One example of texts and their translations in a micro-batch of two sides, both in buckets. Inside of data/.
#ifndef BPT_DATA_TRANSLATION_FILL_H
#define BPT_DATA_TRANSLATION_FILL_H

#include "data/batches/buffer.h"
#include "data/examples/examples.h"

// The texts of an example.
static inline bpt_window_t bpt_window_of(const bpt_examples_t *e, uint64_t example) {
    return e->windows.has ? e->windows.items[example] : (bpt_window_t){.first = example, .own = example, .end = example + 1};
}
// Tokens of the texts first .. end - 1 and of their translations.
static inline int64_t bpt_source_tokens(const bpt_examples_t *e, uint64_t first, uint64_t end) {
    return (int64_t)(e->offsets[end] - e->offsets[first]);
}
static inline int64_t bpt_target_tokens(const bpt_examples_t *e, uint64_t first, uint64_t end) {
    return (int64_t)(e->target.offsets[end] - e->target.offsets[first]);
}
// Rows of its longer side.
int64_t bpt_translation_rows(const bpt_examples_t *e, uint64_t example);
// Its targets that count: all of them while training, else those of its own texts.
int64_t bpt_translation_scored(const bpt_examples_t *e, uint64_t example, bool train);
// Writes sequence `sequence` of the batch, and its segments from `segment` on; returns how many they are.
int64_t bpt_translation_fill(const bpt_examples_t *e, uint64_t example, bool train, int64_t sequence, int64_t segment,
                             bpt_batch_buffer_t *buffer, bpt_batch_t *out);

#endif
