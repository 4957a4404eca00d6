// One optimiser step (see optimiser_step.h).
#include "models/train/optimiser_step.h"

#include <math.h>

#include "models/train/schedule.h"

enum { SCALE_STEPS = 2000 };  // f16: as many good steps double the loss scale (Micikevicius et al. 2018)

static bpt_update_t update_of(const bpt_optimiser_step_t *step, const bpt_run_state_t *state, double lr, int32_t first_head) {
    const double steps = (double)(state->step + 1);
    return (bpt_update_t){
        .lr = (float)lr,
        .clip = (float)step->clip,
        .bias1 = (float)(1 - pow(step->beta1, steps)),
        .bias2 = (float)(1 - pow(step->beta2, steps)),
        .loss_scale = (float)state->loss_scale,
        .first_head = first_head,
    };
}

// Losses and gradients of all ranks; `idle`: this one had no micro-batch.
static bpt_status_t update_together(const bpt_optimiser_step_t *step, const bpt_update_t *update, bool idle, bpt_step_result_t *out) {
    bpt_update_result_t result;
    BPT_TRY(bpt_ranks_add(bpt_runner_ranks(step->runner), &out->loss, 1));
    out->updated = false;
    if (!isfinite(out->loss)) return bpt_runner_pass_over(step->runner);
    BPT_TRY(bpt_runner_update_together(step->runner, update, idle, &result));
    out->grad_norm = result.grad_norm;
    out->updated = result.updated;
    return BPT_OK;
}

// Micro-batch i of a step is that of rank i modulo their number, with the random numbers that it has in any case: a run of several ranks
// computes what one process does.
static bpt_status_t run_micro_batches(const bpt_optimiser_step_t *step, const bpt_run_state_t *state, bpt_step_result_t *out,
                                      double *epoch_end) {
    bpt_ranks_t *ranks = bpt_runner_ranks(step->runner);
    const int rank = bpt_ranks_rank(ranks), size = bpt_ranks_size(ranks);
    bpt_batch_t batch = {0};
    bpt_update_t update = {0};
    int64_t micro = 0;
    for (; !batch.last; ++micro) {
        bool end = false;
        bpt_update_result_t result;
        BPT_TRY(step->source->next(step->source, &batch, &end));
        if (end) return bpt_fail(BPT_ERR_INTERNAL, "the training data came to an end inside an epoch");
        if (micro == 0) {
            double lr;
            int32_t first_head;
            BPT_TRY(step->begin(step->user, &batch, &lr, &first_head));
            update = update_of(step, state, lr, first_head);
        }
        out->tokens += batch.n_tokens;
        if (micro % size != rank) continue;  // another rank's
        bpt_batch_t mine = batch;
        mine.first = micro == rank;
        mine.last = batch.last && size == 1;
        update.sends = size > 1 && batch.left < size;
        update.rng = bpt_schedule_rng(step->seed, state->step, micro);
        BPT_TRY(bpt_runner_train(step->runner, &mine, &update, &result));
        out->loss += result.loss;
        out->grad_norm = result.grad_norm;
        out->updated = result.updated;
    }
    out->lr = (double)update.lr;
    *epoch_end = batch.epoch_end;
    return size > 1 ? update_together(step, &update, micro <= rank, out) : BPT_OK;
}

static void advance(bpt_run_state_t *state, const bpt_step_result_t *result, double epoch_end, bool scaled) {
    ++state->step;
    state->tokens += result->tokens;
    state->epoch = epoch_end;
    if (isfinite(result->loss)) {  // else an f16 step that was passed over
        state->window_loss += result->loss;
        ++state->window_steps;
    }
    if (!scaled || ++state->scale_steps < SCALE_STEPS) return;
    state->scale_steps = 0;
    if (state->loss_scale < 65536) state->loss_scale *= 2;
}

bpt_status_t bpt_optimiser_step(const bpt_optimiser_step_t *step, bpt_run_state_t *state, bpt_step_result_t *result) {
    const bool scaled = bpt_runner_precision(step->runner) == BPT_F16;
    double epoch_end = state->epoch;
    *result = (bpt_step_result_t){0};
    BPT_TRY(run_micro_batches(step, state, result, &epoch_end));
    if (!result->updated) {
        if (!scaled || state->loss_scale <= 1) return bpt_runner_explain(step->runner, state->step + 1, result->loss);
        state->loss_scale /= 2;  // the loss was scaled too far; the step is passed over
        state->scale_steps = -1;
        ++state->skipped_steps;
    }
    advance(state, result, epoch_end, scaled);
    return BPT_OK;
}
