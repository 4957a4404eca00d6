// The best sequence of tags (see viterbi.h).
#include "data/score/viterbi.h"

#include "bpt/alloc.h"

typedef struct {
    int64_t tags;
    const float *transitions;
    double *value;   // [2, tags]: of the best sequence that ends in a tag, for the token before and this one
    uint32_t *from;  // [n, tags]: the tag before
} lattice_t;

// The smallest tag of the highest values + what follows each.
static uint32_t best_of(const double *value, const float *then, int64_t stride, int64_t tags) {
    uint32_t best = 0;
    for (int64_t i = 1; i < tags; ++i)
        if (value[i] + (double)then[i * stride] > value[best] + (double)then[best * stride]) best = (uint32_t)i;
    return best;
}

static void forward(const lattice_t *l, const float *scores, int64_t n) {
    const int64_t tags = l->tags;
    for (int64_t j = 0; j < tags; ++j) l->value[j] = (double)l->transitions[tags * tags + j] + (double)scores[j];
    for (int64_t t = 1; t < n; ++t) {
        const double *before = l->value + (t - 1) % 2 * tags;
        for (int64_t j = 0; j < tags; ++j) {
            const uint32_t i = best_of(before, l->transitions + j, tags, tags);
            l->from[t * tags + j] = i;
            l->value[t % 2 * tags + j] = before[i] + (double)l->transitions[i * tags + j] + (double)scores[t * tags + j];
        }
    }
}

bpt_status_t bpt_viterbi(const float *scores, int64_t n, int64_t tags, const float *transitions, uint32_t *best) {
    lattice_t l = {.tags = tags, .transitions = transitions};
    if (n == 0) return BPT_OK;
    bpt_status_t status = bpt_alloc((size_t)(2 * tags), sizeof *l.value, &l.value);
    if (status == BPT_OK) status = bpt_alloc((size_t)(n * tags), sizeof *l.from, &l.from);
    if (status == BPT_OK) {
        forward(&l, scores, n);
        best[n - 1] = best_of(l.value + (n - 1) % 2 * tags, transitions + (tags + 1) * tags, 1, tags);
        for (int64_t t = n - 1; t > 0; --t) best[t - 1] = l.from[t * tags + best[t]];
    }
    bpt_free(l.value);
    bpt_free(l.from);
    return status;
}
