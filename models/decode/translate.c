// Beam search of many texts (see translate.h).
#include "models/decode/translate.h"

#include "bpt/alloc.h"

struct bpt_translator {
    bpt_translator_options_t options;
    int64_t vocab;
    int64_t most;  // tokens that a sequence of the decoder can have
    bpt_decoder_t *decoder;
    bpt_beam_t **beams;    // [texts]
    bool *live;            // [texts]
    const float **logits;  // [texts * beam]: [vocab] of each sequence
    uint32_t *next;        // [texts * beam]
    bpt_fork_t *forks;     // [texts * beam]
    int64_t n_forks;
    // Of a document: the translations so far, one behind the other, and room for what is fed.
    uint32_t *tokens, *fed;
    size_t n_tokens, token_room, fed_room;
};

static int64_t most_positions(const bpt_runner_t *runner) {
    const int64_t positions = bpt_runner_positions(runner);
    return positions && positions < BPT_MOST_TRANSLATED ? positions : BPT_MOST_TRANSLATED;
}

// Tokens of a translation of `length` tokens.
static int64_t most_tokens(const bpt_translator_t *t, int64_t length) {
    const double most = t->options.max_length_a * (double)length + (double)t->options.max_length_b;
    if (most < 1) return 1;
    return most < (double)t->most ? (int64_t)most : t->most;
}

static bpt_status_t allocate(bpt_translator_t *t) {
    const bpt_translator_options_t *o = &t->options;
    const size_t texts = (size_t)o->texts, sequences = texts * (size_t)o->beam;
    const bpt_beam_options_t beam = {.width = o->beam,
                                     .length_penalty = o->length_penalty,
                                     .end = o->end,
                                     .forbidden = o->forbidden,
                                     .min_tokens = o->min_tokens,
                                     .no_repeat = o->no_repeat,
                                     .vocab = t->vocab};
    BPT_TRY(bpt_alloc(texts, sizeof(bpt_beam_t *), &t->beams));
    BPT_TRY(bpt_alloc(texts, sizeof *t->live, &t->live));
    BPT_TRY(bpt_alloc(sequences, sizeof *t->logits, &t->logits));
    BPT_TRY(bpt_alloc(sequences, sizeof *t->next, &t->next));
    BPT_TRY(bpt_alloc(sequences, sizeof *t->forks, &t->forks));
    for (size_t i = 0; i < texts; ++i) BPT_TRY(bpt_beam_create(&beam, &t->beams[i]));
    return BPT_OK;
}

bpt_status_t bpt_translator_create(bpt_runner_t *runner, const bpt_translator_options_t *options, bpt_translator_t **out) {
    return bpt_translator_create_on(runner, NULL, NULL, options, out);
}

bpt_status_t bpt_translator_create_on(bpt_runner_t *runner, struct bpt_device *device, const bpt_translator_t *weights,
                                      const bpt_translator_options_t *options, bpt_translator_t **out) {
    const bpt_model_config_t *c = bpt_runner_config(runner);
    bpt_translator_t *t;
    if (bpt_model_stacks(c) < 2) return bpt_fail(BPT_ERR_USAGE, "the model is %s, which does not translate", bpt_task_of(c)->model);
    BPT_TRY(bpt_alloc(1, sizeof *t, &t));
    t->options = *options;
    if (t->options.n_best < 1) t->options.n_best = 1;
    t->vocab = c->vocab;
    t->most = most_positions(runner);
    const int64_t capacity = options->documents ? t->most : most_tokens(t, options->longest);
    bpt_status_t status =
        bpt_decoder_create_on(runner, device, weights ? weights->decoder : NULL, capacity, options->texts * options->beam, &t->decoder);
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
    bpt_free(t->tokens);
    bpt_free(t->fed);
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
        BPT_TRY(bpt_beam_begin(t->beams[i], most_tokens(t, batch->side[0].lengths[i])));
    }
    return BPT_OK;
}

// The next tokens of a text's sequences, and which of them are copied first.
static bpt_status_t advance(bpt_translator_t *t, int64_t text) {
    const int64_t width = t->options.beam, first = text * width;
    bpt_fork_t *forks = t->forks + t->n_forks;
    int64_t n_forks;
    bool done;
    BPT_TRY(bpt_beam_step(t->beams[text], t->logits + first, t->next + first, forks, &n_forks, &done));
    t->live[text] = !done;
    for (int64_t i = 0; i < width && done; ++i) t->next[first + i] = BPT_NO_ROW;
    for (int64_t i = 0; i < n_forks && !done; ++i) forks[i].from += first, forks[i].to += first;
    t->n_forks += done ? 0 : n_forks;
    return BPT_OK;
}

// The best hypotheses of a text; how many there are.
static int hand_out(const bpt_translator_t *t, int64_t text, bpt_hypothesis_t *out) {
    const int found = bpt_beam_count(t->beams[text]), count = found < t->options.n_best ? found : t->options.n_best;
    for (int i = 0; i < count; ++i) out[i] = bpt_beam_hypothesis(t->beams[text], i);
    return count;
}

