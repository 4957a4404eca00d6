// Logits, classes, states and likelihoods of sequences (see model.h). Sequences of like length go through the model together, as `bpt
// classify` and `bpt eval` group them.
#include <string.h>

#include "bpt/alloc.h"
#include "data/examples_source.h"
#include "data/lm.h"
#include "models/api/internal.h"
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

// One result: `values` of a batch [rows, width], where a sequence has a row for each of its places in the batch, or one, alone or with the
// others of its example; they go to `out`, where sequences follow each other as the caller gave them.
typedef struct {
    float *out;  // NULL: not wanted
    int64_t width;
    bool per_token;
    int64_t texts;  // sequences that share a row, where none has a row for each token
    float *values;
    size_t room;
} result_t;

typedef struct {
    bpt_model_t *model;
    const uint64_t *offsets;
    uint32_t *tags;  // [N], of the logits in results[0]; NULL: not wanted
    bpt_status_t (*run)(bpt_runner_t *runner, const bpt_batch_t *batch, result_t *results);
    result_t results[2];
} forward_t;

static bpt_status_t make_room(result_t *r, const bpt_batch_t *batch) {
    if (!r->out) return BPT_OK;
    const size_t wanted = (size_t)((r->per_token ? batch->shape.side[0].rows : batch->shape.batch / r->texts) * r->width);
    if (wanted <= r->room) return BPT_OK;
    BPT_TRY(bpt_realloc(&r->values, wanted, sizeof *r->values));
    r->room = wanted;
    return BPT_OK;
}

static bpt_status_t hand_out(const result_t *r, const uint64_t *offsets, const bpt_batch_t *batch) {
    for (int64_t s = 0; r->out && s < batch->n_real; s += r->per_token ? 1 : r->texts) {
        const uint64_t sequence = batch->sequences[s], first = r->per_token ? offsets[sequence] : sequence / (uint64_t)r->texts;
        const int64_t rows = r->per_token ? batch->side[0].lengths[s] : 1, from = r->per_token ? batch->side[0].start[s] : s / r->texts;
        BPT_TRY(bpt_model_check_finite(r->values + from * r->width, rows * r->width));
        memcpy(r->out + first * (uint64_t)r->width, r->values + from * r->width, (size_t)(rows * r->width) * sizeof *r->out);
    }
    return BPT_OK;
}

static bpt_status_t hand_out_tags(const forward_t *f, const bpt_batch_t *batch) {
    uint32_t *best;
    BPT_TRY(bpt_alloc((size_t)batch->n_targets, sizeof *best, &best));
    const bpt_status_t status = bpt_model_task(f->model)->decode(f->model->runner, batch, f->results[0].values, best);
    for (int64_t s = 0; s < batch->n_real && status == BPT_OK; ++s)
        memcpy(f->tags + f->offsets[batch->sequences[s]], best + batch->side[0].start[s], batch->side[0].lengths[s] * sizeof *best);
    bpt_free(best);
    return status;
}

static bpt_status_t run_all(forward_t *f, bpt_batch_source_t *source) {
    BPT_TRY(source->seek(source, 0));
    for (;;) {
        bpt_batch_t batch;
        bool end = false;
        BPT_TRY(source->next(source, &batch, &end));
        if (end) return BPT_OK;
        for (int i = 0; i < 2; ++i) BPT_TRY(make_room(&f->results[i], &batch));
        BPT_TRY(f->run(f->model->runner, &batch, f->results));
        for (int i = 0; i < 2; ++i) BPT_TRY(hand_out(&f->results[i], f->offsets, &batch));
        if (f->tags) BPT_TRY(hand_out_tags(f, &batch));
    }
}

static bpt_status_t run_sequences(forward_t *f, const bpt_sequences_t *s, uint64_t *offsets, uint32_t *labels) {
    const int texts = bpt_task_texts(bpt_model_task(f->model));
    const bpt_examples_t examples = {.texts = texts,
                                     .per_token = bpt_model_task(f->model)->per_token,
                                     .tokens = (uint32_t *)s->tokens,
                                     .numbers = (float *)s->vectors,
                                     .columns = f->model->config.d_input,
                                     .offsets = offsets,
                                     .labels = labels,
                                     .count = (uint64_t)(s->count / texts),
                                     .n_tokens = offsets[s->count]};
    bpt_batch_source_t *source;
    for (uint64_t i = 0; i < offsets[s->count]; ++i) labels[i] = BPT_NO_LABEL;
    f->offsets = offsets;
    const bpt_batching_t batching = {.batch_tokens = f->model->options.batch_tokens, .packed = bpt_kind_of(&f->model->config)->packed};
    BPT_TRY(bpt_examples_eval_source(&examples, &batching, &source));
    const bpt_status_t status = run_all(f, source);
    source->destroy(source);
    for (int i = 0; i < 2; ++i) bpt_free(f->results[i].values);
    return status;
}

