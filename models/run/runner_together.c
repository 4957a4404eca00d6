// Models that answer as one (see runner.h).

#include <inttypes.h>

#include "bpt/alloc.h"
#include "models/nn/mixture.h"
#include "models/run/runner_internal.h"

int bpt_runner_others(const bpt_runner_t *r) { return (int)r->n_others; }
bpt_runner_t *bpt_runner_other(const bpt_runner_t *r, int which) { return r->others[which]; }

bool bpt_runner_packs(const bpt_runner_t *r) {
    bool packs = bpt_kind_packs(&r->config);
    for (size_t i = 0; i < r->n_others; ++i) packs = packs && bpt_kind_packs(&r->others[i]->config);
    return packs;
}

int64_t bpt_runner_positions(const bpt_runner_t *r) {
    int64_t fewest = bpt_model_positions(&r->config);
    for (size_t i = 0; i < r->n_others; ++i) {
        const int64_t positions = bpt_model_positions(&r->others[i]->config);
        if (positions && (!fewest || positions < fewest)) fewest = positions;
    }
    return fewest;
}

// ---- What fits

static bpt_status_t same_count(const char *what, int64_t a, int64_t b) {
    if (a == b) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "%s: one model has %" PRId64 ", the other %" PRId64 "; models that answer together need the same", what,
                    a, b);
}

static bpt_status_t check(const bpt_model_config_t *a, const bpt_model_config_t *b) {
    const bpt_task_spec_t *task = bpt_task_of(a), *other = bpt_task_of(b);
    if (task != other)
        return bpt_fail(BPT_ERR_USAGE, "one model is %s, the other %s; models that answer together do the same task", task->model,
                        other->model);
    if (bpt_task_decodes_with(a) || bpt_task_decodes_with(b))
        return bpt_fail(BPT_ERR_USAGE, "a CRF gives probabilities to whole sequences, whose mean no search finds the best of; only models "
                                       "without one answer together");
    if (bpt_kind_of(a)->trees != bpt_kind_of(b)->trees)
        return bpt_fail(BPT_ERR_USAGE, "model %s reads trees and model %s does not; models that answer together read the same",
                        bpt_kind_of(bpt_kind_of(a)->trees ? a : b)->name, bpt_kind_of(bpt_kind_of(a)->trees ? b : a)->name);
    if (!task->values) BPT_TRY(same_count("tokens of the vocabulary", a->vocab, b->vocab));
    BPT_TRY(same_count("tokens of the vocabulary of what is translated", a->source_vocab, b->source_vocab));
    BPT_TRY(same_count("labels, or predicted numbers", a->classes, b->classes));
    BPT_TRY(same_count("numbers of a vector that is read", a->d_input, b->d_input));
    BPT_TRY(same_count("longest character n-grams", a->ngram_max, b->ngram_max));
    BPT_TRY(same_count("shortest character n-grams", a->ngram_min, b->ngram_min));
    BPT_TRY(same_count("rows of character n-grams", a->ngram_rows, b->ngram_rows));
    return same_count("labels of nodes", a->node_labels, b->node_labels);
}

bpt_status_t bpt_runner_join(bpt_runner_t *r, bpt_runner_t *other) {
    BPT_TRY(check(&r->config, &other->config));
    BPT_TRY(bpt_grow(&r->others, r->n_others, &r->other_capacity, sizeof(bpt_runner_t *)));
    r->others[r->n_others++] = other;
    return BPT_OK;
}

// ---- Answers

bpt_status_t bpt_together_logits(bpt_runner_t *r, const bpt_batch_t *batch, float *logits) {
    const bpt_task_spec_t *task = bpt_task_of(&r->config);
    const int64_t columns = task->outputs(&r->config), rows = batch->n_targets, count = rows * columns;
    const int models = 1 + (int)r->n_others;
    float *more;
    if (!r->n_others) return BPT_OK;
    BPT_TRY(bpt_alloc((size_t)count, sizeof *more, &more));
    if (!task->values) bpt_log_softmax(logits, rows, columns);
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < r->n_others && status == BPT_OK; ++i) {
        status = bpt_runner_logits(r->others[i], batch, more);
        if (!task->values) bpt_log_softmax(more, rows, columns);
        for (int64_t k = 0; k < count && task->values; ++k) logits[k] += more[k];
        if (!task->values) bpt_mixture_add(logits, more, count);
    }
    for (int64_t k = 0; k < count && task->values; ++k) logits[k] /= (float)models;
    if (!task->values) bpt_mixture_finish(logits, count, models);
    bpt_free(more);
    return status;
}

// The likelihood of a target is the mean of the models' likelihoods.
static bpt_status_t mix_nll(bpt_runner_t *r, const bpt_batch_t *batch, float *nll, float *more, double *loss) {
    const int64_t count = batch->n_targets;
    double unused;
    BPT_TRY(bpt_runner_evaluate_alone(r, batch, nll, &unused));
    for (int64_t i = 0; i < count; ++i) nll[i] = -nll[i];
    for (size_t m = 0; m < r->n_others; ++m) {
        BPT_TRY(bpt_runner_evaluate(r->others[m], batch, more, &unused));
        for (int64_t i = 0; i < count; ++i) more[i] = -more[i];
        bpt_mixture_add(nll, more, count);
    }
    bpt_mixture_finish(nll, count, 1 + (int)r->n_others);
    *loss = 0;
    for (int64_t i = 0; i < count; ++i) {
        nll[i] = batch->weights[i] != 0 ? -nll[i] : 0;
        *loss += (double)batch->weights[i] * (double)nll[i];
    }
    return BPT_OK;
}

bpt_status_t bpt_together_evaluate(bpt_runner_t *r, const bpt_batch_t *batch, float *nll, double *loss) {
    float *room;  // of two
    BPT_TRY(bpt_alloc(2 * (size_t)batch->n_targets, sizeof *room, &room));
    const bpt_status_t status = mix_nll(r, batch, nll ? nll : room, room + batch->n_targets, loss);
    bpt_free(room);
    return status;
}
