// Texts that are moved to the right by placeholders (bpt_examples_shift in examples.h): how much a model depends on where a text begins (Ye
// et al. 2019, Table 2).
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/batch.h"
#include "data/examples/examples.h"

// The same texts with `count` more tokens in front of each, in arrays of their own.
static bpt_status_t make_shifted(const bpt_examples_t *e, uint64_t texts, uint64_t count, bpt_examples_t *out) {
    BPT_TRY(bpt_alloc((size_t)out->n_tokens, sizeof *out->tokens, &out->tokens));
    BPT_TRY(bpt_alloc((size_t)texts + 1, sizeof *out->offsets, &out->offsets));
    if (e->bags.has) BPT_TRY(bpt_alloc((size_t)out->n_tokens + 1, sizeof *out->bags.offsets, &out->bags.offsets));
    for (uint64_t t = 0, to = 0; t < texts; ++t) {
        const uint64_t from = e->offsets[t], length = e->offsets[t + 1] - from;
        for (uint64_t i = 0; i < count; ++i, ++to) {
            out->tokens[to] = BPT_PLACEHOLDER;
            if (e->bags.has) out->bags.offsets[to + 1] = e->bags.offsets[from];
        }
        memcpy(out->tokens + to, e->tokens + from, (size_t)length * sizeof *e->tokens);
        for (uint64_t i = 0; e->bags.has && i < length; ++i) out->bags.offsets[to + i + 1] = e->bags.offsets[from + i + 1];
        to += length;
        out->offsets[t + 1] = to;
    }
    return BPT_OK;
}

bpt_status_t bpt_examples_shift(bpt_examples_t *e, int64_t count) {
    const uint64_t texts = e->count * (uint64_t)(e->texts ? e->texts : 1), more = (uint64_t)count;
    if (count == 0) return BPT_OK;
    if (e->target.has) return bpt_fail(BPT_ERR_USAGE, "texts that are translated cannot be shifted; shift texts that have one target each");
    if (e->trees.has) return bpt_fail(BPT_ERR_USAGE, "placeholders have no place in a tree; shift texts of a model without trees");
    if (e->labels.per_token || e->vectors.has)
        return bpt_fail(BPT_ERR_USAGE, "placeholders have no %s; shift texts that have one target each",
                        e->labels.per_token ? "label, and here each token has one" : "vector, and here vectors are read");
    bpt_examples_t shifted = {.n_tokens = e->n_tokens + texts * more};
    const bpt_status_t status = make_shifted(e, texts, more, &shifted);
    if (status == BPT_OK) {
        bpt_free(e->tokens);
        bpt_free(e->offsets);
        bpt_free(e->bags.offsets);
        e->tokens = shifted.tokens, e->offsets = shifted.offsets, e->bags.offsets = shifted.bags.offsets;
        e->n_tokens = shifted.n_tokens;
        e->token_capacity = (size_t)e->n_tokens, e->capacity = (size_t)e->count;
        e->bags.offset_capacity = e->bags.has ? (size_t)e->n_tokens + 1 : 0;
    } else {
        bpt_free(shifted.tokens);
        bpt_free(shifted.offsets);
        bpt_free(shifted.bags.offsets);
    }
    return status;
}
