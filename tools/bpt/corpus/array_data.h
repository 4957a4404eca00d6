// Data that are arrays of numbers: safetensors files, or made for the task Masked Summation.
#ifndef BPT_TOOLS_ARRAY_DATA_H
#define BPT_TOOLS_ARRAY_DATA_H

#include "tools/bpt/corpus/corpus.h"
#include "tools/bpt/corpus/eval_data.h"

// The parts of o->data.paths, where they are such; vectors have no words, so that the run has no vocabulary. *done = false: they are not.
bpt_status_t cli_arrays_make(cli_options_t *o, cli_corpus_t *corpus, bool *done) BPT_MUST_USE;
// The examples of `paths` that a trained model is evaluated on, with the placeholders that are asked for. *done = false: it reads no
// arrays.
bpt_status_t cli_arrays_make_eval(const cli_options_t *o, const bpt_paths_t *paths, const cli_trained_t *trained, bpt_examples_t *out,
                                  bool *done) BPT_MUST_USE;

#endif
