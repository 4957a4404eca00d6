// Data for a trained model to be evaluated on, as batches in file order. Knows data/ and trained models, no command.
#ifndef BPT_TOOLS_EXAMPLES_H
#define BPT_TOOLS_EXAMPLES_H

#include "tools/bpt/trained.h"

typedef struct {
    bpt_batch_source_t *source;
    uint32_t *ids;
    uint64_t *offsets;  // --unit ids: where each line begins, one more than lines
} cli_examples_t;

// What --data, --split, --protocol, --eval-context and --batch-tokens say, each as trained when not given.
bpt_status_t cli_examples_open(const cli_options_t *o, const cli_trained_t *trained, cli_examples_t *out) BPT_MUST_USE;
void cli_examples_close(cli_examples_t *examples);

#endif
