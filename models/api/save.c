// Model files and checkpoints (see model.h).
#include <jansson.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/paths.h"
#include "models/api/model_internal.h"
#include "models/config/config_json.h"

bpt_status_t bpt_model_save(bpt_model_t *m, const char *path) {
    bpt_safetensors_writer_t *writer;
    BPT_TRY(bpt_model_ready(m));
    if (!path) return bpt_fail(BPT_ERR_USAGE, "bpt_model_save: the path is a null pointer");
    BPT_TRY(bpt_safetensors_writer_create(path, &writer));
    bpt_status_t status = bpt_side_texts_to_file(&m->texts, writer);
    if (status == BPT_OK) status = bpt_runner_save_to(m->runner, writer);
    bpt_safetensors_writer_destroy(writer);
    return status;
}

// ---- runs

static bpt_status_t write_config(const bpt_model_t *m, const bpt_run_t *run, bpt_run_origin_t *origin) {
    json_t *config;
    BPT_TRY(bpt_model_config_to_json(&m->config, &config));
    bpt_status_t status = bpt_side_texts_to_run(&m->texts, run, config);
    if (status == BPT_OK) status = bpt_run_config_write(bpt_run_config_path(run), config, origin);
    json_decref(config);
    return status;
}

// Whether both name the same folder, whatever slashes are at the end.
static bool same_path(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    while (n > 1 && bpt_path_separates(a[n - 1])) --n;
    while (m > 1 && bpt_path_separates(b[m - 1])) --m;
    return n == m && !memcmp(a, b, n);
}

static bpt_status_t start_run(const bpt_model_t *m, const char *path, bpt_run_sums_t *sums, bpt_run_t **run) {
    bpt_run_origin_t origin = {0};
    BPT_TRY(bpt_run_create(path, run));
    BPT_TRY(write_config(m, *run, &origin));
    return bpt_run_sums_begin(*run, &m->config, &origin, sums);
}

// The lists of checksums go on as the checkpoint had them.
static bpt_status_t go_on(const bpt_model_t *m, const char *path, bpt_run_t **run) {
    if (!m->options.trains)
        return bpt_fail(BPT_ERR_USAGE,
                        "the model was opened without the state of training of %s, which would be lost; set `trains` in its "
                        "options, or save to another folder",
                        path);
    BPT_TRY(bpt_run_resume(path, run));
    return bpt_metrics_cut(bpt_run_metrics_path(*run), m->state.step);
}

static bpt_status_t lock_run(bpt_model_t *m, const char *path) {
    bpt_run_t *run = NULL;
    bpt_run_sums_t sums = m->state.sums;
    if (m->saved_to && same_path(bpt_run_path(m->saved_to), path)) return BPT_OK;
    const bool origin = m->origin.run && same_path(m->origin.run, path);
    const bpt_status_t status = origin ? go_on(m, path, &run) : start_run(m, path, &sums, &run);
    if (status != BPT_OK) {
        bpt_run_close(run);
        return status;
    }
    bpt_run_close(m->saved_to);
    m->saved_to = run;
    m->state.sums = sums;
    return BPT_OK;
}

static bpt_status_t write_file(bpt_runner_t *runner, const char *folder, bpt_run_file_t file,
                               bpt_status_t (*save)(bpt_runner_t *, const char *, bpt_checksum_t *), bpt_run_sums_t *sums) {
    char *path;
    bpt_checksum_t sum;
    BPT_TRY(bpt_path_format(&path, "%s/%s", folder, bpt_run_file_names[file]));
    const bpt_status_t status = save(runner, path, &sum);
    if (status == BPT_OK) bpt_run_sums_add(sums, file, sum);
    bpt_free(path);
    return status;
}

static bpt_status_t write_checkpoint(const bpt_model_t *m, const char *folder, bpt_run_state_t *state) {
    state->sums.listed[BPT_RUN_OPTIMIZER] = false;
    BPT_TRY(write_file(m->runner, folder, BPT_RUN_MODEL, bpt_runner_save, &state->sums));
    if (m->options.trains) BPT_TRY(write_file(m->runner, folder, BPT_RUN_OPTIMIZER, bpt_runner_save_moments, &state->sums));
    return bpt_run_state_write(folder, state);
}

// What a loss of the device will be recovered from.
static bpt_status_t note_origin(bpt_model_t *m, const char *path) {
    bpt_origin_t origin = {.seed = m->origin.seed};
    bpt_status_t status = bpt_strdup(path, &origin.run);
    if (status == BPT_OK) status = bpt_strdup("latest", &origin.checkpoint);
    if (status != BPT_OK) {
        bpt_free(origin.run);
        return status;
    }
    bpt_free(m->origin.run);
    bpt_free(m->origin.checkpoint);
    bpt_free(m->origin.file);
    m->origin = origin;
    return BPT_OK;
}

bpt_status_t bpt_model_save_run(bpt_model_t *m, const char *path) {
    const char *folder;
    bool moved;
    BPT_TRY(bpt_model_ready(m));
    if (!path) return bpt_fail(BPT_ERR_USAGE, "bpt_model_save_run: the path is a null pointer");
    BPT_TRY(lock_run(m, path));
    bpt_run_state_t state = m->state;
    BPT_TRY(bpt_run_follow(m->saved_to, &moved));
    BPT_TRY(bpt_run_checkpoint_begin(m->saved_to, state.step, &folder));
    bpt_status_t status = write_checkpoint(m, folder, &state);
    if (status == BPT_OK) status = bpt_run_checkpoint_commit(m->saved_to, false, 0);
    if (status != BPT_OK) {
        bpt_run_checkpoint_abandon(m->saved_to);
        return bpt_context(status, "the checkpoint was not written");
    }
    m->state.sums = state.sums;
    return note_origin(m, bpt_run_path(m->saved_to));
}
