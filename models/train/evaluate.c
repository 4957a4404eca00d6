// Evaluation of a whole source (see evaluate.h).
#include "models/train/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "models/run/each_batch.h"

bpt_status_t bpt_reserve_floats(float **array, size_t *room, int64_t wanted) {
    if ((size_t)wanted <= *room) return BPT_OK;
    BPT_TRY(bpt_realloc(array, (size_t)wanted, sizeof **array));
    *room = (size_t)wanted;
    return BPT_OK;
}

static bpt_status_t reserve(const bpt_batch_t *batch, int64_t outputs, bpt_measure_t *m) {
    BPT_TRY(bpt_reserve_floats(&m->nll, &m->n_nll, batch->n_targets));
    if (outputs) BPT_TRY(bpt_reserve_floats(&m->logits, &m->n_logits, batch->n_targets * outputs));
    if ((size_t)batch->n_targets <= m->n_best) return BPT_OK;
    BPT_TRY(bpt_realloc(&m->best, (size_t)batch->n_targets, sizeof *m->best));
    m->n_best = (size_t)batch->n_targets;
    return BPT_OK;
}

// Asks the runner for what the task looks at, and the task for what it makes of that.
static bpt_status_t one_batch(bpt_runner_t *r, const bpt_task_model_t *model, const bpt_batch_t *batch, bpt_measure_t *m) {
    const bpt_task_spec_t *task = bpt_task_of(model->config);
    const uint32_t looks = bpt_task_looks(model->config);
    double loss = 0;
    BPT_TRY(reserve(batch, looks & BPT_LOOKS_LOGITS ? task->outputs(model->config) : 0, m));
    if (looks & BPT_LOOKS_LOGITS) BPT_TRY(bpt_runner_logits(r, batch, m->logits));
    if (looks & BPT_LOOKS_LOSS) BPT_TRY(bpt_runner_evaluate(r, batch, m->nll, &loss));
    m->loss += loss;
    return task->measure ? task->measure(model, batch, m) : BPT_OK;
}

static bpt_status_t make_tally(const bpt_model_config_t *config, bpt_measure_t *m) {
    if (!bpt_task_of(config)->tallies) return BPT_OK;
    m->n_tally = 3 * (size_t)(config->classes + 1);
    return bpt_alloc(m->n_tally, sizeof *m->tally, &m->tally);
}

static bpt_evaluation_t begin(void) {
    bpt_evaluation_t e = {0};
    for (int i = 0; i < BPT_MOST_METRICS; ++i) e.metric[i] = NAN;
    return e;
}

static bpt_status_t finish(bpt_evaluation_t *out, double loss) {
    if (out->n_scored == 0 && out->n_unknown == 0)
        return bpt_fail(BPT_ERR_INPUT, "nothing to evaluate: the data hold no scored token or example");
    out->loss = loss / (double)out->n_scored;  // no number where the model knows none of the labels
    return BPT_OK;
}

// Ranks that share each sequence go on, or stop, together.
static bpt_status_t stop_together(bpt_runner_t *r, bpt_status_t status) {
    bool any = status == BPT_ERR_INTERRUPTED;
    if (!bpt_runner_splits(r) || (status != BPT_OK && !any)) return status;
    BPT_TRY(bpt_ranks_any(bpt_runner_ranks(r), any, &any));
    return any ? bpt_fail(BPT_ERR_INTERRUPTED, "stopped while evaluating") : BPT_OK;
}

// What all ranks have measured. One that was interrupted ends the evaluation of all.
static bpt_status_t add_ranks(bpt_ranks_t *ranks, bpt_status_t status, bpt_measure_t *m) {
    double terms[2 + BPT_MOST_SUMS] = {m->loss, status == BPT_ERR_INTERRUPTED};
    if (!ranks || (status != BPT_OK && status != BPT_ERR_INTERRUPTED)) return status;
    memcpy(terms + 2, m->sums, sizeof m->sums);
    BPT_TRY(bpt_ranks_add(ranks, terms, (int)BPT_COUNT(terms)));
    m->loss = terms[0];
    memcpy(m->sums, terms + 2, sizeof m->sums);
    if (m->n_tally) BPT_TRY(bpt_ranks_add(ranks, m->tally, (int)m->n_tally));
    return terms[1] > 0 ? bpt_fail(BPT_ERR_INTERRUPTED, "stopped while evaluating") : BPT_OK;
}

typedef struct {
    bpt_runner_t *runner;
    bpt_task_model_t model;
    bpt_on_batch_t on_batch;
    void *user;  // of on_batch
    bpt_measure_t measure;
    bpt_evaluation_t *out;
} evaluation_t;

static bpt_status_t evaluate_batch(void *user, int64_t number, const bpt_batch_t *batch) {
    evaluation_t *e = user;
    const bpt_shard_t turn = bpt_runner_turn(e->runner);
    e->out->n_scored += batch->n_scored;
    e->out->n_tokens += batch->n_tokens;
    e->out->n_unknown += batch->n_unknown;
    if (number % turn.size != turn.rank) return BPT_OK;  // another rank's
    BPT_TRY(one_batch(e->runner, &e->model, batch, &e->measure));
    return stop_together(e->runner, e->on_batch ? e->on_batch(e->user, batch, &e->measure) : BPT_OK);
}

