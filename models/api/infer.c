// Logits, classes and likelihoods of sequences (see model.h). Sequences of like length go through the model together, as `bpt classify` and
// `bpt eval` group them.
#include <string.h>

#include "bpt/alloc.h"
#include "data/classify.h"
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

// Results of a batch: `values` [rows, width], where a sequence has a row for each of its places in the batch, or one.
typedef struct {
    bpt_model_t *model;
    const uint64_t *offsets;
    bpt_status_t (*run)(bpt_runner_t *runner, const bpt_batch_t *batch, float *values);
    int64_t width;
    bool per_token;
    float *values, *out;
    size_t room;
} forward_t;

static void hand_out(const forward_t *f, const bpt_batch_t *batch) {
    for (int64_t s = 0; s < batch->n_real; ++s) {
        const uint64_t sequence = batch->sequences[s], first = f->per_token ? f->offsets[sequence] : sequence;
        const int64_t rows = f->per_token ? batch->lengths[s] : 1, from = f->per_token ? s * batch->n : s;
        memcpy(f->out + first * (uint64_t)f->width, f->values + from * f->width, (size_t)(rows * f->width) * sizeof *f->out);
    }
}

static bpt_status_t run_batch(forward_t *f, const bpt_batch_t *batch) {
    const size_t wanted = (size_t)(batch->batch * (f->per_token ? batch->n : 1) * f->width);
    if (wanted > f->room) BPT_TRY(bpt_realloc(&f->values, wanted, sizeof *f->values));
    if (wanted > f->room) f->room = wanted;
    BPT_TRY(f->run(f->model->runner, batch, f->values));
    hand_out(f, batch);
    return BPT_OK;
}

static bpt_status_t run_all(forward_t *f, bpt_batch_source_t *source) {
    BPT_TRY(source->seek(source, 0));
    for (;;) {
        bpt_batch_t batch;
        bool end = false;
        BPT_TRY(source->next(source, &batch, &end));
        if (end) return BPT_OK;
        BPT_TRY(run_batch(f, &batch));
    }
}

static bpt_status_t run_sequences(forward_t *f, const bpt_sequences_t *s, uint64_t *offsets, uint32_t *labels) {
    const bpt_examples_t examples = {
        .tokens = (uint32_t *)s->tokens, .offsets = offsets, .labels = labels, .count = (uint64_t)s->count, .n_tokens = offsets[s->count]};
    bpt_batch_source_t *source;
    for (int64_t i = 0; i < s->count; ++i) labels[i] = BPT_NO_LABEL;
    f->offsets = offsets;
    BPT_TRY(bpt_classify_eval_source(&examples, f->model->options.batch_tokens, &source));
    const bpt_status_t status = run_all(f, source);
    source->destroy(source);
    bpt_free(f->values);
    return status;
}

static bpt_status_t forward(forward_t *f, const bpt_sequences_t *s) {
    int64_t total;
    uint64_t *offsets;
    uint32_t *labels;
    BPT_TRY(bpt_model_check_sequences(f->model, s, false, &total));
    if (!f->out) return bpt_fail(BPT_ERR_USAGE, "the array for the result is a null pointer");
    BPT_TRY(make_offsets(s, &offsets));
    bpt_status_t status = bpt_alloc((size_t)s->count, sizeof *labels, &labels);
    if (status == BPT_OK) {
        status = run_sequences(f, s, offsets, labels);
        bpt_free(labels);
    }
    bpt_free(offsets);
    return status;
}

bpt_status_t bpt_model_logits(bpt_model_t *m, const bpt_sequences_t *sequences, float *logits) {
    BPT_TRY(bpt_model_need_task(m, BPT_TASK_LM, "bpt_model_logits"));
    forward_t f = {.model = m, .run = bpt_runner_logits, .width = m->config.vocab, .per_token = true, .out = logits};
    return forward(&f, sequences);
}

bpt_status_t bpt_model_classify(bpt_model_t *m, const bpt_sequences_t *sequences, float *logits) {
    BPT_TRY(bpt_model_need_task(m, BPT_TASK_CLASSIFY, "bpt_model_classify"));
    forward_t f = {.model = m, .run = bpt_runner_logits, .width = m->config.classes, .out = logits};
    return forward(&f, sequences);
}

// ---- likelihoods

static bpt_status_t score(bpt_model_t *m, const bpt_sequences_t *s, const uint64_t *offsets, float *out) {
    bpt_batch_source_t *source;
    bpt_evaluation_t evaluation;
    float *nll = NULL;
    size_t count;
    BPT_TRY(bpt_lm_lines_source(s->tokens, offsets, (uint64_t)s->count, &source));
    const bpt_status_t status = bpt_evaluate_nll(m->runner, source, &evaluation, &nll, &count);
    if (status == BPT_OK) memcpy(out, nll, count * sizeof *nll);
    bpt_free(nll);
    source->destroy(source);
    return status;
}

bpt_status_t bpt_model_score(bpt_model_t *m, const bpt_sequences_t *sequences, float *nll) {
    int64_t total;
    uint64_t *offsets;
    BPT_TRY(bpt_model_need_task(m, BPT_TASK_LM, "bpt_model_score"));
    BPT_TRY(bpt_model_check_sequences(m, sequences, true, &total));
    if (!nll) return bpt_fail(BPT_ERR_USAGE, "the array for the result is a null pointer");
    BPT_TRY(make_offsets(sequences, &offsets));
    const bpt_status_t status = score(m, sequences, offsets, nll);
    bpt_free(offsets);
    return status;
}
