// Masked language modelling (Devlin et al. 2019, BERT, 3.1): of the tokens that another source gives, some are hidden and become what is to
// be predicted.
#ifndef BPT_DATA_MASKED_H
#define BPT_DATA_MASKED_H

#include "bpt/batch.h"

// Which tokens are hidden follows from (seed, epoch, number of the sequence in the epoch's order) alone, for evaluations from the number of
// the sequence in the file: always the same. Of a sequence 15 % are chosen (rounded, one at least), any of them equally likely; of these 80
// % become `mask`, 10 % a token drawn from all, and 10 % stay.
typedef struct {
    uint64_t seed;
    int64_t vocab;  // tokens are below it
    uint32_t mask;  // a token of the vocabulary, or BPT_PLACEHOLDER, whose embedding is zero
    uint32_t end;   // the sign at the ends of lines, which is never chosen; BPT_PLACEHOLDER: there is none
    bool packed;    // the model reads packed rows (bpt/batch.h); else buckets
} bpt_masking_t;

// `inner` gives buckets of tokens on one side, with a target for each; it belongs to the new source, and is destroyed by a failure. The
// batches have the tokens chosen as targets in place of its own, with weight 1; all else has weight 0.
bpt_status_t bpt_masked_source(bpt_batch_source_t *inner, const bpt_masking_t *masking, bpt_batch_source_t **out) BPT_MUST_USE;

#endif
