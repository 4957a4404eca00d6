// How a model reads text (see side_texts.h).
#include "models/api/side_texts.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/base64.h"
#include "bpt/file.h"
#include "models/config/config_names.h"

enum { MAX_FILE_BYTES = 1 << 30 };

void bpt_side_texts_free(bpt_side_texts_t *t) {
    bpt_free(t->vocab);
    bpt_free(t->source_vocab);
    bpt_free(t->labels);
    bpt_free(t->sentencepiece);
    bpt_vocab_destroy(t->vocabulary);
    bpt_vocab_destroy(t->source_vocabulary);
    bpt_labels_free(&t->names);
    *t = (bpt_side_texts_t){0};
}

// ---- from text to vocabulary and names

static bpt_status_t check_count(const char *path, int64_t lines, const char *model, int64_t count, const char *what) {
    if (lines == count) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT,
                    "%s has %" PRId64 " lines, the model in %s has %" PRId64
                    " %s; they do not belong together: copy both from the same run",
                    path, lines, model, count, what);
}

bpt_status_t bpt_side_vocabulary(const bpt_range_t *text, bpt_unit_t unit, bool lower, const char *model, int64_t tokens,
                                 bpt_vocab_t **out) {
    *out = NULL;
    BPT_TRY(bpt_vocab_parse(text, unit, lower, out));
    const bpt_status_t status = check_count(text->path, bpt_vocab_size(*out), model, tokens, "tokens");
    if (status == BPT_OK) return BPT_OK;
    bpt_vocab_destroy(*out);
    *out = NULL;
    return status;
}

bpt_status_t bpt_side_names(const bpt_range_t *text, const char *model, int64_t classes, bpt_labels_t *out) {
    *out = (bpt_labels_t){0};
    BPT_TRY(bpt_labels_parse(text, out));
    const bpt_status_t status = check_count(text->path, (int64_t)out->count, model, classes, "classes");
    if (status != BPT_OK) bpt_labels_free(out);
    return status;
}

static bpt_status_t make_plain(bpt_unit_t unit, int64_t vocab, bpt_vocab_t **out) {
    BPT_TRY(bpt_vocab_create(unit, false, out));
    bpt_vocab_limit_ids(*out, vocab);
    return bpt_vocab_freeze(*out);
}

// Bytes and numbers need no text. A model without what its unit needs is of use all the same: it has no vocabulary. `what`: where the text
// is; `model`: the file or folder that the model is in.
static bpt_status_t make_vocabulary(bpt_side_texts_t *t, const char *what, const char *model, int64_t tokens) {
    if (t->unit == BPT_UNIT_IDS) return make_plain(t->unit, tokens, &t->vocabulary);
    if (!t->vocab) return t->unit == BPT_UNIT_BYTE && tokens >= 256 ? make_plain(t->unit, tokens, &t->vocabulary) : BPT_OK;
    const bpt_range_t range = bpt_range_of(what, t->vocab, strlen(t->vocab));
    return bpt_side_vocabulary(&range, t->unit, t->lower, model, tokens, &t->vocabulary);
}

static bpt_status_t make_source_vocabulary(bpt_side_texts_t *t, const char *what, const char *model, int64_t tokens) {
    if (!t->source_vocab || t->unit == BPT_UNIT_IDS) return BPT_OK;
    const bpt_range_t range = bpt_range_of(what, t->source_vocab, strlen(t->source_vocab));
    return bpt_side_vocabulary(&range, t->unit, t->lower, model, tokens, &t->source_vocabulary);
}

static bpt_status_t make_names(bpt_side_texts_t *t, const char *what, const char *model, int64_t classes) {
    if (!t->labels) return BPT_OK;
    const bpt_range_t range = bpt_range_of(what, t->labels, strlen(t->labels));
    return bpt_side_names(&range, model, classes, &t->names);
}

static bpt_status_t done(bpt_side_texts_t *t, bpt_status_t status) {
    if (status != BPT_OK) bpt_side_texts_free(t);
    return status;
}

