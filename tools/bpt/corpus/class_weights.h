// The weights of classes that a training asks for (--class-weights).
#ifndef BPT_TOOLS_CLASS_WEIGHTS_H
#define BPT_TOOLS_CLASS_WEIGHTS_H

#include "tools/bpt/corpus/loaded.h"

// BPT_ERR_USAGE: the loss of the model has no room for them.
bpt_status_t cli_class_weights_check(const cli_options_t *o) BPT_MUST_USE;
// Makes corpus->class_weights of a new run, and writes them into its options; those of a run that goes on are there. Leaves it NULL where
// none are asked for.
bpt_status_t cli_class_weights_fill(cli_options_t *o, cli_corpus_t *corpus) BPT_MUST_USE;

#endif
