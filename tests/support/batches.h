// Checks that hold for every batch, a fingerprint of one, and a text to make batches from.
#ifndef BPT_TEST_BATCHES_H
#define BPT_TEST_BATCHES_H

#include "bpt/batch.h"

// Fails the test unless the batch keeps the rules of bpt/batch.h: sizes, padding, lengths, weights, counts. per_leaf: a language model's.
void test_check_batch(const bpt_batch_t *batch, bool per_leaf);
// Equal batches have equal fingerprints: every field and every element counts.
uint64_t test_hash_batch(const bpt_batch_t *batch);
// Whether the source lists this shape among its shapes, which must come largest first.
bool test_has_shape(const bpt_batch_source_t *source, const bpt_batch_shape_t *shape);

// `bytes` bytes of a made-up language: words of a fixed lexicon that follow each other by a fixed chain, in sentences with capitals and
// full stops, one a line. A pure function of seed and size; no NUL at the end.
void test_gen_text(uint64_t seed, char *out, size_t bytes);

#endif
