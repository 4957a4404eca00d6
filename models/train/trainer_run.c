// The training loop (see trainer.h).
#include <math.h>
#include <stdio.h>

#include "bpt/clock.h"
#include "bpt/log.h"
#include "models/config/config_names.h"
#include "models/train/evaluate.h"
#include "models/train/optimiser_step.h"
#include "models/train/schedule.h"
#include "models/train/trainer_internal.h"

// ---- one step

static bpt_status_t begin_step(void *user, const bpt_batch_t *batch, double *lr, int32_t *first_head) {
    bpt_trainer_t *t = user;
    BPT_TRY(bpt_trainer_prepare(t, batch->epoch));
    *lr = bpt_schedule_lr(&t->train, t->model.d_model, t->state.step + 1, batch->epoch, t->state.plateau_factor);
    *first_head = t->first_head;
    return BPT_OK;
}

static bpt_status_t run_step(bpt_trainer_t *t, bpt_step_result_t *out) {
    const bpt_optimiser_step_t step = {.runner = t->runner,
                                       .source = t->options.train_data,
                                       .seed = t->train.seed,
                                       .beta1 = t->train.beta1,
                                       .beta2 = t->train.beta2,
                                       .clip = t->train.clip,
                                       .begin = begin_step,
                                       .user = t};
    return bpt_optimiser_step(&step, &t->state, out);
}

// ---- lines of metrics

// A folder that somebody deletes or renames meanwhile is noticed at the next step, not after hours of training into nothing.
static bpt_status_t look_after_run(const bpt_trainer_t *t) {
    bool moved;
    return t->run ? bpt_run_follow(t->run, &moved) : BPT_OK;
}

static bpt_status_t write_line(const bpt_trainer_t *t, const bpt_metrics_line_t *line) {
    const bpt_trainer_options_t *o = &t->options;
    BPT_TRY(look_after_run(t));
    const bpt_status_t status = t->run ? bpt_metrics_append(bpt_run_lock(t->run), bpt_run_metrics_path(t->run), line) : BPT_OK;
    if (status == BPT_ERR_IO) BPT_TRY(look_after_run(t));  // that the folder has gone says more
    BPT_TRY(status);
    if (o->on_line) o->on_line(o->user, line);
    return BPT_OK;
}

static void start_window(bpt_trainer_t *t) {
    t->window.tokens = 0;
    t->window.start = bpt_clock_seconds();
}

static void begin_line(const bpt_trainer_t *t, bpt_metrics_line_t *line) {
    bpt_metrics_line_init(line);
    line->step = t->state.step;
    line->tokens = t->state.tokens;
    line->epoch = t->state.epoch;
    line->seconds = t->state.seconds;
    line->peak_host_bytes = bpt_peak_host_bytes();
    line->peak_device_bytes = (int64_t)bpt_runner_device_bytes(t->runner);
}

// `regular`: not the extra line at the end, which must leave the window as if training had gone on.
static bpt_status_t log_window(bpt_trainer_t *t, const bpt_step_result_t *step, bool regular) {
    bpt_metrics_line_t line;
    const double seconds = bpt_clock_seconds() - t->window.start;
    begin_line(t, &line);
    line.loss = t->state.window_loss / (double)t->state.window_steps;
    line.lr = step->lr;
    line.grad_norm = step->grad_norm;
    if (t->train.precision == BPT_F16) line.loss_scale = t->state.loss_scale, line.skipped_steps = t->state.skipped_steps;
    line.tokens_per_s = seconds > 0 ? (double)t->window.tokens / seconds : NAN;
    BPT_TRY(write_line(t, &line));
    if (regular) {
        t->state.window_loss = 0;
        t->state.window_steps = 0;
    }
    start_window(t);
    return BPT_OK;
}

// ---- evaluation

// The factor falls at every evaluation that is not better than the best before it.
static void follow_plateau(bpt_trainer_t *t, double loss) {
    if (loss < t->state.plateau_best)
        t->state.plateau_best = loss;
    else
        t->state.plateau_factor *= t->train.lr_decay;
}

