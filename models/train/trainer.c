// Making a trainer, checkpoints and resumption (see trainer.h); the loop is in trainer_run.c.
//
// The states of a training, and the functions that lead from one to the other (those of the loop are in trainer_run.c, of a lost device in
// recovery.c):
//
//     bpt_trainer_create: set_up, start                 restart (the caller's): a new trainer on a fresh device, from the last checkpoint
//             |                                         or, while there is none, from the beginning
//             v                                                  +--------------------------------------------+
//         +-------+   bpt_trainer_run   +---------+  <-----------+    bpt_trainer_run_recovering, three times |
//         | READY | ------------------> | BETWEEN | --+ make_up_for_evaluation, where one was left            |
//         +-------+                     |  STEPS  | <-+                                                       |
//                                       +---------+                                                           |
//                     run_step            |  ^ |  |  ask_all_to_stop, or ask_to_stop in an evaluation: stop  |
//            +----------------------------+  | |  +--------------------------------------> STOPPED            |
//            v                               | |                                           (INTERRUPTED)      |
//       +---------+       after_step:        | |  state.step == end                                           |
//       | STEPPED | -------------------------+ +--------------------> DONE                                    |
//       +---------+  log_window, evaluate, bpt_trainer_save                                                   |
//            |                                                                                                |
//            +--> DEVICE LOST (from any state) ---------------------------------------------------------------+
//            +--> FAILED: a loss that is not finite, a disk that is full (save_before)
//
// What holds in these states:
//   READY, BETWEEN STEPS  parameters, moments and `state` belong to state.step; train_data gives the batch of the step behind it.
//   STEPPED               the same, but the lines, evaluation and checkpoint of this step may be missing. A signal is seen in the
//                         evaluation or before the next step.
//   STOPPED               saved_step == state.step: nothing is lost. Where an evaluation was left, state.evaluation_left says which, and
//                         the next bpt_trainer_run begins with it.
//   DONE                  the same, evaluated, and `best` and `latest` are what they will stay.
//   FAILED                the last checkpoint is whole; after a failure to write a line, bpt_trainer_rescue was tried for the steps since.
//   all                   saved_step is the step of the newest checkpoint that this trainer knows, -1 for none. A checkpoint appears under
//                         its name at once, or not at all. Only the first rank has a run; the others go through the same states.
#include "models/train/trainer.h"
#include "models/config/config_names.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "models/config/config_json.h"
#include "models/train/schedule.h"
#include "models/train/trainer_internal.h"

bpt_runner_options_t bpt_trainer_runner_options(const bpt_train_config_t *t) {
    const bool offload = t->offload && *t->offload;
    return (bpt_runner_options_t){
        .offload = offload ? t->offload : NULL,
        .step = {.offload = offload,
                 .precision = t->precision,
                 .recompute = t->recompute,
                 .half_inputs = t->half_inputs,
                 .optimizer = {.kind = t->optimizer,
                               .beta1 = (float)t->beta1,
                               .beta2 = (float)t->beta2,
                               .eps = (float)t->eps,
                               .weight_decay = (float)t->weight_decay,
                               .momentum = (float)t->momentum}},
        .frozen = {.embed = t->freeze_embed, .rel = t->freeze_rel},
    };
}

bpt_status_t bpt_trainer_resolve_steps(bpt_train_config_t *t, int64_t steps_per_epoch) {
    if (t->steps > 0) return BPT_OK;
    if (!(t->epochs > 0)) return bpt_fail(BPT_ERR_USAGE, "neither steps nor epochs are given; say how long to train");
    t->steps = (int64_t)ceil(t->epochs * (double)steps_per_epoch - 1e-9);
    return BPT_OK;
}

uint64_t bpt_trainer_checkpoint_bytes(const bpt_params_t *p) {
    return (uint64_t)(p->elements + bpt_params_moments(p)) * sizeof(float) + p->count * 3 * 256 + 65536;
}

int64_t bpt_trainer_end(const bpt_train_config_t *train) {
    return train->stop_at > 0 && train->stop_at < train->steps ? train->stop_at : train->steps;
}

static bpt_status_t apply_resumed_state(bpt_trainer_t *t, const bpt_checkpoint_t *from) {
    const bpt_trainer_options_t *o = &t->options;
    BPT_TRY(bpt_model_config_compare(&t->model, "the options", &from->config, from->folder));
    BPT_TRY(bpt_checkpoint_load(from, t->runner));
    BPT_TRY(bpt_checkpoint_load_moments(from, t->runner));
    t->state = from->state;
    if (bpt_trainer_end(&t->train) < t->state.step)
        return bpt_fail(BPT_ERR_USAGE, "the run has reached step %" PRId64 ", so it cannot end at step %" PRId64 "; give a later end",
                        t->state.step, bpt_trainer_end(&t->train));
    if (t->state.seed != t->train.seed)
        return bpt_fail(BPT_ERR_USAGE, "the run was started with seed %" PRIu64 ", not %" PRIu64 "; resume it with the same", t->state.seed,
                        t->train.seed);
    if (o->data && t->state.data[0] && strcmp(o->data, t->state.data))
        return bpt_fail(BPT_ERR_USAGE, "the training data are not those the run was started with; resume it with the same files");
    t->saved_step = t->state.step;
    return t->run ? bpt_metrics_cut(bpt_run_metrics_path(t->run), t->state.step) : BPT_OK;
}

