// The data of a training run: parts, vocabulary, token ids, sources of batches. Knows data/ and the options, no model but for its
// checkpoint's word on which vocabulary and labels are the right ones.
#ifndef BPT_TOOLS_CORPUS_H
#define BPT_TOOLS_CORPUS_H

#include "tools/bpt/corpus/loaded.h"

// Reads o->data.paths. `vocab`, `source_vocab` and `node_labels` become the corpus's, also in case of an error; NULL, empty: made from the
// data. `resumed`: where a run goes on, whose vocabulary and labels are taken; NULL: they are made from the data. Fills what only the data
// can tell into o->model: vocab, and for a classifier classes, d_embed, rel_levels, max_positions.
bpt_status_t cli_corpus_open(cli_options_t *o, bpt_vocab_t *vocab, bpt_vocab_t *source_vocab, bpt_labels_t node_labels,
                             const bpt_checkpoint_t *resumed, cli_corpus_t *out) BPT_MUST_USE;
void cli_corpus_close(cli_corpus_t *corpus);

#endif
