// Steps of random examples as micro-batches of like lengths (classify.h).
#include "data/classify.h"

#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/buffer.h"
#include "data/order.h"
#include "data/shapes.h"

typedef struct {
    int64_t bucket, position;  // position in the epoch's order, or in the file
} member_t;

typedef struct {
    bpt_batch_source_t base;
    const bpt_examples_t *examples;
    int64_t a_step, batch_tokens;  // examples of an optimiser step; evaluation: all of them
    uint64_t seed;
    bool train;
    uint32_t *order;       // train: examples in the order of epoch `ordered`
    int64_t ordered;       // -1: none yet
    int64_t step;          // whose micro-batches come next
    size_t next, n_micro;  // n_micro 0: they are not laid out yet
    member_t *members;     // of the step, by falling bucket
    int64_t *buckets;      // theirs
    bpt_micro_t *micro;
    bpt_batch_buffer_t buffer;
    bpt_shapes_t shapes;
} source_t;

static int64_t length_of(const bpt_examples_t *examples, uint64_t e) { return (int64_t)(examples->offsets[e + 1] - examples->offsets[e]); }
static uint64_t example_at(const source_t *s, int64_t position) { return s->train ? s->order[position] : (uint64_t)position; }

static int by_bucket(const void *a, const void *b) {
    const member_t *x = a, *y = b;
    if (x->bucket != y->bucket) return x->bucket < y->bucket ? 1 : -1;
    return x->position < y->position ? -1 : x->position > y->position;
}

static int64_t step_begin(const source_t *s) { return s->step % s->base.steps_per_epoch * s->a_step; }
static int64_t step_count(const source_t *s) {
    const int64_t left = (int64_t)s->examples->count - step_begin(s);
    return left < s->a_step ? left : s->a_step;
}

static void lay_out_step(source_t *s) {
    const int64_t epoch = s->step / s->base.steps_per_epoch, first = step_begin(s), count = step_count(s);
    if (s->train && s->ordered != epoch) bpt_epoch_order(s->seed, epoch, s->order, (int64_t)s->examples->count);
    s->ordered = epoch;
    for (int64_t i = 0; i < count; ++i)
        s->members[i] = (member_t){bpt_length_bucket(length_of(s->examples, example_at(s, first + i))), first + i};
    qsort(s->members, (size_t)count, sizeof *s->members, by_bucket);
    for (int64_t i = 0; i < count; ++i) s->buckets[i] = s->members[i].bucket;
    s->n_micro = bpt_cut_step(s->buckets, (size_t)count, s->batch_tokens, s->micro);
    s->next = 0;
}

static void fill_row(source_t *s, int64_t row, int64_t position, bpt_batch_t *out) {
    const uint64_t e = example_at(s, position);
    const int64_t length = length_of(s->examples, e);
    memcpy(s->buffer.side[0].tokens + row * out->shape.side[0].n, s->examples->tokens + s->examples->offsets[e],
           (size_t)length * sizeof *s->examples->tokens);
    s->buffer.targets[row] = s->examples->labels[e] == BPT_NO_LABEL ? 0 : s->examples->labels[e];
    s->buffer.weights[row] = 1;
    s->buffer.side[0].lengths[row] = (uint32_t)length;
    s->buffer.sequences[row] = (uint32_t)position;
    out->n_tokens += length;
}

static bpt_status_t next(bpt_batch_source_t *source, bpt_batch_t *out, bool *end) {
    source_t *s = (source_t *)source;
    *end = !s->train && s->step > 0;
    if (*end) return BPT_OK;
    if (s->n_micro == 0) lay_out_step(s);
    const bpt_micro_t *m = &s->micro[s->next];
    BPT_TRY(bpt_batch_buffer_buckets(&s->buffer, m->n, m->rows, false, out));
    for (size_t i = 0; i < m->count; ++i) fill_row(s, (int64_t)i, s->members[m->first + i].position, out);
    out->n_real = out->n_scored = (int64_t)m->count;
    out->window_scored = step_count(s);
    out->first = s->next == 0;
    out->last = ++s->next == s->n_micro;
    out->epoch = s->step / source->steps_per_epoch;
    out->epoch_end = (double)out->epoch + (double)(step_begin(s) + step_count(s)) / (double)s->examples->count;
    if (!out->last) return BPT_OK;
    ++s->step;
    s->n_micro = 0;
    return BPT_OK;
}