static bpt_status_t set_unit(bpt_side_texts_t *t, const char *name) {
    int unit;
    const bpt_status_t status = bpt_name_parse("unit", bpt_unit_names, name, &unit);
    if (status != BPT_OK) return BPT_ERR_INPUT;
    t->unit = (bpt_unit_t)unit;
    return BPT_OK;
}

// ---- the model of subwords

static bool has_pieces(const bpt_vocab_t *vocab) { return vocab && bpt_unit_of(bpt_vocab_unit(vocab))->pieces; }

static bpt_status_t compare_version(const bpt_run_t *run) {
    const char *version = "", *path = bpt_run_config_path(run);
    json_t *config;
    BPT_TRY(bpt_json_read(path, &config));
    const bpt_status_t status = bpt_context(bpt_json_get_text(config, BPT_SENTENCEPIECE_KEY, &version), "%s", path);
    if (status == BPT_OK) bpt_subwords_compare_version(bpt_run_path(run), version);
    json_decref(config);
    return status;
}

bpt_status_t bpt_side_subwords_of_run(const bpt_checkpoint_t *c, bpt_vocab_t *vocab) {
    const char *path = bpt_run_subwords_path(c->run);
    char *model;
    size_t bytes;
    if (!has_pieces(vocab)) return BPT_OK;
    if (!bpt_file_exists(path)) {
        BPT_TRY(bpt_checkpoint_check(c, BPT_RUN_SUBWORDS, path, NULL));
        return bpt_fail(BPT_ERR_INPUT, "%s is missing, without which there are no subwords; copy it again, or use token numbers", path);
    }
    BPT_TRY(bpt_file_read(path, BPT_SUBWORD_FILE_BYTES, &model, &bytes));
    const bpt_checksum_t sum = bpt_checksum_of(model, bytes);
    bpt_status_t status = bpt_checkpoint_check(c, BPT_RUN_SUBWORDS, path, &sum);
    if (status == BPT_OK) status = bpt_vocab_take_subwords(vocab, path, model, bytes);
    bpt_free(model);
    return status == BPT_OK ? compare_version(c->run) : status;
}

bpt_status_t bpt_side_subwords_of_file(const bpt_safetensors_t *file, bpt_vocab_t *vocab) {
    static const char key[] = "metadata key \"" BPT_SUBWORD_KEY "\"";
    const char *text = bpt_safetensors_metadata(file, BPT_SUBWORD_KEY);
    char *model;
    size_t bytes;
    if (!has_pieces(vocab)) return BPT_OK;
    if (!text) return bpt_fail(BPT_ERR_INPUT, "the %s is missing, without which there are no subwords; use --unit ids", key);
    BPT_TRY(bpt_context(bpt_base64_decode(text, &model, &bytes), "its %s", key));
    const bpt_status_t status = bpt_vocab_take_subwords(vocab, key, model, bytes);
    bpt_free(model);
    if (status == BPT_OK) bpt_subwords_compare_version(bpt_safetensors_path(file), bpt_safetensors_metadata(file, BPT_SENTENCEPIECE_KEY));
    return status;
}

bpt_status_t bpt_side_subwords_to_file(const bpt_vocab_t *vocab, bpt_safetensors_writer_t *writer) {
    size_t bytes;
    char *text;
    const void *model = vocab ? bpt_vocab_subwords(vocab, &bytes) : NULL;
    if (!model) return BPT_OK;
    BPT_TRY(bpt_base64_encode(model, bytes, &text));
    const bpt_status_t status = bpt_safetensors_writer_metadata(writer, BPT_SUBWORD_KEY, text);
    bpt_free(text);
    return status;
}

bpt_status_t bpt_side_subwords_to_run(const bpt_vocab_t *vocab, const bpt_run_t *run) {
    size_t bytes;
    const void *model = vocab ? bpt_vocab_subwords(vocab, &bytes) : NULL;
    return model ? bpt_file_write(bpt_run_subwords_path(run), model, bytes) : BPT_OK;
}

// ---- runs

