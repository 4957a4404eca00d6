// Choosing the next token from logits: temperature, top-k, top-p (Holtzman et al. 2020). Counter-based: the same seed and number
// of the draw give the same choice on every backend. Knows no model.
#ifndef BPT_MODELS_SAMPLE_H
#define BPT_MODELS_SAMPLE_H

#include "bpt/status.h"

typedef struct {
    double temperature;  // 0: always the most likely token (the smallest id of equals)
    int64_t top_k;       // only the k most likely tokens; 0 = all
    double top_p;        // only the most likely tokens that together reach this probability; 1 = all
    uint64_t seed;
} bpt_sample_options_t;

typedef struct bpt_sampler bpt_sampler_t;

// BPT_ERR_USAGE for a temperature below 0, top_k below 0, top_p outside (0, 1].
bpt_status_t bpt_sampler_create(const bpt_sample_options_t *options, int64_t vocab, bpt_sampler_t **out) BPT_MUST_USE;
void bpt_sampler_destroy(bpt_sampler_t *sampler);
// Draw number `draw` (0, 1, ..). Allocates nothing. A token whose logit is -infinity is never drawn; BPT_ERR_NUMERIC when
// all are, or when one is infinite or not a number.
bpt_status_t bpt_sampler_draw(bpt_sampler_t *sampler, const float *logits, uint64_t draw, uint32_t *token) BPT_MUST_USE;

#endif
