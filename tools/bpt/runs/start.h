// `--init`: a new run that starts from the weights of a trained one. Its shape and vocabulary, and its task unless another is given, become
// those of the options; rows of the embedding and of the head are found by word and by label. Knows runs and exported files, no training.
#ifndef BPT_TOOLS_START_H
#define BPT_TOOLS_START_H

#include "tools/bpt/corpus/corpus.h"
#include "tools/bpt/runs/trained.h"

typedef struct {
    bool any;                   // false: --init was not given, all else is empty
    const char *file;           // the model file, where it is in no run
    cli_trained_t source;       // run (or exported file), configuration, vocabulary, labels; no device
    int64_t *tokens, *outputs;  // for each row of the new embedding, head: the row of the source, -1 for none; NULL: the same
} cli_start_t;

// Opens --init and takes its shape over into `o`; an option that was given and contradicts it is BPT_ERR_USAGE.
bpt_status_t cli_start_open(cli_options_t *o, cli_start_t *out) BPT_MUST_USE;
// The vocabulary of the source, for the new data: the caller's. NULL with --match-vocabulary, and without --init.
bpt_vocab_t *cli_start_take_vocab(const cli_options_t *o, cli_start_t *start);
bpt_vocab_t *cli_start_take_source_vocab(const cli_options_t *o, cli_start_t *start);  // likewise, of the texts that are translated
// Likewise, the labels that nodes of trees begin with; empty: the model has none.
bpt_labels_t cli_start_take_node_labels(const cli_options_t *o, cli_start_t *start);
// Finds the rows once the data are read, and says how many words and labels are known.
bpt_status_t cli_start_match(const cli_options_t *o, const cli_corpus_t *corpus, cli_start_t *start) BPT_MUST_USE;
bpt_taken_rows_t cli_start_rows(const cli_start_t *start, const cli_options_t *o);
void cli_start_close(cli_start_t *start);

#endif
