// Logits, classes, tags, numbers, states and likelihoods of sequences (see model.h). Sequences of like length go through the model
// together, as `bpt classify` and `bpt eval` group them.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/batches/examples_source.h"
#include "data/batches/lm.h"
#include "data/score/best_tags.h"
#include "data/score/calibration.h"
#include "models/api/model_internal.h"
#include "models/run/each_batch.h"
#include "models/train/evaluate.h"

// Where each sequence begins: [count + 1].
static bpt_status_t make_offsets(const bpt_sequences_t *s, uint64_t **out) {
    uint64_t *offsets;
    BPT_TRY(bpt_alloc((size_t)s->count + 1, sizeof *offsets, &offsets));
    for (int64_t i = 0; i < s->count; ++i) offsets[i + 1] = offsets[i] + (uint64_t)s->lengths[i];
    *out = offsets;
    return BPT_OK;
}

// ---- what a forward pass gives, sequence by sequence

enum { PER_TOKEN = 0, MOST_RESULTS = 3 };

// One result: `values` of a batch [rows, width], where each token has a row, or so many texts have one together; they go to `out`, where
// they follow each other as the caller gave the sequences.
typedef struct {
    float *out;  // NULL: not wanted
    int64_t width;
    int64_t texts;  // PER_TOKEN: each token has a row
    bool needed;    // for other results, though it is not wanted
    float *values;
    size_t room;
} result_t;

typedef struct forward {
    bpt_model_t *model;
    const uint64_t *offsets;
    bpt_status_t (*run)(struct forward *f, const bpt_batch_t *batch);
    result_t results[MOST_RESULTS];
    uint32_t *labels;             // what the model makes of results[0], a number for each of its rows; NULL: not wanted
    uint32_t *chosen;             // of a batch
    bpt_task_model_t task_model;  // that makes them
    size_t room;
} forward_t;

static bool is_made(const result_t *r) { return r->out || r->needed; }
static float *values_of(const result_t *r) { return is_made(r) ? r->values : NULL; }

static bpt_status_t make_room(result_t *r, const bpt_batch_t *batch) {
    const int64_t rows = r->texts == PER_TOKEN ? batch->shape.side[0].rows : batch->shape.batch / r->texts;
    return is_made(r) ? bpt_reserve_floats(&r->values, &r->room, rows * r->width) : BPT_OK;
}

// The rows of a result that belong to sequence s of a batch: where they are, where they go, and how many there are.
typedef struct {
    int64_t from, to, count;
} rows_t;

static rows_t rows_of(const result_t *r, const uint64_t *offsets, const bpt_batch_t *batch, int64_t s) {
    const uint32_t sequence = batch->sequences[s];
    if (r->texts == PER_TOKEN) return (rows_t){batch->side[0].start[s], (int64_t)offsets[sequence], batch->side[0].lengths[s]};
    return (rows_t){s / r->texts, sequence / r->texts, 1};
}

static bpt_status_t hand_out(const forward_t *f, const result_t *r, const bpt_batch_t *batch) {
    for (int64_t s = 0; is_made(r) && s < batch->n_real; s += r->texts == PER_TOKEN ? 1 : r->texts) {
        const rows_t rows = rows_of(r, f->offsets, batch, s);
        const float *values = r->values + rows.from * r->width;
        BPT_TRY(bpt_model_check_finite(values, rows.count * r->width));
        if (r->out) memcpy(r->out + rows.to * r->width, values, (size_t)(rows.count * r->width) * sizeof *values);
    }
    return BPT_OK;
}

static bpt_status_t hand_out_labels(forward_t *f, const bpt_batch_t *batch) {
    if ((size_t)batch->n_targets > f->room) BPT_TRY(bpt_realloc(&f->chosen, (size_t)batch->n_targets, sizeof *f->chosen));
    if ((size_t)batch->n_targets > f->room) f->room = (size_t)batch->n_targets;
    BPT_TRY(bpt_task_decode(&f->task_model, batch, f->results[0].values, f->chosen));
    for (int64_t s = 0; s < batch->n_real; ++s) {
        const rows_t rows = rows_of(&f->results[0], f->offsets, batch, s);
        memcpy(f->labels + rows.to, f->chosen + rows.from, (size_t)rows.count * sizeof *f->labels);
    }
    return BPT_OK;
}

static bpt_status_t run_batch(void *user, int64_t number, const bpt_batch_t *batch) {
    forward_t *f = user;
    (void)number;
    for (int i = 0; i < MOST_RESULTS; ++i) BPT_TRY(make_room(&f->results[i], batch));
    BPT_TRY(f->run(f, batch));
    for (int i = 0; i < MOST_RESULTS; ++i) BPT_TRY(hand_out(f, &f->results[i], batch));
    return f->labels ? hand_out_labels(f, batch) : BPT_OK;
}