static bpt_status_t forward(forward_t *f, const bpt_sequences_t *s) {
    int64_t total;
    uint64_t *offsets;
    uint32_t *labels;
    BPT_TRY(bpt_model_check_sequences(f->model, s, false, &total));
    if (!f->results[0].out && !f->results[1].out) return bpt_fail(BPT_ERR_USAGE, "the array for the result is a null pointer");
    BPT_TRY(make_offsets(s, &offsets));
    bpt_status_t status = bpt_alloc((size_t)total, sizeof *labels, &labels);  // none is known
    if (status == BPT_OK) {
        status = run_sequences(f, s, offsets, labels);
        bpt_free(labels);
    }
    bpt_free(offsets);
    return status;
}

static bpt_status_t run_logits(bpt_runner_t *runner, const bpt_batch_t *batch, result_t *results) {
    return bpt_runner_logits(runner, batch, results[0].values);
}

static bpt_status_t give_logits(bpt_model_t *m, const bpt_sequences_t *sequences, float *logits) {
    const bpt_task_spec_t *task = bpt_model_task(m);
    forward_t f = {.model = m, .run = run_logits};
    f.results[0] =
        (result_t){.out = logits, .width = task->outputs(&m->config), .per_token = task->per_token, .texts = bpt_task_texts(task)};
    return forward(&f, sequences);
}

bpt_status_t bpt_model_logits(bpt_model_t *m, const bpt_sequences_t *sequences, float *logits) {
    BPT_TRY(bpt_model_ready(m));
    BPT_TRY(bpt_model_need(m, bpt_model_task(m)->predicts_text, "bpt_model_logits", "language models"));
    return give_logits(m, sequences, logits);
}

bpt_status_t bpt_model_classify(bpt_model_t *m, const bpt_sequences_t *sequences, float *logits) {
    BPT_TRY(bpt_model_ready(m));
    BPT_TRY(bpt_model_need(m, bpt_model_task(m)->labelled && !bpt_model_task(m)->per_token, "bpt_model_classify", "classifiers"));
    return give_logits(m, sequences, logits);
}

// Tags are chosen by the scores, which are computed in any case.
bpt_status_t bpt_model_tag(bpt_model_t *m, const bpt_sequences_t *sequences, uint32_t *tags, float *logits) {
    BPT_TRY(bpt_model_ready(m));
    const bpt_task_spec_t *task = bpt_model_task(m);
    int64_t total;
    float *scores = NULL;
    BPT_TRY(bpt_model_need(m, task->labelled && task->per_token, "bpt_model_tag", "taggers"));
    BPT_TRY(bpt_model_check_sequences(m, sequences, false, &total));
    if (!tags && !logits) return bpt_fail(BPT_ERR_USAGE, "the arrays for the results are null pointers");
    if (!logits) BPT_TRY(bpt_alloc((size_t)(total * m->config.classes), sizeof *scores, &scores));
    forward_t f = {.model = m, .run = run_logits, .tags = tags};
    f.results[0] = (result_t){.out = logits ? logits : scores, .width = task->outputs(&m->config), .per_token = true};
    const bpt_status_t status = forward(&f, sequences);
    bpt_free(scores);
    return status;
}

bpt_status_t bpt_model_predict(bpt_model_t *m, const bpt_sequences_t *sequences, float *numbers) {
    BPT_TRY(bpt_model_ready(m));
    BPT_TRY(bpt_model_need(m, bpt_model_task(m)->values, "bpt_model_predict", "models that give numbers"));
    return give_logits(m, sequences, numbers);
}

static bpt_status_t run_states(bpt_runner_t *runner, const bpt_batch_t *batch, result_t *results) {
    return bpt_runner_states(runner, batch, results[0].out ? results[0].values : NULL, results[1].out ? results[1].values : NULL);
}

bpt_status_t bpt_model_encode(bpt_model_t *m, const bpt_sequences_t *sequences, float *tokens, float *roots) {
    BPT_TRY(bpt_model_ready(m));
    if (roots)
        BPT_TRY(
            bpt_model_need(m, bpt_model_task(m)->wants & BPT_WANT_POOLED, "a state of the root", "models that learn one for each text"));
    forward_t f = {.model = m, .run = run_states};
    f.results[0] = (result_t){.out = tokens, .width = m->config.d_model, .per_token = true};
    f.results[1] = (result_t){.out = roots, .width = m->config.d_model, .texts = 1};
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
    BPT_TRY(bpt_model_need(m, bpt_model_task(m)->predicts_text, "bpt_model_score", "language models"));
    BPT_TRY(bpt_model_check_sequences(m, sequences, true, &total));
    if (!nll) return bpt_fail(BPT_ERR_USAGE, "the array for the result is a null pointer");
    BPT_TRY(make_offsets(sequences, &offsets));
    const bpt_status_t status = score(m, sequences, offsets, nll);
    bpt_free(offsets);
    return status;
}
