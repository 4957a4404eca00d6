// Windows over a row of tokens as batches, for training and for evaluation (lm.h).
#include "data/batches/lm.h"

#include "bpt/alloc.h"
#include "data/batches/buffer.h"
#include "data/examples/order.h"

typedef struct {
    bpt_batch_source_t base;
    bpt_ids_t ids;      // borrowed
    int64_t n_targets;  // tokens - 1
    int64_t n, stride, windows;
    int64_t rows, a_step;  // windows of a micro-batch and of an optimiser step
    int64_t drop;          // targets at multiples of this are not scored, 0: all are
    bool train;
    uint64_t seed;
    uint32_t *order;   // train: windows in the order of epoch `ordered`
    int64_t ordered;   // -1: none yet
    int64_t step, at;  // the next micro-batch begins with window `at` of optimiser step `step`
    bpt_batch_buffer_t buffer;
    bpt_batch_shape_t shape;
} lm_t;

typedef struct {
    int64_t begin, length, from;  // first input, leaves, first scored leaf
} window_t;

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

static window_t window_at(const lm_t *s, int64_t index) {
    const int64_t begin = index * s->stride;
    return (window_t){begin, min64(s->n_targets - begin, s->n), s->train || index == 0 ? 0 : s->n - s->stride};
}

static int64_t count_scored(const lm_t *s, const window_t *w) {
    const int64_t first = w->begin + w->from + 1, last = w->begin + w->length;  // targets, as places in the text
    return last - first + 1 - (s->drop ? last / s->drop - (first - 1) / s->drop : 0);
}

static void fill_row(lm_t *s, int64_t row, const window_t *w, bpt_batch_t *out) {
    float *weights = s->buffer.weights + row * s->n;
    bpt_ids_copy(&s->ids, (uint64_t)w->begin, (uint64_t)w->length, s->buffer.side[0].tokens + row * s->n);
    bpt_ids_copy(&s->ids, (uint64_t)w->begin + 1, (uint64_t)w->length, s->buffer.targets + row * s->n);
    for (int64_t i = w->from; i < w->length; ++i) weights[i] = s->drop && (w->begin + 1 + i) % s->drop == 0 ? 0.0f : 1.0f;
    s->buffer.side[0].lengths[row] = (uint32_t)w->length;
    out->n_scored += count_scored(s, w);
    out->n_tokens += w->length;
    ++out->n_real;
}

static void order_epoch(lm_t *s, int64_t epoch) {
    if (s->ordered != epoch) bpt_epoch_order(s->seed, epoch, s->order, s->windows);
    s->ordered = epoch;
}

static bpt_status_t next(bpt_batch_source_t *source, bpt_batch_t *out, bool *end) {
    lm_t *s = (lm_t *)source;
    const int64_t steps = source->steps_per_epoch, epoch = s->step / steps;
    *end = !s->train && epoch > 0;
    if (*end) return BPT_OK;
    if (s->train) order_epoch(s, epoch);
    const int64_t step_begin = s->step % steps * s->a_step, step_end = min64(step_begin + s->a_step, s->windows);
    const int64_t begin = step_begin + s->at, stop = min64(begin + s->rows, step_end);
    BPT_TRY(bpt_batch_buffer_buckets(&s->buffer, s->n, s->rows, true, out));
    for (int64_t p = begin; p < stop; ++p) {
        const window_t w = window_at(s, s->train ? s->order[p] : p);
        fill_row(s, p - begin, &w, out);
        s->buffer.sequences[p - begin] = (uint32_t)p;
    }
    for (int64_t p = step_begin; p < step_end; ++p) {
        const window_t w = window_at(s, s->train ? s->order[p] : p);
        out->window_scored += count_scored(s, &w);
    }
    out->first = begin == step_begin;
    out->last = stop == step_end;
    out->left = (step_end - stop + s->rows - 1) / s->rows;
    out->epoch = epoch;
    out->epoch_end = (double)epoch + (double)step_end / (double)s->windows;
    s->at = out->last ? 0 : stop - step_begin;
    s->step += out->last;
    return BPT_OK;
}

static bpt_status_t seek(bpt_batch_source_t *source, int64_t step) {
    lm_t *s = (lm_t *)source;
    s->step = step;
    s->at = 0;
    return BPT_OK;
}