static bpt_status_t read_keys(const char *path, bpt_side_texts_t *t) {
    json_t *config;
    const char *unit = bpt_unit_names[BPT_UNIT_BYTE], *version = "";
    int64_t context = 0;
    BPT_TRY(bpt_json_read(path, &config));
    bpt_status_t status = bpt_json_get_text(config, "unit", &unit);
    if (status == BPT_OK) status = set_unit(t, unit);
    if (status == BPT_OK) status = bpt_json_get_bool(config, "lower", &t->lower);
    if (status == BPT_OK) status = bpt_json_get_int(config, "context", 0, INT64_MAX, &context);
    if (status == BPT_OK) status = bpt_json_get_int(config, "eval_context", 0, INT64_MAX, &t->eval_context);
    if (status == BPT_OK) status = bpt_json_get_text(config, BPT_SENTENCEPIECE_KEY, &version);
    if (status == BPT_OK && *version) status = bpt_strdup(version, &t->sentencepiece);
    if (!t->eval_context) t->eval_context = context;
    json_decref(config);
    return bpt_context(status, "%s", path);
}

// The text of a file beside the checkpoints, which is what its state.json lists.
static bpt_status_t read_file(const bpt_checkpoint_t *c, bpt_run_file_t file, const char *path, char **out) {
    size_t length;
    if (!bpt_file_exists(path)) return bpt_checkpoint_check(c, file, path, NULL);
    BPT_TRY(bpt_file_read(path, MAX_FILE_BYTES, out, &length));
    const bpt_checksum_t sum = bpt_checksum_of(*out, length);
    BPT_TRY(bpt_checkpoint_check(c, file, path, &sum));
    return strlen(*out) == length ? BPT_OK : bpt_fail(BPT_ERR_INPUT, "%s holds a NUL byte, so it is no text; copy it again", path);
}

bpt_status_t bpt_side_texts_of_run(const bpt_checkpoint_t *c, bpt_side_texts_t *t) {
    const char *vocab = bpt_run_vocab_path(c->run), *source = bpt_run_source_vocab_path(c->run), *labels = bpt_run_labels_path(c->run);
    *t = (bpt_side_texts_t){0};
    bpt_status_t status = read_keys(bpt_run_config_path(c->run), t);
    if (status == BPT_OK) status = read_file(c, BPT_RUN_VOCAB, vocab, &t->vocab);
    if (status == BPT_OK) status = make_vocabulary(t, vocab, c->folder, c->config.vocab);
    if (status == BPT_OK) status = bpt_side_subwords_of_run(c, t->vocabulary);
    if (status == BPT_OK) status = read_file(c, BPT_RUN_SOURCE_VOCAB, source, &t->source_vocab);
    if (status == BPT_OK) status = make_source_vocabulary(t, source, c->folder, c->config.source_vocab);
    if (status == BPT_OK) status = read_file(c, BPT_RUN_LABELS, labels, &t->labels);
    if (status == BPT_OK) status = make_names(t, labels, c->folder, bpt_model_labels(&c->config));
    return done(t, status);
}

bpt_status_t bpt_side_texts_to_run(const bpt_side_texts_t *t, const bpt_run_t *run, json_t *config) {
    if (t->vocab) BPT_TRY(bpt_file_write(bpt_run_vocab_path(run), t->vocab, strlen(t->vocab)));
    if (t->source_vocab) BPT_TRY(bpt_file_write(bpt_run_source_vocab_path(run), t->source_vocab, strlen(t->source_vocab)));
    BPT_TRY(bpt_side_subwords_to_run(t->vocabulary, run));
    if (t->labels) BPT_TRY(bpt_file_write(bpt_run_labels_path(run), t->labels, strlen(t->labels)));
    BPT_TRY(bpt_json_set_text(config, "unit", bpt_unit_names[t->unit]));
    BPT_TRY(bpt_json_set_bool(config, "lower", t->lower));
    if (t->sentencepiece) BPT_TRY(bpt_json_set_text(config, BPT_SENTENCEPIECE_KEY, t->sentencepiece));
    return t->eval_context ? bpt_json_set_int(config, "eval_context", t->eval_context) : BPT_OK;
}

// ---- model files

static bpt_status_t copy_metadata(const bpt_safetensors_t *file, const char *key, char **out) {
    const char *text = bpt_safetensors_metadata(file, key);
    return text ? bpt_strdup(text, out) : BPT_OK;
}

