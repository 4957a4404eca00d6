// `bpt average`: a run directory whose weights are the mean of a run's last checkpoints. Knows no device.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "models/config/config_json.h"
#include "models/train/average.h"
#include "tools/bpt/corpus/side_files.h"
#include "tools/bpt/corpus/transfer.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/runs/trained.h"

// Data and evaluation are those of the run.
static bpt_status_t copy_config(const cli_trained_t *t, const bpt_run_t *to, bpt_run_origin_t *origin) {
    json_t *config;
    const char *from = bpt_run_config_path(t->run);
    BPT_TRY(bpt_json_read(from, &config));
    bpt_status_t status = bpt_run_config_check(config, from, origin);
    if (status == BPT_OK) status = bpt_run_config_write(bpt_run_config_path(to), config, origin);
    json_decref(config);
    return status;
}

static bpt_status_t copy_text(const cli_trained_t *t, bpt_run_file_t file, const char *to) {
    char *text;
    BPT_TRY(cli_run_text(&t->checkpoint, file, t->unit, t->stored.data.lower, &text));
    const bpt_status_t status = text ? bpt_file_write(to, text, strlen(text)) : BPT_OK;
    bpt_free(text);
    return status;
}

static bpt_status_t copy_subwords(const bpt_checkpoint_t *c, const bpt_run_t *to) {
    char *model;
    size_t bytes;
    BPT_TRY(cli_run_subword_model(c, &model, &bytes));
    const bpt_status_t status = model ? bpt_file_write(bpt_run_subwords_path(to), model, bytes) : BPT_OK;
    bpt_free(model);
    return status;
}

static bpt_status_t write_model(const bpt_average_t *mean, const char *folder, bpt_checksum_t *sum) {
    const bpt_param_set_t set = {.prefix = "", .arena = mean->arena};
    char *path = NULL, *config = NULL;
    bpt_status_t status = bpt_path_format(&path, "%s/%s", folder, BPT_MODEL_FILE);
    if (status == BPT_OK) status = bpt_model_config_format(&mean->config, &config);
    if (status == BPT_OK) status = bpt_params_write(&mean->params, path, config, &set, 1, sum);
    bpt_free(path);
    bpt_free(config);
    return status;
}

// It stands where the last of the checkpoints stood; no evaluation is of these weights.
static bpt_status_t write_checkpoint(const bpt_average_t *mean, const bpt_run_origin_t *origin, bpt_run_t *run) {
    bpt_run_state_t state = mean->state;
    const char *folder;
    bpt_checksum_t sum;
    state.best_loss = INFINITY;
    state.best_step = -1;
    BPT_TRY(bpt_run_checkpoint_begin(run, state.step, &folder));
    BPT_TRY(bpt_run_sums_begin(run, &mean->config, origin, &state.sums));
    BPT_TRY(write_model(mean, folder, &sum));
    bpt_run_sums_add(&state.sums, BPT_RUN_MODEL, sum);
    BPT_TRY(bpt_run_state_write(folder, &state));
    return bpt_run_checkpoint_commit(run, false, 1);
}

static bpt_status_t write_run(const cli_trained_t *t, const bpt_average_t *mean, bpt_run_t *run) {
    bpt_run_origin_t origin;
    BPT_TRY(bpt_run_require_space(run, (uint64_t)mean->params.elements * sizeof *mean->arena));
    BPT_TRY(copy_text(t, BPT_RUN_VOCAB, bpt_run_vocab_path(run)));
    BPT_TRY(copy_text(t, BPT_RUN_SOURCE_VOCAB, bpt_run_source_vocab_path(run)));
    BPT_TRY(copy_text(t, BPT_RUN_LABELS, bpt_run_labels_path(run)));
    BPT_TRY(copy_subwords(&t->checkpoint, run));
    BPT_TRY(copy_config(t, run, &origin));
    return write_checkpoint(mean, &origin, run);
}

static bpt_status_t run_average(cli_options_t *o) {
    if (!*o->use.file) return bpt_fail(BPT_ERR_USAGE, "bpt average needs --out RUN, the run directory to create");
    if (!o->tool.last) return bpt_fail(BPT_ERR_USAGE, "bpt average needs --last N, the number of checkpoints");
    cli_trained_t trained;
    bpt_average_t mean = {0};
    bpt_run_t *run = NULL;
    BPT_TRY(cli_trained_open_run(o->arguments[0], "latest", &trained));
    bpt_status_t status = bpt_average_read(trained.run, o->tool.last, &mean);
    if (status == BPT_OK) status = cli_new_run(o->command_name, o->use.file, &run);
    if (status == BPT_OK) status = write_run(&trained, &mean, run);
    if (status == BPT_OK)
        bpt_info("%s, steps %" PRId64 " to %" PRId64 " -> %s", bpt_run_path(trained.run), mean.first_step, mean.state.step, o->use.file);
    bpt_run_close(run);
    bpt_average_free(&mean);
    cli_trained_close(&trained);
    return status;
}

const cli_command_t cli_command_average = {
    .bit = CLI_AVERAGE,
    .name = "average",
    .arguments = "RUN",
    .purpose = "create a run directory with the mean of a run's last checkpoints",
    .description =
        "The weights of the new run are the means of the weights in the --last N checkpoints with the highest steps; configuration, "
        "vocabulary, subwords and labels are those of RUN. It can be used by eval, classify, tag, generate, export and `train --init`. It "
        "has no optimiser state, so `train --resume` refuses it. `bpt train` deletes older checkpoints: train with "
        "--keep N to have enough.",
    .examples = "  bpt train --data text --out run --save-every 500 --keep 10\n  bpt average run --last 10 --out run-mean\n"
                "  bpt eval run-mean\n",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_average,
};
