// Beam search for one text (Sutskever et al. 2014; the finished list and the division by the length as in fairseq): which tokens its
// hypotheses go on with, and in which sequences of a decoder they live. Knows numbers only, and no other text.
//
// A beam of K has K sequences ("slots"). Each step takes the logits that follow the live ones, and the best 2 K continuations of all of
// them, by the sum of log-probabilities; ties go to the smaller token, then to the smaller slot. Those among the first K that end the text
// are finished; the best K of the others live on. The search ends when K are
// finished, as in fairseq: so a beam of 1 is greedy search. Tokens that may not be chosen keep their probability: scores are those of the
// model, whatever was left out of the choice (as in fairseq and transformers; CTranslate2 divides it among the others).
#ifndef BPT_MODELS_DECODE_BEAM_H
#define BPT_MODELS_DECODE_BEAM_H

#include "models/decode/decode.h"

typedef struct {
    int width;              // K
    double length_penalty;  // a >= 0: a finished hypothesis of n tokens, its end included, has the score sum / n^a
    uint32_t end;           // the token that ends a text
    uint32_t forbidden;     // a token that is never chosen, such as <unk>; BPT_NO_ROW: none
    int64_t min_tokens;     // a hypothesis does not end before it has so many, its end not among them, unless max_length comes first
    int64_t no_repeat;      // n: no n tokens side by side come twice in a hypothesis; 0: they may. Where no token is left it ends
    int64_t vocab;
} bpt_beam_options_t;

typedef struct bpt_beam bpt_beam_t;
bpt_status_t bpt_beam_create(const bpt_beam_options_t *options, bpt_beam_t **out) BPT_MUST_USE;
void bpt_beam_destroy(bpt_beam_t *beam);
// A new text, whose translation has at most max_length tokens, its end included. Slot 0 lives and has been given the opening sign; the
// other slots hold nothing.
bpt_status_t bpt_beam_begin(bpt_beam_t *beam, int64_t max_length) BPT_MUST_USE;

// logits[slot] [vocab]: what follows each live slot; others are not read. Sets next[slot] to the token that the slot is to be given,
// BPT_NO_ROW: none; before that, forks (room for K) of slots are to be done, numbers of slots of this beam. BPT_ERR_NUMERIC where a logit
// is not finite. *done: the search has ended, and nothing is to be done.
bpt_status_t bpt_beam_step(bpt_beam_t *beam, const float *const *logits, uint32_t *next, bpt_fork_t *forks, int64_t *n_forks,
                           bool *done) BPT_MUST_USE;

typedef struct {
    const uint32_t *tokens;  // its end is not among them
    int64_t count;
    double score;  // sum of log-probabilities / (count + 1)^a
} bpt_hypothesis_t;
// Finished hypotheses, best first; valid until the next text begins.
int bpt_beam_count(const bpt_beam_t *beam);
bpt_hypothesis_t bpt_beam_hypothesis(const bpt_beam_t *beam, int place);

#endif
