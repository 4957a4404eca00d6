// Training steps on the caller's arrays (see model.h): micro-batches as a batch source, and the optimiser step of the trainer.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "data/buffer.h"
#include "data/shapes.h"
#include "models/api/internal.h"
#include "models/train/optimiser_step.h"

// The micro-batches of one step.
typedef struct {
    bpt_batch_source_t base;
    const bpt_model_t *model;
    const bpt_micro_batch_t *micro;
    int64_t count, next;
    int64_t sequences;  // so far: their numbers within the step are keys of dropout
    int64_t scored;     // of the whole step
    double lr;
    bpt_batch_buffer_t buffer;
} source_t;

// Whether each token is the target of the one before, so that the last one is a target alone.
static bool shifts(const bpt_model_t *m) { return bpt_model_task(m)->predicts_text; }
static int64_t leaves_of(const bpt_model_t *m, int64_t length) { return shifts(m) ? length - 1 : length; }

// Tokens that are read, of all sequences and of the longest.
static int64_t tokens_of(const bpt_model_t *m, const bpt_micro_batch_t *b) {
    int64_t tokens = 0;
    for (int64_t s = 0; s < b->sequences.count; ++s) tokens += leaves_of(m, b->sequences.lengths[s]);
    return tokens;
}
static int64_t longest_of(const bpt_model_t *m, const bpt_micro_batch_t *b) {
    int64_t longest = 0;
    for (int64_t s = 0; s < b->sequences.count; ++s) {
        const int64_t leaves = leaves_of(m, b->sequences.lengths[s]);
        if (leaves > longest) longest = leaves;
    }
    return longest;
}

static int64_t examples_of(const bpt_model_t *m, const bpt_micro_batch_t *b) {
    return b->sequences.count / bpt_task_texts(bpt_model_task(m));
}
// Terms of the loss.
static int64_t scored_of(const bpt_model_t *m, const bpt_micro_batch_t *b) {
    return bpt_task_scores_tokens(&m->config) ? tokens_of(m, b) : examples_of(m, b);
}

// ---- checks

static bpt_status_t check_labels(const bpt_model_t *m, const bpt_micro_batch_t *b) {
    const bpt_task_spec_t *task = bpt_model_task(m);
    const int64_t wanted = !task->labelled ? 0 : task->per_token ? tokens_of(m, b) : examples_of(m, b);
    if (!wanted) return b->labels ? bpt_fail(BPT_ERR_USAGE, "labels are for classifiers and taggers, and this is %s", task->model) : BPT_OK;
    if (!b->labels) return bpt_fail(BPT_ERR_USAGE, "%s is trained on labels, and they are a null pointer", task->model);
    for (int64_t i = 0; i < wanted; ++i)
        if (b->labels[i] >= m->config.classes)
            return bpt_fail(BPT_ERR_USAGE, "label %" PRId64 " is %u; the model has %" PRId64 " classes", i, b->labels[i],
                            m->config.classes);
    return BPT_OK;
}

static bpt_status_t check_values(const bpt_model_t *m, const bpt_micro_batch_t *b) {
    const bpt_task_spec_t *task = bpt_model_task(m);
    if (!task->values)
        return b->values ? bpt_fail(BPT_ERR_USAGE, "values are for models that give numbers, and this is %s", task->model) : BPT_OK;
    if (!b->values) return bpt_fail(BPT_ERR_USAGE, "%s is trained on values, and they are a null pointer", task->model);
    for (int64_t i = 0; i < examples_of(m, b) * m->config.classes; ++i)
        if (!isfinite(b->values[i])) return bpt_fail(BPT_ERR_USAGE, "value %" PRId64 " is not finite", i);
    return BPT_OK;
}

static bpt_status_t check_micro_batch(const bpt_model_t *m, const bpt_micro_batch_t *b) {
    int64_t total;
    BPT_TRY(bpt_model_check_sequences(m, &b->sequences, shifts(m), &total));
    for (int64_t s = 0; s < b->sequences.count; ++s)
        if (leaves_of(m, b->sequences.lengths[s]) < 1)
            return bpt_fail(BPT_ERR_USAGE, "sequence %" PRId64 " has one token; a language model is trained on two or more", s);
    if (b->length && b->length < longest_of(m, b))
        return bpt_fail(BPT_ERR_USAGE, "length is %" PRId64 ", but there is a sequence of %" PRId64 " tokens%s", b->length,
                        longest_of(m, b), shifts(m) ? " and a last target" : "");
    BPT_TRY(check_labels(m, b));
    return check_values(m, b);
}

static bpt_status_t check(const bpt_model_t *m, const bpt_micro_batch_t *micro, int64_t count, const bpt_train_options_t *o) {
    BPT_TRY(bpt_model_ready(m));
    if (!m->options.trains) return bpt_fail(BPT_ERR_USAGE, "the model was not opened for training; set `trains` in its options");
    if (m->generators)
        return bpt_fail(BPT_ERR_USAGE, "%" PRId64 " generators read the parameters that a step would change; destroy them first",
                        m->generators);
    if (!micro || count < 1 || !o) return bpt_fail(BPT_ERR_USAGE, "a step needs micro-batches and options");
    if (o->version != BPT_MODEL_VERSION)
        return bpt_fail(BPT_ERR_USAGE, "the options are of version %u, this library knows %d; set them by bpt_train_options()", o->version,
                        BPT_MODEL_VERSION);
    if (!(isfinite(o->lr) && o->lr >= 0 && isfinite(o->clip) && o->clip >= 0))
        return bpt_fail(BPT_ERR_USAGE, "learning rate and clip must be finite numbers, 0 or more, not %g and %g", o->lr, o->clip);
    for (int64_t i = 0; i < count; ++i) BPT_TRY(bpt_context(check_micro_batch(m, &micro[i]), "micro-batch %" PRId64, i));
    return BPT_OK;
}

