// Translates texts with a model that has an encoder and a decoder: beam search of many texts side by side. Knows numbers of tokens only.
#ifndef BPT_MODELS_DECODE_TRANSLATE_H
#define BPT_MODELS_DECODE_TRANSLATE_H

#include "models/decode/beam.h"

enum { BPT_MOST_TRANSLATED = 512 };  // tokens of a translation, where hypotheses are copied (bpt_decoder_fork)
// The usual longest translation (below).
#define BPT_MAX_LENGTH_A 1.2
enum { BPT_MAX_LENGTH_B = 10 };

typedef struct {
    int beam;                       // hypotheses of a text; 1: greedy search
    double length_penalty;          // beam.h
    double max_length_a;            // a translation of a text of n tokens has at most a n + b tokens, its end included, and never more than
    int64_t max_length_b;           // BPT_MOST_TRANSLATED, or than the model has positions
    uint32_t begin, end;            // the opening sign that the decoder is given, and the token that ends a text
    uint32_t forbidden;             // a token that is never chosen; BPT_NO_ROW: none
    int64_t min_tokens, no_repeat;  // beam.h
    int n_best;                     // hypotheses of a text that are handed out, at most `beam`; 0 means 1
    int64_t texts, longest;         // most texts side by side; tokens of the longest
    bool documents;                 // for bpt_translator_run_document
    void (*on_token)(void *user);   // called when all texts have gone on by a token, NULL: by nobody
    void *user;
} bpt_translator_options_t;

typedef struct bpt_translator bpt_translator_t;
// The runner must outlive it, its parameters must not change. BPT_ERR_USAGE for models that do not translate.
bpt_status_t bpt_translator_create(bpt_runner_t *runner, const bpt_translator_options_t *options, bpt_translator_t **out) BPT_MUST_USE;
// The same on another device that shares the memory of the runner's, with the weights of `weights` (bpt_decoder_create_on).
bpt_status_t bpt_translator_create_on(bpt_runner_t *runner, struct bpt_device *device, const bpt_translator_t *weights,
                                      const bpt_translator_options_t *options, bpt_translator_t **out) BPT_MUST_USE;
void bpt_translator_destroy(bpt_translator_t *translator);
uint64_t bpt_translator_device_bytes(const bpt_translator_t *translator);  // beside those of the runner
// Translates the texts of the batch's first side, which end in `end`: the best hypotheses of text i < n_real are out[i n_best], .., best
// first, counts[i] of them (NULL: not wanted; there is one at least). Valid until the next call. The search of each text depends on no
// other.
bpt_status_t bpt_translator_run(bpt_translator_t *translator, const bpt_batch_t *batch, bpt_hypothesis_t *out, int *counts) BPT_MUST_USE;
// A part of a document: the batch has one text of several segments, its sentences. The first `given` are the context, and given[t] their
// translations (without their ends), which are read and not made again; the others are translated one after the other, each behind those
// before it, and become out[t]. The rows of a sentence's translation read that sentence alone. Valid until the next call. *n_known: so many
// of the sentences have translations, the given ones among them; all of them, or after a failure (BPT_ERR_INPUT: the positions of the model
// are full) those before the sentence that failed.
bpt_status_t bpt_translator_run_document(bpt_translator_t *translator, const bpt_batch_t *batch, int64_t n_given,
                                         const bpt_hypothesis_t *given, bpt_hypothesis_t *out, int64_t *n_known) BPT_MUST_USE;

#endif
