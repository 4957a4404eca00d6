// Batches of a language model: windows over one long row of token ids. The data of the ids must outlive the source.
#ifndef BPT_DATA_LM_H
#define BPT_DATA_LM_H

#include "bpt/batch.h"
#include "data/text/ids.h"

typedef struct {
    int64_t context;       // n: leaves of a window, made of n + 1 tokens
    int64_t stride;        // distance of two windows, 1..context
    int64_t batch_tokens;  // leaves of a micro-batch: max(1, batch_tokens / context) windows
    int64_t accumulate;    // micro-batches of an optimiser step
    uint64_t seed;
} bpt_lm_options_t;

// Training, without end. All batches have the same (n, batch). The order of the windows is a pure function of (seed, epoch). The last
// window may be shorter, the last step of an epoch smaller: nothing is dropped, what is missing is padding. BPT_ERR_INPUT when the text is
// shorter than a window.
bpt_status_t bpt_lm_train_source(const bpt_ids_t *ids, const bpt_lm_options_t *options, bpt_batch_source_t **out) BPT_MUST_USE;

typedef enum {
    BPT_PROTOCOL_CHUNKS,    // windows of E targets, every token but the first scored once
    BPT_PROTOCOL_HALF,      // stride E/2; the second half of a window scored, all of the first one
    BPT_PROTOCOL_RELEASED,  // as half, without the first token of each half, as the authors' code
} bpt_protocol_t;

// One pass in file order; scored targets come in file order when rows are walked from left to right. An even context for half (at least 2)
// and released (at least 4). A text shorter than the context is one shorter window; fewer than two tokens are BPT_ERR_INPUT.
bpt_status_t bpt_lm_eval_source(const bpt_ids_t *ids, int64_t context, int64_t batch_tokens, bpt_protocol_t protocol,
                                bpt_batch_source_t **out) BPT_MUST_USE;
// Sequences of their own, one pass in their order: sequence s is ids[offsets[s]] .. ids[offsets[s+1] - 1]; tokens 2..m are scored given all
// earlier ones of the sequence. Sequences of fewer than two tokens score nothing. sequences[] is s.
bpt_status_t bpt_lm_lines_source(const uint32_t *ids, const uint64_t *offsets, uint64_t n_sequences, bpt_batch_source_t **out) BPT_MUST_USE;

#endif
