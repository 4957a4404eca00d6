// Checkpoints that are checked while they are read (see checkpoint.h).
#include "models/train/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "bpt/safetensors.h"
#include "models/config/config_json.h"
#include "models/config/model_file.h"

// ---- what contradicts state.json

static bool in_checkpoint(bpt_run_file_t file) { return file == BPT_RUN_MODEL || file == BPT_RUN_OPTIMIZER; }

// What a person can do about a file that is not the one that was written.
static bpt_status_t remedy(const bpt_checkpoint_t *c, bpt_run_file_t file, char *text, size_t bytes) {
    char others[160];
    if (!in_checkpoint(file)) {
        snprintf(text, bytes, "copy it again from where the run was trained");
        return BPT_OK;
    }
    BPT_TRY(bpt_run_checkpoint_others(c->run, c->folder, others, sizeof others));
    if (!strncmp(others, "no ", 3))
        snprintf(text, bytes, "copy the checkpoint again, there is no other one");
    else
        snprintf(text, bytes,
                 "copy the checkpoint again, or use another with --checkpoint N, there are %s (train --resume: delete %s, and the last one "
                 "left is used)",
                 others, c->folder);
    return BPT_OK;
}

static bpt_status_t fail_sum(const bpt_checkpoint_t *c, bpt_run_file_t file, const char *path, const bpt_checksum_t *sum) {
    const bpt_checksum_t *listed = &c->state.sums.sum[file];
    const char *part = file == BPT_RUN_CONFIG ? "the model part of " : file == BPT_RUN_READING ? "what says how text is read in " : "";
    char what[4400];
    BPT_TRY(remedy(c, file, what, sizeof what));
    if (sum->bytes != listed->bytes)
        return bpt_fail(BPT_ERR_INPUT,
                        "%s%s has %" PRIu64 " bytes, %s/state.json lists %" PRIu64 ": it was damaged or is of another run; %s", part, path,
                        sum->bytes, c->folder, listed->bytes, what);
    return bpt_fail(BPT_ERR_INPUT,
                    "the content of %s%s has the checksum %016" PRIx64 ", %s/state.json lists %016" PRIx64
                    ": it was damaged or is of another run; %s",
                    part, path, sum->xxh3, c->folder, listed->xxh3, what);
}

bpt_status_t bpt_checkpoint_check(const bpt_checkpoint_t *c, bpt_run_file_t file, const char *path, const bpt_checksum_t *sum) {
    const bpt_run_sums_t *sums = &c->state.sums;
    if (!sums->known) return BPT_OK;
    if (!sums->listed[file] && !sum) return BPT_OK;
    if (!sums->listed[file])
        return bpt_fail(BPT_ERR_INPUT, "%s is not of this run: %s/state.json lists no such file; delete it", path, c->folder);
    if (!sum)
        return bpt_fail(BPT_ERR_INPUT, "%s is missing, %s/state.json lists it; copy it again from where the run was trained", path,
                        c->folder);
    return bpt_checksum_equal(sum, &sums->sum[file]) ? BPT_OK : fail_sum(c, file, path, sum);
}

// ---- reading files

// A damaged file may fail to be read at all, with a sentence about the place of the damage: that it is damaged is the better one.
static bpt_status_t explain(const bpt_checkpoint_t *c, bpt_run_file_t file, const char *path, bpt_status_t status) {
    bpt_checksum_t sum;
    char reason[1024];
    if (status != BPT_ERR_INPUT || !c->state.sums.known) return status;
    snprintf(reason, sizeof reason, "%s", bpt_error_message());
    if (bpt_checksum_read(path, &sum) == BPT_OK) BPT_TRY(bpt_checkpoint_check(c, file, path, &sum));
    return bpt_fail(status, "%s", reason);
}

static bpt_status_t read_checked(const bpt_checkpoint_t *c, bpt_run_file_t file, bpt_checkpoint_read_t read, void *user) {
    const bool known = c->state.sums.known;
    char *path;
    bpt_checksum_t sum;
    BPT_TRY(bpt_path_format(&path, "%s/%s", c->folder, bpt_run_file_names[file]));
    bpt_status_t status = read(user, path, known, known ? &sum : NULL);
    status = status == BPT_OK ? bpt_checkpoint_check(c, file, path, known ? &sum : NULL) : explain(c, file, path, status);
    bpt_free(path);
    return status;
}

