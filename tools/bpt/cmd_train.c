// `bpt train`: options to corpus, device, run directory and trainer; progress while it runs.
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "models/train/trainer.h"
#include "tools/bpt/dataset.h"
#include "tools/bpt/device.h"
#include "tools/bpt/program.h"
#include "tools/bpt/progress.h"

typedef struct {
    cli_options_t *o;
    cli_dataset_t data;
    bpt_device_t *device;
    bpt_run_t *run;
    bpt_batch_source_t *train, *valid;
    bpt_trainer_t *trainer;
    cli_progress_t progress;
    double last_seconds;
    int64_t last_step;
} job_t;

static bool stop_asked(void *user) {
    (void)user;
    return cli_interrupted != 0;
}

static void on_line(void *user, const bpt_metrics_line_t *line) {
    job_t *job = user;
    if (*line->eval) {
        char loss[64];
        cli_loss_text(job->progress.kind, line->loss, loss, sizeof loss);
        if (isnan(line->accuracy))
            cli_progress_say(&job->progress, "step %lld, epoch %.2f: %s %s", (long long)line->step, line->epoch, line->eval, loss);
        else
            cli_progress_say(&job->progress, "step %lld, epoch %.2f: %s %s, accuracy %.4f", (long long)line->step, line->epoch, line->eval, loss, line->accuracy);
        return;
    }
    const int64_t horizon = bpt_trainer_config(job->trainer)->steps, stop_at = job->o->train.stop_at;
    const double steps = (double)(line->step - job->last_step);
    const cli_progress_point_t point = {
        .step = line->step,
        .steps = stop_at && stop_at < horizon ? stop_at : horizon,
        .epoch = line->epoch,
        .loss = line->loss,
        .lr = line->lr,
        .grad_norm = line->grad_norm,
        .tokens_per_s = line->tokens_per_s,
        .seconds_per_step = steps > 0 && line->seconds > job->last_seconds ? (line->seconds - job->last_seconds) / steps : NAN,
    };
    job->last_seconds = line->seconds;
    job->last_step = line->step;
    cli_progress_update(&job->progress, &point);
}

static bpt_status_t print_config(const cli_options_t *o) {
    json_t *config;
    char *text = NULL;
    BPT_TRY(cli_options_to_json(o, &config));
    const bpt_status_t status = bpt_json_format(config, 2, &text);
    if (status == BPT_OK) printf("%s\n", text);
    bpt_free(text);
    json_decref(config);
    return status;
}

// A new run is written as soon as everything about it is known; a resumed one only changes what it may.
static bpt_status_t write_run(job_t *job) {
    json_t *config;
    if (!job->o->run.resume) {
        BPT_TRY(bpt_run_create(job->o->run.out, &job->run));
        BPT_TRY(bpt_vocab_write(job->data.vocab, bpt_run_vocab_path(job->run)));
    }
    BPT_TRY(cli_options_to_json(job->o, &config));
    const bpt_status_t status = bpt_json_write(bpt_run_config_path(job->run), config);
    json_decref(config);
    return status;
}

// What only the data can tell, completed in the model's configuration.
static bpt_status_t complete_model(job_t *job) {
    bpt_model_config_t *m = &job->o->model;
    const int64_t vocab = bpt_vocab_size(job->data.vocab);
    if (vocab) m->vocab = vocab;
    if (!vocab && !m->vocab) return bpt_fail(BPT_ERR_USAGE, "--unit ids needs --vocab-size, the number of different ids");
    return BPT_OK;
}

static bpt_status_t open_data(job_t *job) {
    cli_options_t *o = job->o;
    if (o->model.task == BPT_TASK_CLASSIFY) return bpt_fail(BPT_ERR_UNSUPPORTED, "--task classify cannot be trained by this version yet");
    if (*o->data.vectors) return bpt_fail(BPT_ERR_UNSUPPORTED, "--vectors cannot be read by this version yet");
    BPT_TRY(cli_dataset_open(o, o->run.resume ? bpt_run_vocab_path(job->run) : NULL, &job->data));
    BPT_TRY(complete_model(job));
    BPT_TRY(cli_dataset_train_source(&job->data, o, &job->train));
    BPT_TRY(cli_dataset_eval_source(&job->data, o, BPT_VALID, &job->valid));
    return bpt_trainer_resolve_steps(&o->train, job->train->steps_per_epoch);
}