// `none`: of each token, that it has no label.
static bpt_status_t run_sequences(forward_t *f, const bpt_sequences_t *s, uint64_t *offsets, uint32_t *none) {
    const bpt_model_config_t *config = &f->model->config;
    const int texts = bpt_task_texts(bpt_task_of(config));
    const bpt_examples_t examples = {.texts = texts,
                                     .tokens = (uint32_t *)s->tokens,
                                     .vectors = {.has = s->vectors != NULL, .of = (float *)s->vectors, .columns = config->d_input},
                                     .offsets = offsets,
                                     .labels = {.has = true, .per_token = bpt_task_of(config)->per_token, .of = none},
                                     .count = (uint64_t)(s->count / texts),
                                     .n_tokens = offsets[s->count]};
    const bpt_batching_t batching = {.batch_tokens = f->model->options.batch_tokens, .packed = bpt_runner_packs(f->model->runner)};
    bpt_batch_source_t *source;
    for (uint64_t i = 0; i < examples.n_tokens; ++i) none[i] = BPT_NO_LABEL;
    f->offsets = offsets;
    BPT_TRY(bpt_runner_task_model(f->model->runner, &f->task_model));
    bpt_status_t status = bpt_examples_eval_source(&examples, &batching, &source);
    if (status == BPT_OK) {
        status = bpt_each_batch(source, run_batch, f);
        source->destroy(source);
    }
    bpt_free(f->task_model.weights);
    for (int i = 0; i < MOST_RESULTS; ++i) bpt_free(f->results[i].values);
    bpt_free(f->chosen);
    return status;
}

static bpt_status_t forward(forward_t *f, const bpt_sequences_t *s) {
    int64_t total;
    uint64_t *offsets;
    uint32_t *none;
    bool wanted = f->labels != NULL;
    BPT_TRY(bpt_model_check_sequences(f->model, s, false, &total));
    for (int i = 0; i < MOST_RESULTS; ++i) wanted |= f->results[i].out != NULL;
    if (!wanted) return bpt_fail(BPT_ERR_USAGE, "the array for the result is a null pointer");
    BPT_TRY(make_offsets(s, &offsets));
    bpt_status_t status = bpt_alloc((size_t)total, sizeof *none, &none);
    if (status == BPT_OK) {
        status = run_sequences(f, s, offsets, none);
        bpt_free(none);
    }
    bpt_free(offsets);
    return status;
}

// ---- what the head gives

static bpt_status_t run_logits(forward_t *f, const bpt_batch_t *batch) {
    return bpt_runner_logits(f->model->runner, batch, f->results[0].values);
}

static bpt_status_t give_outputs(bpt_model_t *m, const bpt_sequences_t *sequences, float *outputs, uint32_t *labels) {
    const bpt_task_spec_t *task = bpt_model_task(m);
    forward_t f = {.model = m, .run = run_logits, .labels = labels};
    f.results[0] = (result_t){.out = outputs,
                              .width = task->outputs(&m->config),
                              .texts = task->per_token ? PER_TOKEN : bpt_task_texts(task),
                              .needed = labels != NULL};
    return forward(&f, sequences);
}

bpt_status_t bpt_model_logits(bpt_model_t *m, const bpt_sequences_t *sequences, float *logits) {
    BPT_TRY(bpt_model_ready(m));
    BPT_TRY(bpt_model_need(m, bpt_task_shifts(bpt_model_task(m)), "bpt_model_logits", "language models"));
    return give_outputs(m, sequences, logits, NULL);
}

bpt_status_t bpt_model_classify(bpt_model_t *m, const bpt_sequences_t *sequences, float *logits) {
    BPT_TRY(bpt_model_ready(m));
    BPT_TRY(bpt_model_need(m, bpt_model_task(m)->labelled && !bpt_model_task(m)->per_token, "bpt_model_classify",
                           "classifiers of texts and of pairs"));
    return give_outputs(m, sequences, logits, NULL);
}

bpt_status_t bpt_model_tag(bpt_model_t *m, const bpt_sequences_t *sequences, uint32_t *tags, float *scores) {
    BPT_TRY(bpt_model_ready(m));
    BPT_TRY(bpt_model_need(m, bpt_model_task(m)->labelled && bpt_model_task(m)->per_token, "bpt_model_tag", "taggers"));
    return give_outputs(m, sequences, scores, tags);
}

// Blocks of tags [n, length], sequence behind sequence.
static bpt_status_t list_tags(bpt_model_t *m, const bpt_sequences_t *s, const float *scores, int32_t n, uint32_t *tags, double *log_p) {
    bpt_task_model_t model;
    const int64_t classes = m->config.classes;
    BPT_TRY(bpt_runner_task_model(m->runner, &model));
    bpt_status_t status = BPT_OK;
    for (int64_t i = 0, at = 0; i < s->count && status == BPT_OK; at += s->lengths[i], ++i) {
        int count;
        memset(tags + at * n, 0, (size_t)(s->lengths[i] * n) * sizeof *tags);
        status = bpt_best_tags(scores + at * classes, s->lengths[i], classes, model.weights, n, tags + at * n, log_p + i * n, &count);
        for (int k = count; k < n; ++k) log_p[i * n + k] = -INFINITY;
    }
    bpt_free(model.weights);
    return status;
}

