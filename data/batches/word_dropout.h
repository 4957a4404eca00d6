// A batch source in which some of the words that a model reads are unknown ones, rare words more often than frequent ones: so the model
// learns from a training text without unknown words what to do about them. Knows vocabularies and batches, not what the batches are for.
#ifndef BPT_DATA_WORD_DROPOUT_H
#define BPT_DATA_WORD_DROPOUT_H

#include "bpt/batch.h"
#include "data/text/ids.h"
#include "data/vocab/vocab.h"

typedef struct {
    const bpt_vocab_t *vocab;  // of words; NULL: the tokens of this side stay as they are
    bpt_ids_t words;           // all that an epoch reads on this side
} bpt_read_words_t;

enum { BPT_WORD_DROPOUT_MOST = 1000 };

typedef struct {
    bpt_read_words_t side[BPT_SIDES];
    double rate;  // 0 to BPT_WORD_DROPOUT_MOST: a word that an epoch reads `count` times is unknown with probability rate / (rate + count)
    // Where an epoch has no <unk>, unknown words are placeholders (bpt/batch.h): the embedding of <unk> is zero and stays so. Else, and
    // without this, they are <unk>.
    bool zeros;
    uint64_t seed;
} bpt_word_dropout_t;

// Wraps *source, which it then owns (*source becomes NULL on success and belongs to the caller still on failure); what `options` points to
// is not needed after the call. Targets, character n-grams and trees stay as they are, and so do <unk> and <eos>. Which words are unknown
// is a pure function of (seed, epoch, side, sequences[], place in the sequence): the same after `seek` and however a step is cut into
// batches.
bpt_status_t bpt_word_dropout_create(bpt_batch_source_t **source, const bpt_word_dropout_t *options, bpt_batch_source_t **out) BPT_MUST_USE;

#endif
