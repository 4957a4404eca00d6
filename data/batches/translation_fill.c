// Texts and their translations in batches (see translation_fill.h).
#include "data/batches/translation_fill.h"

#include <string.h>

int64_t bpt_translation_rows(const bpt_examples_t *e, uint64_t example) {
    const bpt_window_t w = bpt_window_of(e, example);
    const int64_t source = bpt_source_tokens(e, w.first, w.end), target = bpt_target_tokens(e, w.first, w.end);
    return source > target ? source : target;
}

int64_t bpt_translation_scored(const bpt_examples_t *e, uint64_t example, bool train) {
    const bpt_window_t w = bpt_window_of(e, example);
    return bpt_target_tokens(e, train ? w.first : w.own, w.end);
}

static void fill_source(const bpt_examples_t *e, const bpt_window_t *w, int64_t sequence, bpt_side_buffer_t *side, bpt_batch_t *out) {
    const int64_t row = side->start[sequence], length = bpt_source_tokens(e, w->first, w->end);
    memcpy(side->tokens + row, e->tokens + e->offsets[w->first], (size_t)length * sizeof *side->tokens);
    side->lengths[sequence] = (uint32_t)length;
    out->n_tokens += length;
}

// What is read is what is predicted, a row later.
static void fill_target(const bpt_examples_t *e, const bpt_window_t *w, int64_t sequence, int64_t scored, bpt_batch_buffer_t *b,
                        bpt_batch_t *out) {
    bpt_side_buffer_t *side = &b->side[1];
    const int64_t row = side->start[sequence], length = bpt_target_tokens(e, w->first, w->end);
    const uint32_t *tokens = e->target.tokens + e->target.offsets[w->first];
    side->tokens[row] = e->target.opening;
    memcpy(side->tokens + row + 1, tokens, (size_t)(length - 1) * sizeof *side->tokens);
    side->lengths[sequence] = (uint32_t)length;
    memcpy(b->targets + row, tokens, (size_t)length * sizeof *b->targets);
    for (int64_t i = length - scored; i < length; ++i) b->weights[row + i] = 1;
    out->n_scored += scored;
}

// Texts t of both sides, one behind the other from the first row on.
static void fill_segments(const bpt_window_t *w, const uint64_t *offsets, int64_t sequence, int64_t segment, bpt_side_buffer_t *side) {
    for (uint64_t t = w->first; t < w->end; ++t, ++segment) {
        side->segment_start[segment] = side->start[sequence] + (uint32_t)(offsets[t] - offsets[w->first]);
        side->segment_lengths[segment] = (uint32_t)(offsets[t + 1] - offsets[t]);
    }
}

int64_t bpt_translation_fill(const bpt_examples_t *e, uint64_t example, bool train, int64_t sequence, int64_t segment,
                             bpt_batch_buffer_t *b, bpt_batch_t *out) {
    const bpt_window_t w = bpt_window_of(e, example);
    fill_source(e, &w, sequence, &b->side[0], out);
    fill_target(e, &w, sequence, bpt_translation_scored(e, example, train), b, out);
    if (!e->windows.has) return 0;
    b->first_segment[sequence] = (uint32_t)segment;
    fill_segments(&w, e->offsets, sequence, segment, &b->side[0]);
    fill_segments(&w, e->target.offsets, sequence, segment, &b->side[1]);
    return (int64_t)(w.end - w.first);
}
