// Defaults by the amount of data (see defaults.h). The rules are in --help and in the README of this folder.
#include "tools/bpt/corpus/defaults.h"

#include <inttypes.h>

#include "bpt/log.h"
#include "models/config/params_of.h"
#include "models/train/schedule.h"
#include "models/train/trainer.h"
#include "tools/bpt/corpus/readers.h"

enum {
    STEPS_OF_EPOCH = 200,   // small data are cut into so many steps an epoch,
    LEAST_EXAMPLES = 16,    // but a step of a classifier has so many examples,
    LEAST_WINDOWS = 4,      // and one of a language model so many windows
    LEAST_UPDATES = 1000,   // a run without --steps and --epochs has at least so many
    LARGEST_WARMUP = 100,   // steps; of a shorter run a tenth
    MOST_EVALUATIONS = 20,  // of a run of many short epochs
    TOO_FEW_UPDATES = 50,   // worth a warning
    FEW_EXAMPLES = 10000,   // a classifier of fewer is small
};

static bool given(const cli_options_t *o, const char *name) { return cli_option_source(o, name) != CLI_FROM_DEFAULT; }
// A preset is a whole that belongs together, and a resumed run is as it was begun.
static bool fixed(const cli_options_t *o) { return *o->run.preset || o->run.resume; }
static int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }

// Deep models learn few examples by heart. One layer, many words dropped and a high learning rate were best of thirty settings tried on
// 1,080 sentences without word vectors, on three seeds. Whoever says anything about the size knows better.
void cli_defaults_model(cli_options_t *o, int64_t examples) {
    static const char *const sizes[] = {"layers", "d-model", "d-embed", "d-ff", "heads", "vectors", "init"};
    bpt_model_config_t *m = &o->model;
    if (bpt_task_sides(bpt_task_of(m)) == 2) return;  // what was tried are classifiers
    if (fixed(o) || examples < 1 || examples >= FEW_EXAMPLES) return;
    for (size_t i = 0; i < BPT_COUNT(sizes); ++i)
        if (given(o, sizes[i])) return;
    m->layers = 1;
    m->d_model = m->d_embed = 128;
    m->d_ff = bpt_model_default_d_ff(m);
    if (m->d_mlp && !given(o, "d-mlp")) m->d_mlp = m->d_model;
    if (!given(o, "dropout-input")) m->dropout_input = 0.6f;
    if (!given(o, "dropout-head")) m->dropout_head = 0.5f;
    if (!given(o, "lr")) o->train.lr = 0.005;
}

void cli_defaults_batch(cli_options_t *o, int64_t examples, int64_t tokens) {
    cli_data_options_t *d = &o->data;
    if (fixed(o) || given(o, "batch-tokens") || given(o, "batch-examples") || given(o, "accumulate")) return;
    if (examples) {
        const int64_t that_fit = largest(1, d->batch_tokens * examples / largest(1, tokens));
        const int64_t wanted = largest(LEAST_EXAMPLES, examples / STEPS_OF_EPOCH);
        d->batch_examples = wanted < that_fit ? wanted : that_fit;
    } else {
        const int64_t windows = largest(LEAST_WINDOWS, tokens / STEPS_OF_EPOCH / d->context);
        if (windows * d->context < d->batch_tokens) d->batch_tokens = windows * d->context;
    }
}

bpt_status_t cli_defaults_length(cli_options_t *o, int64_t steps_per_epoch) {
    bpt_train_config_t *t = &o->train;
    if (!t->steps && !(t->epochs > 0)) t->epochs = (double)((LEAST_UPDATES + steps_per_epoch - 1) / steps_per_epoch);
    BPT_TRY(bpt_trainer_resolve_steps(t, steps_per_epoch));
    if (fixed(o)) return BPT_OK;
    if (!given(o, "warmup")) t->warmup = t->steps / 10 < LARGEST_WARMUP ? t->steps / 10 : LARGEST_WARMUP;
    if (bpt_schedule_needs_warmup(t->schedule)) t->warmup = largest(1, t->warmup);
    const int64_t epochs = t->steps / steps_per_epoch;
    if (!given(o, "eval-every") && epochs > MOST_EVALUATIONS)
        t->eval_every = steps_per_epoch * ((epochs + MOST_EVALUATIONS - 1) / MOST_EVALUATIONS);
    return BPT_OK;
}

void cli_defaults_warn(const cli_options_t *o) {
    const bpt_train_config_t *t = &o->train;
    if (t->warmup >= t->steps)
        bpt_warn("the warm-up of %" PRId64 " steps is not over when training ends at step %" PRId64
                 ", so the learning rate only rises; lower --warmup or train longer (--epochs, --steps)",
                 t->warmup, t->steps);
    if (t->steps < TOO_FEW_UPDATES)
        bpt_warn("only %" PRId64 " step%s in all: a model learns little from fewer than %d; train longer (--epochs, --steps) or in smaller "
                 "batches (--%s)",
                 t->steps, t->steps == 1 ? "" : "s", TOO_FEW_UPDATES, cli_reader_of(&o->model)->batch_option);
    if (t->eval_every > t->steps)
        bpt_warn("--eval-every %" PRId64 " is behind the end of training at step %" PRId64 ": the only evaluation is at the end",
                 t->eval_every, t->steps);
}
