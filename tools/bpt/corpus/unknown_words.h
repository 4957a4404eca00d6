// The words that training data do not have: what a training run does about them, and how many other data have.
#ifndef BPT_TOOLS_UNKNOWN_WORDS_H
#define BPT_TOOLS_UNKNOWN_WORDS_H

#include "tools/bpt/corpus/loaded.h"

// Of options whose data and vocabulary are known: --least-count and --word-dropout without effect are BPT_ERR_USAGE where a person gave
// them, and else off.
bpt_status_t cli_unknown_words_check(cli_options_t *o) BPT_MUST_USE;
// --word-dropout: corpus->train gives unknown words in place of some.
bpt_status_t cli_unknown_words_drop(const cli_options_t *o, cli_corpus_t *corpus) BPT_MUST_USE;
// Of a new model: the embeddings of words that training never reads, <unk> above all, begin at zero, as nothing would change them from
// what they were by chance.
bpt_status_t cli_unknown_words_clear(const cli_corpus_t *corpus, bpt_runner_t *runner) BPT_MUST_USE;

// Tokens of a text that are no end sign, and those of them that are <unk>.
typedef struct {
    int64_t tokens, unknown;
} cli_unknown_count_t;
// Of these ids; without a vocabulary or its <unk> there are no tokens.
cli_unknown_count_t cli_unknown_words_count(const bpt_vocab_t *vocab, bpt_ids_t ids);
double cli_unknown_words_share(cli_unknown_count_t count);  // 0 to 1; NAN: there are no tokens

// Of data that are evaluated: of what is read, and of what is predicted. One of them is empty but for a translator. In the text of a
// language model the word <unk> itself is a known one.
typedef struct {
    cli_unknown_count_t read, predicted;
} cli_unknown_words_t;
cli_unknown_words_t cli_unknown_words_of(const cli_eval_data_t *data, const cli_trained_t *trained);
// The share of what is predicted, else of what is read, in the validation part of a run's data; NAN: no words.
double cli_unknown_words_validation(const cli_corpus_t *corpus);
// A warning where the embedding is trained, <unk> is in no training text, and `share` says that more than one word in a hundred of the
// validation part is unknown: a tagger of named entities loses eight points of F1 by that (docs/papers.md, ner-unknown-small).
void cli_unknown_words_warn(const cli_options_t *o, const cli_corpus_t *corpus, double share);

#endif
