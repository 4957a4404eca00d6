// Sampling (see sample.h).
#include "models/decode/sample.h"

#include <math.h>
#include <stdlib.h>

#include "bpt/alloc.h"
#include "bpt/rng.h"

typedef struct {
    float logit;
    uint32_t token;
} candidate_t;

struct bpt_sampler {
    bpt_sample_options_t options;
    int64_t vocab;
    candidate_t *candidates;
    double *weights;
};

bpt_status_t bpt_sampler_create(const bpt_sample_options_t *o, int64_t vocab, bpt_sampler_t **out) {
    if (!(o->temperature >= 0) || isinf(o->temperature))
        return bpt_fail(BPT_ERR_USAGE, "temperature is %g; it must be 0 (always the most likely token) or more", o->temperature);
    if (o->top_k < 0) return bpt_fail(BPT_ERR_USAGE, "top-k is %lld; it must be 0 (all tokens) or more", (long long)o->top_k);
    if (!(o->top_p > 0 && o->top_p <= 1)) return bpt_fail(BPT_ERR_USAGE, "top-p is %g; it must be more than 0 and at most 1", o->top_p);
    bpt_sampler_t *s;
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    s->options = *o;
    s->vocab = vocab;
    bpt_status_t status = bpt_alloc((size_t)vocab, sizeof *s->candidates, &s->candidates);
    if (status == BPT_OK) status = bpt_alloc((size_t)vocab, sizeof *s->weights, &s->weights);
    if (status == BPT_OK)
        *out = s;
    else
        bpt_sampler_destroy(s);
    return status;
}

void bpt_sampler_destroy(bpt_sampler_t *s) {
    if (!s) return;
    bpt_free(s->candidates);
    bpt_free(s->weights);
    bpt_free(s);
}

static int more_likely_first(const void *a, const void *b) {
    const candidate_t *x = a, *y = b;
    if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

static double uniform(uint64_t seed, uint64_t draw) {
    const uint64_t key = bpt_mix64(seed);
    const uint32_t counter[4] = {(uint32_t)draw, (uint32_t)(draw >> 32), 0, 1}, keys[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    uint32_t words[4];
    bpt_philox(counter, keys, words);
    return ((double)words[0] + 0.5) * 0x1p-32;
}

bpt_status_t bpt_sampler_draw(bpt_sampler_t *s, const float *logits, uint64_t draw, uint32_t *token) {
    const bpt_sample_options_t *o = &s->options;
    int64_t count = 0, best = -1;
    for (int64_t i = 0; i < s->vocab; ++i) {
        if (isnan(logits[i]) || logits[i] == INFINITY)
            return bpt_fail(BPT_ERR_NUMERIC, "the logit of token %lld is %g: the model's parameters are damaged or too large", (long long)i,
                            (double)logits[i]);
        if (logits[i] == -INFINITY) continue;
        if (best < 0 || logits[i] > logits[best]) best = i;
        s->candidates[count++] = (candidate_t){logits[i], (uint32_t)i};
    }
    if (best < 0) return bpt_fail(BPT_ERR_NUMERIC, "no logit is finite: the model's parameters are damaged");
    *token = (uint32_t)best;
    if (o->temperature == 0) return BPT_OK;
    const bool cut = (o->top_k > 0 && o->top_k < count) || o->top_p < 1;
    if (cut) qsort(s->candidates, (size_t)count, sizeof *s->candidates, more_likely_first);
    if (o->top_k > 0 && o->top_k < count) count = o->top_k;
    double total = 0;
    for (int64_t i = 0; i < count; ++i) {
        s->weights[i] = exp(((double)s->candidates[i].logit - (double)logits[best]) / o->temperature);
        total += s->weights[i];
    }
    if (o->top_p < 1) {
        double reached = 0;
        int64_t kept = 0;
        while (kept < count && reached < o->top_p * total) reached += s->weights[kept++];
        count = kept;
        total = reached;
    }
    double left = uniform(o->seed, draw) * total;
    for (int64_t i = 0; i < count; ++i) {
        *token = s->candidates[i].token;
        left -= s->weights[i];
        if (left < 0) break;
    }
    return BPT_OK;
}
