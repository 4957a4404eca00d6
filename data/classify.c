// Steps of random examples as micro-batches of equal length buckets (classify.h).
#include "data/classify.h"

#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/buffer.h"
#include "data/order.h"

typedef struct {
    int64_t bucket, position;  // position in the epoch's order, or in the file
} member_t;

// Members first .. first + count - 1 of the sorted step, in a batch of `batch` rows.
typedef struct {
    int64_t bucket, batch;
    size_t first, count;
} micro_t;

enum { MAX_SHAPES = 256 };

typedef struct {
    bpt_batch_source_t base;
    const bpt_examples_t *examples;
    int64_t a_step, batch_tokens, n_steps;
    uint64_t seed;
    bool train;
    int64_t epoch;  // whose order is in `order`, -1 = none
    int64_t step;   // the step whose micro-batches are laid out
    size_t next, n_micro;
    uint32_t *order;
    member_t *member;
    micro_t *micro;
    uint32_t *tokens, *targets, *lengths, *sequences;
    float *weights;
    int64_t shapes[MAX_SHAPES][2];
} source_t;

static int64_t largest_batch(const source_t *s, int64_t bucket) { return s->batch_tokens / bucket > 0 ? s->batch_tokens / bucket : 1; }

// Few shapes: the full batch, a quarter, a sixteenth .. of it, the smallest that has room.
static int64_t batch_for(const source_t *s, int64_t bucket, int64_t count) {
    int64_t batch = largest_batch(s, bucket);
    while (batch > 1 && (batch + 3) / 4 >= count) batch = (batch + 3) / 4;
    return batch;
}

static uint64_t example_at(const source_t *s, int64_t position) { return s->train ? s->order[position] : (uint64_t)position; }
static int64_t length_of(const source_t *s, uint64_t e) { return (int64_t)(s->examples->offsets[e + 1] - s->examples->offsets[e]); }

static int compare_members(const void *a, const void *b) {
    const member_t *x = a, *y = b;
    if (x->bucket != y->bucket) return x->bucket < y->bucket ? 1 : -1;
    return x->position < y->position ? -1 : x->position > y->position;
}

static void lay_out_step(source_t *s, int64_t step) {
    const int64_t epoch = s->train ? step / s->n_steps : 0, inside = s->train ? step % s->n_steps : 0;
    const int64_t n = (int64_t)s->examples->count, first = inside * s->a_step, last = first + s->a_step < n ? first + s->a_step : n;
    if (s->train && s->epoch != epoch) bpt_epoch_order(s->seed, epoch, s->order, n);
    s->epoch = epoch;
    s->step = step;
    s->next = s->n_micro = 0;
    const size_t count = (size_t)(last - first);
    for (size_t i = 0; i < count; ++i) {
        const int64_t position = first + (int64_t)i;
        s->member[i] = (member_t){bpt_length_bucket(length_of(s, example_at(s, position))), position};
    }
    qsort(s->member, count, sizeof *s->member, compare_members);
    for (size_t i = 0; i < count;) {
        const int64_t bucket = s->member[i].bucket;
        size_t end = i;
        while (end < count && s->member[end].bucket == bucket && (int64_t)(end - i) < largest_batch(s, bucket)) ++end;
        s->micro[s->n_micro++] = (micro_t){bucket, batch_for(s, bucket, (int64_t)(end - i)), i, end - i};
        i = end;
    }
}

static void fill(source_t *s, const micro_t *m, bpt_batch_t *out) {
    const int64_t n = m->bucket;
    memset(s->tokens, 0, (size_t)(n * m->batch) * sizeof *s->tokens);
    for (int64_t b = 0; b < m->batch; ++b) {
        s->targets[b] = 0;
        s->weights[b] = 0;
        s->lengths[b] = 1;
        s->sequences[b] = UINT32_MAX;
        if (b >= (int64_t)m->count) continue;
        const int64_t position = s->member[m->first + (size_t)b].position;
        const uint64_t e = example_at(s, position);
        const int64_t length = length_of(s, e);
        memcpy(s->tokens + b * n, s->examples->tokens + s->examples->offsets[e], (size_t)length * sizeof *s->tokens);
        s->targets[b] = s->examples->labels[e] == BPT_NO_LABEL ? 0 : s->examples->labels[e];
        s->weights[b] = 1;
        s->lengths[b] = (uint32_t)length;
        s->sequences[b] = (uint32_t)position;
        out->n_tokens += length;
    }
    out->n = n;
    out->batch = out->n_targets = m->batch;
    out->n_real = out->n_scored = (int64_t)m->count;
}

static bpt_status_t next(bpt_batch_source_t *source, bpt_batch_t *out, bool *end) {
    source_t *s = (source_t *)source;
    if (s->next == s->n_micro) {
        *end = !s->train && s->step >= 0;
        if (*end) return BPT_OK;
        lay_out_step(s, s->step + 1);
    }
    *end = false;
    *out = (bpt_batch_t){.tokens = s->tokens, .targets = s->targets, .weights = s->weights, .lengths = s->lengths, .sequences = s->sequences};
    fill(s, &s->micro[s->next], out);
    const int64_t inside = s->train ? s->step % s->n_steps : 0, first = inside * s->a_step, n = (int64_t)s->examples->count;
    out->window_scored = first + s->a_step < n ? s->a_step : n - first;
    out->first = s->next == 0;
    out->last = ++s->next == s->n_micro;
    out->epoch = s->epoch;
    out->epoch_end = (double)s->epoch + (double)(inside + 1) / (double)s->n_steps;
    return BPT_OK;
}

