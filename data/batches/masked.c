// Hides tokens of batches (see masked.h). The micro-batches of an optimiser step are read together: each says how many targets they all
// have.
#include "data/batches/masked.h"

#include <string.h>

#include "bpt/alloc.h"
#include "bpt/rng.h"
#include "data/batches/buffer.h"

typedef struct {
    bpt_batch_source_t base, *inner;
    bpt_masking_t masking;
    bpt_batch_shape_t *shapes;
    bpt_batch_buffer_t *buffers;  // of the step's micro-batches
    bpt_batch_t *batches;
    size_t room, batch_room, count, at;
} masked_t;

// ---- One sequence

enum { PERCENT = 15, TOKENS_HIDDEN = 80, TOKENS_DRAWN = 90 };  // of 100 tokens; of 100 chosen ones, the second below the first and the rest

// A number below `limit`, as likely as all others but for less than limit / 2^32.
static uint64_t below(uint32_t word, uint64_t limit) { return (uint64_t)word * limit >> 32; }

static void draw(const masked_t *s, uint64_t epoch, uint32_t sequence, uint32_t place, uint32_t words[4]) {
    const uint64_t key = bpt_mix64(bpt_mix64(s->masking.seed ^ 0x6d61736bu) ^ epoch);
    const uint32_t counter[4] = {place, sequence, 0, 0}, keys[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    bpt_philox(counter, keys, words);
}

static uint32_t replacement(const masked_t *s, uint32_t token, const uint32_t words[4]) {
    const uint64_t part = below(words[1], 100);
    if (part < TOKENS_HIDDEN) return s->masking.mask;
    return part < TOKENS_DRAWN ? (uint32_t)below(words[2], (uint64_t)s->masking.vocab) : token;
}

// Chooses `wanted` of the `left` tokens that may be, one after the other (Knuth 1997, 3.4.2, algorithm S). Returns how many are hidden.
static int64_t hide(const masked_t *s, uint64_t epoch, uint32_t sequence, uint32_t length, uint32_t *tokens, uint32_t *targets,
                    float *weights) {
    uint64_t left = 0;
    for (uint32_t i = 0; i < length; ++i) left += tokens[i] != s->masking.end;
    uint64_t wanted = left ? (left * PERCENT + 50) / 100 : 0;
    if (left && !wanted) wanted = 1;
    const int64_t all = (int64_t)wanted;
    for (uint32_t i = 0; i < length && wanted; ++i) {
        uint32_t words[4];
        if (tokens[i] == s->masking.end) continue;
        draw(s, epoch, sequence, i, words);
        if (below(words[0], left--) >= wanted) continue;
        targets[i] = tokens[i];
        weights[i] = 1;
        tokens[i] = replacement(s, tokens[i], words);
        --wanted;
    }
    return all;
}

// ---- Batches

static bpt_batch_shape_t shape_for(const masked_t *s, const bpt_batch_shape_t *shape) {
    bpt_batch_shape_t out = *shape;
    if (s->masking.packed) out.side[0].n = 0;
    return out;
}

// The real sequences of a batch in arrays of the source's own, some of their tokens hidden.
static bpt_status_t mask_batch(masked_t *s, const bpt_batch_t *from, bpt_batch_buffer_t *buffer, bpt_batch_t *out) {
    const bpt_batch_layout_t layout = {.shape = shape_for(s, &from->shape), .n_targets = from->shape.side[0].rows};
    const bpt_side_t *side = &from->side[0];
    uint32_t end = 0;
    BPT_TRY(bpt_batch_buffer_start(buffer, &layout, out));
    for (int64_t i = 0; i < from->n_real; ++i) {
        const uint32_t length = side->lengths[i], start = s->masking.packed ? end : side->start[i];
        uint32_t *tokens = buffer->side[0].tokens + start;
        memcpy(tokens, side->tokens + side->start[i], length * sizeof *tokens);
        out->n_scored +=
            hide(s, (uint64_t)from->epoch, from->sequences[i], length, tokens, buffer->targets + start, buffer->weights + start);
        buffer->side[0].start[i] = start;
        buffer->side[0].lengths[i] = length;
        buffer->sequences[i] = from->sequences[i];
        end = start + length;
    }
    out->n_real = from->n_real;
    out->n_tokens = from->n_tokens;
    out->first = from->first, out->last = from->last, out->left = from->left;
    out->epoch = from->epoch, out->epoch_end = from->epoch_end;
    return BPT_OK;
}

static bpt_status_t make_room(masked_t *s) {
    const size_t before = s->room;
    BPT_TRY(bpt_grow(&s->batches, s->count, &s->batch_room, sizeof *s->batches));
    BPT_TRY(bpt_grow(&s->buffers, s->count, &s->room, sizeof *s->buffers));
    if (s->room > before) memset(s->buffers + before, 0, (s->room - before) * sizeof *s->buffers);
    return BPT_OK;
}

static bpt_status_t read_step(masked_t *s, bool *end) {
    int64_t scored = 0;
    bpt_batch_t batch = {0};
    s->at = s->count = 0;
    while (!batch.last) {
        BPT_TRY(s->inner->next(s->inner, &batch, end));
        if (*end) break;
        BPT_TRY(make_room(s));
        BPT_TRY(mask_batch(s, &batch, &s->buffers[s->count], &s->batches[s->count]));
        scored += s->batches[s->count++].n_scored;
    }
    for (size_t i = 0; i < s->count; ++i) s->batches[i].window_scored = scored;
    *end = s->count == 0;
    return BPT_OK;
}

static bpt_status_t next(bpt_batch_source_t *source, bpt_batch_t *batch, bool *end) {
    masked_t *s = (masked_t *)source;
    *end = false;
    if (s->at == s->count) BPT_TRY(read_step(s, end));
    if (!*end) *batch = s->batches[s->at++];
    return BPT_OK;
}

static bpt_status_t seek(bpt_batch_source_t *source, int64_t step) {
    masked_t *s = (masked_t *)source;
    s->at = s->count = 0;
    return s->inner->seek(s->inner, step);
}

static void destroy(bpt_batch_source_t *source) {
    masked_t *s = (masked_t *)source;
    s->inner->destroy(s->inner);
    for (size_t i = 0; i < s->room; ++i) bpt_batch_buffer_free(&s->buffers[i]);
    bpt_free(s->buffers);
    bpt_free(s->batches);
    bpt_free(s->shapes);
    bpt_free(s);
}

bpt_status_t bpt_masked_source(bpt_batch_source_t *inner, const bpt_masking_t *masking, bpt_batch_source_t **out) {
    masked_t *s;
    bpt_status_t status = bpt_alloc(1, sizeof *s, &s);
    if (status != BPT_OK) {
        inner->destroy(inner);
        return status;
    }
    s->inner = inner;
    s->masking = *masking;
    s->base = (bpt_batch_source_t){.next = next, .seek = seek, .destroy = destroy, .steps_per_epoch = inner->steps_per_epoch};
    status = bpt_alloc((size_t)(inner->n_shapes > 0 ? inner->n_shapes : 1), sizeof *s->shapes, &s->shapes);
    if (status != BPT_OK) {
        destroy(&s->base);
        return status;
    }
    for (int64_t i = 0; i < inner->n_shapes; ++i) s->shapes[i] = shape_for(s, &inner->shapes[i]);
    s->base.shapes = s->shapes;
    s->base.n_shapes = inner->n_shapes;
    *out = &s->base;
    return BPT_OK;
}
