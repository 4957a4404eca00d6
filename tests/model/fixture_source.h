// A source of batches in memory: windows of a periodic text with ragged lengths, the same for every step of the same number.
#ifndef BPT_TEST_FIXTURE_SOURCE_H
#define BPT_TEST_FIXTURE_SOURCE_H

#include "model_fixture.h"

typedef struct {
    bpt_batch_source_t base;
    const bpt_model_config_t *config;
    int64_t n, batch, micro_batches, step, micro, steps_per_epoch;
    bool ends;  // an evaluation source: one step long
    bool ragged;
    bpt_batch_shape_t shape;
    fixture_batch_t data;
} fixture_source_t;

static inline void fixture_source_fill(fixture_source_t *s) {
    uint32_t lengths[64];
    const int64_t sequences = s->batch * s->micro_batches, first = (s->step % s->steps_per_epoch) * sequences + s->micro * s->batch;
    for (int64_t i = 0; i < s->batch; ++i) lengths[i] = s->ragged ? 1 + (uint32_t)((first + i) * 7 % s->n) : (uint32_t)s->n;
    fixture_fill(&s->data, s->config, s->n, s->batch, lengths, (uint32_t)first);
}

static inline bpt_status_t fixture_source_next(bpt_batch_source_t *source, bpt_batch_t *batch, bool *end) {
    fixture_source_t *s = (fixture_source_t *)source;
    if (s->ends && s->step > 0) {
        *end = true;
        return BPT_OK;
    }
    const int64_t micro = s->micro;
    int64_t scored = 0;
    for (s->micro = 0; s->micro < s->micro_batches; ++s->micro) {
        fixture_source_fill(s);
        scored += s->data.batch.n_scored;
    }
    s->micro = micro;
    fixture_source_fill(s);
    *batch = s->data.batch;
    batch->window_scored = scored;
    batch->first = micro == 0;
    batch->last = micro + 1 == s->micro_batches;
    batch->epoch = s->step / s->steps_per_epoch;
    batch->epoch_end = (double)(s->step + 1) / (double)s->steps_per_epoch;
    if (++s->micro == s->micro_batches) ++s->step, s->micro = 0;
    *end = false;
    return BPT_OK;
}

static inline bpt_status_t fixture_source_seek(bpt_batch_source_t *source, int64_t step) {
    fixture_source_t *s = (fixture_source_t *)source;
    s->step = step;
    s->micro = 0;
    return BPT_OK;
}

static inline fixture_source_t *fixture_source(fixture_source_t *s, const bpt_model_config_t *config, int64_t n, int64_t batch,
                                               int64_t micro_batches) {
    *s = (fixture_source_t){.config = config, .n = n, .batch = batch, .micro_batches = micro_batches, .steps_per_epoch = 4, .ragged = true};
    s->shape = bpt_batch_buckets(n, batch);
    s->base = (bpt_batch_source_t){
        .next = fixture_source_next, .seek = fixture_source_seek, .steps_per_epoch = 4, .n_shapes = 1, .shapes = &s->shape};
    return s;
}

#endif