bpt_status_t bpt_model_tag_n_best(bpt_model_t *m, const bpt_sequences_t *s, int32_t n, uint32_t *tags, double *log_probabilities) {
    float *scores;
    int64_t total;
    BPT_TRY(bpt_model_ready(m));
    BPT_TRY(bpt_model_need(m, bpt_model_task(m)->labelled && bpt_model_task(m)->per_token, "bpt_model_tag_n_best", "taggers"));
    if (n < 1 || n > 1024) return bpt_fail(BPT_ERR_USAGE, "n is %d; it must be from 1 to 1024", n);
    if (!tags || !log_probabilities) return bpt_fail(BPT_ERR_USAGE, "the array for the result is a null pointer");
    BPT_TRY(bpt_model_check_sequences(m, s, false, &total));
    BPT_TRY(bpt_alloc((size_t)(total * m->config.classes), sizeof *scores, &scores));
    bpt_status_t status = give_outputs(m, s, scores, NULL);
    if (status == BPT_OK) status = list_tags(m, s, scores, n, tags, log_probabilities);
    bpt_free(scores);
    return status;
}

bpt_status_t bpt_model_predict(bpt_model_t *m, const bpt_sequences_t *sequences, float *numbers) {
    BPT_TRY(bpt_model_ready(m));
    BPT_TRY(bpt_model_need(m, bpt_model_task(m)->values, "bpt_model_predict", "models that give numbers"));
    return give_outputs(m, sequences, numbers, NULL);
}

// ---- states

enum { TOKENS, TEXTS, RELAYS };

static bpt_status_t run_states(forward_t *f, const bpt_batch_t *batch) {
    const bpt_runner_states_t out = {
        .tokens = values_of(&f->results[TOKENS]), .pooled = values_of(&f->results[TEXTS]), .relay = values_of(&f->results[RELAYS])};
    return bpt_runner_states(f->model->runner, batch, &out);
}

bpt_status_t bpt_model_encode(bpt_model_t *m, const bpt_sequences_t *sequences, float *tokens, float *texts, float *relays) {
    BPT_TRY(bpt_model_ready(m));
    if (texts) BPT_TRY(bpt_model_need(m, bpt_model_task(m)->wants & BPT_WANT_POOLED, "a state of each text", "models that learn one"));
    if (relays && !(bpt_kind_of(&m->config)->gives & BPT_WANT_RELAY))
        return bpt_fail(BPT_ERR_USAGE, "a state of a relay is for models that have one, such as star, and this is a model %s",
                        bpt_kind_of(&m->config)->name);
    forward_t f = {.model = m, .run = run_states};
    const int64_t width = m->config.d_model;
    f.results[TOKENS] = (result_t){.out = tokens, .width = width, .texts = PER_TOKEN};
    f.results[TEXTS] = (result_t){.out = texts, .width = width, .texts = 1};
    f.results[RELAYS] = (result_t){.out = relays, .width = width, .texts = 1};
    return forward(&f, sequences);
}

// ---- likelihoods

static bpt_status_t score(bpt_model_t *m, const bpt_sequences_t *s, const uint64_t *offsets, float *out) {
    bpt_batch_source_t *source;
    bpt_evaluation_t evaluation;
    float *nll = NULL;
    size_t count;
    BPT_TRY(bpt_lm_lines_source(s->tokens, offsets, (uint64_t)s->count, &source));
    bpt_status_t status = bpt_evaluate_nll(m->runner, source, NULL, NULL, &evaluation, &nll, &count);
    if (status == BPT_OK) status = bpt_model_check_finite(nll, (int64_t)count);
    if (status == BPT_OK) memcpy(out, nll, count * sizeof *nll);
    bpt_free(nll);
    source->destroy(source);
    return status;
}

bpt_status_t bpt_model_score(bpt_model_t *m, const bpt_sequences_t *sequences, float *nll) {
    int64_t total;
    uint64_t *offsets;
    BPT_TRY(bpt_model_ready(m));
    BPT_TRY(bpt_model_need(m, bpt_task_shifts(bpt_model_task(m)), "bpt_model_score", "language models"));
    BPT_TRY(bpt_model_check_sequences(m, sequences, true, &total));
    if (!nll) return bpt_fail(BPT_ERR_USAGE, "the array for the result is a null pointer");
    BPT_TRY(make_offsets(sequences, &offsets));
    const bpt_status_t status = score(m, sequences, offsets, nll);
    bpt_free(offsets);
    return status;
}

bpt_status_t bpt_fit_temperature(const float *logits, const uint32_t *labels, int64_t count, int64_t classes, double *temperature) {
    if (!logits || !labels || !temperature) return bpt_fail(BPT_ERR_USAGE, "bpt_fit_temperature: a null pointer");
    if (count < 1 || classes < 1)
        return bpt_fail(BPT_ERR_USAGE, "%" PRId64 " rows of %" PRId64 " logits: there must be some", count, classes);
    for (int64_t i = 0; i < count; ++i)
        if (labels[i] >= classes)
            return bpt_fail(BPT_ERR_USAGE, "labels[%" PRId64 "] is %u, and there are %" PRId64 " classes", i, labels[i], classes);
    return bpt_temperature_fit(logits, labels, count, classes, temperature);
}
