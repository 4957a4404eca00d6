// A whole source of batches through a model, without dropout: mean nll, metrics, every nll in file order, logits, the gradient.
#ifndef BPT_TRAIN_EVALUATE_H
#define BPT_TRAIN_EVALUATE_H

#include "models/run/runner.h"

typedef struct {
    double loss;                      // mean nll over what is scored, nats; NaN: the model knows no label of the data
    double metric[BPT_MOST_METRICS];  // as the task lists them; NaN: there is none
    int64_t n_scored, n_tokens;
    int64_t n_unknown;  // labels that the model does not know: answers to them count as wrong, and have no nll
    double seconds;
} bpt_evaluation_t;

// Called for every batch with what was measured of it (models/tasks/task.h): nll, logits, the labels chosen. Stops when it fails.
typedef bpt_status_t (*bpt_on_batch_t)(void *user, const bpt_batch_t *batch, const bpt_measure_t *measure);

// Goes through the source from its start. `on_batch` may be NULL. BPT_ERR_INPUT when nothing is scored. The ranks of a runner share the
// batches out; `on_batch` sees the own ones, the result is that of all.
bpt_status_t bpt_evaluate(bpt_runner_t *runner, bpt_batch_source_t *source, bpt_on_batch_t on_batch, void *user,
                          bpt_evaluation_t *out) BPT_MUST_USE;

// As bpt_evaluate, with the nll of everything scored, in the order of batch->sequences and positions. *nll is freed with bpt_free.
bpt_status_t bpt_evaluate_nll(bpt_runner_t *runner, bpt_batch_source_t *source, bpt_on_batch_t on_batch, void *user, bpt_evaluation_t *out,
                              float **nll, size_t *count) BPT_MUST_USE;

// The gradient of the mean nll (eval --grad-out), left in the runner: bpt_runner_save_gradient with scale 1 / out->n_scored.
bpt_status_t bpt_evaluate_gradient(bpt_runner_t *runner, bpt_batch_source_t *source, bpt_evaluation_t *out) BPT_MUST_USE;

// Makes room for `wanted` floats of a batch.
bpt_status_t bpt_reserve_floats(float **array, size_t *room, int64_t wanted) BPT_MUST_USE;

#endif
