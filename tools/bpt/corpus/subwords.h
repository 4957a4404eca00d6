// --subwords, --subword-model and --subword-kind of `bpt train`: the SentencePiece model of a new run.
#ifndef BPT_TOOLS_SUBWORDS_H
#define BPT_TOOLS_SUBWORDS_H

#include "data/vocab/vocab.h"
#include "tools/bpt/options/options.h"

// Whether the options say where the model comes from; nothing is checked of other units.
bpt_status_t cli_subwords_check(const cli_options_t *o) BPT_MUST_USE;
// Of a new, empty vocabulary: the model that is to be trained, or that of the file.
bpt_status_t cli_subwords_prepare(const cli_options_t *o, bpt_vocab_t *vocab) BPT_MUST_USE;
// Of one that --init brought: BPT_ERR_USAGE when the options ask for another model.
bpt_status_t cli_subwords_hold(const cli_options_t *o, const bpt_vocab_t *vocab) BPT_MUST_USE;

// The version of SentencePiece that makes the tokens of a new run.
bpt_status_t cli_subwords_record(cli_options_t *o) BPT_MUST_USE;

#endif