static bpt_status_t resume(bpt_trainer_t *t) {
    bpt_checkpoint_t from;
    if (!t->options.run) return bpt_fail(BPT_ERR_USAGE, "there is no run to resume");
    BPT_TRY(bpt_checkpoint_open(t->options.run, "latest", &from));
    const bpt_status_t status = apply_resumed_state(t, &from);
    bpt_checkpoint_close(&from);
    return status;
}

static bpt_status_t start(bpt_trainer_t *t) {
    const bpt_trainer_options_t *o = &t->options;
    if (o->resume) return resume(t);
    if (o->data) snprintf(t->state.data, sizeof t->state.data, "%s", o->data);
    if (o->init) return bpt_checkpoint_take(o->init, t->runner, &o->init_rows, t->train.seed);
    if (o->init_file) return bpt_runner_take(t->runner, o->init_file, &o->init_rows, t->train.seed, false);
    return bpt_runner_init(t->runner, t->train.seed);
}

bpt_status_t bpt_trainer_prepare(bpt_trainer_t *t, int64_t epoch) {
    const bpt_batch_source_t *source = t->options.train_data;
    const int32_t first_head = bpt_schedule_first_head(&t->train, bpt_model_layers(&t->model), epoch, t->epochs);
    if (first_head == t->first_head) return BPT_OK;
    t->first_head = first_head;
    // The largest shape, so that memory runs out here if it does.
    const bool alone = !bpt_task_accumulates(bpt_task_of(&t->model)) && t->train.accumulate <= 1 && bpt_ranks_size(t->options.ranks) == 1;
    return source->n_shapes ? bpt_runner_prepare(t->runner, &source->shapes[0], first_head, alone) : BPT_OK;
}

bool bpt_trainer_scores_texts(const bpt_model_config_t *model, const bpt_train_config_t *train) {
    const int i = bpt_task_metric(bpt_task_of(model), bpt_best_by_names[train->best_by]);
    return i >= 0 && bpt_task_of(model)->metrics[i].written;
}

static bpt_status_t set_up(bpt_trainer_t *t) {
    const bpt_trainer_options_t *o = &t->options;
    const int64_t steps_per_epoch = o->train_data->steps_per_epoch;
    const bpt_task_spec_t *task = bpt_task_of(&t->model);
    if (t->train.deep_supervision && !task->deep_supervision)
        return bpt_fail(BPT_ERR_USAGE, "deep supervision is for language models, and this is %s; leave it out", task->model);
    if (t->train.best_by && bpt_task_metric(task, bpt_best_by_names[t->train.best_by]) < 0)
        return bpt_fail(BPT_ERR_USAGE, "task %s is not measured by %s, so the best checkpoint cannot be chosen by it", task->name,
                        bpt_best_by_names[t->train.best_by]);
    if (bpt_trainer_scores_texts(&t->model, &t->train) && o->valid_data && !o->score_texts)
        return bpt_fail(BPT_ERR_USAGE, "nobody scores the texts that the model writes, so best_by cannot be %s; choose loss",
                        bpt_best_by_names[t->train.best_by]);
    if (t->train.patience > 0 && !o->valid_data)
        return bpt_fail(BPT_ERR_USAGE, "patience counts evaluations, and there is no validation data; give some, or leave patience out");
    BPT_TRY(bpt_trainer_resolve_steps(&t->train, steps_per_epoch));
    t->epochs = t->train.epochs > 0 ? t->train.epochs : (double)t->train.steps / (double)(steps_per_epoch > 0 ? steps_per_epoch : 1);
    bpt_run_state_init(&t->state, t->train.seed);
    if (t->train.precision == BPT_F16 && !o->resume) t->state.loss_scale = 65536;
    bpt_runner_options_t options = bpt_trainer_runner_options(&t->train);
    options.ranks = o->ranks;
    options.shard_optimizer = o->shard_optimizer;
    options.split_sequence = o->split_sequence;
    BPT_TRY(bpt_runner_create(&t->model, &options, o->device, &t->runner));
    if (t->run) BPT_TRY(bpt_run_require_space(t->run, bpt_trainer_checkpoint_bytes(bpt_runner_params(t->runner))));
    BPT_TRY(start(t));
    BPT_TRY(o->train_data->seek(o->train_data, t->state.step));
    return bpt_trainer_prepare(t, (int64_t)floor(t->state.epoch + 1e-9));
}

