// Decoders (see decode.h) of one model, or of several that answer together (bpt_runner_join): each has one of its own, and all are
// given the same. What follows a token then has the logarithm of the mean of their probabilities.
#include "models/decode/decode.h"

#include <string.h>

#include "bpt/alloc.h"
#include "models/nn/mixture.h"

struct bpt_decoder {
    bpt_lone_decoder_t **members;  // the first is that of the runner itself
    int count;
    int64_t sequences, vocab;
    const float **rows;  // [sequences]: where the logits of a step lie; of one member
    const float **of_member;
    float *mixed;  // [sequences + 1, vocab], where there are several members: what they give together, and room for one row
};

static float *spare_row(const bpt_decoder_t *d) { return d->mixed + d->sequences * d->vocab; }

static bpt_status_t allocate(bpt_decoder_t *d) {
    const size_t sequences = (size_t)d->sequences;
    BPT_TRY(bpt_alloc(sequences, sizeof *d->rows, &d->rows));
    if (d->count == 1) return BPT_OK;
    BPT_TRY(bpt_alloc(sequences, sizeof *d->of_member, &d->of_member));
    return bpt_alloc((sequences + 1) * (size_t)d->vocab, sizeof *d->mixed, &d->mixed);
}

static bpt_status_t make_members(bpt_decoder_t *d, bpt_runner_t *runner, struct bpt_device *device, const bpt_decoder_t *weights,
                                 int64_t capacity) {
    BPT_TRY(bpt_alloc((size_t)d->count, sizeof(bpt_lone_decoder_t *), &d->members));
    for (int i = 0; i < d->count; ++i)
        BPT_TRY(bpt_lone_decoder_create(i ? bpt_runner_other(runner, i - 1) : runner, device, weights ? weights->members[i] : NULL,
                                        capacity, d->sequences, &d->members[i]));
    return allocate(d);
}

bpt_status_t bpt_decoder_create_on(bpt_runner_t *runner, struct bpt_device *device, const bpt_decoder_t *weights, int64_t capacity,
                                   int64_t sequences, bpt_decoder_t **out) {
    bpt_decoder_t *d;
    BPT_TRY(bpt_alloc(1, sizeof *d, &d));
    d->count = 1 + bpt_runner_others(runner);
    d->sequences = sequences;
    d->vocab = bpt_runner_config(runner)->vocab;
    const bpt_status_t status = make_members(d, runner, device, weights, capacity);
    if (status == BPT_OK)
        *out = d;
    else
        bpt_decoder_destroy(d);
    return status;
}

bpt_status_t bpt_decoder_create(bpt_runner_t *runner, int64_t capacity, int64_t sequences, bpt_decoder_t **out) {
    return bpt_decoder_create_on(runner, NULL, NULL, capacity, sequences, out);
}

void bpt_decoder_destroy(bpt_decoder_t *d) {
    if (!d) return;
    for (int i = 0; d->members && i < d->count; ++i) bpt_lone_decoder_destroy(d->members[i]);
    bpt_free(d->members);
    bpt_free(d->rows);
    bpt_free(d->of_member);
    bpt_free(d->mixed);
    bpt_free(d);
}

// ---- What follows

bpt_status_t bpt_decoder_feed(bpt_decoder_t *d, int64_t sequence, const uint32_t *tokens, int64_t count, float *logits) {
    float *more = logits && d->count > 1 ? spare_row(d) : NULL;
    BPT_TRY(bpt_lone_decoder_feed(d->members[0], sequence, tokens, count, logits));
    if (more && count) bpt_log_softmax(logits, 1, d->vocab);
    for (int i = 1; i < d->count; ++i) {
        BPT_TRY(bpt_lone_decoder_feed(d->members[i], sequence, tokens, count, more));
        if (!more || !count) continue;
        bpt_log_softmax(more, 1, d->vocab);
        bpt_mixture_add(logits, more, d->vocab);
    }
    if (more && count) bpt_mixture_finish(logits, d->vocab, d->count);
    return BPT_OK;
}

static void mix(const bpt_decoder_t *d, int64_t sequence, const float *logits, bool first) {
    float *mixed = d->mixed + sequence * d->vocab, *row = first ? mixed : spare_row(d);
    memcpy(row, logits, (size_t)d->vocab * sizeof *row);
    bpt_log_softmax(row, 1, d->vocab);
    if (!first) bpt_mixture_add(mixed, row, d->vocab);
}

bpt_status_t bpt_decoder_step_rows(bpt_decoder_t *d, const uint32_t *tokens, const float **rows) {
    if (d->count == 1) return bpt_lone_decoder_step(d->members[0], tokens, rows);
    for (int i = 0; i < d->count; ++i) {
        BPT_TRY(bpt_lone_decoder_step(d->members[i], tokens, rows ? d->of_member : NULL));
        for (int64_t s = 0; s < d->sequences && rows; ++s)
            if (tokens[s] != BPT_NO_ROW) mix(d, s, d->of_member[s], i == 0);
    }
    for (int64_t s = 0; s < d->sequences && rows; ++s) {
        if (tokens[s] == BPT_NO_ROW) continue;
        bpt_mixture_finish(d->mixed + s * d->vocab, d->vocab, d->count);
        rows[s] = d->mixed + s * d->vocab;
    }
    return BPT_OK;
}

bpt_status_t bpt_decoder_step(bpt_decoder_t *d, const uint32_t *tokens, float *logits) {
    const size_t vocab = (size_t)d->vocab;
    BPT_TRY(bpt_decoder_step_rows(d, tokens, logits ? d->rows : NULL));
    for (int64_t s = 0; s < d->sequences && logits; ++s)
        if (tokens[s] != BPT_NO_ROW) memcpy(logits + (size_t)s * vocab, d->rows[s], vocab * sizeof *logits);
    return BPT_OK;
}

// ---- What all members are told alike

int64_t bpt_decoder_length(const bpt_decoder_t *d, int64_t sequence) { return bpt_lone_decoder_length(d->members[0], sequence); }

uint64_t bpt_decoder_device_bytes(const bpt_decoder_t *d) {
    uint64_t bytes = 0;
    for (int i = 0; i < d->count; ++i) bytes += bpt_lone_decoder_device_bytes(d->members[i]);
    return bytes;
}

uint64_t bpt_decoder_moved_bytes(const bpt_decoder_t *d) {
    uint64_t bytes = 0;
    for (int i = 0; i < d->count; ++i) bytes += bpt_lone_decoder_moved_bytes(d->members[i]);
    return bytes;
}

void bpt_decoder_rewind(bpt_decoder_t *d, int64_t sequence, int64_t length) {
    for (int i = 0; i < d->count; ++i) bpt_lone_decoder_rewind(d->members[i], sequence, length);
}

bpt_status_t bpt_decoder_read(bpt_decoder_t *d, const bpt_batch_t *batch, int64_t sequences_per_text) {
    for (int i = 0; i < d->count; ++i) BPT_TRY(bpt_lone_decoder_read(d->members[i], batch, sequences_per_text));
    return BPT_OK;
}

void bpt_decoder_attend(bpt_decoder_t *d, int64_t sequence, uint32_t begin, uint32_t end) {
    for (int i = 0; i < d->count; ++i) bpt_lone_decoder_attend(d->members[i], sequence, begin, end);
}

bpt_status_t bpt_decoder_fork(bpt_decoder_t *d, const bpt_fork_t *forks, int64_t count) {
    for (int i = 0; i < d->count; ++i) BPT_TRY(bpt_lone_decoder_fork(d->members[i], forks, count));
    return BPT_OK;
}
