// Words that are unknown while training (word_dropout.h). The probability rate / (rate + count) is that of Kiperwasser and Goldberg 2016,
// "Simple and accurate dependency parsing using bidirectional LSTM feature representations", where the rate is 0.25.
#include "data/batches/word_dropout.h"

#include "bpt/alloc.h"
#include "bpt/rng.h"

typedef struct {
    uint32_t *threshold;      // [words]: a word is replaced when its random number is below; NULL: no word of this side is
    uint32_t words, unknown;  // what stands in place of a word
    uint32_t *tokens;         // of the batch
    size_t room;
} side_t;

typedef struct {
    bpt_batch_source_t base;
    bpt_batch_source_t *source;
    uint64_t key;
    side_t side[BPT_SIDES];
} dropout_t;

// ---- Replacing

static bpt_status_t copy_tokens(side_t *d, const bpt_side_t *side, int64_t rows) {
    if ((size_t)rows > d->room) {
        BPT_TRY(bpt_realloc(&d->tokens, (size_t)rows, sizeof *d->tokens));
        d->room = (size_t)rows;
    }
    memcpy(d->tokens, side->tokens, (size_t)rows * sizeof *d->tokens);
    return BPT_OK;
}

// One Philox call decides four neighbouring words.
static void replace(const side_t *d, const uint32_t key[2], uint32_t side, uint32_t sequence, uint32_t *tokens, uint32_t length) {
    uint32_t random[4];
    for (uint32_t i = 0; i < length; ++i) {
        if (i % 4 == 0) bpt_philox((const uint32_t[4]){i / 4, sequence, side, 0}, key, random);
        if (tokens[i] < d->words && random[i % 4] < d->threshold[tokens[i]]) tokens[i] = d->unknown;
    }
}

static bpt_status_t replace_side(dropout_t *d, int number, bpt_batch_t *batch) {
    side_t *s = &d->side[number];
    bpt_side_t *side = &batch->side[number];
    const uint64_t mixed = bpt_mix64(d->key + (uint64_t)batch->epoch);
    const uint32_t key[2] = {(uint32_t)mixed, (uint32_t)(mixed >> 32)};
    if (!s->threshold || !side->tokens) return BPT_OK;
    BPT_TRY(copy_tokens(s, side, batch->shape.side[number].rows));
    for (int64_t i = 0; i < batch->n_real; ++i)
        replace(s, key, (uint32_t)number, batch->sequences[i], s->tokens + side->start[i], side->lengths[i]);
    side->tokens = s->tokens;
    return BPT_OK;
}

// ---- The source

static bpt_status_t next(bpt_batch_source_t *source, bpt_batch_t *batch, bool *end) {
    dropout_t *d = (dropout_t *)source;
    BPT_TRY(d->source->next(d->source, batch, end));
    for (int i = 0; !*end && i < BPT_SIDES; ++i) BPT_TRY(replace_side(d, i, batch));
    return BPT_OK;
}

static bpt_status_t seek(bpt_batch_source_t *source, int64_t step) {
    dropout_t *d = (dropout_t *)source;
    return d->source->seek(d->source, step);
}

static void free_dropout(dropout_t *d) {
    for (int i = 0; i < BPT_SIDES; ++i) {
        bpt_free(d->side[i].threshold);
        bpt_free(d->side[i].tokens);
    }
    bpt_free(d);
}

static void destroy(bpt_batch_source_t *source) {
    dropout_t *d = (dropout_t *)source;
    if (!d) return;
    d->source->destroy(d->source);
    free_dropout(d);
}

// ---- How often words are read

static bpt_status_t set_thresholds(side_t *s, const bpt_read_words_t *read, const bpt_word_dropout_t *o) {
    uint32_t unknown, eos;
    uint64_t *counts;
    if (!read->vocab || !bpt_vocab_unknown(read->vocab, &unknown)) return BPT_OK;
    s->words = (uint32_t)bpt_vocab_size(read->vocab);
    BPT_TRY(bpt_alloc(s->words, sizeof *s->threshold, &s->threshold));
    BPT_TRY(bpt_alloc(s->words, sizeof *counts, &counts));
    bpt_ids_count(&read->words, counts, s->words);
    for (uint32_t w = 0; w < s->words; ++w)
        if (counts[w]) s->threshold[w] = (uint32_t)(o->rate / (o->rate + (double)counts[w]) * 0x1p32);  // rate is finite: below 1
    s->threshold[unknown] = 0;
    s->unknown = o->zeros && !counts[unknown] ? BPT_PLACEHOLDER : unknown;
    if (bpt_vocab_end_sign(read->vocab, &eos)) s->threshold[eos] = 0;
    bpt_free(counts);
    return BPT_OK;
}

bpt_status_t bpt_word_dropout_create(bpt_batch_source_t **source, const bpt_word_dropout_t *o, bpt_batch_source_t **out) {
    dropout_t *d;
    if (!(o->rate >= 0 && o->rate <= BPT_WORD_DROPOUT_MOST))
        return bpt_fail(BPT_ERR_USAGE, "word dropout at a rate of %g; it must be 0 to %d", o->rate, BPT_WORD_DROPOUT_MOST);
    BPT_TRY(bpt_alloc(1, sizeof *d, &d));
    bpt_status_t status = BPT_OK;
    for (int i = 0; i < BPT_SIDES && status == BPT_OK; ++i) status = set_thresholds(&d->side[i], &o->side[i], o);
    if (status != BPT_OK) {
        free_dropout(d);
        return status;
    }
    d->base = **source;  // steps and shapes are the same
    d->base.next = next;
    d->base.seek = seek;
    d->base.destroy = destroy;
    d->source = *source;
    d->key = bpt_mix64(o->seed ^ bpt_hash_string("word-dropout"));
    *source = NULL;
    *out = &d->base;
    return BPT_OK;
}
