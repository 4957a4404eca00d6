// `bpt import`: a run directory from one safetensors file. Weights and vocabulary are checked against the configuration before anything
// is written. Knows no device.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "bpt/safetensors.h"
#include "models/config/config_json.h"
#include "models/config/model_file.h"
#include "models/config/params_of.h"
#include "tools/bpt/corpus/readers.h"
#include "tools/bpt/corpus/side_files.h"
#include "tools/bpt/corpus/transfer.h"
#include "tools/bpt/options/command.h"

typedef struct {
    const char *path;
    bpt_safetensors_t *file;
    bpt_model_config_t config;
    bpt_vocab_t *vocab;  // NULL: none
    cli_options_t said;  // unit, lower, eval-context: what the metadata say of how the model reads text
    bpt_params_t params;
    float *arena;
} model_file_t;

static bpt_status_t read_weights(const char *path, bool non_finite, model_file_t *m) {
    m->path = path;
    BPT_TRY(bpt_safetensors_open(path, &m->file));
    const char *config = bpt_safetensors_metadata(m->file, "config");
    if (config) BPT_TRY(cli_options_check_model(config, path));
    BPT_TRY(bpt_model_file_config(m->file, &m->config));
    BPT_TRY(bpt_model_params(&m->config, (bpt_frozen_t){0}, &m->params));
    BPT_TRY(bpt_alloc((size_t)m->params.elements, sizeof *m->arena, &m->arena));
    const bpt_param_set_t set = {.prefix = "", .arena = m->arena};
    return bpt_params_read(&m->params, path, &set, 1, non_finite, NULL);
}

// What the new run will read its texts by.
static bpt_status_t check_texts(model_file_t *m) {
    bpt_labels_t labels;
    bpt_vocab_t *source;
    BPT_TRY(cli_options_init(&m->said, CLI_TRAIN, "train"));
    BPT_TRY(cli_file_reading(m->file, &m->said));
    BPT_TRY(cli_check_stored_data(&m->said.data, &m->config, m->path));
    BPT_TRY(cli_file_vocab(m->file, &m->config, &m->said, &m->vocab));
    BPT_TRY(cli_file_source_vocab(m->file, &m->config, &m->said, &source));
    bpt_vocab_destroy(source);
    BPT_TRY(cli_file_labels(m->file, &m->config, &labels));
    bpt_labels_free(&labels);
    return BPT_OK;
}

static bpt_status_t write_side_file(const model_file_t *m, const char *key, const char *path, bool *written) {
    const char *text = bpt_safetensors_metadata(m->file, key);
    *written = text != NULL;
    return text ? bpt_file_write(path, text, strlen(text)) : BPT_OK;
}

static bpt_status_t write_config(const model_file_t *m, const char *path, bpt_run_origin_t *origin) {
    const int64_t context = m->said.data.eval_context;
    json_t *config;
    BPT_TRY(bpt_model_config_to_json(&m->config, &config));
    bpt_status_t status = bpt_json_set_text(config, "unit", bpt_unit_names[m->said.data.unit]);
    if (status == BPT_OK) status = bpt_json_set_bool(config, "lower", m->said.data.lower);
    if (status == BPT_OK && *m->said.data.sentencepiece)
        status = bpt_json_set_text(config, BPT_SENTENCEPIECE_KEY, m->said.data.sentencepiece);
    if (status == BPT_OK && context)
        status = bpt_json_set_int(config, "eval_context", context);  // what `bpt eval` uses unless told otherwise
    if (status == BPT_OK && bpt_safetensors_metadata(m->file, CLI_READING_KEY)) status = cli_options_to_file(&m->said, config);
    if (status == BPT_OK) status = bpt_run_config_write(path, config, origin);
    json_decref(config);
    return status;
}

