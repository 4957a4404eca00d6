// A trained model opened for use (see trained.h).
#include "tools/bpt/runs/trained.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/safetensors.h"
#include "models/api/same_texts.h"
#include "models/config/model_file.h"
#include "tools/bpt/corpus/readers.h"
#include "tools/bpt/corpus/side_files.h"
#include "tools/bpt/devices/device.h"

bpt_status_t cli_trained_open_run(const char *path, const char *checkpoint, cli_trained_t *t) {
    *t = (cli_trained_t){0};
    bpt_status_t status = cli_options_init(&t->stored, CLI_TRAIN, "train");
    if (status == BPT_OK) status = bpt_run_open(path, &t->run);
    if (status == BPT_OK) status = cli_options_from_file(&t->stored, bpt_run_config_path(t->run), CLI_FROM_RUN, false);
    if (status == BPT_OK) status = bpt_checkpoint_open(t->run, checkpoint, &t->checkpoint);
    if (status == BPT_OK) status = cli_check_reading(&t->checkpoint, &t->stored);
    if (status == BPT_OK) status = cli_check_stored_data(&t->stored.data, &t->checkpoint.config, bpt_run_config_path(t->run));
    if (status != BPT_OK) {
        cli_trained_close(t);
        return status;
    }
    t->config = t->checkpoint.config;
    t->unit = t->stored.data.unit;
    return BPT_OK;
}

bpt_status_t cli_trained_open_files(const cli_options_t *o, cli_trained_t *t) {
    return cli_trained_open_run(o->arguments[0], o->use.checkpoint && *o->use.checkpoint ? o->use.checkpoint : NULL, t);
}

static bpt_status_t plain_vocab(bpt_unit_t unit, int64_t limit, bpt_vocab_t **out) {
    BPT_TRY(bpt_vocab_create(unit, false, out));
    bpt_vocab_limit_ids(*out, limit);
    return bpt_vocab_freeze(*out);
}

bpt_status_t cli_trained_plain_vocab(cli_trained_t *t) {
    BPT_TRY(plain_vocab(t->unit, t->config.vocab, &t->vocab));
    return bpt_task_sides(bpt_task_of(&t->config)) == 2 ? plain_vocab(t->unit, t->config.source_vocab, &t->source_vocab) : BPT_OK;
}

// The vocabulary of the run, unless --unit asks for something that needs none.
static bpt_status_t open_vocab(const cli_options_t *o, cli_trained_t *t) {
    const char *path = bpt_run_vocab_path(t->run);
    const bool there = bpt_file_exists(path);
    if (cli_option_source(o, "unit") == CLI_FROM_FLAG) {
        if (o->data.unit != BPT_UNIT_IDS && o->data.unit != t->unit && there)
            return bpt_fail(BPT_ERR_USAGE, "--unit does not fit the vocabulary in %s; leave it out, or use ids", path);
        t->unit = o->data.unit;
    }
    if (t->unit == BPT_UNIT_IDS) return cli_trained_plain_vocab(t);
    if (there) BPT_TRY(cli_run_vocab(&t->checkpoint, t->unit, t->stored.data.lower, &t->vocab));
    if (there) return cli_run_source_vocab(&t->checkpoint, t->unit, t->stored.data.lower, &t->source_vocab);
    BPT_TRY(bpt_checkpoint_check(&t->checkpoint, BPT_RUN_VOCAB, path, NULL));
    if (t->unit != BPT_UNIT_BYTE)
        return bpt_fail(BPT_ERR_USAGE, "%s has no vocab.txt; use --unit ids and token numbers", bpt_run_path(t->run));
    if (t->config.vocab < 256)
        return bpt_fail(BPT_ERR_INPUT, "the model in %s has %" PRId64 " tokens, but there are 256 bytes; use --unit ids and token numbers",
                        t->checkpoint.folder, t->config.vocab);
    return cli_trained_plain_vocab(t);
}

bpt_status_t cli_trained_number_labels(cli_trained_t *t) { return bpt_labels_numbers(&t->labels, bpt_model_labels(&t->config)); }

// An exported file says in its metadata what a run has in files of its own. Without its words only numbers can be read.
static bpt_status_t read_metadata(const bpt_safetensors_t *file, cli_trained_t *t) {
    const char *path = bpt_safetensors_path(file), *config = bpt_safetensors_metadata(file, "config");
    if (config) BPT_TRY(cli_options_check_model(config, path));
    BPT_TRY(bpt_model_file_config(file, &t->config));
    BPT_TRY(cli_file_reading(file, &t->stored));
    t->unit = t->stored.data.unit;
    BPT_TRY(cli_file_labels(file, &t->config, &t->labels));
    if (!t->labels.count) BPT_TRY(cli_trained_number_labels(t));
    BPT_TRY(cli_file_vocab(file, &t->config, &t->stored, &t->vocab));
    BPT_TRY(cli_file_source_vocab(file, &t->config, &t->stored, &t->source_vocab));
    return t->vocab ? BPT_OK : cli_trained_plain_vocab(t);
}

