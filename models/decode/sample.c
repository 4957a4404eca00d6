// Sampling (see sample.h).
#include "models/decode/sample.h"

#include <math.h>
#include <stdlib.h>

#include "bpt/alloc.h"
#include "bpt/rng.h"
#include "models/decode/repeats.h"

typedef struct {
    float logit;
    uint32_t token;
} candidate_t;

struct bpt_sampler {
    bpt_sample_options_t options;
    int64_t vocab;
    candidate_t *candidates;
    double *weights;
    bool *recent;  // [vocab]: among the last tokens of the text; all false between draws
    bool *banned;  // [vocab]: would repeat an n-gram; likewise
};

bpt_status_t bpt_sampler_create(const bpt_sample_options_t *o, int64_t vocab, bpt_sampler_t **out) {
    if (!(o->temperature >= 0) || isinf(o->temperature))
        return bpt_fail(BPT_ERR_USAGE, "temperature is %g; it must be 0 (always the most likely token) or more", o->temperature);
    if (o->top_k < 0) return bpt_fail(BPT_ERR_USAGE, "top-k is %lld; it must be 0 (all tokens) or more", (long long)o->top_k);
    if (!(o->top_p > 0 && o->top_p <= 1)) return bpt_fail(BPT_ERR_USAGE, "top-p is %g; it must be more than 0 and at most 1", o->top_p);
    if (!(o->min_p >= 0 && o->min_p <= 1)) return bpt_fail(BPT_ERR_USAGE, "min-p is %g; it must be at least 0 and at most 1", o->min_p);
    if (!(o->repeat_penalty > 0) || isinf(o->repeat_penalty))
        return bpt_fail(BPT_ERR_USAGE, "repeat-penalty is %g; it must be more than 0 (1: none)", o->repeat_penalty);
    if (o->repeat_window < 0)
        return bpt_fail(BPT_ERR_USAGE, "repeat-window is %lld; it must be 0 (the whole text) or more", (long long)o->repeat_window);
    if (o->no_repeat < 0) return bpt_fail(BPT_ERR_USAGE, "no-repeat is %lld; it must be 0 (none) or more", (long long)o->no_repeat);
    bpt_sampler_t *s;
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    s->options = *o;
    s->vocab = vocab;
    bpt_status_t status = bpt_alloc((size_t)vocab, sizeof *s->candidates, &s->candidates);
    if (status == BPT_OK) status = bpt_alloc((size_t)vocab, sizeof *s->weights, &s->weights);
    if (status == BPT_OK) status = bpt_alloc((size_t)vocab, sizeof *s->recent, &s->recent);
    if (status == BPT_OK) status = bpt_alloc((size_t)vocab, sizeof *s->banned, &s->banned);
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
    bpt_free(s->recent);
    bpt_free(s->banned);
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

// -infinity forbids a token; anything else that is not finite comes of damage.
static bpt_status_t check_logits(const float *logits, int64_t vocab) {
    for (int64_t i = 0; i < vocab; ++i)
        if (isnan(logits[i]) || logits[i] == INFINITY)
            return bpt_fail(BPT_ERR_NUMERIC, "the logit of token %lld is %g: the model's parameters are damaged or too large", (long long)i,
                            (double)logits[i]);
    return BPT_OK;
}

// The logits that are left without repeats and after the penalty, and the most likely of them; -1 when none is finite.
static int64_t collect(bpt_sampler_t *s, const float *logits, const uint32_t *text, int64_t count, int64_t *n) {
    const bpt_sample_options_t *o = &s->options;
    const int64_t first = o->repeat_penalty == 1 ? count : o->repeat_window && o->repeat_window < count ? count - o->repeat_window : 0;
    int64_t best = -1;
    for (int64_t i = first; i < count; ++i) s->recent[text[i]] = true;
    bpt_mark_repeats(text, count, o->no_repeat, s->banned, true);
    *n = 0;
    for (int64_t i = 0; i < s->vocab; ++i) {
        float x = logits[i];
        if (s->recent[i]) x = (float)(x > 0 ? x / o->repeat_penalty : x * o->repeat_penalty);
        if (x == -INFINITY || s->banned[i]) continue;
        if (best < 0 || x > s->candidates[best].logit) best = *n;
        s->candidates[(*n)++] = (candidate_t){x, (uint32_t)i};
    }
    for (int64_t i = first; i < count; ++i) s->recent[text[i]] = false;
    bpt_mark_repeats(text, count, o->no_repeat, s->banned, false);
    return best < 0 || isinf(s->candidates[best].logit) ? -1 : best;
}

// How many of the most likely tokens reach a share of the total together.
static int64_t top_p(const bpt_sampler_t *s, int64_t count, double *total) {
    double reached = 0;
    int64_t kept = 0;
    while (kept < count && reached < s->options.top_p * *total) reached += s->weights[kept++];
    *total = reached;
    return kept;
}

// How many are likely enough beside the first, whose weight is 1.
static int64_t min_p(const bpt_sampler_t *s, int64_t count, double *total) {
    double sum = 0;
    int64_t kept = 0;
    while (kept < count && s->weights[kept] >= s->options.min_p) sum += s->weights[kept++];
    *total = sum;
    return kept;
}

bpt_status_t bpt_sampler_draw(bpt_sampler_t *s, const float *logits, const uint32_t *text, int64_t n_text, uint64_t draw, uint32_t *token) {
    const bpt_sample_options_t *o = &s->options;
    int64_t count;
    BPT_TRY(check_logits(logits, s->vocab));
    const int64_t best = collect(s, logits, text, n_text, &count);
    if (!count && o->no_repeat)
        return bpt_fail(BPT_ERR_INPUT, "no token is left that would not repeat %lld tokens of the text; raise no-repeat",
                        (long long)o->no_repeat);
    if (best < 0) return bpt_fail(BPT_ERR_NUMERIC, "no logit is finite: the model's parameters are damaged");
    *token = s->candidates[best].token;
    if (o->temperature == 0) return BPT_OK;
    const double largest = (double)s->candidates[best].logit;
    const bool cut_k = o->top_k > 0 && o->top_k < count;
    if (cut_k || o->top_p < 1 || o->min_p > 0) qsort(s->candidates, (size_t)count, sizeof *s->candidates, more_likely_first);
    if (cut_k) count = o->top_k;
    double total = 0;
    for (int64_t i = 0; i < count; ++i) {
        s->weights[i] = exp(((double)s->candidates[i].logit - largest) / o->temperature);
        total += s->weights[i];
    }
    if (o->top_p < 1) count = top_p(s, count, &total);
    if (o->min_p > 0) count = min_p(s, count, &total);
    double left = uniform(o->seed, draw) * total;
    for (int64_t i = 0; i < count; ++i) {
        *token = s->candidates[i].token;
        left -= s->weights[i];
        if (left < 0) break;
    }
    return BPT_OK;
}
