// What a person should know of a file of examples: how many there are of which class, and lines that are taken otherwise than they may be
// meant.
#ifndef BPT_TOOLS_EXAMPLE_NOTES_H
#define BPT_TOOLS_EXAMPLE_NOTES_H

#include "tools/bpt/corpus/corpus.h"

// Warns of a first line that may be a header, or may be none, and of lines that were left out.
bpt_status_t cli_examples_warn(const bpt_range_t *text, const bpt_examples_options_t *options, const bpt_labels_t *labels,
                               const bpt_examples_t *examples) BPT_MUST_USE;
// One line on the training examples, with the number of each class or tag, or the range of the numbers.
bpt_status_t cli_examples_describe(const cli_corpus_t *corpus) BPT_MUST_USE;

#endif