bpt_status_t cli_trained_open_exported(const char *path, cli_trained_t *t) {
    bpt_safetensors_t *file;
    *t = (cli_trained_t){0};
    BPT_TRY(bpt_safetensors_open(path, &file));
    bpt_status_t status = cli_options_init(&t->stored, CLI_TRAIN, "train");
    if (status == BPT_OK) status = read_metadata(file, t);
    bpt_safetensors_close(file);
    return status;
}

static bpt_status_t open_labels(cli_trained_t *t) {
    const char *path = bpt_run_labels_path(t->run);
    if (!bpt_model_labels(&t->config)) return BPT_OK;
    if (bpt_file_exists(path)) return cli_run_labels(&t->checkpoint, &t->labels);
    BPT_TRY(bpt_checkpoint_check(&t->checkpoint, BPT_RUN_LABELS, path, NULL));
    return cli_trained_number_labels(t);
}

bpt_status_t cli_trained_open_texts(const cli_options_t *o, cli_trained_t *t) {
    BPT_TRY(open_vocab(o, t));
    return open_labels(t);
}

static bpt_status_t open_runner(const cli_options_t *o, bpt_device_t *device, cli_trained_t *t) {
    const bpt_runner_options_t options = {.step = {.precision = o->train.precision}, .weights = (bpt_weights_form_t)o->use.weights};
    BPT_TRY(bpt_runner_create(&t->config, &options, device, &t->runner));
    if (bpt_task_of(&t->config)->labelled) bpt_runner_set_labels(t->runner, (const char *const *)t->labels.name);
    return bpt_checkpoint_load(&t->checkpoint, t->runner);
}

// ---- Runs that answer together with the first

static bpt_status_t check_other(const cli_trained_t *t, const cli_trained_t *other) {
    BPT_TRY(bpt_same_vocab(t->vocab, other->vocab, "the vocabulary"));
    BPT_TRY(bpt_same_vocab(t->source_vocab, other->source_vocab, "the vocabulary of what is translated"));
    if (t->stored.data.lower != other->stored.data.lower)
        return bpt_fail(BPT_ERR_USAGE, "one model reads words in lower case, the other as they are; they need the same");
    if (t->stored.data.context_tokens != other->stored.data.context_tokens)
        return bpt_fail(BPT_ERR_USAGE, "the models were trained with other --context-tokens; they need the same");
    return bpt_same_labels(&t->labels, &other->labels);
}

static bpt_status_t open_other(const cli_options_t *o, const char *path, cli_trained_t *t, cli_trained_t *other) {
    BPT_TRY(cli_trained_open_run(path, NULL, other));
    BPT_TRY(cli_trained_open_texts(o, other));
    BPT_TRY(open_runner(o, t->device, other));
    BPT_TRY(bpt_runner_join(t->runner, other->runner));
    return check_other(t, other);
}

static bpt_status_t open_others(const cli_options_t *o, cli_trained_t *t) {
    const cli_texts_t *with = &o->use.with;
    if (!with->count) return BPT_OK;
    BPT_TRY(bpt_alloc(with->count, sizeof *t->others, &t->others));
    for (size_t i = 0; i < with->count; ++i) {
        ++t->n_others;
        BPT_TRY(bpt_context(open_other(o, with->item[i], t, &t->others[i]), "--with %s", with->item[i]));
    }
    return BPT_OK;
}

bpt_status_t cli_trained_open(const cli_options_t *o, cli_trained_t *t) {
    BPT_TRY(cli_trained_open_files(o, t));
    bpt_status_t status = cli_trained_open_texts(o, t);
    if (status == BPT_OK) status = cli_device_open(o, &t->device);
    if (status == BPT_OK) status = open_runner(o, t->device, t);
    if (status == BPT_OK) status = open_others(o, t);
    if (status != BPT_OK) cli_trained_close(t);
    return status;
}

// Texts that take minutes are refused unless they are asked for. Positions are a limit already.
enum { LONGEST_DENSE = 16384 };
static int64_t longest_text(const cli_options_t *o, const cli_trained_t *t) {
    const int64_t trained = t->stored.data.context;
    bool dense = bpt_model_is_dense(&t->config);
    for (size_t i = 0; i < t->n_others; ++i) dense = dense || bpt_model_is_dense(&t->others[i].config);
    if (cli_option_source(o, "longest") != CLI_FROM_DEFAULT) return o->use.longest;
    if (bpt_runner_positions(t->runner) || !dense) return 0;
    return trained > LONGEST_DENSE ? trained : LONGEST_DENSE;
}

bpt_room_t cli_trained_room(const cli_options_t *o, const cli_trained_t *t) {
    return (bpt_room_t){.positions = bpt_runner_positions(t->runner), .longest = longest_text(o, t)};
}

void cli_trained_close(cli_trained_t *t) {
    for (size_t i = 0; i < t->n_others; ++i) cli_trained_close(&t->others[i]);
    bpt_free(t->others);
    bpt_runner_destroy(t->runner);
    cli_device_close(t->device);
    bpt_vocab_destroy(t->vocab);
    bpt_vocab_destroy(t->source_vocab);
    bpt_labels_free(&t->labels);
    if (t->stored.command) cli_options_destroy(&t->stored);
    bpt_checkpoint_close(&t->checkpoint);
    bpt_run_close(t->run);
    *t = (cli_trained_t){0};
}
