// Beam search of many texts (see translate.h).
#include "models/decode/translate.h"

#include "bpt/alloc.h"

struct bpt_translator {
    bpt_translator_options_t options;
    int64_t vocab;
    bpt_decoder_t *decoder;
    bpt_beam_t **beams;  // [texts]
    bool *live;          // [texts]
    float *logits;       // [texts * beam, vocab]
    uint32_t *next;      // [texts * beam]
    bpt_fork_t *forks;   // [texts * beam]
    int64_t n_forks;
};

static int64_t most_tokens(const bpt_translator_options_t *o, int64_t length) {
    const double most = o->max_length_a * (double)length + (double)o->max_length_b;
    if (most < 1) return 1;
    return most < BPT_MOST_TRANSLATED ? (int64_t)most : BPT_MOST_TRANSLATED;
}

static bpt_status_t allocate(bpt_translator_t *t) {
    const bpt_translator_options_t *o = &t->options;
    const size_t texts = (size_t)o->texts, sequences = texts * (size_t)o->beam;
    const bpt_beam_options_t beam = {
        .width = o->beam, .length_penalty = o->length_penalty, .end = o->end, .forbidden = o->forbidden, .vocab = t->vocab};
    BPT_TRY(bpt_alloc(texts, sizeof(bpt_beam_t *), &t->beams));
    BPT_TRY(bpt_alloc(texts, sizeof *t->live, &t->live));
    BPT_TRY(bpt_alloc(sequences * (size_t)t->vocab, sizeof *t->logits, &t->logits));
    BPT_TRY(bpt_alloc(sequences, sizeof *t->next, &t->next));
    BPT_TRY(bpt_alloc(sequences, sizeof *t->forks, &t->forks));
    for (size_t i = 0; i < texts; ++i) BPT_TRY(bpt_beam_create(&beam, &t->beams[i]));
    return BPT_OK;
}

bpt_status_t bpt_translator_create(bpt_runner_t *runner, const bpt_translator_options_t *options, bpt_translator_t **out) {
    const bpt_model_config_t *c = bpt_runner_config(runner);
    bpt_translator_t *t;
    if (bpt_model_stacks(c) < 2) return bpt_fail(BPT_ERR_USAGE, "the model is %s, which does not translate", bpt_task_of(c)->model);
    BPT_TRY(bpt_alloc(1, sizeof *t, &t));
    t->options = *options;
    t->vocab = c->vocab;
    bpt_status_t status = bpt_decoder_create(runner, most_tokens(options, options->longest), options->texts * options->beam, &t->decoder);
    if (status == BPT_OK) status = allocate(t);
    if (status == BPT_OK)
        *out = t;
    else
        bpt_translator_destroy(t);
    return status;
}

void bpt_translator_destroy(bpt_translator_t *t) {
    if (!t) return;
    for (int64_t i = 0; t->beams && i < t->options.texts; ++i) bpt_beam_destroy(t->beams[i]);
    bpt_decoder_destroy(t->decoder);
    bpt_free(t->beams);
    bpt_free(t->live);
    bpt_free(t->logits);
    bpt_free(t->next);
    bpt_free(t->forks);
    bpt_free(t);
}

// Every text begins with the opening sign in its first sequence.
static bpt_status_t begin(bpt_translator_t *t, const bpt_batch_t *batch) {
    const int64_t width = t->options.beam;
    BPT_TRY(bpt_decoder_read(t->decoder, batch, width));
    for (int64_t i = 0; i < t->options.texts * width; ++i) t->next[i] = BPT_NO_ROW;
    for (int64_t i = 0; i < t->options.texts; ++i) {
        t->live[i] = i < batch->n_real;
        if (!t->live[i]) continue;
        t->next[i * width] = t->options.begin;
        BPT_TRY(bpt_beam_begin(t->beams[i], most_tokens(&t->options, batch->side[0].lengths[i])));
    }
    return BPT_OK;
}

// The next tokens of a text's sequences, and which of them are copied first.
static bpt_status_t advance(bpt_translator_t *t, int64_t text) {
    const int64_t width = t->options.beam, first = text * width;
    bpt_fork_t *forks = t->forks + t->n_forks;
    int64_t n_forks;
    bool done;
    BPT_TRY(bpt_beam_step(t->beams[text], t->logits + first * t->vocab, t->next + first, forks, &n_forks, &done));
    t->live[text] = !done;
    for (int64_t i = 0; i < width && done; ++i) t->next[first + i] = BPT_NO_ROW;
    for (int64_t i = 0; i < n_forks && !done; ++i) forks[i].from += first, forks[i].to += first;
    t->n_forks += done ? 0 : n_forks;
    return BPT_OK;
}

bpt_status_t bpt_translator_run(bpt_translator_t *t, const bpt_batch_t *batch, bpt_hypothesis_t *out) {
    int64_t left = batch->n_real;
    BPT_TRY(begin(t, batch));
    while (left) {
        BPT_TRY(bpt_decoder_step(t->decoder, t->next, t->logits));
        t->n_forks = left = 0;
        for (int64_t i = 0; i < batch->n_real; ++i) {
            if (t->live[i]) BPT_TRY(advance(t, i));
            left += t->live[i];
        }
        BPT_TRY(bpt_decoder_fork(t->decoder, t->forks, t->n_forks));
    }
    for (int64_t i = 0; i < batch->n_real; ++i) out[i] = bpt_beam_hypothesis(t->beams[i], 0);
    return BPT_OK;
}