static bpt_status_t read_metadata(const bpt_safetensors_t *file, bpt_side_texts_t *t) {
    const char *unit = bpt_safetensors_metadata(file, "unit"), *lower = bpt_safetensors_metadata(file, "lower"),
               *context = bpt_safetensors_metadata(file, "eval_context");
    BPT_TRY(copy_metadata(file, "vocab", &t->vocab));
    BPT_TRY(copy_metadata(file, BPT_SOURCE_VOCAB_KEY, &t->source_vocab));
    BPT_TRY(copy_metadata(file, "labels", &t->labels));
    BPT_TRY(copy_metadata(file, BPT_SENTENCEPIECE_KEY, &t->sentencepiece));
    BPT_TRY(set_unit(t, unit ? unit : bpt_unit_names[BPT_UNIT_IDS]));
    t->lower = lower && !strcmp(lower, "true");
    t->eval_context = context ? strtoll(context, NULL, 10) : 0;
    return BPT_OK;
}

bpt_status_t bpt_side_texts_of_file(const bpt_safetensors_t *file, const bpt_model_config_t *config, bpt_side_texts_t *t) {
    const char *path = bpt_safetensors_path(file);
    *t = (bpt_side_texts_t){0};
    bpt_status_t status = read_metadata(file, t);
    if (status == BPT_OK) status = make_vocabulary(t, "its metadata key \"vocab\"", path, config->vocab);
    if (status == BPT_OK) status = bpt_side_subwords_of_file(file, t->vocabulary);
    if (status == BPT_OK) status = make_source_vocabulary(t, "its metadata key \"" BPT_SOURCE_VOCAB_KEY "\"", path, config->source_vocab);
    if (status == BPT_OK) status = make_names(t, "its metadata key \"labels\"", path, bpt_model_labels(config));
    return done(t, bpt_context(status, "%s", path));
}

bpt_status_t bpt_side_texts_to_file(const bpt_side_texts_t *t, bpt_safetensors_writer_t *writer) {
    char context[24];
    snprintf(context, sizeof context, "%" PRId64, t->eval_context);
    const char *const metadata[][2] = {{"unit", bpt_unit_names[t->unit]},
                                       {"lower", t->lower ? "true" : "false"},
                                       {"eval_context", t->eval_context ? context : NULL},
                                       {"vocab", t->vocab},
                                       {BPT_SOURCE_VOCAB_KEY, t->source_vocab},
                                       {BPT_SENTENCEPIECE_KEY, t->sentencepiece},
                                       {"labels", t->labels}};
    for (size_t i = 0; i < BPT_COUNT(metadata); ++i)
        if (metadata[i][1]) BPT_TRY(bpt_safetensors_writer_metadata(writer, metadata[i][0], metadata[i][1]));
    return bpt_side_subwords_to_file(t->vocabulary, writer);
}

// ---- new models

// Other programs read the vocabulary of bytes from a file like any other one.
static bpt_status_t write_out(bpt_side_texts_t *t) {
    bpt_strbuf_t text = {0};
    bpt_status_t status = bpt_vocab_format(t->vocabulary, &text);
    if (status == BPT_OK) status = bpt_strdup(text.data, &t->vocab);
    bpt_strbuf_free(&text);
    return status;
}

bpt_status_t bpt_side_texts_of_unit(const char *unit, const bpt_model_config_t *config, bpt_side_texts_t *t) {
    *t = (bpt_side_texts_t){0};
    BPT_TRY(set_unit(t, unit ? unit : bpt_unit_names[BPT_UNIT_IDS]));
    bpt_status_t status = make_vocabulary(t, "", "", config->vocab);
    if (status == BPT_OK && !t->vocabulary)
        status = t->unit == BPT_UNIT_BYTE
                     ? bpt_fail(BPT_ERR_INPUT, "unit byte needs a vocab of 256, not %" PRId64 "; or take ids", config->vocab)
                     : bpt_fail(BPT_ERR_INPUT, "unit %s needs a vocabulary, which a new model does not have; take byte or ids", unit);
    if (status == BPT_OK && t->unit != BPT_UNIT_IDS) status = write_out(t);
    return done(t, status);
}
