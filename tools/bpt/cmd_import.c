// `bpt import`: a run directory from one safetensors file. Weights and vocabulary are checked against the configuration before anything
// is written. Knows no device.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "bpt/safetensors.h"
#include "data/text.h"
#include "data/vocab.h"
#include "models/config_json.h"
#include "models/config_names.h"
#include "models/model.h"
#include "models/train/run_dir.h"
#include "models/train/run_state.h"
#include "tools/bpt/program.h"
#include "tools/bpt/transfer.h"

typedef struct {
    const char *path;
    bpt_safetensors_t *file;
    bpt_model_config_t config;
    bpt_params_t params;
    float *arena;
} model_file_t;

static bpt_status_t read_weights(const char *path, model_file_t *m) {
    m->path = path;
    BPT_TRY(bpt_safetensors_open(path, &m->file));
    const char *config = bpt_safetensors_metadata(m->file, "config");
    if (!config) return bpt_fail(BPT_ERR_INPUT, "%s: the metadata key \"config\" is missing, so the model's shape is not known", path);
    BPT_TRY(bpt_model_config_parse(config, path, &m->config));
    BPT_TRY(bpt_model_params(&m->config, (bpt_frozen_t){0}, &m->params));
    BPT_TRY(bpt_alloc((size_t)m->params.elements, sizeof *m->arena, &m->arena));
    const bpt_param_set_t set = {.prefix = "", .arena = m->arena};
    return bpt_params_read(&m->params, path, &set, 1);
}

static bool is_lower(const model_file_t *m) {
    const char *lower = bpt_safetensors_metadata(m->file, "lower");
    return lower && !strcmp(lower, "true");
}

// The vocabulary, read as the new run will read it.
static bpt_status_t check_vocab(const model_file_t *m) {
    const char *text = bpt_safetensors_metadata(m->file, "vocab"), *name = bpt_safetensors_metadata(m->file, "unit");
    int unit;
    if (!text || !name) return BPT_OK;
    if (bpt_name_parse("unit", cli_unit_names, name, &unit) != BPT_OK)
        return bpt_fail(BPT_ERR_INPUT, "%s: the metadata key \"unit\" is \"%.40s\"; it must be byte, char, word or ids", m->path, name);
    if (unit == BPT_UNIT_IDS) return BPT_OK;
    bpt_vocab_t *vocab;
    const bpt_range_t range = bpt_range_of("its metadata key \"vocab\"", text, strlen(text));
    BPT_TRY(bpt_context(bpt_vocab_parse(&range, (bpt_unit_t)unit, is_lower(m), &vocab), "%s", m->path));
    const int64_t size = bpt_vocab_size(vocab);
    bpt_vocab_destroy(vocab);
    if (size <= m->config.vocab) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s: the vocabulary has %" PRId64 " tokens, the model %" PRId64 "; they do not belong together", m->path,
                    size, m->config.vocab);
}

static bpt_status_t write_side_file(const model_file_t *m, const char *key, const char *path, bool *written) {
    const char *text = bpt_safetensors_metadata(m->file, key);
    *written = text != NULL;
    return text ? bpt_file_write(path, text, strlen(text)) : BPT_OK;
}

// What `bpt eval` uses unless told otherwise; a file from elsewhere may not say it.
static bpt_status_t set_context(json_t *config, const char *text) {
    char *end;
    const long long context = text ? strtoll(text, &end, 10) : 0;
    if (context < 1 || *end || context > CLI_MAX_CONTEXT) return BPT_OK;
    return bpt_json_set_int(config, "eval_context", context);
}

static bpt_status_t write_config(const model_file_t *m, bool has_vocab, const char *path) {
    const char *unit = bpt_safetensors_metadata(m->file, "unit");
    json_t *config;
    BPT_TRY(bpt_model_config_to_json(&m->config, &config));
    bpt_status_t status = bpt_json_set_text(config, "unit", has_vocab && unit ? unit : "ids");
    if (status == BPT_OK) status = bpt_json_set_bool(config, "lower", is_lower(m));
    if (status == BPT_OK) status = set_context(config, bpt_safetensors_metadata(m->file, "eval_context"));
    if (status == BPT_OK) status = bpt_json_write(path, config);
    json_decref(config);
    return status;
}

static bpt_status_t write_checkpoint(const model_file_t *m, bpt_run_t *run) {
    const char *folder;
    char *path = NULL, *config = NULL;
    bpt_run_state_t state;
    BPT_TRY(bpt_run_checkpoint_begin(run, 0, &folder));
    const bpt_param_set_t set = {.prefix = "", .arena = m->arena};
    bpt_run_state_init(&state, 0);
    bpt_status_t status = bpt_path_format(&path, "%s/%s", folder, BPT_MODEL_FILE);
    if (status == BPT_OK) status = bpt_model_config_format(&m->config, &config);
    if (status == BPT_OK) status = bpt_params_write(&m->params, path, config, &set, 1);
    if (status == BPT_OK) status = bpt_run_state_write(folder, &state);
    bpt_free(path);
    bpt_free(config);
    return status == BPT_OK ? bpt_run_checkpoint_commit(run, false, 1) : status;
}

static bpt_status_t write_run(const model_file_t *m, bpt_run_t *run) {
    bool has_vocab, has_labels;
    BPT_TRY(write_side_file(m, "vocab", bpt_run_vocab_path(run), &has_vocab));
    BPT_TRY(write_side_file(m, "labels", bpt_run_labels_path(run), &has_labels));
    BPT_TRY(write_config(m, has_vocab, bpt_run_config_path(run)));
    BPT_TRY(write_checkpoint(m, run));
    bpt_info("%s -> %s%s", m->path, bpt_run_path(run), has_vocab ? "" : " (without a vocabulary: use --unit ids)");
    return BPT_OK;
}

static bpt_status_t create_run(const char *path, bpt_run_t **out) {
    bpt_run_t *there;
    if (bpt_run_open(path, &there) != BPT_OK) {
        bpt_error_clear();
        return bpt_run_create(path, out);
    }
    bpt_run_close(there);
    return bpt_fail(BPT_ERR_USAGE, "%s already holds a run, and bpt import makes a new one; name another folder in --out", path);
}

static bpt_status_t run_import(cli_options_t *o) {
    if (!*o->use.file) return bpt_fail(BPT_ERR_USAGE, "bpt import needs --out RUN");
    model_file_t m = {0};
    bpt_run_t *run = NULL;
    bpt_status_t status = read_weights(o->arguments[0], &m);
    if (status == BPT_OK) status = check_vocab(&m);
    if (status == BPT_OK) status = create_run(o->use.file, &run);
    if (status == BPT_OK) status = write_run(&m, run);
    bpt_run_close(run);
    bpt_free(m.arena);
    bpt_params_free(&m.params);
    bpt_safetensors_close(m.file);
    return status;
}

const cli_command_t cli_command_import = {
    .bit = CLI_IMPORT,
    .name = "import",
    .arguments = "FILE",
    .purpose = "make a run directory from a safetensors file",
    .description = "FILE has the tensors under the names that `bpt export` writes and the model's configuration in its metadata. The new "
                   "run is accepted by "
                   "eval, classify, generate and `train --init`; it has no state of training, so `train --resume` refuses it.",
    .examples = "  bpt import model.safetensors --out run\n  bpt eval run --data ids.txt --unit ids\n",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_import,
};
