// Windows over a row of tokens as batches (lm.h).
#include "data/lm.h"

#include <string.h>

#include "bpt/alloc.h"
#include "data/order.h"

// One window: inputs ids[begin .. begin + length), targets one later; targets before `scored` positions count for nothing.
typedef struct {
    uint64_t begin;
    int64_t length, scored;
} window_t;

typedef struct {
    bpt_batch_source_t base;
    const uint32_t *ids;
    uint64_t count;
    const uint64_t *offsets;  // lines source, else NULL
    int64_t context, stride, batch, accumulate, n_windows;
    int64_t drop;             // released protocol: targets at multiples of this are not scored; 0 = all
    bool train, half;
    uint64_t seed;
    int64_t next;             // micro-batch counted from the start of training, or of the pass
    int64_t epoch;            // whose order is in `order`, -1 = none
    uint32_t *order, *tokens, *targets, *lengths, *sequences;
    float *weights;
    int64_t shapes[32][2];
} lm_t;

static window_t window_at(const lm_t *s, int64_t w) {
    if (s->offsets) {
        const uint64_t begin = s->offsets[w], end = s->offsets[w + 1];
        return (window_t){begin, end > begin ? (int64_t)(end - begin) - 1 : 0, 0};
    }
    window_t out = {.begin = (uint64_t)(w * s->stride)};
    const int64_t left = (int64_t)(s->count - 1 - out.begin);
    out.length = left < s->context ? left : s->context;
    out.scored = s->half && w > 0 ? s->context / 2 : 0;
    return out;
}

static void shuffle(lm_t *s, int64_t epoch) {
    if (s->epoch != epoch) bpt_epoch_order(s->seed, epoch, s->order, s->n_windows);
    s->epoch = epoch;
}

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

// Position p of the pass (or of the epoch's order), written into row b of a batch of n leaves.
static void fill_row(lm_t *s, int64_t p, int64_t b, int64_t n, bpt_batch_t *out) {
    uint32_t *tokens = s->tokens + b * n, *targets = s->targets + b * n;
    float *weights = s->weights + b * n;
    memset(tokens, 0, (size_t)n * sizeof *tokens);
    memset(targets, 0, (size_t)n * sizeof *targets);
    memset(weights, 0, (size_t)n * sizeof *weights);
    s->lengths[b] = 1;
    s->sequences[b] = (uint32_t)p;
    if (p >= s->n_windows) return;
    const window_t w = window_at(s, s->train ? s->order[p] : p);
    if (w.length == 0) return;
    s->lengths[b] = (uint32_t)w.length;
    memcpy(tokens, s->ids + w.begin, (size_t)w.length * sizeof *tokens);
    memcpy(targets, s->ids + w.begin + 1, (size_t)w.length * sizeof *targets);
    for (int64_t i = w.scored; i < w.length; ++i) {
        const uint64_t target = w.begin + (uint64_t)i + 1;
        if (s->drop && target % (uint64_t)s->drop == 0) continue;
        weights[i] = 1;
        ++out->n_scored;
    }
    ++out->n_real;
    out->n_tokens += w.length;
}

static bpt_status_t next_train(bpt_batch_source_t *source, bpt_batch_t *out, bool *end) {
    lm_t *s = (lm_t *)source;
    const int64_t windows_a_step = s->batch * s->accumulate, steps = source->steps_per_epoch;
    const int64_t micro_a_full_epoch = (s->n_windows + s->batch - 1) / s->batch;  // all steps but the last are full
    const int64_t epoch = s->next / micro_a_full_epoch, micro = s->next % micro_a_full_epoch;
    const int64_t step = micro / s->accumulate, first = step * windows_a_step;
    shuffle(s, epoch);
    *out = (bpt_batch_t){.n = s->context, .batch = s->batch, .epoch = epoch, .epoch_end = (double)epoch + (double)(step + 1) / (double)steps};
    for (int64_t b = 0; b < s->batch; ++b) fill_row(s, micro * s->batch + b, b, s->context, out);
    const int64_t last = min64(first + windows_a_step, s->n_windows);
    for (int64_t p = first; p < last; ++p) out->window_scored += window_at(s, s->order[p]).length;
    out->first = micro % s->accumulate == 0;
    out->last = micro % s->accumulate == s->accumulate - 1 || micro == micro_a_full_epoch - 1;
    ++s->next;
    *end = false;
    return BPT_OK;
}

