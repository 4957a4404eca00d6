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

// One result: `values` of a batch [rows, width], where a sequence has a row for each of its places in the batch, or one; they go to `out`,
// where sequences follow each other as the caller gave them.
typedef struct {
    float *out;  // NULL: not wanted
    int64_t width;
    bool per_token;
    float *values;
    size_t room;
} result_t;

typedef struct {
    bpt_model_t *model;
    const uint64_t *offsets;
    bpt_status_t (*run)(bpt_runner_t *runner, const bpt_batch_t *batch, result_t *results);
    result_t results[2];
} forward_t;

static bpt_status_t make_room(result_t *r, const bpt_batch_t *batch) {
    const size_t wanted = (size_t)((r->per_token ? batch->shape.side[0].rows : batch->shape.batch) * r->width);
    if (!r->out || wanted <= r->room) return BPT_OK;
    BPT_TRY(bpt_realloc(&r->values, wanted, sizeof *r->values));
    r->room = wanted;
    return BPT_OK;
}

static bpt_status_t hand_out(const result_t *r, const uint64_t *offsets, const bpt_batch_t *batch) {
    for (int64_t s = 0; r->out && s < batch->n_real; ++s) {
        const uint64_t sequence = batch->sequences[s], first = r->per_token ? offsets[sequence] : sequence;
        const int64_t rows = r->per_token ? batch->side[0].lengths[s] : 1, from = r->per_token ? batch->side[0].start[s] : s;
        BPT_TRY(bpt_model_check_finite(r->values + from * r->width, rows * r->width));
        memcpy(r->out + first * (uint64_t)r->width, r->values + from * r->width, (size_t)(rows * r->width) * sizeof *r->out);
    }
    return BPT_OK;
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
    }
}

static bpt_status_t run_sequences(forward_t *f, const bpt_sequences_t *s, uint64_t *offsets, uint32_t *labels) {
    const bpt_examples_t examples = {
        .tokens = (uint32_t *)s->tokens, .offsets = offsets, .labels = labels, .count = (uint64_t)s->count, .n_tokens = offsets[s->count]};
    bpt_batch_source_t *source;
    for (int64_t i = 0; i < s->count; ++i) labels[i] = BPT_NO_LABEL;
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
    bpt_status_t status = bpt_alloc((size_t)s->count, sizeof *labels, &labels);
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
    f.results[0] = (result_t){.out = logits, .width = task->outputs(&m->config), .per_token = task->per_token};
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
    f.results[1] = (result_t){.out = roots, .width = m->config.d_model};
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
