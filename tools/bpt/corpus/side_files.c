// What belongs to a run beside its checkpoints (see side_files.h).
#include "tools/bpt/corpus/side_files.h"

#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/base64.h"
#include "bpt/file.h"
#include "tools/bpt/corpus/transfer.h"

static bpt_status_t check_sum(const bpt_checkpoint_t *c, bpt_run_file_t file, const bpt_range_t *text) {
    const bpt_checksum_t sum = bpt_checksum_of(text->data, text->bytes);
    return bpt_checkpoint_check(c, file, text->path, &sum);
}

static bpt_status_t parse_vocab(const bpt_checkpoint_t *c, const bpt_range_t *text, bpt_unit_t unit, bool lower, bpt_vocab_t **out) {
    BPT_TRY(check_sum(c, BPT_RUN_VOCAB, text));
    return bpt_side_vocabulary(text, unit, lower, c->folder, c->config.vocab, out);
}

static bpt_status_t parse_source_vocab(const bpt_checkpoint_t *c, const bpt_range_t *text, bpt_unit_t unit, bool lower, bpt_vocab_t **out) {
    BPT_TRY(check_sum(c, BPT_RUN_SOURCE_VOCAB, text));
    return bpt_side_vocabulary(text, unit, lower, c->folder, c->config.source_vocab, out);
}

static bpt_status_t parse_labels(const bpt_checkpoint_t *c, const bpt_range_t *text, bpt_labels_t *out) {
    BPT_TRY(check_sum(c, BPT_RUN_LABELS, text));
    return bpt_side_names(text, c->folder, bpt_model_labels(&c->config), out);
}

static bpt_status_t drop_vocab(bpt_status_t status, bpt_vocab_t **out) {
    bpt_vocab_destroy(*out);
    *out = NULL;
    return status;
}

bpt_status_t cli_run_vocab(const bpt_checkpoint_t *c, bpt_unit_t unit, bool lower, bpt_vocab_t **out) {
    bpt_text_t *text;
    *out = NULL;
    BPT_TRY(bpt_text_open(bpt_run_vocab_path(c->run), &text));
    const bpt_range_t range = bpt_text_range(text);
    bpt_status_t status = parse_vocab(c, &range, unit, lower, out);
    bpt_text_close(text);
    if (status == BPT_OK) status = bpt_side_subwords_of_run(c, *out);
    return status == BPT_OK ? BPT_OK : drop_vocab(status, out);
}

bpt_status_t cli_run_source_vocab(const bpt_checkpoint_t *c, bpt_unit_t unit, bool lower, bpt_vocab_t **out) {
    const char *path = bpt_run_source_vocab_path(c->run);
    bpt_text_t *text;
    *out = NULL;
    if (!bpt_file_exists(path)) return bpt_checkpoint_check(c, BPT_RUN_SOURCE_VOCAB, path, NULL);
    BPT_TRY(bpt_text_open(path, &text));
    const bpt_range_t range = bpt_text_range(text);
    const bpt_status_t status = parse_source_vocab(c, &range, unit, lower, out);
    bpt_text_close(text);
    return status == BPT_OK ? BPT_OK : drop_vocab(status, out);
}

bpt_status_t cli_run_labels(const bpt_checkpoint_t *c, bpt_labels_t *out) {
    bpt_text_t *text;
    *out = (bpt_labels_t){0};
    BPT_TRY(bpt_text_open(bpt_run_labels_path(c->run), &text));
    const bpt_range_t range = bpt_text_range(text);
    const bpt_status_t status = parse_labels(c, &range, out);
    bpt_text_close(text);
    return status;
}

static bpt_status_t check_text(const bpt_checkpoint_t *c, bpt_run_file_t file, const bpt_range_t *text, bpt_unit_t unit, bool lower) {
    bpt_vocab_t *vocab = NULL;
    bpt_labels_t labels = {0};
    bpt_status_t status;
    if (file == BPT_RUN_LABELS)
        status = parse_labels(c, text, &labels);
    else if (unit == BPT_UNIT_IDS)  // such a run may keep a vocabulary for other programs
        status = check_sum(c, file, text);
    else if (file == BPT_RUN_SOURCE_VOCAB)
        status = parse_source_vocab(c, text, unit, lower, &vocab);
    else
        status = parse_vocab(c, text, unit, lower, &vocab);
    bpt_vocab_destroy(vocab);
    bpt_labels_free(&labels);
    return status;
}

bpt_status_t cli_run_text(const bpt_checkpoint_t *c, bpt_run_file_t file, bpt_unit_t unit, bool lower, char **out) {
    const char *path = file == BPT_RUN_VOCAB          ? bpt_run_vocab_path(c->run)
                       : file == BPT_RUN_SOURCE_VOCAB ? bpt_run_source_vocab_path(c->run)
                                                      : bpt_run_labels_path(c->run);
    size_t length;
    *out = NULL;
    if (!bpt_file_exists(path)) return bpt_checkpoint_check(c, file, path, NULL);
    BPT_TRY(bpt_file_read(path, CLI_MAX_SIDE_FILE_BYTES, out, &length));
    const bpt_range_t text = bpt_range_of(path, *out, length);
    const bpt_status_t status = check_text(c, file, &text, unit, lower);
    if (status == BPT_OK) return BPT_OK;
    bpt_free(*out);
    *out = NULL;
    return status;
}

