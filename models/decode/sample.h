// Choosing the next token from logits. Counter-based: the same seed and number of the draw give the same choice on every backend. Knows no
// model. In this order, as Hugging Face's generate() does it:
//   no-repeat   no token that would make n tokens side by side the same as n before them, the prompt included (Paulus et al. 2018)
//   repeat   l' = l / R if l > 0, else l R, for each token that is among the last N of the text, once each (Keskar et al. 2019)
//   temperature   p = softmax(l' / T)
//   top-k    only the k most likely tokens
//   top-p    of these only the most likely ones that together reach P, as a share of what top-k left (Holtzman et al. 2020)
//   min-p    of these only the ones with p >= P p_max (Nguyen et al. 2024)
#ifndef BPT_MODELS_SAMPLE_H
#define BPT_MODELS_SAMPLE_H

#include "bpt/status.h"

typedef struct {
    double temperature;     // 0: always the most likely token (the smallest id of equals)
    int64_t top_k;          // 0 = all
    double top_p;           // 1 = all
    double min_p;           // 0 = all
    double repeat_penalty;  // 1 = none; below 1 repetition is favoured
    int64_t repeat_window;  // tokens; 0 = the whole text
    int64_t no_repeat;      // n; 0 = n-grams may be repeated
    uint64_t seed;
} bpt_sample_options_t;

typedef struct bpt_sampler bpt_sampler_t;

// BPT_ERR_USAGE for a temperature below 0, top_k below 0, top_p outside (0, 1], min_p outside [0, 1], a penalty that is not above 0, a
// window or no_repeat below 0.
bpt_status_t bpt_sampler_create(const bpt_sample_options_t *options, int64_t vocab, bpt_sampler_t **out) BPT_MUST_USE;
void bpt_sampler_destroy(bpt_sampler_t *sampler);
// Draw number `draw` (0, 1, ..); text: the tokens so far, prompt included, which repeat_penalty and no_repeat look at. Allocates
// nothing. A token whose logit is -infinity is never drawn; BPT_ERR_NUMERIC when all are, or when one is infinite or not a number.
// BPT_ERR_INPUT when no_repeat leaves none.
bpt_status_t bpt_sampler_draw(bpt_sampler_t *sampler, const float *logits, const uint32_t *text, int64_t count, uint64_t draw,
                              uint32_t *token) BPT_MUST_USE;

#endif
