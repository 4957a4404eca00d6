// The same texts (see same_texts.h).
#include "models/api/same_texts.h"

#include <inttypes.h>
#include <string.h>

#include "bpt/names.h"

static bpt_status_t other_token(const char *what, int64_t at, bpt_word_t a, bpt_word_t b) {
    return bpt_fail(BPT_ERR_USAGE,
                    "%s: number %" PRId64
                    " is '%s' in one model and '%s' in the other; models that answer together need the same, in the same "
                    "order: train them on the same data",
                    what, at, bpt_show(a.data, a.bytes).text, bpt_show(b.data, b.bytes).text);
}

bpt_status_t bpt_same_vocab(const bpt_vocab_t *a, const bpt_vocab_t *b, const char *what) {
    if (!a && !b) return BPT_OK;
    if (!a || !b || bpt_vocab_unit(a) != bpt_vocab_unit(b) || bpt_vocab_size(a) != bpt_vocab_size(b))
        return bpt_fail(BPT_ERR_USAGE, "%s: the models have other numbers or kinds of tokens; models that answer together need the same",
                        what);
    for (int64_t i = 0; i < bpt_vocab_size(a); ++i) {
        bpt_word_t x, y;
        x.data = bpt_vocab_token(a, (uint32_t)i, &x.bytes);
        y.data = bpt_vocab_token(b, (uint32_t)i, &y.bytes);
        if (!bpt_word_same(&x, &y)) return other_token(what, i, x, y);
    }
    size_t bytes, others;
    const void *model = bpt_vocab_subwords(a, &bytes), *other = bpt_vocab_subwords(b, &others);
    if (!model && !other) return BPT_OK;
    if (model && other && bytes == others && !memcmp(model, other, bytes)) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "%s: the models cut words into subwords by different SentencePiece models; they need the same", what);
}

bpt_status_t bpt_same_labels(const bpt_labels_t *a, const bpt_labels_t *b) {
    if (a->count != b->count)
        return bpt_fail(BPT_ERR_USAGE, "the labels: one model has %zu, the other %zu; models that answer together need the same", a->count,
                        b->count);
    for (size_t i = 0; i < a->count; ++i) {
        const bpt_word_t x = {a->name[i], strlen(a->name[i])}, y = {b->name[i], strlen(b->name[i])};
        if (!bpt_word_same(&x, &y)) return other_token("the labels", (int64_t)i, x, y);
    }
    return BPT_OK;
}
