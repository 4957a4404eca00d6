// Training steps on the caller's arrays (see model.h): micro-batches as a batch source, and the optimiser step of the trainer.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "data/batches/buffer.h"
#include "data/batches/shapes.h"
#include "models/api/model_internal.h"
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
    const float *class_weights;  // NULL: 1 each
    bpt_batch_buffer_t buffer;
} source_t;

// Whether each token is the target of the one before, so that the last one of a sequence is a target alone.
static bool shifts(const bpt_model_t *m) { return bpt_task_shifts(bpt_model_task(m)); }
// Tokens of a sequence that the model reads.
static int64_t read_of(const bpt_model_t *m, int64_t length) { return shifts(m) ? length - 1 : length; }

// Of a micro-batch: the longest sequence, all tokens, examples.
static int64_t longest_of(const bpt_model_t *m, const bpt_micro_batch_t *b) {
    int64_t longest = 0;
    for (int64_t s = 0; s < b->sequences.count; ++s) {
        const int64_t length = read_of(m, b->sequences.lengths[s]);
        if (length > longest) longest = length;
    }
    return longest;
}
static int64_t tokens_of(const bpt_model_t *m, const bpt_micro_batch_t *b) {
    int64_t total = 0;
    for (int64_t s = 0; s < b->sequences.count; ++s) total += read_of(m, b->sequences.lengths[s]);
    return total;
}
static int64_t examples_of(const bpt_model_t *m, const bpt_micro_batch_t *b) { return b->sequences.count / bpt_model_texts(m); }

// Terms of the loss.
static int64_t scored_of(const bpt_model_t *m, const bpt_micro_batch_t *b) {
    return bpt_task_scores_tokens(&m->config) ? tokens_of(m, b) : examples_of(m, b);
}

// ---- checks

static bpt_status_t check_labels(const bpt_model_t *m, const uint32_t *labels, int64_t count) {
    const char *model = bpt_model_task(m)->model;
    if (!bpt_model_task(m)->labelled)
        return labels ? bpt_fail(BPT_ERR_USAGE, "labels are for classifiers and taggers, and this is %s", model) : BPT_OK;
    if (!labels) return bpt_fail(BPT_ERR_USAGE, "%s is trained on labels, and they are a null pointer", model);
    for (int64_t i = 0; i < count; ++i)
        if (labels[i] >= m->config.classes)
            return bpt_fail(BPT_ERR_USAGE, "label %" PRId64 " is %u; the model has %" PRId64 " classes", i, labels[i], m->config.classes);
    return BPT_OK;
}

static bpt_status_t check_values(const bpt_model_t *m, const float *values, int64_t count) {
    const char *model = bpt_model_task(m)->model;
    if (!bpt_model_task(m)->values)
        return values ? bpt_fail(BPT_ERR_USAGE, "values are for models that give numbers, and this is %s", model) : BPT_OK;
    if (!values) return bpt_fail(BPT_ERR_USAGE, "%s is trained on values, and they are a null pointer", model);
    return bpt_model_check_numbers(values, count * m->config.classes, "the values");
}

static bpt_status_t check_room(const bpt_model_t *m, const bpt_micro_batch_t *b) {
    const bool together = bpt_kind_of(&m->config)->packed;
    const int64_t needed = together ? tokens_of(m, b) : longest_of(m, b);
    if (b->length > UINT32_MAX) return bpt_fail(BPT_ERR_USAGE, "length is %" PRId64 "; it must be less than 2^32", b->length);
    if (!b->length || b->length >= needed) return BPT_OK;
    if (together)
        return bpt_fail(BPT_ERR_USAGE, "length is %" PRId64 ", but the sequences have %" PRId64 " tokens together", b->length, needed);
    return bpt_fail(BPT_ERR_USAGE, "length is %" PRId64 ", but there is a sequence of %" PRId64 " tokens%s", b->length, needed,
                    shifts(m) ? " and a last target" : "");
}

static bpt_status_t check_micro_batch(const bpt_model_t *m, const bpt_micro_batch_t *b) {
    int64_t total;
    BPT_TRY(bpt_model_check_sequences(m, &b->sequences, shifts(m), &total));
    for (int64_t s = 0; s < b->sequences.count; ++s)
        if (read_of(m, b->sequences.lengths[s]) < 1)
            return bpt_fail(BPT_ERR_USAGE, "sequence %" PRId64 " has one token; a language model is trained on two or more", s);
    BPT_TRY(check_room(m, b));
    BPT_TRY(check_labels(m, b->labels, bpt_model_task(m)->per_token ? total : examples_of(m, b)));
    return check_values(m, b->values, examples_of(m, b));
}

static bpt_status_t check_class_weights(const bpt_model_t *m, const float *weights) {
    if (!weights) return BPT_OK;
    if (!bpt_model_task(m)->labelled || m->config.crf)
        return bpt_fail(BPT_ERR_USAGE, "class_weights are for models that choose labels, without a CRF; this is %s%s",
                        bpt_model_task(m)->model, m->config.crf ? " with one" : "");
    for (int64_t c = 0; c < m->config.classes; ++c)
        if (!bpt_is_amount(weights[c]) || weights[c] == 0)
            return bpt_fail(BPT_ERR_USAGE, "class_weights[%" PRId64 "] is %g; weights are finite numbers above 0", c, (double)weights[c]);
    return BPT_OK;
}

