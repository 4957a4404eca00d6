// The corpus that the data options name, as ids and batches: split, vocabulary, labels, batch sources. Knows data/, no model.
#ifndef BPT_TOOLS_DATASET_H
#define BPT_TOOLS_DATASET_H

#include "bpt/batch.h"
#include "data/split.h"
#include "tools/bpt/options.h"

typedef struct {
    bpt_split_t split;
    bpt_vocab_t *vocab;
    uint32_t *ids[BPT_PARTS];
    uint64_t count[BPT_PARTS];
    char fingerprint[64];  // of the training ids and the vocabulary's size
} cli_dataset_t;

// Opens the corpus of `train` (o->data.path). `vocab_path` NULL: the vocabulary is made from the training text; else read, as
// a resumed run must.
bpt_status_t cli_dataset_open(const cli_options_t *o, const char *vocab_path, cli_dataset_t *out) BPT_MUST_USE;
void cli_dataset_close(cli_dataset_t *dataset);

// Sources over the parts; an absent part gives *out = NULL.
bpt_status_t cli_dataset_train_source(const cli_dataset_t *dataset, const cli_options_t *o, bpt_batch_source_t **out) BPT_MUST_USE;
bpt_status_t cli_dataset_eval_source(const cli_dataset_t *dataset, const cli_options_t *o, int part, bpt_batch_source_t **out) BPT_MUST_USE;

#endif