static bpt_status_t write_model(const model_file_t *m, const char *folder, bpt_checksum_t *sum) {
    const bpt_param_set_t set = {.prefix = "", .arena = m->arena, .packed = bpt_params_are_packed(m->file)};
    char *path = NULL, *config = NULL;
    bpt_status_t status = bpt_path_format(&path, "%s/%s", folder, BPT_MODEL_FILE);
    if (status == BPT_OK) status = bpt_model_config_format(&m->config, &config);
    if (status == BPT_OK) status = bpt_params_write(&m->params, path, config, &set, 1, sum);
    bpt_free(path);
    bpt_free(config);
    return status;
}

static bpt_status_t write_checkpoint(const model_file_t *m, const bpt_run_origin_t *origin, bpt_run_t *run) {
    const char *folder;
    bpt_checksum_t sum;
    bpt_run_state_t state;
    BPT_TRY(bpt_run_checkpoint_begin(run, 0, &folder));
    bpt_run_state_init(&state, 0);
    BPT_TRY(bpt_run_sums_begin(run, &m->config, origin, &state.sums));
    BPT_TRY(write_model(m, folder, &sum));
    bpt_run_sums_add(&state.sums, BPT_RUN_MODEL, sum);
    BPT_TRY(bpt_run_state_write(folder, &state));
    return bpt_run_checkpoint_commit(run, false, 1);
}

static bpt_status_t write_run(const model_file_t *m, bpt_run_t *run) {
    bool has_vocab, has_source, has_labels;
    bpt_run_origin_t origin = {0};
    BPT_TRY(write_side_file(m, "vocab", bpt_run_vocab_path(run), &has_vocab));
    BPT_TRY(write_side_file(m, BPT_SOURCE_VOCAB_KEY, bpt_run_source_vocab_path(run), &has_source));
    BPT_TRY(bpt_side_subwords_to_run(m->vocab, run));
    BPT_TRY(write_side_file(m, "labels", bpt_run_labels_path(run), &has_labels));
    BPT_TRY(write_config(m, bpt_run_config_path(run), &origin));
    BPT_TRY(write_checkpoint(m, &origin, run));
    bpt_info("%s -> %s%s", m->path, bpt_run_path(run), has_vocab ? "" : " (without a vocabulary: use --unit ids)");
    return BPT_OK;
}

static bpt_status_t run_import(cli_options_t *o) {
    if (!*o->use.file) return bpt_fail(BPT_ERR_USAGE, "bpt import needs --out RUN");
    model_file_t m = {0};
    bpt_run_t *run = NULL;
    bpt_status_t status = read_weights(o->arguments[0], o->use.allow_non_finite, &m);
    if (status == BPT_OK) status = check_texts(&m);
    if (status == BPT_OK) status = cli_new_run(o->command_name, o->use.file, &run);
    if (status == BPT_OK) status = write_run(&m, run);
    bpt_run_close(run);
    bpt_vocab_destroy(m.vocab);
    bpt_free(m.arena);
    bpt_params_free(&m.params);
    if (m.said.command) cli_options_destroy(&m.said);
    bpt_safetensors_close(m.file);
    return status;
}

const cli_command_t cli_command_import = {
    .bit = CLI_IMPORT,
    .name = "import",
    .arguments = "FILE",
    .purpose = "create a run directory from a safetensors file",
    .description = "FILE must have the tensors under the names that `bpt export` writes, and the model's configuration in its "
                   "metadata. The new run can be used by eval, classify, generate and `train --init`. It has no optimiser state, so "
                   "`train --resume` refuses it. Weights that are not finite are refused, unless --allow-non-finite is given: the "
                   "results of such a model may be meaningless. Arrays of NumPy that are not contiguous, such as a transposed weight, must "
                   "go through numpy.ascontiguousarray before safetensors.numpy.save_file: version 0.8.0 writes other numbers without it.",
    .examples = "  bpt import model.safetensors --out run\n  bpt eval run --data ids.txt --unit ids\n",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_import,
};
