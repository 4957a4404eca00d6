// Parameters, memory plan and steps of a training run (see plan.h).
#include "tools/bpt/report/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "models/blocks/split_layers.h"
#include "models/config/config_names.h"
#include "models/train/schedule.h"
#include "models/train/trainer.h"

static double mebibytes(double bytes) { return bytes / (1 << 20); }

static void print_parameters(const bpt_params_t *params) {
    int64_t table = 0, layers = 0;
    for (size_t i = 0; i < params->count; ++i) {
        if (!strncmp(params->items[i].name, "embed.", 6)) table += params->items[i].count;
        if (!strncmp(params->items[i].name, "layers.", 7)) layers += params->items[i].count;
    }
    printf("parameters        %" PRId64 " (%" PRId64 " trained): %" PRId64 " embedding, %" PRId64 " layers, %" PRId64 " other\n",
           params->elements, params->trained_elements, table, layers, params->elements - table - layers);
}

// Whether gradients are summed over micro-batches; the step of a task with examples has one for every length of text.
static bool accumulates(const cli_options_t *o) { return o->train.accumulate > 1 || bpt_task_accumulates(bpt_task_of(&o->model)); }

// The step with the largest workspace among the shapes that can occur.
static bpt_status_t largest(bpt_runner_t *runner, const cli_options_t *o, const bpt_batch_source_t *source, bpt_step_key_t *key,
                            bpt_plan_summary_t *summary) {
    const double epochs = o->train.epochs > 0 ? o->train.epochs : (double)o->train.steps / (double)source->steps_per_epoch;
    const int32_t first_head = bpt_schedule_first_head(&o->train, bpt_model_layers(&o->model), 0, epochs);
    for (int64_t i = 0; i < source->n_shapes; ++i) {
        const bpt_step_key_t shape = {
            .kind = accumulates(o) ? BPT_STEP_MICRO : BPT_STEP_TRAIN, .shape = source->shapes[i], .first_head = first_head};
        bpt_plan_summary_t plan;
        BPT_TRY(bpt_runner_plan(runner, &shape, &plan, NULL));
        if (i && plan.workspace_bytes <= summary->workspace_bytes) continue;
        *summary = plan;
        *key = shape;
    }
    return BPT_OK;
}

static void print_memory(const cli_options_t *o, const bpt_params_t *params, const bpt_plan_summary_t *plan) {
    const double arena = 4.0 * (double)params->elements, trained = 4.0 * (double)params->trained_elements;
    const double gradients = trained * (accumulates(o) ? 2 : 1), moments = 4.0 * (double)bpt_params_moments(params);
    const double workspace = (double)plan->workspace_bytes, inputs = (double)plan->input_bytes;
    printf("memory            %.1f MiB on the device\n", mebibytes(arena + gradients + moments + workspace + inputs));
    printf("  parameters      %.1f MiB\n  gradients       %.1f MiB\n  moments         %.1f MiB\n", mebibytes(arena), mebibytes(gradients),
           mebibytes(moments));
    printf("  workspace       %.1f MiB (%.1f MiB without sharing)\n  inputs          %.1f MiB\n", mebibytes(workspace),
           mebibytes((double)plan->unshared_bytes), mebibytes(inputs));
    if (plan->offload_bytes) printf("inputs of layers  %.1f MiB on disk (--offload)\n", mebibytes((double)plan->offload_bytes));
    printf("checkpoint        %.1f MiB on disk, at most %" PRId64 " are kept besides latest and best\n",
           mebibytes((double)bpt_trainer_checkpoint_bytes(params)), o->train.keep);
}

static void print_schedule(const cli_options_t *o, int64_t steps_per_epoch) {
    const bpt_train_config_t *t = &o->train;
    printf("steps             %" PRId64 ", %" PRId64 " an epoch: %.2f epochs\n", t->steps, steps_per_epoch,
           (double)t->steps / (double)steps_per_epoch);
    printf("learning rate     schedule %s, %" PRId64 " steps of warm-up\n", bpt_schedule_names[t->schedule], t->warmup);
    if (t->eval_every)
        printf("evaluation        every %" PRId64 " steps\n", t->eval_every);
    else
        printf("evaluation        after every epoch\n");
}

static bpt_status_t print_plan(const cli_options_t *o, bpt_runner_t *runner, const bpt_batch_source_t *source, uint64_t data_bytes) {
    bpt_step_key_t key = {0};
    bpt_plan_summary_t plan = {0};
    BPT_TRY(largest(runner, o, source, &key, &plan));
    print_parameters(bpt_runner_params(runner));
    print_memory(o, bpt_runner_params(runner), &plan);
    printf("program           %.1f MiB on the host, data included\n", mebibytes((double)bpt_peak_host_bytes()));
    printf("data              %.1f MiB on the host: tokens, labels and trees of all parts\n", mebibytes((double)data_bytes));
    if (key.shape.side[0].n)
        printf("micro-batch       %" PRId64 " sequences of %" PRId64 " leaves", key.shape.batch, key.shape.side[0].n);
    else
        printf("micro-batch       %" PRId64 " sequences with %" PRId64 " tokens together", key.shape.batch, key.shape.side[0].rows);
    if (o->data.batch_examples)
        printf(" at most; %" PRId64 " examples a step, in micro-batches by length of text\n", o->data.batch_examples);
    else if (bpt_task_accumulates(bpt_task_of(&o->model)))
        printf(" at most; micro-batches of a step by length of text\n");
    else
        printf("; %" PRId64 " micro-batch%s a step\n", o->train.accumulate, o->train.accumulate == 1 ? "" : "es");
    printf("work              %.1f GFLOP and %.2f GB a micro-batch in %d ops\n", plan.flops * 1e-9, plan.bytes_moved * 1e-9, plan.n_ops);
    print_schedule(o, source->steps_per_epoch);
    return o->global.verbose ? bpt_runner_plan(runner, &key, &plan, stdout) : BPT_OK;
}

bpt_status_t cli_plan_print(const cli_options_t *o, bpt_device_t *device, bpt_ranks_t *ranks, const bpt_batch_source_t *source,
                            uint64_t data_bytes) {
    bpt_runner_t *runner;
    bpt_runner_options_t options = bpt_trainer_runner_options(&o->train);
    if (o->run.split_sequence) {
        options.step.split = (bpt_shard_t){bpt_ranks_rank(ranks), bpt_ranks_size(ranks)};
        BPT_TRY(bpt_split_check(&o->model, bpt_ranks_size(ranks)));
    }
    BPT_TRY(bpt_runner_create(&o->model, &options, device, &runner));
    const bpt_status_t status = print_plan(o, runner, source, data_bytes);
    bpt_runner_destroy(runner);
    return status;
}