bpt_status_t cli_run_subword_model(const bpt_checkpoint_t *c, char **model, size_t *bytes) {
    const char *path = bpt_run_subwords_path(c->run);
    *model = NULL;
    if (!bpt_file_exists(path)) return bpt_checkpoint_check(c, BPT_RUN_SUBWORDS, path, NULL);
    BPT_TRY(bpt_file_read(path, BPT_SUBWORD_FILE_BYTES, model, bytes));
    const bpt_checksum_t sum = bpt_checksum_of(*model, *bytes);
    const bpt_status_t status = bpt_checkpoint_check(c, BPT_RUN_SUBWORDS, path, &sum);
    if (status == BPT_OK) return BPT_OK;
    bpt_free(*model);
    *model = NULL;
    return status;
}

bpt_status_t cli_run_subwords(const bpt_checkpoint_t *c, char **out) {
    char *model;
    size_t bytes;
    *out = NULL;
    BPT_TRY(cli_run_subword_model(c, &model, &bytes));
    const bpt_status_t status = model ? bpt_base64_encode(model, bytes, out) : BPT_OK;
    bpt_free(model);
    return status;
}

bpt_status_t cli_check_reading(const bpt_checkpoint_t *c, const cli_options_t *stored) {
    char *text;
    if (!c->state.sums.listed[BPT_RUN_READING]) return BPT_OK;
    BPT_TRY(cli_options_reading(stored, &text));
    const bpt_checksum_t sum = bpt_checksum_of(text, strlen(text));
    const bpt_status_t status = bpt_checkpoint_check(c, BPT_RUN_READING, bpt_run_config_path(c->run), &sum);
    bpt_free(text);
    return status;
}

// ---- Model files that are in no run

bpt_status_t cli_file_reading(const bpt_safetensors_t *file, cli_options_t *said) {
    static const char *const keys[][2] = {
        {"unit", "unit"}, {"lower", "lower"}, {"eval_context", "eval-context"}, {BPT_SENTENCEPIECE_KEY, BPT_SENTENCEPIECE_KEY}};
    for (size_t i = 0; i < BPT_COUNT(keys); ++i) {
        const char *text = bpt_safetensors_metadata(file, keys[i][0]);
        char where[64];
        snprintf(where, sizeof where, "metadata key \"%s\"", keys[i][0]);
        if (text && cli_option_set(said, cli_option_find(CLI_TRAIN, keys[i][1]), text, CLI_FROM_FILE, where) != BPT_OK)
            return bpt_fail(BPT_ERR_INPUT, "%s: %s", bpt_safetensors_path(file), bpt_error_message());
    }
    const char *reading = bpt_safetensors_metadata(file, CLI_READING_KEY);
    if (reading)
        BPT_TRY(bpt_context(cli_options_of_file(said, reading, "metadata key \"" CLI_READING_KEY "\""), "%s", bpt_safetensors_path(file)));
    const bool whole = !bpt_unit_of(said->data.unit)->pieces || bpt_safetensors_metadata(file, BPT_SUBWORD_KEY);
    if (!bpt_safetensors_metadata(file, "unit") || !bpt_safetensors_metadata(file, "vocab") || !whole) said->data.unit = BPT_UNIT_IDS;
    return BPT_OK;
}

bpt_status_t cli_file_vocab(const bpt_safetensors_t *file, const bpt_model_config_t *config, const cli_options_t *said, bpt_vocab_t **out) {
    const char *text = bpt_safetensors_metadata(file, "vocab"), *path = bpt_safetensors_path(file);
    *out = NULL;
    if (said->data.unit == BPT_UNIT_IDS) return BPT_OK;
    const bpt_range_t range = bpt_range_of("its metadata key \"vocab\"", text, strlen(text));
    bpt_status_t status = bpt_side_vocabulary(&range, said->data.unit, said->data.lower, path, config->vocab, out);
    if (status == BPT_OK) status = bpt_side_subwords_of_file(file, *out);
    return status == BPT_OK ? BPT_OK : drop_vocab(bpt_context(status, "%s", path), out);
}

bpt_status_t cli_file_source_vocab(const bpt_safetensors_t *file, const bpt_model_config_t *config, const cli_options_t *said,
                                   bpt_vocab_t **out) {
    static const char key[] = "its metadata key \"" BPT_SOURCE_VOCAB_KEY "\"";
    const char *text = bpt_safetensors_metadata(file, BPT_SOURCE_VOCAB_KEY), *path = bpt_safetensors_path(file);
    *out = NULL;
    if (said->data.unit == BPT_UNIT_IDS || !text) return BPT_OK;
    const bpt_range_t range = bpt_range_of(key, text, strlen(text));
    return bpt_context(bpt_side_vocabulary(&range, said->data.unit, said->data.lower, path, config->source_vocab, out), "%s", path);
}

bpt_status_t cli_file_labels(const bpt_safetensors_t *file, const bpt_model_config_t *config, bpt_labels_t *out) {
    const char *text = bpt_safetensors_metadata(file, "labels"), *path = bpt_safetensors_path(file);
    *out = (bpt_labels_t){0};
    if (!text) return BPT_OK;
    if (!bpt_model_labels(config))
        return bpt_fail(BPT_ERR_INPUT, "%s: the metadata key \"labels\" is there, but the model is %s", path, bpt_task_of(config)->model);
    const bpt_range_t range = bpt_range_of("its metadata key \"labels\"", text, strlen(text));
    return bpt_context(bpt_side_names(&range, path, bpt_model_labels(config), out), "%s", path);
}