// A long evaluation can be left as well; resuming makes up for it.
static bpt_status_t ask_to_stop(void *user, const bpt_batch_t *batch, const bpt_measure_t *measure) {
    const bpt_trainer_options_t *o = &((const bpt_trainer_t *)user)->options;
    (void)batch, (void)measure;
    if (!o->should_stop || !o->should_stop(o->user)) return BPT_OK;
    return bpt_fail(BPT_ERR_INTERRUPTED, "stopped while evaluating");
}

// The place of the metric that best_by names; -1: it is the loss.
static int chosen_metric(const bpt_trainer_t *t) { return bpt_task_metric(bpt_task_of(&t->model), bpt_best_by_names[t->train.best_by]); }

// What `best` has the lowest of. A metric that is not there (no spans in the data) is worse than any.
static double score_of(const bpt_trainer_t *t, const bpt_evaluation_t *result) {
    const bpt_task_spec_t *task = bpt_task_of(&t->model);
    const int i = chosen_metric(t);
    if (i < 0) return result->loss;
    return isnan(result->metric[i]) ? INFINITY : task->metrics[i].higher ? -result->metric[i] : result->metric[i];
}

// `scheduled`: not the extra evaluation at the end, which must leave the schedule as if training had gone on.
static bpt_status_t evaluate(bpt_trainer_t *t, bool scheduled, bool *improved) {
    const bpt_task_spec_t *task = bpt_task_of(&t->model);
    const bool text = task->predicts_text;
    bpt_evaluation_t result;
    bpt_metrics_line_t line;
    BPT_TRY(bpt_evaluate(t->runner, t->options.valid_data, ask_to_stop, t, &result));
    if (!isfinite(result.loss))
        return bpt_fail(
            BPT_ERR_NUMERIC,
            "step %lld: the validation loss is not finite; train again with a lower learning rate or with clipped gradients (--lr, --clip)",
            (long long)t->state.step);
    if (bpt_trainer_scores_texts(&t->model, &t->train))
        BPT_TRY(t->options.score_texts(t->options.user, t->runner, &result.metric[chosen_metric(t)]));
    begin_line(t, &line);
    snprintf(line.eval, sizeof line.eval, "valid");
    line.loss = result.loss;
    for (int i = 0; task->metrics && task->metrics[i].name; ++i) *bpt_metrics_line_number(&line, task->metrics[i].name) = result.metric[i];
    if (text && t->options.characters) line.bits_per_char = result.loss / log(2);
    if (text && !t->options.characters) line.perplexity = exp(result.loss);
    if (t->options.unknown_share) line.unknown_share = *t->options.unknown_share;
    line.tokens_per_s = result.seconds > 0 ? (double)result.n_tokens / result.seconds : NAN;
    const double score = score_of(t, &result);
    *improved = score < t->state.best_loss;
    if (*improved) {
        t->state.best_loss = score;
        t->state.best_step = t->state.step;
    }
    if (scheduled && t->train.schedule == BPT_SCHEDULE_PLATEAU) follow_plateau(t, result.loss);
    if (scheduled && t->train.patience > 0) t->state.waited = *improved ? 0 : t->state.waited + 1;
    return write_line(t, &line);
}

// ---- the loop

static bool due(int64_t every, int64_t step) { return every > 0 && step % every == 0; }

static bpt_status_t stop(bpt_trainer_t *t) {
    if (t->saved_step != t->state.step) BPT_TRY(bpt_trainer_save(t, false));
    return bpt_fail(BPT_ERR_INTERRUPTED, "stopped after step %lld%s", (long long)t->state.step,
                    t->options.run || t->options.ranks ? "; the state is saved" : "");
}

// A log that cannot be written must not cost the steps since the last checkpoint.
static bpt_status_t save_before(bpt_trainer_t *t, bool improved, bpt_status_t status) {
    return status != BPT_ERR_IO || t->saved_step == t->state.step ? status : bpt_trainer_rescue(t, improved, status);
}

// Nor must a step whose disk fails (--offload, data). Of a team others wait in that step meanwhile, and saving may need them.
static bpt_status_t save_alone(bpt_trainer_t *t, bpt_status_t status) {
    return bpt_ranks_size(t->options.ranks) > 1 ? status : save_before(t, false, status);
}

