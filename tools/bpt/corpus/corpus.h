// The data of a training run: parts, vocabulary, token ids, sources of batches. Knows data/ and the options, no model but for its
// checkpoint's word on which vocabulary and labels are the right ones.
#ifndef BPT_TOOLS_CORPUS_H
#define BPT_TOOLS_CORPUS_H

#include "data/examples.h"
#include "data/fingerprint.h"
#include "data/split.h"
#include "models/train/checkpoint.h"
#include "tools/bpt/options/options.h"

typedef struct {
    bpt_split_t split;   // open as long as ids are its bytes
    bpt_split_t target;  // translations of its lines, where they are in files of their own
    bpt_split_t trees;   // over its lines, likewise
    bpt_vocab_t *vocab;
    bpt_vocab_t *source_vocab;  // of the texts that are translated; NULL: the same
    bpt_ids_t ids[BPT_PARTS];   // lm: the tokens of each part
    bpt_labels_t labels;        // classify
    bpt_scheme_signs_t signs;   // of the tags of the training data, where they are converted
    bpt_examples_t examples[BPT_PARTS];
    char fingerprint[BPT_FINGERPRINT_BYTES];  // of the training data
    bpt_batch_source_t *train, *valid;        // valid NULL: none
} cli_corpus_t;

// Reads o->data.path. `vocab`, `source_vocab` and `node_labels` become the corpus's, also in case of an error; NULL, empty: made from the
// data. `resumed`: where a run goes on, whose vocabulary and labels are taken; NULL: they are made from the data. Fills what only the data
// can tell into o->model: vocab, and for a classifier classes, d_embed, rel_levels, max_positions.
bpt_status_t cli_corpus_open(cli_options_t *o, bpt_vocab_t *vocab, bpt_vocab_t *source_vocab, bpt_labels_t node_labels,
                             const bpt_checkpoint_t *resumed, cli_corpus_t *out) BPT_MUST_USE;
void cli_corpus_close(cli_corpus_t *corpus);

// The smallest vocabulary that has all tokens of these of all parts.
int64_t cli_corpus_largest_id(const cli_corpus_t *corpus, bool source, bool target);
uint64_t cli_corpus_bytes(const cli_corpus_t *corpus);  // that the data take, once they are read
// The tokens of a part, of all its examples for a classifier, of its sources for a translator; they belong to the corpus.
bpt_ids_t cli_corpus_tokens(const cli_corpus_t *corpus, int part);

#endif
