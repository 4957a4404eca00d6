// Generation for callers outside (see model.h): checks, and the decoder.
#include <inttypes.h>

#include "bpt/alloc.h"
#include "models/api/model_internal.h"
#include "models/decode/decode.h"

_Static_assert(BPT_REST == BPT_NO_ROW, "a text that rests is a sequence without a row");

struct bpt_generator {
    bpt_model_t *model;
    bpt_decoder_t *decoder;
    int64_t texts;
};

bpt_status_t bpt_generator_create(bpt_model_t *m, int64_t capacity, int64_t texts, bpt_generator_t **out) {
    bpt_generator_t *g;
    BPT_TRY(bpt_model_ready(m));
    BPT_TRY(bpt_model_need(m, bpt_task_sides(bpt_model_task(m)) == 1, "bpt_generator_create", "models that go on with a text"));
    if (!out) return bpt_fail(BPT_ERR_USAGE, "bpt_generator_create: a null pointer");
    BPT_TRY(bpt_alloc(1, sizeof *g, &g));
    g->model = m;
    g->texts = texts;
    const bpt_status_t status = bpt_decoder_create(m->runner, capacity, texts, &g->decoder);
    if (status != BPT_OK) {
        bpt_free(g);
        return status;
    }
    ++m->generators;
    *out = g;
    return BPT_OK;
}

void bpt_generator_destroy(bpt_generator_t *g) {
    if (!g) return;
    --g->model->generators;
    bpt_decoder_destroy(g->decoder);
    bpt_free(g);
}

static bpt_status_t check_text(const bpt_generator_t *g, int64_t text) {
    if (!g) return bpt_fail(BPT_ERR_USAGE, "the generator is a null pointer");
    if (text >= 0 && text < g->texts) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "there is no text %" PRId64 " among %" PRId64, text, g->texts);
}

bpt_status_t bpt_generator_feed(bpt_generator_t *g, int64_t text, const uint32_t *tokens, int64_t count, float *logits) {
    BPT_TRY(check_text(g, text));
    BPT_TRY(bpt_model_check_tokens(g->model, tokens, count));
    if (!count && logits) return bpt_fail(BPT_ERR_USAGE, "logits follow a token, and there is none to append");
    BPT_TRY(bpt_decoder_feed(g->decoder, text, tokens, count, logits));
    return logits ? bpt_model_check_finite(logits, g->model->config.vocab) : BPT_OK;
}

bpt_status_t bpt_generator_step(bpt_generator_t *g, const uint32_t *tokens, float *logits) {
    if (!g || !tokens) return bpt_fail(BPT_ERR_USAGE, "bpt_generator_step: a null pointer");
    for (int64_t t = 0; t < g->texts; ++t)
        if (tokens[t] != BPT_REST) BPT_TRY(bpt_model_check_tokens(g->model, tokens + t, 1));
    BPT_TRY(bpt_decoder_step(g->decoder, tokens, logits));
    const int64_t vocab = g->model->config.vocab;
    for (int64_t t = 0; logits && t < g->texts; ++t)
        if (tokens[t] != BPT_REST) BPT_TRY(bpt_model_check_finite(logits + t * vocab, vocab));
    return BPT_OK;
}

int64_t bpt_generator_length(const bpt_generator_t *g, int64_t text) {
    return g && text >= 0 && text < g->texts ? bpt_decoder_length(g->decoder, text) : 0;
}

bpt_status_t bpt_generator_rewind(bpt_generator_t *g, int64_t text, int64_t length) {
    BPT_TRY(check_text(g, text));
    if (length < 0 || length > bpt_decoder_length(g->decoder, text))
        return bpt_fail(BPT_ERR_USAGE, "text %" PRId64 " has %" PRId64 " tokens, not %" PRId64, text, bpt_decoder_length(g->decoder, text),
                        length);
    bpt_decoder_rewind(g->decoder, text, length);
    return BPT_OK;
}