// ---- the source

// Sequence `row` of the micro-batch, whose tokens are the caller's from number `token` on.
static void fill_row(source_t *s, const bpt_micro_batch_t *from, int64_t row, int64_t token, bpt_batch_t *out) {
    const bpt_task_spec_t *task = bpt_model_task(s->model);
    const int64_t leaves = leaves_of(s->model, from->sequences.lengths[row]), at = row * out->shape.side[0].n;
    const int64_t columns = s->model->config.d_input;
    bpt_batch_buffer_t *b = &s->buffer;
    if (columns)
        memcpy(b->side[0].numbers + at * columns, from->sequences.vectors + token * columns, (size_t)(leaves * columns) * sizeof(float));
    else
        memcpy(b->side[0].tokens + at, from->sequences.tokens + token, (size_t)leaves * sizeof(uint32_t));
    b->side[0].lengths[row] = (uint32_t)leaves;
    b->sequences[row] = (uint32_t)s->sequences++;
    out->n_tokens += leaves;
    if (!task->per_token) return;
    memcpy(b->targets + at, shifts(s->model) ? from->sequences.tokens + token + 1 : from->labels + token,
           (size_t)leaves * sizeof(uint32_t));
    for (int64_t i = 0; i < leaves; ++i) b->weights[at + i] = 1;
}

static void fill_examples(source_t *s, const bpt_micro_batch_t *from) {
    const int64_t examples = examples_of(s->model, from), columns = s->model->config.classes;
    bpt_batch_buffer_t *b = &s->buffer;
    if (from->values)
        memcpy(b->values, from->values, (size_t)(examples * columns) * sizeof(float));
    else
        memcpy(b->targets, from->labels, (size_t)examples * sizeof(uint32_t));
    for (int64_t e = 0; e < examples; ++e) b->weights[e] = 1;
}

static bpt_status_t next(bpt_batch_source_t *source, bpt_batch_t *out, bool *end) {
    source_t *s = (source_t *)source;
    const bpt_task_spec_t *task = bpt_model_task(s->model);
    const bpt_micro_batch_t *from = &s->micro[s->next];
    const bpt_sequences_t *all = &from->sequences;
    const int64_t n = from->length ? from->length : bpt_length_bucket(longest_of(s->model, from));
    bpt_batch_layout_t layout = {.shape = {.batch = all->count, .side = {{.n = n}}},
                                 .columns = s->model->config.d_input,
                                 .value_columns = task->values ? s->model->config.classes : 0};
    if (__builtin_mul_overflow(n, all->count, &layout.shape.side[0].rows)) layout.shape.side[0].rows = INT64_MAX;  // is refused
    layout.n_targets = bpt_task_targets(task, &layout.shape);
    *end = false;
    BPT_TRY(bpt_batch_buffer_start(&s->buffer, &layout, out));
    for (int64_t row = 0, token = 0; row < all->count; token += all->lengths[row++]) fill_row(s, from, row, token, out);
    if (!task->per_token) fill_examples(s, from);
    out->n_real = all->count;
    out->n_scored = scored_of(s->model, from);
    out->window_scored = s->scored;
    out->first = s->next == 0;
    out->last = ++s->next == s->count;
    out->epoch_end = s->model->state.epoch;  // the caller's schedule, not ours
    return BPT_OK;
}

static bpt_status_t begin_step(void *user, const bpt_batch_t *batch, double *lr, int32_t *first_head) {
    const source_t *s = user;
    (void)batch;
    *lr = s->lr;
    *first_head = bpt_model_layers(&s->model->config);
    return BPT_OK;
}

bpt_status_t bpt_model_train_step(bpt_model_t *m, const bpt_micro_batch_t *micro, int64_t count, const bpt_train_options_t *o,
                                  bpt_train_result_t *result) {
    bpt_step_result_t done;
    BPT_TRY(check(m, micro, count, o));
    source_t source = {.base = {.next = next}, .model = m, .micro = micro, .count = count, .lr = o->lr};
    for (int64_t i = 0; i < count; ++i) source.scored += scored_of(m, &micro[i]);
    const bpt_optimiser_step_t step = {.runner = m->runner,
                                       .source = &source.base,
                                       .seed = o->seed,
                                       .beta1 = m->options.beta1,
                                       .beta2 = m->options.beta2,
                                       .clip = o->clip,
                                       .begin = begin_step,
                                       .user = &source};
    const bpt_status_t status = bpt_optimiser_step(&step, &m->state, &done);
    bpt_batch_buffer_free(&source.buffer);
    BPT_TRY(status);
    if (result) *result = (bpt_train_result_t){.loss = done.loss, .grad_norm = done.grad_norm, .updated = done.updated};
    return BPT_OK;
}