// What comes after a step: log, evaluation, checkpoint.
static bpt_status_t after_step(bpt_trainer_t *t, const bpt_step_result_t *step, bool new_epoch) {
    const bpt_train_config_t *c = &t->train;
    const int64_t done = t->state.step;
    const bool last = done == bpt_trainer_end(c);
    bool improved = false;
    const bool scheduled = c->eval_every > 0 ? due(c->eval_every, done) : new_epoch;
    const bool evaluated = t->options.valid_data && (scheduled || last);
    const bool regular = due(c->log_every > 0 ? c->log_every : 100, done);
    if (regular || last) BPT_TRY(save_before(t, false, log_window(t, step, regular)));
    const double pause = bpt_clock_seconds();
    const bpt_status_t status = evaluated ? evaluate(t, scheduled, &improved) : BPT_OK;
    if (status == BPT_ERR_INTERRUPTED) {
        t->state.evaluation_left = scheduled ? BPT_EVALUATION_OF_SCHEDULE : BPT_EVALUATION_AT_END;
        return stop(t);
    }
    BPT_TRY(save_before(t, improved, status));
    const bool save = c->save_every > 0 ? due(c->save_every, done) : scheduled;
    if (save || improved || last || bpt_trainer_waited_enough(t)) BPT_TRY(bpt_trainer_save(t, improved));
    t->window.start += bpt_clock_seconds() - pause;  // throughput is that of training
    return BPT_OK;
}

static bpt_status_t make_up_for_evaluation(bpt_trainer_t *t) {
    bool improved = false;
    if (!t->state.evaluation_left || !t->options.valid_data) return BPT_OK;
    const bpt_status_t status = evaluate(t, t->state.evaluation_left == BPT_EVALUATION_OF_SCHEDULE, &improved);
    if (status == BPT_ERR_INTERRUPTED) return stop(t);
    BPT_TRY(status);
    t->state.evaluation_left = BPT_NO_EVALUATION;
    return bpt_trainer_save(t, improved);
}

bool bpt_trainer_waited_enough(const bpt_trainer_t *t) { return t->train.patience > 0 && t->state.waited >= t->train.patience; }

bool bpt_trainer_failed_together(bpt_status_t status) { return status == BPT_ERR_INTERRUPTED || status == BPT_ERR_NUMERIC; }

// Whether any rank has been asked to stop.
static bpt_status_t ask_all_to_stop(const bpt_trainer_t *t, bool *stopping) {
    const bpt_trainer_options_t *o = &t->options;
    return bpt_ranks_any(o->ranks, o->should_stop && o->should_stop(o->user), stopping);
}

// A machine that is not to be hot or loud rests after a step that took so long.
static void rest(const bpt_trainer_t *t, double seconds) {
    const double duty = t->train.duty;
    if (duty > 0 && duty < 1) bpt_clock_rest(seconds * (1 / duty - 1));
}

bpt_status_t bpt_trainer_run(bpt_trainer_t *t) {
    const int64_t end = bpt_trainer_end(&t->train);
    if (t->run) bpt_run_keep_folder(t->run);
    BPT_TRY(make_up_for_evaluation(t));
    start_window(t);
    while (t->state.step < end && !bpt_trainer_waited_enough(t)) {
        const double start = bpt_clock_seconds(), epoch = t->state.epoch;
        bpt_step_result_t step;
        bool stopping;
        BPT_TRY(ask_all_to_stop(t, &stopping));
        if (stopping) return stop(t);
        BPT_TRY(save_alone(t, run_step(t, &step)));
        const double seconds = bpt_clock_seconds() - start;
        t->state.seconds += seconds;
        rest(t, seconds);
        t->window.tokens += step.tokens;
        BPT_TRY(save_before(t, false, look_after_run(t)));
        const bool new_epoch = floor(t->state.epoch + 1e-9) > floor(epoch + 1e-9);
        BPT_TRY(after_step(t, &step, new_epoch));
    }
    return BPT_OK;
}