static void destroy(bpt_batch_source_t *source) {
    lm_t *s = (lm_t *)source;
    if (!s) return;
    bpt_batch_buffer_free(&s->buffer);
    bpt_free(s->order);
    bpt_free(s);
}

// Completes `plan`: ids, n_targets, n, stride, train, drop, seed.
static bpt_status_t create(const lm_t *plan, int64_t batch_tokens, int64_t accumulate, bpt_batch_source_t **out) {
    const int64_t rest = plan->n_targets > plan->n ? plan->n_targets - plan->n : 0, windows = 1 + (rest + plan->stride - 1) / plan->stride;
    if (windows > UINT32_MAX || plan->n > UINT32_MAX)
        return bpt_fail(BPT_ERR_USAGE, "context %lld and stride %lld give windows beyond 2^32; choose others", (long long)plan->n,
                        (long long)plan->stride);
    lm_t *s;
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    *s = *plan;
    s->windows = windows;
    s->rows = min64(batch_tokens / s->n > 0 ? batch_tokens / s->n : 1, windows);
    s->a_step = accumulate <= (windows - 1) / s->rows ? s->rows * accumulate : windows;
    s->ordered = -1;
    s->shape = bpt_batch_buckets(s->n, s->rows);
    s->base = (bpt_batch_source_t){.next = next, .seek = seek, .destroy = destroy, .n_shapes = 1, .shapes = &s->shape};
    s->base.steps_per_epoch = (windows + s->a_step - 1) / s->a_step;
    const bpt_status_t status = s->train ? bpt_alloc((size_t)windows, sizeof *s->order, &s->order) : BPT_OK;
    if (status == BPT_OK)
        *out = &s->base;
    else
        destroy(&s->base);
    return status;
}

static bpt_status_t check(uint64_t count, int64_t context, int64_t stride, int64_t batch_tokens, int64_t accumulate) {
    if (context < 1 || stride < 1 || stride > context || batch_tokens < 1 || accumulate < 1)
        return bpt_fail(
            BPT_ERR_USAGE,
            "context %lld, stride %lld, batch of %lld tokens, accumulate %lld: all must be positive and the stride at most the context",
            (long long)context, (long long)stride, (long long)batch_tokens, (long long)accumulate);
    if (count < 2)
        return bpt_fail(BPT_ERR_INPUT, "a text of %llu token%s has nothing to predict; at least 2 are needed", (unsigned long long)count,
                        count == 1 ? "" : "s");
    return BPT_OK;
}

bpt_status_t bpt_lm_train_source(const bpt_ids_t *ids, const bpt_lm_options_t *o, bpt_batch_source_t **out) {
    BPT_TRY(check(ids->count, o->context, o->stride, o->batch_tokens, o->accumulate));
    if (ids->count <= (uint64_t)o->context)
        return bpt_fail(
            BPT_ERR_INPUT,
            "the training text has %llu tokens, fewer than one window of --context %lld needs; use --context %llu or a longer text",
            (unsigned long long)ids->count, (long long)o->context, (unsigned long long)(ids->count - 1));
    const lm_t plan = {
        .ids = *ids, .n_targets = (int64_t)ids->count - 1, .n = o->context, .stride = o->stride, .train = true, .seed = o->seed};
    return create(&plan, o->batch_tokens, o->accumulate, out);
}

bpt_status_t bpt_lm_eval_source(const bpt_ids_t *ids, int64_t context, int64_t batch_tokens, bpt_protocol_t protocol,
                                bpt_batch_source_t **out) {
    const bool halves = protocol != BPT_PROTOCOL_CHUNKS;
    const int64_t least = protocol == BPT_PROTOCOL_RELEASED ? 4 : 2;
    if (halves && (context < least || context % 2))
        return bpt_fail(BPT_ERR_USAGE, "--eval-context %lld: this protocol needs an even number of at least %lld", (long long)context,
                        (long long)least);
    const int64_t stride = halves ? context / 2 : context;
    BPT_TRY(check(ids->count, context, stride, batch_tokens, 1));
    lm_t plan = {.ids = *ids, .n_targets = (int64_t)ids->count - 1, .n = context, .stride = stride};
    if (protocol == BPT_PROTOCOL_RELEASED) plan.drop = stride;
    if (plan.n > plan.n_targets) plan.n = plan.stride = plan.n_targets;  // one window has it all
    return create(&plan, batch_tokens, 1, out);
}
