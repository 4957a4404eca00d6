// Incremental decoding: the keys and values of every leaf and complete span are cached per layer, so that a token costs the
// O(k log(n/k)) keys of its own leaf and O(log n) for spans (Ye et al. 2019, causal graphs: a leaf reads only nodes that end before it;
// span (j,m) can be complete when its last leaf has arrived, and a large one is a little later, see late_spans.h).
// Logits equal those of the full forward pass up to rounding. Knows no sampling and no text.
#ifndef BPT_MODELS_DECODE_H
#define BPT_MODELS_DECODE_H

#include "models/decode/lone_decoder.h"

typedef struct bpt_decoder bpt_decoder_t;

// A causal language model whose parameters are loaded; the runner must outlive the decoder, its parameters must not change.
// sequences: texts side by side, which read the weights together and do not see each other; capacity: tokens that fit in each. The cache
// has room for the first thousand tokens and doubles when they are full. The larger one is there from three quarters of the room on, and
// takes over what the old one holds a piece per token.
// BPT_ERR_USAGE for classifiers and more tokens than the model has positions.
bpt_status_t bpt_decoder_create(bpt_runner_t *runner, int64_t capacity, int64_t sequences, bpt_decoder_t **out) BPT_MUST_USE;
// The same on another device that shares the memory of the runner's (bpt/parts.h; NULL: the runner's). `weights`: a decoder of this runner
// whose weights in low precision it reads too, and which must outlive it; NULL: it makes its own.
bpt_status_t bpt_decoder_create_on(bpt_runner_t *runner, struct bpt_device *device, const bpt_decoder_t *weights, int64_t capacity,
                                   int64_t sequences, bpt_decoder_t **out) BPT_MUST_USE;
void bpt_decoder_destroy(bpt_decoder_t *decoder);

// Appends tokens to one sequence (a prompt in blocks, or one token); logits f32 [vocab] of what follows the last of them, NULL: not wanted.
// BPT_ERR_USAGE when they do not fit: nothing is appended. `count` 0 does nothing.
bpt_status_t bpt_decoder_feed(bpt_decoder_t *decoder, int64_t sequence, const uint32_t *tokens, int64_t count, float *logits) BPT_MUST_USE;
// Appends tokens[s] to every sequence s, BPT_NO_ROW: that one rests. logits f32 [sequences, vocab], rows of those that rest say nothing.
bpt_status_t bpt_decoder_step(bpt_decoder_t *decoder, const uint32_t *tokens, float *logits) BPT_MUST_USE;
// The same without a copy: rows[s] is where the logits of sequence s lie until the next call; those of sequences that rest stay as they
// are.
bpt_status_t bpt_decoder_step_rows(bpt_decoder_t *decoder, const uint32_t *tokens, const float **rows) BPT_MUST_USE;
int64_t bpt_decoder_length(const bpt_decoder_t *decoder, int64_t sequence);  // tokens so far
uint64_t bpt_decoder_device_bytes(const bpt_decoder_t *decoder);             // cache, workspace, parameters in low precision
uint64_t bpt_decoder_moved_bytes(const bpt_decoder_t *decoder);              // what larger caches have taken over so far
// Forgets the tokens of a sequence from `length` on (0 <= length <= tokens so far).
void bpt_decoder_rewind(bpt_decoder_t *decoder, int64_t sequence, int64_t length);

// ---- Translators, whose decoder reads the states of another text
// Encodes the texts of the batch (its first side; its shape has the same batch as any) and forgets all tokens of all sequences. Sequence i
// is then a translation of text i / sequences_per_text. BPT_ERR_USAGE for other models and too many texts.
bpt_status_t bpt_decoder_read(bpt_decoder_t *decoder, const bpt_batch_t *batch, int64_t sequences_per_text) BPT_MUST_USE;
// The tokens that a sequence is given from now on read the rows begin .. end - 1 of these texts alone, such as one sentence of a document.
void bpt_decoder_attend(bpt_decoder_t *decoder, int64_t sequence, uint32_t begin, uint32_t end);
// Sequence `to`, whose first `first` tokens are those of sequence `from`, becomes the same as `from`: only what differs is copied. All
// forks of a call are done at once: what one writes another does not read. BPT_ERR_USAGE where a sequence may be longer than 512 tokens.
bpt_status_t bpt_decoder_fork(bpt_decoder_t *decoder, const bpt_fork_t *forks, int64_t count) BPT_MUST_USE;

#endif