static bpt_status_t load(void *runner, const char *path, bool non_finite, bpt_checksum_t *sum) {
    return bpt_runner_load(runner, path, non_finite, sum);
}

static bpt_status_t load_moments(void *runner, const char *path, bool non_finite, bpt_checksum_t *sum) {
    return bpt_runner_load_moments(runner, path, non_finite, sum);
}

// Once for a command, as each reads the weights once.
static void remark(const bpt_checkpoint_t *c) {
    if (!c->state.sums.known)
        bpt_info("%s was written without checksums, by version %s: damage to it may pass unseen", c->folder, c->state.version);
    else if (!c->origin.known)
        bpt_info("%s was written without a checksum, by version %s: damage to it may pass unseen (bpt train --resume adds one)",
                 bpt_run_config_path(c->run), c->state.version);
}

bpt_status_t bpt_checkpoint_read_model(const bpt_checkpoint_t *c, bpt_checkpoint_read_t read, void *user) {
    remark(c);
    return read_checked(c, BPT_RUN_MODEL, read, user);
}

bpt_status_t bpt_checkpoint_load(const bpt_checkpoint_t *c, bpt_runner_t *runner) { return bpt_checkpoint_read_model(c, load, runner); }

typedef struct {
    bpt_runner_t *runner;
    const bpt_taken_rows_t *rows;
    uint64_t seed;
} take_t;

// Rows are read here and there, so the file is read once more for its checksum, before.
static bpt_status_t take(void *user, const char *path, bool non_finite, bpt_checksum_t *sum) {
    const take_t *t = user;
    if (sum) BPT_TRY(bpt_checksum_read(path, sum));
    return bpt_runner_take(t->runner, path, t->rows, t->seed, non_finite);
}

bpt_status_t bpt_checkpoint_take(const bpt_checkpoint_t *c, bpt_runner_t *runner, const bpt_taken_rows_t *rows, uint64_t seed) {
    return bpt_checkpoint_read_model(c, take, &(take_t){runner, rows, seed});
}

bpt_status_t bpt_checkpoint_load_moments(const bpt_checkpoint_t *c, bpt_runner_t *runner) {
    return read_checked(c, BPT_RUN_OPTIMIZER, load_moments, runner);
}

// ---- configuration

static bpt_status_t config_sum(const bpt_model_config_t *config, bpt_checksum_t *sum) {
    char *text;
    BPT_TRY(bpt_model_config_format(config, &text));
    *sum = bpt_checksum_of(text, strlen(text));
    bpt_free(text);
    return BPT_OK;
}

static bpt_status_t read_metadata(const char *path, bpt_model_config_t *config) {
    bpt_safetensors_t *file;
    BPT_TRY(bpt_safetensors_open(path, &file));
    const bpt_status_t status = bpt_model_file_config(file, config);
    bpt_safetensors_close(file);
    return status;
}

// What an earlier version wrote has no checksum, neither in config.json nor in the checkpoints from before the run was resumed. Both files
// are what was written, by their own checksums: if they contradict each other, one of them is somebody else's.
static bpt_status_t read_origin(bpt_checkpoint_t *c) {
    const char *path = bpt_run_config_path(c->run);
    const bpt_checksum_t *listed = &c->state.sums.sum[BPT_RUN_ORIGIN];
    BPT_TRY(bpt_run_config_read(path, &c->origin));
    if (!c->state.sums.listed[BPT_RUN_ORIGIN]) return BPT_OK;
    if (!c->origin.known)
        return bpt_fail(
            BPT_ERR_INPUT,
            "%s has no checksum, %s/state.json lists one: it was damaged or is of another run; copy it again from where the run "
            "was trained",
            path, c->folder);
    if (bpt_checksum_equal(&c->origin.sum, listed)) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT,
                    "%s and %s/state.json are of different runs: the configurations that they began with have the checksums %016" PRIx64
                    " and %016" PRIx64 "; copy the run again",
                    path, c->folder, c->origin.sum.xxh3, listed->xxh3);
}