static bpt_status_t check(const bpt_model_t *m, const bpt_micro_batch_t *micro, int64_t count, const bpt_train_options_t *o) {
    BPT_TRY(bpt_model_ready(m));
    if (bpt_model_task(m)->masks)
        return bpt_fail(BPT_ERR_USAGE, "%s is trained by `bpt train`, which hides tokens, and not from arrays", bpt_model_task(m)->model);
    if (!m->options.trains) return bpt_fail(BPT_ERR_USAGE, "the model was not opened for training; set `trains` in its options");
    if (m->generators)
        return bpt_fail(BPT_ERR_USAGE, "%" PRId64 " generators read the parameters that a step would change; destroy them first",
                        m->generators);
    if (!micro || count < 1 || !o) return bpt_fail(BPT_ERR_USAGE, "a step needs micro-batches and options");
    if (o->version != BPT_MODEL_VERSION)
        return bpt_fail(BPT_ERR_USAGE, "the options are of version %u, this library knows %d; set them by bpt_train_options()", o->version,
                        BPT_MODEL_VERSION);
    if (!bpt_is_amount(o->lr) || !bpt_is_amount(o->clip))
        return bpt_fail(BPT_ERR_USAGE, "learning rate and clip must be finite numbers, 0 or more, not %g and %g", o->lr, o->clip);
    BPT_TRY(check_class_weights(m, o->class_weights));
    for (int64_t i = 0; i < count; ++i) BPT_TRY(bpt_context(check_micro_batch(m, &micro[i]), "micro-batch %" PRId64, i));
    return BPT_OK;
}

// ---- the source

// Sequences in buckets of one length, or one behind the other (models/kinds/kind.h).
static bpt_batch_shape_t shape_of(const bpt_model_t *m, const bpt_micro_batch_t *b) {
    const int64_t count = b->sequences.count, texts = bpt_model_texts(m), most = m->options.batch_tokens;
    if (!bpt_kind_of(&m->config)->packed) return bpt_batch_buckets(b->length ? b->length : bpt_length_bucket(longest_of(m, b)), count);
    bpt_batch_shape_t shape = {.batch = bpt_row_count(most > count / texts ? most : count / texts, count / texts) * texts};
    shape.side[0].rows = b->length ? b->length : bpt_packed_rows(tokens_of(m, b), most);
    return shape;
}

static float weight_of(const source_t *s, uint32_t label) { return s->class_weights ? s->class_weights[label] : 1; }

// Sequence s of a micro-batch, whose first token is number `at` of those that the caller gave, to the rows from `row` on.
static void fill_sequence(source_t *s, const bpt_micro_batch_t *from, int64_t sequence, int64_t at, int64_t row) {
    const int64_t length = read_of(s->model, from->sequences.lengths[sequence]), columns = s->model->config.d_input;
    bpt_batch_buffer_t *b = &s->buffer;
    b->side[0].start[sequence] = (uint32_t)row;
    b->side[0].lengths[sequence] = (uint32_t)length;
    b->sequences[sequence] = (uint32_t)s->sequences++;
    if (columns)
        memcpy(b->side[0].numbers + row * columns, from->sequences.vectors + at * columns, (size_t)(length * columns) * sizeof(float));
    else
        memcpy(b->side[0].tokens + row, from->sequences.tokens + at, (size_t)length * sizeof(uint32_t));
    if (!bpt_model_task(s->model)->per_token) return;
    memcpy(b->targets + row, shifts(s->model) ? from->sequences.tokens + at + 1 : from->labels + at, (size_t)length * sizeof(uint32_t));
    for (int64_t i = 0; i < length; ++i) b->weights[row + i] = weight_of(s, b->targets[row + i]);
}

// The targets of examples.
static void fill_targets(source_t *s, const bpt_micro_batch_t *from) {
    const int64_t examples = examples_of(s->model, from), columns = s->model->config.classes;
    if (from->values)
        memcpy(s->buffer.values, from->values, (size_t)(examples * columns) * sizeof(float));
    else
        memcpy(s->buffer.targets, from->labels, (size_t)examples * sizeof(uint32_t));
    for (int64_t i = 0; i < examples; ++i) s->buffer.weights[i] = from->values ? 1 : weight_of(s, from->labels[i]);
}

static bpt_status_t next(bpt_batch_source_t *source, bpt_batch_t *out, bool *end) {
    source_t *s = (source_t *)source;
    const bpt_micro_batch_t *from = &s->micro[s->next];
    const bpt_task_spec_t *task = bpt_model_task(s->model);
    const bpt_batch_shape_t shape = shape_of(s->model, from);
    const bpt_batch_layout_t layout = {.shape = shape,
                                       .columns = s->model->config.d_input,
                                       .n_targets = bpt_task_targets(task, &shape),
                                       .value_columns = task->values ? s->model->config.classes : 0};
    *end = false;
    BPT_TRY(bpt_batch_buffer_start(&s->buffer, &layout, out));
    for (int64_t i = 0, at = 0, row = 0; i < from->sequences.count; at += from->sequences.lengths[i++]) {
        fill_sequence(s, from, i, at, shape.side[0].n ? i * shape.side[0].n : row);
        row += read_of(s->model, from->sequences.lengths[i]);
    }
    if (!task->per_token) fill_targets(s, from);
    out->n_real = from->sequences.count;
    out->n_tokens = tokens_of(s->model, from);
    out->n_scored = scored_of(s->model, from);
    out->window_scored = s->scored;
    out->first = s->next == 0;
    out->last = ++s->next == s->count;
    out->left = s->count - s->next;
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
    source_t source = {.base = {.next = next}, .model = m, .micro = micro, .count = count, .lr = o->lr, .class_weights = o->class_weights};
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
