// Examples through a model for their states (see embed_texts.h).
#include "models/api/embed_texts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bpt/alloc.h"
#include "data/batches/examples_source.h"
#include "models/run/each_batch.h"
#include "models/train/evaluate.h"

typedef struct {
    bpt_runner_t *runner;
    const bpt_examples_t *examples;
    bool tokens;  // else vectors of texts
    bpt_embedding_t which;
    float *out;
    float *states, *vectors;  // of a batch
    size_t n_states, n_vectors;
} work_t;

static bpt_status_t check(const float *values, int64_t count, uint32_t text) {
    for (int64_t i = 0; i < count; ++i)
        if (!isfinite(values[i]))
            return bpt_fail(BPT_ERR_NUMERIC, "a state of text %" PRIu32 " is not finite: the weights are not, or are too large", text);
    return BPT_OK;
}

static bpt_status_t one_batch(void *user, int64_t number, const bpt_batch_t *batch) {
    work_t *w = user;
    (void)number;
    const int64_t d = bpt_runner_config(w->runner)->d_model;
    BPT_TRY(bpt_reserve_floats(&w->states, &w->n_states, batch->shape.side[0].rows * d));
    BPT_TRY(bpt_reserve_floats(&w->vectors, &w->n_vectors, batch->shape.batch * d));
    BPT_TRY(w->tokens ? bpt_runner_states(w->runner, batch, &(bpt_runner_states_t){.tokens = w->states})
                      : bpt_runner_embed(w->runner, batch, w->which, w->states, w->vectors));
    for (int64_t s = 0; s < batch->n_real; ++s) {
        const uint32_t text = batch->sequences[s];
        const int64_t rows = w->tokens ? batch->side[0].lengths[s] : 1;
        const float *from = w->tokens ? w->states + (int64_t)batch->side[0].start[s] * d : w->vectors + s * d;
        BPT_TRY(check(from, rows * d, text));
        memcpy(w->out + (w->tokens ? w->examples->offsets[text] : text) * (uint64_t)d, from, (size_t)(rows * d) * sizeof *from);
    }
    return BPT_OK;
}

// Nothing is predicted, so no text has a label.
static bpt_status_t run(work_t *w, const bpt_examples_t *examples, int64_t batch_tokens) {
    const bpt_batching_t batching = {.batch_tokens = batch_tokens, .packed = bpt_kind_packs(bpt_runner_config(w->runner))};
    bpt_examples_t plain = *examples;
    bpt_batch_source_t *source;
    uint32_t *none;
    BPT_TRY(bpt_alloc((size_t)examples->n_tokens, sizeof *none, &none));
    for (uint64_t i = 0; i < examples->n_tokens; ++i) none[i] = BPT_NO_LABEL;
    plain.labels = (bpt_example_labels_t){.has = true, .per_token = bpt_task_of(bpt_runner_config(w->runner))->per_token, .of = none};
    plain.values = (bpt_example_numbers_t){0};
    bpt_status_t status = bpt_examples_eval_source(&plain, &batching, &source);
    if (status == BPT_OK) {
        status = bpt_each_batch(source, one_batch, w);
        source->destroy(source);
    }
    bpt_free(none);
    bpt_free(w->states);
    bpt_free(w->vectors);
    return status;
}

bpt_status_t bpt_embed_texts(bpt_runner_t *runner, const bpt_examples_t *examples, int64_t batch_tokens, bpt_embedding_t which,
                             float *vectors) {
    work_t w = {.runner = runner, .examples = examples, .which = which, .out = vectors};
    BPT_TRY(bpt_embedding_check(bpt_runner_config(runner), which));
    return run(&w, examples, batch_tokens);
}

bpt_status_t bpt_embed_tokens(bpt_runner_t *runner, const bpt_examples_t *examples, int64_t batch_tokens, float *states) {
    work_t w = {.runner = runner, .examples = examples, .tokens = true, .out = states};
    return run(&w, examples, batch_tokens);
}