// The model is described twice, in its file's metadata and in config.json.
static bpt_status_t read_config(bpt_checkpoint_t *c) {
    const char *config_path = bpt_run_config_path(c->run);
    bpt_model_config_t stored;
    bpt_checksum_t sum;
    char *path;
    BPT_TRY(bpt_path_format(&path, "%s/%s", c->folder, BPT_MODEL_FILE));
    bpt_status_t status = explain(c, BPT_RUN_MODEL, path, read_metadata(path, &c->config));
    if (status == BPT_OK) status = bpt_model_config_read(config_path, &stored);
    if (status == BPT_OK) status = bpt_model_config_compare(&stored, config_path, &c->config, path);
    if (status == BPT_OK) status = config_sum(&stored, &sum);
    if (status == BPT_OK) status = bpt_checkpoint_check(c, BPT_RUN_CONFIG, config_path, &sum);
    bpt_free(path);
    return status;
}

// A folder that was renamed, or copied over another.
static bpt_status_t check_step(const bpt_checkpoint_t *c) {
    const int64_t step = bpt_run_checkpoint_step(c->folder);
    if (step < 0 || step == c->state.step) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT,
                    "%s/state.json is of step %" PRId64 ", so the folder has another checkpoint's name or files; copy it again", c->folder,
                    c->state.step);
}

bpt_status_t bpt_checkpoint_open(const bpt_run_t *run, const char *which, bpt_checkpoint_t *c) {
    *c = (bpt_checkpoint_t){.run = run};
    BPT_TRY(bpt_run_checkpoint_find(run, which, &c->folder));
    bpt_status_t status = bpt_run_state_read(c->folder, &c->state);
    if (status == BPT_OK) status = check_step(c);
    if (status == BPT_OK) status = read_origin(c);
    if (status == BPT_OK) status = read_config(c);
    if (status != BPT_OK) bpt_checkpoint_close(c);
    return status;
}

void bpt_checkpoint_close(bpt_checkpoint_t *c) {
    bpt_free(c->folder);
    *c = (bpt_checkpoint_t){0};
}

// ---- writing

void bpt_run_sums_add(bpt_run_sums_t *sums, bpt_run_file_t file, bpt_checksum_t sum) {
    sums->listed[file] = true;
    sums->sum[file] = sum;
}

void bpt_run_sums_add_origin(bpt_run_sums_t *sums, const bpt_run_origin_t *origin) {
    if (origin && origin->known) bpt_run_sums_add(sums, BPT_RUN_ORIGIN, origin->sum);
}

static bpt_status_t add_file(bpt_run_sums_t *sums, bpt_run_file_t file, const char *path) {
    bpt_checksum_t sum;
    if (!bpt_file_exists(path)) return BPT_OK;
    BPT_TRY(bpt_checksum_read(path, &sum));
    bpt_run_sums_add(sums, file, sum);
    return BPT_OK;
}

bpt_status_t bpt_run_sums_begin(const bpt_run_t *run, const bpt_model_config_t *config, const bpt_run_origin_t *origin,
                                bpt_run_sums_t *sums) {
    bpt_checksum_t sum;
    *sums = (bpt_run_sums_t){.known = true};
    BPT_TRY(add_file(sums, BPT_RUN_VOCAB, bpt_run_vocab_path(run)));
    BPT_TRY(add_file(sums, BPT_RUN_SOURCE_VOCAB, bpt_run_source_vocab_path(run)));
    BPT_TRY(add_file(sums, BPT_RUN_SUBWORDS, bpt_run_subwords_path(run)));
    BPT_TRY(add_file(sums, BPT_RUN_LABELS, bpt_run_labels_path(run)));
    BPT_TRY(config_sum(config, &sum));
    bpt_run_sums_add(sums, BPT_RUN_CONFIG, sum);
    bpt_run_sums_add_origin(sums, origin);
    return BPT_OK;
}
