// Choosing the next token, and the defaults of options (see model.h).
#include <inttypes.h>

#include "bpt/alloc.h"
#include "models/api/model_internal.h"
#include "models/decode/sample.h"

struct bpt_token_sampler {
    const bpt_model_t *model;
    bpt_sampler_t *sampler;
};

bpt_status_t bpt_token_sampler_create(const bpt_model_t *m, const bpt_sampling_options_t *options, bpt_token_sampler_t **out) {
    const bpt_sampling_options_t defaults = bpt_sampling_options(), *o = options ? options : &defaults;
    bpt_token_sampler_t *s;
    if (!m || !out) return bpt_fail(BPT_ERR_USAGE, "bpt_token_sampler_create: a null pointer");
    BPT_TRY(bpt_model_need(m, bpt_model_task(m)->predicts_text, "bpt_token_sampler_create", "models that go on with a text"));
    if (o->version != BPT_MODEL_VERSION)
        return bpt_fail(BPT_ERR_USAGE, "the options are of version %u, this library knows %d; set them by bpt_sampling_options()",
                        o->version, BPT_MODEL_VERSION);
    const bpt_sample_options_t sampling = {.temperature = o->temperature,
                                           .top_k = o->top_k,
                                           .top_p = o->top_p,
                                           .min_p = o->min_p,
                                           .repeat_penalty = o->repeat_penalty,
                                           .repeat_window = o->repeat_window,
                                           .no_repeat = o->no_repeat,
                                           .seed = o->seed};
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    s->model = m;
    const bpt_status_t status = bpt_sampler_create(&sampling, m->config.vocab, &s->sampler);
    if (status == BPT_OK)
        *out = s;
    else
        bpt_free(s);
    return status;
}

void bpt_token_sampler_destroy(bpt_token_sampler_t *s) {
    if (!s) return;
    bpt_sampler_destroy(s->sampler);
    bpt_free(s);
}

bpt_status_t bpt_token_sampler_draw(bpt_token_sampler_t *s, const float *logits, const uint32_t *text, int64_t count, uint64_t draw,
                                    uint32_t *token) {
    if (!s || !logits || !token || (!text && count)) return bpt_fail(BPT_ERR_USAGE, "bpt_token_sampler_draw: a null pointer");
    BPT_TRY(bpt_model_check_tokens(s->model, text, count));
    return bpt_sampler_draw(s->sampler, logits, text, count, draw, token);
}

// ---- Defaults

void bpt_model_options_set(bpt_model_options_t *options) { *options = bpt_model_options(); }
void bpt_sampling_options_set(bpt_sampling_options_t *options) { *options = bpt_sampling_options(); }
void bpt_translate_options_set(bpt_translate_options_t *options) { *options = bpt_translate_options(); }
void bpt_train_options_set(bpt_train_options_t *options, double lr) { *options = bpt_train_options(lr); }
