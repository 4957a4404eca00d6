// Going on with a run (see resumption.h).
#include "tools/bpt/runs/resumption.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "models/config/config_names.h"
#include "models/train/schedule.h"
#include "tools/bpt/corpus/side_files.h"

// An imported model has no optimiser state.
static bpt_status_t check_was_trained(const char *run, const bpt_checkpoint_t *from) {
    char *moments;
    BPT_TRY(bpt_path_format(&moments, "%s/%s", from->folder, BPT_OPTIMIZER_FILE));
    const bool there = bpt_file_exists(moments);
    const bpt_status_t status = there ? BPT_OK : bpt_checkpoint_check(from, BPT_RUN_OPTIMIZER, moments, NULL);
    bpt_free(moments);
    if (there || status != BPT_OK) return status;
    return bpt_fail(
        BPT_ERR_USAGE,
        "%s holds weights but no state of training (`bpt import` and `bpt average` make such runs), so --resume cannot go on with it; "
        "start a new run from its weights: --init %s --out NEW",
        run, run);
}

// The step that --resume goes on from: the last one's, where `latest` leads nowhere, as bpt_run_resume will mend it.
static bpt_status_t name_of_latest(const bpt_run_t *run, char *name, size_t bytes) {
    int64_t *steps;
    size_t count;
    char *folder = NULL;
    snprintf(name, bytes, "latest");
    if (bpt_run_checkpoint_find(run, name, &folder) == BPT_OK) {
        bpt_free(folder);
        return BPT_OK;
    }
    BPT_TRY(bpt_run_checkpoint_list(run, &steps, &count));
    if (count) snprintf(name, bytes, "%" PRId64, steps[count - 1]);
    bpt_free(steps);
    return count ? BPT_OK
                 : bpt_fail(BPT_ERR_INPUT, "%s has no checkpoint to go on from; start it again without --resume", bpt_run_path(run));
}

static bpt_status_t read_steps(cli_resumption_t *r) {
    json_t *config;
    BPT_TRY(bpt_json_read(bpt_run_config_path(r->run), &config));
    const bpt_status_t status = bpt_json_get_int(config, "steps", 0, INT64_MAX, &r->steps);
    json_decref(config);
    return status;
}

bpt_status_t cli_resumption_open(cli_options_t *o, cli_resumption_t *r) {
    char name[24];
    *r = (cli_resumption_t){0};
    if (!*o->run.out) return bpt_fail(BPT_ERR_USAGE, "--resume needs --out RUN, the run to go on with");
    BPT_TRY(bpt_run_open(o->run.out, &r->run));
    BPT_TRY(cli_options_resume(o, bpt_run_config_path(r->run)));
    BPT_TRY(name_of_latest(r->run, name, sizeof name));
    BPT_TRY(bpt_checkpoint_open(r->run, name, &r->from));
    BPT_TRY(cli_check_reading(&r->from, o));
    BPT_TRY(read_steps(r));
    return check_was_trained(o->run.out, &r->from);
}

// Of an optimiser step, with the schedule's end at `steps`.
static double rate_at(const cli_options_t *o, const bpt_run_state_t *state, int64_t step, int64_t steps) {
    bpt_train_config_t t = o->train;
    t.steps = steps;
    return bpt_schedule_lr(&t, o->model.d_model, step, (int64_t)floor(state->epoch + 1e-9), state->plateau_factor);
}

void cli_resumption_note_rate(const cli_options_t *o, const cli_resumption_t *r) {
    const bpt_run_state_t *state = &r->from.state;
    const int64_t next = state->step + 1;
    if (!r->from.folder || r->steps < 1 || o->train.steps == r->steps || state->step < 1 || state->step >= o->train.steps) return;
    const double now = rate_at(o, state, next, o->train.steps);
    if (now == rate_at(o, state, next, r->steps)) return;
    bpt_info("the learning rate jumps, as schedule %s now ends at step %" PRId64 " and not at %" PRId64 ": it was %.3g in step %" PRId64
             " and is %.3g in step %" PRId64,
             bpt_schedule_names[o->train.schedule], o->train.steps, r->steps, rate_at(o, state, state->step, r->steps), state->step, now,
             next);
}

void cli_resumption_close(cli_resumption_t *r) {
    bpt_checkpoint_close(&r->from);
    bpt_run_close(r->run);
    *r = (cli_resumption_t){0};
}