static bpt_status_t seek(bpt_batch_source_t *source, int64_t step) {
    source_t *s = (source_t *)source;
    s->step = step - 1;
    s->next = s->n_micro = 0;
    return BPT_OK;
}

static void destroy(bpt_batch_source_t *source) {
    source_t *s = (source_t *)source;
    if (!s) return;
    bpt_free(s->order);
    bpt_free(s->member);
    bpt_free(s->micro);
    bpt_free(s->tokens);
    bpt_free(s->targets);
    bpt_free(s->lengths);
    bpt_free(s->sequences);
    bpt_free(s->weights);
    bpt_free(s);
}

// All shapes that can occur, largest first.
static void list_shapes(source_t *s) {
    bool seen[64] = {0};
    int64_t buckets[64], n_buckets = 0;
    for (uint64_t e = 0; e < s->examples->count; ++e) {
        const int64_t bucket = bpt_length_bucket(length_of(s, e));
        int slot = 0;  // 4, 8, 12, 16, 24, .. have the slots 0, 1, 2, ..
        for (int64_t n = 4; n < bucket; n = bpt_length_bucket(n + 1)) ++slot;
        if (!seen[slot]) buckets[n_buckets++] = bucket;
        seen[slot] = true;
    }
    for (int64_t i = 0; i < n_buckets; ++i)
        for (int64_t j = i + 1; j < n_buckets; ++j)
            if (buckets[j] > buckets[i]) {
                const int64_t swap = buckets[i];
                buckets[i] = buckets[j];
                buckets[j] = swap;
            }
    for (int64_t i = 0; i < n_buckets; ++i)
        for (int64_t batch = largest_batch(s, buckets[i]); s->base.n_shapes < MAX_SHAPES; batch = (batch + 3) / 4) {
            s->shapes[s->base.n_shapes][0] = buckets[i];
            s->shapes[s->base.n_shapes++][1] = batch;
            if (batch == 1) break;
        }
    s->base.shapes = s->shapes;
}

static bpt_status_t create(const bpt_examples_t *examples, const bpt_classify_options_t *o, int64_t a_step, bool train, bpt_batch_source_t **out) {
    source_t *s;
    if (o->batch_tokens < 1 || a_step < 1) return bpt_fail(BPT_ERR_USAGE, "a batch needs at least one token and one example");
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    const int64_t n = (int64_t)examples->count;
    s->base = (bpt_batch_source_t){.next = next, .seek = seek, .destroy = destroy};
    s->examples = examples;
    s->a_step = a_step < n ? a_step : n;
    s->batch_tokens = o->batch_tokens;
    s->n_steps = s->base.steps_per_epoch = (n + s->a_step - 1) / s->a_step;
    s->seed = o->seed;
    s->train = train;
    s->epoch = s->step = -1;
    list_shapes(s);
    int64_t cells = 1, rows = 1;
    for (int64_t i = 0; i < s->base.n_shapes; ++i) {
        const int64_t batch = s->shapes[i][1], leaves = s->shapes[i][0] * batch;
        if (leaves > cells) cells = leaves;
        if (batch > rows) rows = batch;
    }
    bpt_status_t status;
    if (train) BPT_TRY_GOTO(bpt_alloc((size_t)n, sizeof *s->order, &s->order), failed);
    BPT_TRY_GOTO(bpt_alloc((size_t)s->a_step, sizeof *s->member, &s->member), failed);
    BPT_TRY_GOTO(bpt_alloc((size_t)s->a_step, sizeof *s->micro, &s->micro), failed);
    BPT_TRY_GOTO(bpt_alloc((size_t)cells, sizeof *s->tokens, &s->tokens), failed);
    BPT_TRY_GOTO(bpt_alloc((size_t)rows, sizeof *s->targets, &s->targets), failed);
    BPT_TRY_GOTO(bpt_alloc((size_t)rows, sizeof *s->lengths, &s->lengths), failed);
    BPT_TRY_GOTO(bpt_alloc((size_t)rows, sizeof *s->sequences, &s->sequences), failed);
    BPT_TRY_GOTO(bpt_alloc((size_t)rows, sizeof *s->weights, &s->weights), failed);
    *out = &s->base;
    return BPT_OK;
failed:
    destroy(&s->base);
    return status;
}

bpt_status_t bpt_classify_train_source(const bpt_examples_t *examples, const bpt_classify_options_t *o, bpt_batch_source_t **out) {
    int64_t a_step = o->batch_examples;
    if (a_step == 0) {
        const double mean = (double)examples->n_tokens / (double)examples->count, leaves = (double)o->batch_tokens * (double)(o->accumulate > 0 ? o->accumulate : 1);
        a_step = leaves / mean >= 1 ? (int64_t)(leaves / mean) : 1;
    }
    return create(examples, o, a_step, true, out);
}

bpt_status_t bpt_classify_eval_source(const bpt_examples_t *examples, int64_t batch_tokens, bpt_batch_source_t **out) {
    const bpt_classify_options_t o = {.batch_tokens = batch_tokens};
    return create(examples, &o, (int64_t)examples->count, false, out);
}