bpt_status_t bpt_trainer_create(const bpt_trainer_options_t *options, bpt_trainer_t **out) {
    bpt_trainer_t *t;
    BPT_TRY(bpt_alloc(1, sizeof *t, &t));
    t->options = *options;
    t->model = *options->model;
    t->train = *options->train;
    t->run = bpt_ranks_rank(options->ranks) == 0 ? options->run : NULL;
    t->saved_step = -1;
    const bpt_status_t status = set_up(t);
    if (status == BPT_OK)
        *out = t;
    else
        bpt_trainer_destroy(t);
    return status;
}

void bpt_trainer_destroy(bpt_trainer_t *t) {
    if (!t) return;
    bpt_runner_destroy(t->runner);
    bpt_free(t);
}

bpt_runner_t *bpt_trainer_runner(bpt_trainer_t *t) { return t->runner; }
const bpt_run_state_t *bpt_trainer_state(const bpt_trainer_t *t) { return &t->state; }
const bpt_train_config_t *bpt_trainer_config(const bpt_trainer_t *t) { return &t->train; }

static bpt_status_t save_file(bpt_trainer_t *t, bpt_run_file_t file, bpt_status_t (*save)(bpt_runner_t *, const char *, bpt_checksum_t *),
                              const char *folder) {
    char *path;
    bpt_checksum_t sum;
    BPT_TRY(bpt_path_format(&path, "%s/%s", folder, bpt_run_file_names[file]));
    const bpt_status_t status = save(t->runner, path, &sum);
    if (status == BPT_OK) bpt_run_sums_add(&t->state.sums, file, sum);
    bpt_free(path);
    return status;
}

// Vocabulary and labels are listed as they were when training began: what happens to the files meanwhile must not become right. What a
// version listed that knew less is made up for.
static bpt_status_t begin_list(bpt_trainer_t *t) {
    bpt_run_sums_t *sums = &t->state.sums;
    if (!sums->known) return bpt_run_sums_begin(t->run, &t->model, t->options.origin, sums);
    if (!sums->listed[BPT_RUN_ORIGIN]) bpt_run_sums_add_origin(sums, t->options.origin);
    return BPT_OK;
}

static bpt_status_t write_checkpoint(bpt_trainer_t *t, const char *folder) {
    BPT_TRY(begin_list(t));
    BPT_TRY(save_file(t, BPT_RUN_MODEL, bpt_runner_save, folder));
    BPT_TRY(save_file(t, BPT_RUN_OPTIMIZER, bpt_runner_save_moments, folder));
    return bpt_run_state_write(folder, &t->state);
}

static bpt_status_t save(bpt_trainer_t *t, bool is_best) {
    bpt_run_t *run = t->run;
    const char *folder;
    BPT_TRY(bpt_run_checkpoint_begin(run, t->state.step, &folder));
    const bpt_status_t status = write_checkpoint(t, folder);
    if (status != BPT_OK) {
        bpt_run_checkpoint_abandon(run);
        return bpt_context(status, "the checkpoint of step %" PRId64 " was not written", t->state.step);
    }
    BPT_TRY(bpt_run_checkpoint_commit(run, is_best, t->train.keep));
    t->saved_step = t->state.step;
    return BPT_OK;
}

bpt_status_t bpt_trainer_rescue(bpt_trainer_t *t, bool is_best, bpt_status_t status) {
    char reason[512];
    bool moved;
    snprintf(reason, sizeof reason, "%s", bpt_error_message());
    const bool whole = t->run && !t->options.shard_optimizer;  // else other ranks hold parts of the state, and have gone on
    const bool saved = whole && bpt_run_follow(t->run, &moved) == BPT_OK && save(t, is_best) == BPT_OK;
    return bpt_fail(status, "%s; the state after step %" PRId64 " %s", reason, t->state.step, saved ? "is saved" : "could not be saved");
}

// The folder may be renamed or deleted before a checkpoint is written, and while it is.
static bpt_status_t save_following(bpt_trainer_t *t, bool is_best) {
    char reason[512];
    bool moved;
    bpt_status_t found = bpt_run_follow(t->run, &moved);
    if (found != BPT_OK) return bpt_trainer_rescue(t, is_best, found);
    const bpt_status_t status = save(t, is_best);
    if (status != BPT_ERR_IO) return status;
    snprintf(reason, sizeof reason, "%s", bpt_error_message());
    found = bpt_run_follow(t->run, &moved);
    if (found != BPT_OK) return bpt_trainer_rescue(t, is_best, found);
    // With a sharded optimizer the other ranks have given their parts and gone on.
    return moved && !t->options.shard_optimizer ? save(t, is_best) : bpt_fail(status, "%s", reason);
}

bpt_status_t bpt_trainer_save(bpt_trainer_t *t, bool is_best) {
    BPT_TRY(bpt_runner_compare_parameters(t->runner,
                                          "their devices round updates differently; --shard-optimizer, with which one rank alone computes "
                                          "each number, keeps them equal"));
    if (t->run) return save_following(t, is_best);
    t->saved_step = t->state.step;
    return t->options.ranks ? bpt_runner_save_moments(t->runner, NULL, NULL) : BPT_OK;
}