static int64_t bucket_of(int64_t length) {
    int64_t n = 1;
    while (n < length) n *= 2;
    return n;
}

static bpt_status_t next_eval(bpt_batch_source_t *source, bpt_batch_t *out, bool *end) {
    lm_t *s = (lm_t *)source;
    *end = s->next * s->batch >= s->n_windows;
    if (*end) return BPT_OK;
    const int64_t n = s->offsets ? bucket_of(window_at(s, s->next).length) : s->context;
    *out = (bpt_batch_t){.n = n, .batch = s->batch, .first = true, .last = true};
    for (int64_t b = 0; b < s->batch; ++b) fill_row(s, s->next * s->batch + b, b, n, out);
    out->window_scored = out->n_scored;
    ++s->next;
    return BPT_OK;
}

static bpt_status_t next(bpt_batch_source_t *source, bpt_batch_t *out, bool *end) {
    lm_t *s = (lm_t *)source;
    BPT_TRY(s->train ? next_train(source, out, end) : next_eval(source, out, end));
    if (*end) return BPT_OK;
    out->n_targets = out->n * out->batch;
    out->tokens = s->tokens;
    out->targets = s->targets;
    out->weights = s->weights;
    out->lengths = s->lengths;
    out->sequences = s->sequences;
    return BPT_OK;
}

static bpt_status_t seek(bpt_batch_source_t *source, int64_t step) {
    lm_t *s = (lm_t *)source;
    const int64_t micro_an_epoch = (s->n_windows + s->batch - 1) / s->batch;
    const int64_t epoch = step / source->steps_per_epoch, inside = step % source->steps_per_epoch;
    s->next = s->train ? epoch * micro_an_epoch + inside * s->accumulate : step;
    return BPT_OK;
}

static void destroy(bpt_batch_source_t *source) {
    lm_t *s = (lm_t *)source;
    if (!s) return;
    bpt_free(s->order);
    bpt_free(s->tokens);
    bpt_free(s->targets);
    bpt_free(s->weights);
    bpt_free(s->lengths);
    bpt_free(s->sequences);
    bpt_free(s);
}

static bpt_status_t finish(lm_t *s, int64_t longest, bpt_batch_source_t **out) {
    const size_t cells = (size_t)(s->batch * longest);
    s->base.next = next;
    s->base.seek = seek;
    s->base.destroy = destroy;
    s->base.shapes = s->shapes;
    s->epoch = -1;
    bpt_status_t status;
    if (s->train) BPT_TRY_GOTO(bpt_alloc((size_t)s->n_windows, sizeof *s->order, &s->order), failed);
    BPT_TRY_GOTO(bpt_alloc(cells, sizeof *s->tokens, &s->tokens), failed);
    BPT_TRY_GOTO(bpt_alloc(cells, sizeof *s->targets, &s->targets), failed);
    BPT_TRY_GOTO(bpt_alloc(cells, sizeof *s->weights, &s->weights), failed);
    BPT_TRY_GOTO(bpt_alloc((size_t)s->batch, sizeof *s->lengths, &s->lengths), failed);
    BPT_TRY_GOTO(bpt_alloc((size_t)s->batch, sizeof *s->sequences, &s->sequences), failed);
    *out = &s->base;
    return BPT_OK;
failed:
    destroy(&s->base);
    return status;
}

static bpt_status_t check(uint64_t count, int64_t context, int64_t stride, int64_t batch_tokens, int64_t accumulate) {
    if (count < 2) return bpt_fail(BPT_ERR_INPUT, "a text of %llu tokens has nothing to predict; at least 2 are needed", (unsigned long long)count);
    if (context < 1 || stride < 1 || stride > context || batch_tokens < 1 || accumulate < 1)
        return bpt_fail(BPT_ERR_USAGE, "context %lld, stride %lld, batch of %lld tokens, accumulate %lld: all must be positive and the stride at most the context",
                        (long long)context, (long long)stride, (long long)batch_tokens, (long long)accumulate);
    return BPT_OK;
}

