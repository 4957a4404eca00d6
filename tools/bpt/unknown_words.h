// What a training run does about the words that its training data do not have.
#ifndef BPT_TOOLS_UNKNOWN_WORDS_H
#define BPT_TOOLS_UNKNOWN_WORDS_H

#include "models/runner.h"
#include "tools/bpt/corpus.h"

// Of options whose data and vocabulary are known: --least-count and --word-dropout without effect are BPT_ERR_USAGE where a person gave
// them, and else off.
bpt_status_t cli_unknown_words_check(cli_options_t *o) BPT_MUST_USE;
// --word-dropout: corpus->train gives unknown words in place of some.
bpt_status_t cli_unknown_words_drop(const cli_options_t *o, cli_corpus_t *corpus) BPT_MUST_USE;
// Of a new model: the embeddings of words that training never reads, <unk> above all, begin at zero, as nothing would change them from
// what they were by chance.
bpt_status_t cli_unknown_words_clear(const cli_corpus_t *corpus, bpt_runner_t *runner) BPT_MUST_USE;

#endif