static bpt_status_t dry_run(job_t *job) {
    const bpt_train_config_t *t = &job->o->train;
    const bpt_runner_options_t options = bpt_trainer_runner_options(t);
    bpt_runner_t *runner;
    bpt_plan_summary_t plan;
    BPT_TRY(bpt_runner_create(&job->o->model, &options, job->device, &runner));
    const bpt_step_key_t key = {.kind = t->accumulate > 1 ? BPT_STEP_MICRO : BPT_STEP_TRAIN, .n = job->train->shapes[0][0], .batch = job->train->shapes[0][1]};
    const bpt_status_t status = bpt_runner_plan(runner, &key, &plan, stdout);
    if (status == BPT_OK) {
        const double mib = 1048576, states = (double)bpt_runner_device_bytes(runner) / mib, work = (double)plan.workspace_bytes / mib;
        printf("\nparameters       %lld\n", (long long)bpt_params_total(bpt_runner_params(runner)));
        printf("training tokens  %llu, vocabulary %lld\n", (unsigned long long)job->data.count[BPT_TRAIN], (long long)job->o->model.vocab);
        printf("steps            %lld (%lld an epoch), %lld sequences of %lld leaves a micro-batch, %lld micro-batches a step\n", (long long)t->steps,
               (long long)job->train->steps_per_epoch, (long long)key.batch, (long long)key.n, (long long)t->accumulate);
        printf("one micro-batch  %.1f GFLOP in %d ops with %d barriers\n", plan.flops * 1e-9, plan.n_ops, plan.n_barriers);
        printf("memory           %.1f MiB: parameters and optimiser %.1f, workspace %.1f (%.1f without sharing), inputs %.1f\n",
               states + work + (double)plan.input_bytes / mib, states, work, (double)plan.unshared_bytes / mib, (double)plan.input_bytes / mib);
    }
    bpt_runner_destroy(runner);
    return status;
}

static bpt_status_t train(job_t *job) {
    cli_options_t *o = job->o;
    BPT_TRY(write_run(job));
    const bool characters = o->data.unit == CLI_UNIT_BYTE || o->data.unit == CLI_UNIT_CHAR;
    const cli_loss_kind_t kind = o->model.task == BPT_TASK_CLASSIFY ? CLI_LOSS_NATS : characters ? CLI_LOSS_BITS : CLI_LOSS_PERPLEXITY;
    cli_progress_start(&job->progress, o->global.quiet, kind);
    const bpt_trainer_options_t options = {
        .model = &o->model,
        .train = &o->train,
        .device = job->device,
        .train_data = job->train,
        .valid_data = job->valid,
        .run = job->run,
        .resume = o->run.resume,
        .init = *o->run.init ? o->run.init : NULL,
        .data = job->data.fingerprint,
        .characters = characters,
        .on_line = on_line,
        .should_stop = stop_asked,
        .user = job,
    };
    BPT_TRY(bpt_trainer_create(&options, &job->trainer));
    job->last_step = bpt_trainer_state(job->trainer)->step;
    const bpt_status_t status = bpt_trainer_run(job->trainer);
    cli_progress_clear(&job->progress);
    if (status == BPT_OK) bpt_info("done: step %lld, %s", (long long)bpt_trainer_state(job->trainer)->step, o->run.out);
    return status;
}

static bpt_status_t prepare_and_train(job_t *job) {
    cli_options_t *o = job->o;
    if (o->run.resume) {
        if (!*o->run.out) return bpt_fail(BPT_ERR_USAGE, "--resume needs --out RUN, the run to go on with");
        BPT_TRY(bpt_run_resume(o->run.out, &job->run));
        BPT_TRY(cli_options_resume(o, bpt_run_config_path(job->run)));
    } else {
        BPT_TRY(cli_options_layer(o));
        BPT_TRY(cli_options_resolve(o));
    }
    if (o->run.print_config) return print_config(o);
    BPT_TRY(open_data(job));
    BPT_TRY(cli_device_open(o, &job->device));
    return o->run.dry_run ? dry_run(job) : train(job);
}

static bpt_status_t run(cli_options_t *o) {
    job_t job = {.o = o, .last_seconds = 0};
    const bpt_status_t status = prepare_and_train(&job);
    bpt_trainer_destroy(job.trainer);
    if (job.train) job.train->destroy(job.train);
    if (job.valid) job.valid->destroy(job.valid);
    bpt_run_close(job.run);
    cli_dataset_close(&job.data);
    cli_device_close(job.device);
    return status;
}

const cli_command_t cli_command_train = {
    .bit = CLI_TRAIN,
    .name = "train",
    .arguments = "",
    .purpose = "train a model on a text",
    .description = "Writes a run directory: configuration, vocabulary, metrics and checkpoints. Ctrl-C saves and stops; --resume goes on\n"
                   "exactly where the last checkpoint ended. --preset takes the settings of a paper (`bpt presets`).",
    .examples = "  bpt train --data book.txt --out runs/book --preset small\n"
                "  bpt train --preset ptb-6 --data ptb/ --out runs/ptb\n"
                "  bpt train --out runs/book --resume --steps 5000\n"
                "  bpt train --data book.txt --preset small --dry-run\n",
    .polls = true,
    .run = run,
};