static int64_t windows_of(uint64_t count, int64_t context, int64_t stride) {
    const int64_t targets = (int64_t)(count - 1);
    return targets <= context ? 1 : (targets - context + stride - 1) / stride + 1;
}

bpt_status_t bpt_lm_train_source(const uint32_t *ids, uint64_t count, const bpt_lm_options_t *o, bpt_batch_source_t **out) {
    BPT_TRY(check(count, o->context, o->stride, o->batch_tokens, o->accumulate));
    if (count < (uint64_t)o->context + 1)
        return bpt_fail(BPT_ERR_INPUT, "the training text has %llu tokens, fewer than one window of --context %lld needs; use --context %llu or a longer text",
                        (unsigned long long)count, (long long)o->context, (unsigned long long)(count - 1));
    lm_t *s;
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    const int64_t windows = windows_of(count, o->context, o->stride);
    const int64_t batch = min64(o->batch_tokens / o->context > 0 ? o->batch_tokens / o->context : 1, windows);
    *s = (lm_t){.ids = ids, .count = count, .context = o->context, .stride = o->stride, .batch = batch, .accumulate = o->accumulate,
                .n_windows = windows, .train = true, .seed = o->seed};
    const int64_t a_step = batch * o->accumulate;
    s->base.steps_per_epoch = (windows + a_step - 1) / a_step;
    s->base.n_shapes = 1;
    s->shapes[0][0] = o->context;
    s->shapes[0][1] = batch;
    return finish(s, o->context, out);
}

bpt_status_t bpt_lm_eval_source(const uint32_t *ids, uint64_t count, int64_t context, int64_t batch_tokens, bpt_protocol_t protocol, bpt_batch_source_t **out) {
    const bool half = protocol != BPT_PROTOCOL_CHUNKS;
    if (half && (context < 2 || context % 2))
        return bpt_fail(BPT_ERR_USAGE, "--eval-context %lld: this protocol needs an even number of at least 2", (long long)context);
    const int64_t stride = half ? context / 2 : context;
    BPT_TRY(check(count, context, stride, batch_tokens, 1));
    lm_t *s;
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    const int64_t windows = windows_of(count, context, stride), batch = min64(batch_tokens / context > 0 ? batch_tokens / context : 1, windows);
    *s = (lm_t){.ids = ids, .count = count, .context = context, .stride = stride, .batch = batch, .accumulate = 1, .n_windows = windows,
                .half = half, .drop = protocol == BPT_PROTOCOL_RELEASED ? context / 2 : 0};
    s->base.steps_per_epoch = (windows + batch - 1) / batch;
    s->base.n_shapes = 1;
    s->shapes[0][0] = context;
    s->shapes[0][1] = batch;
    return finish(s, context, out);
}

bpt_status_t bpt_lm_lines_source(const uint32_t *ids, const uint64_t *offsets, uint64_t n_sequences, bpt_batch_source_t **out) {
    lm_t *s;
    BPT_TRY(bpt_alloc(1, sizeof *s, &s));
    *s = (lm_t){.ids = ids, .count = offsets[n_sequences], .offsets = offsets, .batch = 1, .accumulate = 1, .n_windows = (int64_t)n_sequences};
    int64_t longest = 1;
    for (uint64_t i = 0; i < n_sequences; ++i) {
        const int64_t length = window_at(s, (int64_t)i).length;
        if (length > longest) longest = length;
    }
    s->base.steps_per_epoch = s->n_windows;
    for (int64_t n = bucket_of(longest); n >= 1 && s->base.n_shapes < 32; n /= 2) {
        s->shapes[s->base.n_shapes][0] = n;
        s->shapes[s->base.n_shapes++][1] = 1;
    }
    return finish(s, bucket_of(longest), out);
}