bpt_status_t bpt_evaluate(bpt_runner_t *r, bpt_batch_source_t *source, bpt_on_batch_t on_batch, void *user, bpt_evaluation_t *out) {
    const double start = bpt_clock_seconds();
    const bpt_task_spec_t *task = bpt_task_of(bpt_runner_config(r));
    evaluation_t e = {.runner = r, .on_batch = on_batch, .user = user, .out = out};
    bpt_measure_t *m = &e.measure;
    *out = begin();
    BPT_TRY(bpt_runner_task_model(r, &e.model));
    bpt_status_t status = make_tally(bpt_runner_config(r), m);
    if (status == BPT_OK) status = bpt_each_batch(source, evaluate_batch, &e);
    if (!bpt_runner_splits(r)) status = add_ranks(bpt_runner_ranks(r), status, m);
    if (status == BPT_OK) status = finish(out, m->loss);
    if (status == BPT_OK && task->finish) task->finish(m, out->n_scored, out->metric);
    out->seconds = bpt_clock_seconds() - start;
    bpt_free(e.model.weights);
    bpt_free(m->nll);
    bpt_free(m->logits);
    bpt_free(m->best);
    bpt_free(m->tally);
    return status;
}

typedef struct {
    bpt_runner_t *runner;
    double loss;
    bpt_evaluation_t *out;
} gradient_t;

static bpt_status_t add_gradient(void *user, int64_t number, const bpt_batch_t *batch) {
    gradient_t *g = user;
    double loss;
    BPT_TRY(bpt_runner_gradient(g->runner, batch, number == 0, &loss));
    g->loss += loss;
    g->out->n_scored += batch->n_scored;
    g->out->n_tokens += batch->n_tokens;
    return BPT_OK;
}

bpt_status_t bpt_evaluate_gradient(bpt_runner_t *r, bpt_batch_source_t *source, bpt_evaluation_t *out) {
    const double start = bpt_clock_seconds();
    gradient_t g = {.runner = r, .out = out};
    *out = begin();
    BPT_TRY(bpt_each_batch(source, add_gradient, &g));
    out->seconds = bpt_clock_seconds() - start;
    return finish(out, g.loss);
}

// ---- every nll in file order: batches may come in any order of sequences

typedef struct {
    uint32_t sequence;
    size_t first, count;  // in `nll`
} piece_t;

typedef struct {
    bpt_on_batch_t on_batch;  // of the caller
    void *user;
    bool per_token, targets_of_tokens;
    int texts;
    float *nll;
    size_t count, capacity;
    piece_t *pieces;
    size_t n_pieces, piece_capacity;
} collector_t;

// Whether example i counts; where there is a target for each token, its first one tells.
static bool scored(const bpt_batch_t *batch, const bpt_side_t *side, const collector_t *c, int64_t i) {
    return batch->weights[c->targets_of_tokens ? side->start[i] : i] != 0;
}

static bpt_status_t collect(void *user, const bpt_batch_t *batch, const bpt_measure_t *measure) {
    collector_t *c = user;
    const bpt_side_t *side = &batch->side[batch->shape.side[1].rows ? 1 : 0];
    const int64_t step = c->per_token ? 1 : c->texts;  // an example of several texts has one target
    if (c->on_batch) BPT_TRY(c->on_batch(c->user, batch, measure));
    for (int64_t s = 0; s < batch->n_real; s += step) {
        BPT_TRY(bpt_grow(&c->pieces, c->n_pieces, &c->piece_capacity, sizeof *c->pieces));
        piece_t *piece = &c->pieces[c->n_pieces++];
        *piece = (piece_t){batch->sequences[s], c->count, 0};
        const int64_t first = c->per_token ? side->start[s] : s / step, end = first + (c->per_token ? side->lengths[s] : 1);
        for (int64_t i = first; i < end; ++i) {
            if (c->per_token ? batch->weights[i] == 0 : !scored(batch, side, c, i)) continue;
            BPT_TRY(bpt_grow(&c->nll, c->count, &c->capacity, sizeof *c->nll));
            c->nll[c->count++] = measure->nll[i];
            ++piece->count;
        }
    }
    return BPT_OK;
}

static int by_sequence(const void *a, const void *b) {
    const piece_t *x = a, *y = b;
    if (x->sequence != y->sequence) return x->sequence < y->sequence ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

bpt_status_t bpt_evaluate_nll(bpt_runner_t *r, bpt_batch_source_t *source, bpt_on_batch_t on_batch, void *user, bpt_evaluation_t *out,
                              float **nll, size_t *count) {
    const bpt_model_config_t *config = bpt_runner_config(r);
    collector_t c = {.on_batch = on_batch,
                     .user = user,
                     .per_token = bpt_task_scores_tokens(config),
                     .targets_of_tokens = bpt_task_of(config)->per_token,
                     .texts = bpt_task_texts(bpt_task_of(config))};
    float *sorted = NULL;
    size_t filled = 0;
    bpt_status_t status = bpt_evaluate(r, source, collect, &c, out);
    if (status == BPT_OK) status = bpt_alloc(c.count, sizeof *sorted, &sorted);
    if (status == BPT_OK) {
        if (c.n_pieces) qsort(c.pieces, c.n_pieces, sizeof *c.pieces, by_sequence);
        for (size_t i = 0; i < c.n_pieces; ++i) {
            if (c.pieces[i].count) memcpy(sorted + filled, c.nll + c.pieces[i].first, c.pieces[i].count * sizeof *sorted);
            filled += c.pieces[i].count;
        }
        *nll = sorted;
        *count = filled;
    }
    bpt_free(c.nll);
    bpt_free(c.pieces);
    return status;
}