bpt_status_t bpt_translator_run(bpt_translator_t *t, const bpt_batch_t *batch, bpt_hypothesis_t *out, int *counts) {
    int64_t left = batch->n_real;
    BPT_TRY(begin(t, batch));
    while (left) {
        BPT_TRY(bpt_decoder_step_rows(t->decoder, t->next, t->logits));
        t->n_forks = left = 0;
        for (int64_t i = 0; i < batch->n_real; ++i) {
            if (t->live[i]) BPT_TRY(advance(t, i));
            left += t->live[i];
        }
        BPT_TRY(bpt_decoder_fork(t->decoder, t->forks, t->n_forks));
        if (t->options.on_token) t->options.on_token(t->options.user);
    }
    for (int64_t i = 0; i < batch->n_real; ++i) {
        const int count = hand_out(t, i, out + i * t->options.n_best);
        if (counts) counts[i] = count;
    }
    return BPT_OK;
}

uint64_t bpt_translator_device_bytes(const bpt_translator_t *t) { return bpt_decoder_device_bytes(t->decoder); }

// ---- Documents

// Gives the first sequence a sentence: the opening sign and its words.
static bpt_status_t feed(bpt_translator_t *t, const uint32_t *tokens, int64_t count) {
    if ((size_t)count >= t->fed_room) {
        BPT_TRY(bpt_realloc(&t->fed, (size_t)count + 1, sizeof *t->fed));
        t->fed_room = (size_t)count + 1;
    }
    t->fed[0] = t->options.begin;
    for (int64_t i = 0; i < count; ++i) t->fed[i + 1] = tokens[i];
    return bpt_decoder_feed(t->decoder, 0, t->fed, count + 1, NULL);
}

// Searches for the next sentence, behind what the first sequence holds; the others hold nothing.
static bpt_status_t search(bpt_translator_t *t, int64_t most) {
    const int64_t before = bpt_decoder_length(t->decoder, 0);
    BPT_TRY(bpt_beam_begin(t->beams[0], most));
    for (int i = 0; i < t->options.beam; ++i) t->next[i] = i ? BPT_NO_ROW : t->options.begin;
    for (t->live[0] = true; t->live[0];) {
        BPT_TRY(bpt_decoder_step_rows(t->decoder, t->next, t->logits));
        t->n_forks = 0;
        BPT_TRY(advance(t, 0));
        for (int64_t i = 0; i < t->n_forks; ++i)  // what two sequences share of this sentence stands behind the ones before it
            if (t->forks[i].first) t->forks[i].first += before;
        BPT_TRY(bpt_decoder_fork(t->decoder, t->forks, t->n_forks));
        if (t->options.on_token) t->options.on_token(t->options.user);
    }
    for (int i = 0; i < t->options.beam; ++i) bpt_decoder_rewind(t->decoder, i, i ? 0 : before);
    return BPT_OK;
}

static bpt_status_t keep(bpt_translator_t *t, const bpt_hypothesis_t *h) {
    for (int64_t i = 0; i < h->count; ++i) {
        BPT_TRY(bpt_grow(&t->tokens, t->n_tokens, &t->token_room, sizeof *t->tokens));
        t->tokens[t->n_tokens++] = h->tokens[i];
    }
    return BPT_OK;
}

// The next sentence, of `length` tokens, in the positions that those before it and their translations leave.
static bpt_status_t translate_sentence(bpt_translator_t *t, int64_t length, bpt_hypothesis_t *out) {
    const int64_t left = t->most - bpt_decoder_length(t->decoder, 0), wanted = most_tokens(t, length);
    if (left < 2)
        return bpt_fail(BPT_ERR_INPUT,
                        "the translations of the document's sentences before it fill the %lld positions that they share with its own; "
                        "give shorter sentences, or end the document before this one by a blank line",
                        (long long)t->most);
    BPT_TRY(search(t, wanted < left ? wanted : left));
    *out = bpt_beam_hypothesis(t->beams[0], 0);
    return keep(t, out);
}

static bpt_status_t translate_sentences(bpt_translator_t *t, const bpt_batch_t *batch, int64_t n_given, const bpt_hypothesis_t *given,
                                        bpt_hypothesis_t *out, int64_t *n_known) {
    const bpt_side_t *side = &batch->side[0];
    BPT_TRY(bpt_decoder_read(t->decoder, batch, t->options.beam));
    for (int64_t s = 0; s < batch->segments; ++s) {
        for (int i = 0; i < t->options.beam; ++i)
            bpt_decoder_attend(t->decoder, i, side->segment_start[s], side->segment_start[s] + side->segment_lengths[s]);
        bpt_hypothesis_t h;
        if (s < n_given) {
            h = given[s];
        } else {
            BPT_TRY(translate_sentence(t, side->segment_lengths[s], &h));
            out[s] = h;
            *n_known = s + 1;
        }
        if (s + 1 < batch->segments) BPT_TRY(feed(t, h.tokens, h.count));
    }
    return BPT_OK;
}

bpt_status_t bpt_translator_run_document(bpt_translator_t *t, const bpt_batch_t *batch, int64_t n_given, const bpt_hypothesis_t *given,
                                         bpt_hypothesis_t *out, int64_t *n_known) {
    *n_known = n_given;
    t->n_tokens = 0;
    const bpt_status_t status = translate_sentences(t, batch, n_given, given, out, n_known);
    size_t at = 0;
    for (int64_t s = n_given; s < *n_known; at += (size_t)out[s].count, ++s)
        out[s].tokens = t->n_tokens ? t->tokens + at : NULL;  // all may be empty, of no tokens at all
    return status;
}