static bpt_status_t seek(bpt_batch_source_t *source, int64_t step) {
    source_t *s = (source_t *)source;
    s->step = step;
    s->n_micro = 0;
    return BPT_OK;
}

static void destroy(bpt_batch_source_t *source) {
    source_t *s = (source_t *)source;
    if (!s) return;
    bpt_free(s->order);
    bpt_free(s->members);
    bpt_free(s->buckets);
    bpt_free(s->micro);
    bpt_batch_buffer_free(&s->buffer);
    bpt_shapes_free(&s->shapes);
    bpt_free(s);
}

// Evaluation has one step, whose shapes are known; training can have every one that its examples allow.
static bpt_status_t list_shapes(source_t *s) {
    int64_t longest = 1;
    for (uint64_t e = 0; e < s->examples->count; ++e)
        if (length_of(s->examples, e) > longest) longest = length_of(s->examples, e);
    if (s->train) {
        BPT_TRY(bpt_shapes_add_cuts(&s->shapes, bpt_length_bucket(longest), s->a_step, s->batch_tokens));
    } else {
        lay_out_step(s);
        for (size_t i = 0; i < s->n_micro; ++i) BPT_TRY(bpt_shapes_add_buckets(&s->shapes, s->micro[i].n, s->micro[i].rows));
    }
    s->base.n_shapes = (int64_t)s->shapes.count;
    s->base.shapes = s->shapes.items;
    return BPT_OK;
}

static bpt_status_t allocate(source_t *s) {
    if (s->train) BPT_TRY(bpt_alloc((size_t)s->examples->count, sizeof *s->order, &s->order));
    BPT_TRY(bpt_alloc((size_t)s->a_step, sizeof *s->members, &s->members));
    BPT_TRY(bpt_alloc((size_t)s->a_step, sizeof *s->buckets, &s->buckets));
    BPT_TRY(bpt_alloc((size_t)s->a_step, sizeof *s->micro, &s->micro));
    return list_shapes(s);
}

static bpt_status_t create(const bpt_examples_t *examples, int64_t a_step, int64_t batch_tokens, bool train, uint64_t seed,
                           bpt_batch_source_t **out) {
    const int64_t count = (int64_t)examples->count;
    source_t *s;
    if (batch_tokens < 1 || a_step < 1) return bpt_fail(BPT_ERR_USAGE, "a batch needs at least one token and one example");
    if (count < 1 || count > UINT32_MAX) return bpt_fail(BPT_ERR_INPUT, "%lld examples; there must be 1 to 2^32 - 1", (long long)count);
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    s->base = (bpt_batch_source_t){.next = next, .seek = seek, .destroy = destroy};
    s->examples = examples;
    s->a_step = a_step < count ? a_step : count;
    s->batch_tokens = batch_tokens;
    s->base.steps_per_epoch = (count + s->a_step - 1) / s->a_step;
    s->seed = seed;
    s->train = train;
    s->ordered = -1;
    const bpt_status_t status = allocate(s);
    if (status == BPT_OK)
        *out = &s->base;
    else
        destroy(&s->base);
    return status;
}

bpt_status_t bpt_classify_train_source(const bpt_examples_t *examples, const bpt_classify_options_t *o, bpt_batch_source_t **out) {
    int64_t a_step = o->batch_examples;
    if (a_step == 0 && examples->n_tokens) {
        const double mean = (double)examples->n_tokens / (double)examples->count;
        const double steps = (double)o->batch_tokens * (double)(o->accumulate > 0 ? o->accumulate : 1) / mean;
        a_step = steps < 1 ? 1 : steps > (double)examples->count ? (int64_t)examples->count : (int64_t)steps;
    }
    return create(examples, a_step, o->batch_tokens, true, o->seed, out);
}

bpt_status_t bpt_classify_eval_source(const bpt_examples_t *examples, int64_t batch_tokens, bpt_batch_source_t **out) {
    return create(examples, (int64_t)examples->count, batch_tokens, false, 0, out);
}
