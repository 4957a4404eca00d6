// Opening and closing models, and what they are (see model.h).
#include "models/api/model.h"

#include <float.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/json.h"
#include "models/api/model_internal.h"
#include "models/api/same_texts.h"
#include "models/config/config_json.h"
#include "models/config/model_file.h"
#include "models/optimizers/optimizer.h"

// ---- the device

static bpt_status_t open_device(bpt_model_t *m) {
    const bpt_device_options_t options = {
        .threads = m->options.threads, .submit_ms = m->losses.submit_ms, .memory_bytes = m->options.memory_bytes};
    BPT_TRY(m->backend->open(m->options.device, &options, &m->device));
    return bpt_device_check_precision(m->device, m->options.precision);
}

static void close_device(bpt_model_t *m) {
    bpt_runner_destroy(m->runner);
    for (int64_t i = 0; i < m->n_others; ++i) {
        bpt_runner_destroy(m->others[i]->runner);
        m->others[i]->runner = NULL;
        m->others[i]->device = NULL;
    }
    if (m->device) m->device->backend->close(m->device);
    m->runner = NULL;
    m->device = NULL;
}

// ---- weights and the state of training

static bpt_status_t make_runner(bpt_model_t *m) {
    const bpt_model_options_t *o = &m->options;
    const bpt_runner_options_t options = {.step = {.precision = o->precision,
                                                   .recompute = o->recompute,
                                                   .optimizer = {.kind = m->optimizer,
                                                                 .beta1 = (float)o->beta1,
                                                                 .beta2 = (float)o->beta2,
                                                                 .eps = (float)o->eps,
                                                                 .weight_decay = (float)o->weight_decay,
                                                                 .momentum = (float)o->momentum}},
                                          .frozen = {.embed = o->freeze_embed, .rel = o->freeze_rel},
                                          .weights = o->weights_q8 ? BPT_WEIGHTS_Q8 : BPT_WEIGHTS_F32};
    return bpt_runner_create(&m->config, &options, m->device, &m->runner);
}

static void start_training(bpt_model_t *m) {
    bpt_run_state_init(&m->state, m->origin.seed);
    if (m->options.precision == BPT_F16) m->state.loss_scale = 65536;
}

static bpt_status_t load_checkpoint(bpt_model_t *m, const bpt_checkpoint_t *c) {
    BPT_TRY(bpt_checkpoint_load(c, m->runner));
    if (m->options.trains) BPT_TRY(bpt_context(bpt_checkpoint_load_moments(c, m->runner), "the state of training"));
    m->state = c->state;
    return BPT_OK;
}

static bpt_status_t load_run(bpt_model_t *m) {
    bpt_run_t *run;
    bpt_checkpoint_t checkpoint;
    BPT_TRY(bpt_run_open(m->origin.run, &run));
    bpt_status_t status = bpt_checkpoint_open(run, m->origin.checkpoint, &checkpoint);
    if (status == BPT_OK) {
        status = bpt_model_config_compare(&m->config, "the model", &checkpoint.config, checkpoint.folder);
        if (status == BPT_OK) status = load_checkpoint(m, &checkpoint);
        bpt_checkpoint_close(&checkpoint);
    }
    bpt_run_close(run);
    return status;
}

static bpt_status_t load(bpt_model_t *m) {
    if (m->origin.run) return load_run(m);
    start_training(m);
    return m->origin.file ? bpt_runner_load(m->runner, m->origin.file, false, NULL) : bpt_runner_init(m->runner, m->origin.seed);
}

static bpt_status_t start_other(bpt_model_t *m, bpt_model_t *other) {
    other->device = m->device;
    BPT_TRY(make_runner(other));
    BPT_TRY(load(other));
    return bpt_runner_join(m->runner, other->runner);
}

static bpt_status_t start_others(bpt_model_t *m) {
    for (int64_t i = 0; i < m->n_others; ++i) {
        const bpt_origin_t *origin = &m->others[i]->origin;
        BPT_TRY(bpt_context(start_other(m, m->others[i]), "%s", origin->run ? origin->run : origin->file));
    }
    return BPT_OK;
}

// From the origin to a model that is ready, the first time and after each loss of the device.
static bpt_status_t start(bpt_model_t *m) {
    bpt_status_t status = open_device(m);
    if (status == BPT_OK) status = make_runner(m);
    if (status == BPT_OK) status = load(m);
    if (status == BPT_OK) status = start_others(m);
    if (status != BPT_OK) close_device(m);
    return status;
}

bpt_status_t bpt_model_recover(bpt_model_t *m) {
    if (!m) return bpt_fail(BPT_ERR_USAGE, "the model is a null pointer");
    if (m->generators)
        return bpt_fail(BPT_ERR_USAGE, "%" PRId64 " generators still hold memory of the lost device; destroy them first", m->generators);
    close_device(m);
    if (!bpt_device_losses_add(&m->losses))
        return bpt_device_losses_explain(&m->losses, bpt_fail(BPT_ERR_DEVICE_LOST, "it is not opened again"));
    return start(m);
}

// ---- what a path holds

static bpt_status_t describe_run(bpt_model_t *m) {
    bpt_run_t *run;
    bpt_checkpoint_t checkpoint;
    BPT_TRY(bpt_run_open(m->origin.run, &run));
    bpt_status_t status = bpt_checkpoint_open(run, m->origin.checkpoint, &checkpoint);
    if (status == BPT_OK) {
        m->config = checkpoint.config;
        status = bpt_side_texts_of_run(&checkpoint, &m->texts);
        bpt_checkpoint_close(&checkpoint);
    }
    bpt_run_close(run);
    return status;
}

static bpt_status_t describe_file(bpt_model_t *m) {
    bpt_safetensors_t *file;
    BPT_TRY(bpt_safetensors_open(m->origin.file, &file));
    bpt_status_t status = bpt_model_file_config(file, &m->config);
    if (status == BPT_OK) status = bpt_side_texts_of_file(file, &m->config, &m->texts);
    bpt_safetensors_close(file);
    return status;
}

// A key that says nothing about this model is a mistake of the caller's.
static bpt_status_t check_keys(const json_t *given, const bpt_model_config_t *config, const char *where) {
    json_t *applies;
    const char *key;
    json_t *value;
    BPT_TRY(bpt_model_config_to_json(config, &applies));
    bpt_status_t status = BPT_OK;
    json_object_foreach((json_t *)given, key, value) {
        if (status == BPT_OK && !json_object_get(applies, key))
            status = bpt_fail(BPT_ERR_INPUT, "%s: key \"%.60s\" is unknown or does not apply to this model", where, key);
    }
    json_decref(applies);
    return status;
}

// The key `unit` stands beside those of the model.
static bpt_status_t read_new(bpt_model_t *m, json_t *object, const char *where) {
    const char *unit = NULL;
    char word[16] = "";
    if (!json_is_object(object)) return bpt_fail(BPT_ERR_INPUT, "%s is not a JSON object", where);
    BPT_TRY(bpt_context(bpt_json_get_text(object, "unit", &unit), "%s", where));
    if (unit) snprintf(word, sizeof word, "%s", unit);
    json_object_del(object, "unit");
    BPT_TRY(bpt_model_config_from_json(object, where, &m->config));
    BPT_TRY(check_keys(object, &m->config, where));
    return bpt_context(bpt_side_texts_of_unit(*word ? word : NULL, &m->config, &m->texts), "%s", where);
}

static bpt_status_t describe_new(bpt_model_t *m, const char *text) {
    static const char where[] = "the configuration";
    json_t *object;
    BPT_TRY(bpt_json_parse(text, strlen(text), where, &object));
    const bpt_status_t status = read_new(m, object, where);
    json_decref(object);
    return status;
}

// ---- opening

bool bpt_is_amount(double x) { return x >= 0 && x <= (double)FLT_MAX; }
static bool is_rate(double x) { return x >= 0 && x < 1 && (float)x < 1; }

static bpt_status_t check_options(const bpt_model_options_t *o) {
    if (o->version != BPT_MODEL_VERSION)
        return bpt_fail(BPT_ERR_USAGE, "the options are of version %u, this library knows %d; set them by bpt_model_options()", o->version,
                        BPT_MODEL_VERSION);
    if (!o->backend) return bpt_fail(BPT_ERR_USAGE, "the options name no backend");
    if (o->device < 0) return bpt_fail(BPT_ERR_USAGE, "device %d is not possible; devices are numbered from 0", o->device);
    if (o->precision != BPT_F32 && o->precision != BPT_BF16 && o->precision != BPT_F16)
        return bpt_fail(BPT_ERR_USAGE, "the precision must be BPT_F32, BPT_BF16 or BPT_F16");
    if (o->trains && o->weights_q8)
        return bpt_fail(BPT_ERR_USAGE, "weights of 8 bits are for use, not for training; leave weights_q8 or trains out");
    if (o->with_count < 0 || (o->with_count && !o->with))
        return bpt_fail(BPT_ERR_USAGE, "with_count is %" PRId64 " and with %s", o->with_count, o->with ? "is given" : "a null pointer");
    if (o->trains && o->with_count) return bpt_fail(BPT_ERR_USAGE, "a model trains alone: leave with or trains out");
    if (o->batch_tokens < 1) return bpt_fail(BPT_ERR_USAGE, "batch_tokens is %" PRId64 "; it must be 1 or more", o->batch_tokens);
    if (!bpt_is_amount(o->submit_ms))
        return bpt_fail(BPT_ERR_USAGE, "submit_ms is %g; it must be a finite number, 0 or more", o->submit_ms);
    if (!o->optimizer) return bpt_fail(BPT_ERR_USAGE, "the options name no optimizer");
    if (!is_rate(o->momentum)) return bpt_fail(BPT_ERR_USAGE, "momentum is %g; it must be in [0, 1), as a float", o->momentum);
    if (!is_rate(o->beta1) || !is_rate(o->beta2) || !bpt_is_amount(o->eps) || (float)o->eps == 0 || !bpt_is_amount(o->weight_decay))
        return bpt_fail(BPT_ERR_USAGE,
                        "beta1 and beta2 must be in [0, 1), eps finite and more than 0, weight_decay finite and 0 or more, as floats");
    return BPT_OK;
}

static bpt_status_t begin(const bpt_model_options_t *options, bpt_model_t **out) {
    const bpt_model_options_t defaults = bpt_model_options(), *o = options ? options : &defaults;
    bpt_model_t *m;
    BPT_TRY(check_options(o));
    BPT_TRY(bpt_alloc(1, sizeof *m, &m));
    m->options = *o;
    m->losses.submit_ms = o->submit_ms;
    bpt_status_t status = bpt_backend_named(m->options.backend, &m->backend);
    if (status == BPT_OK) status = bpt_optimizer_named(m->options.optimizer, &m->optimizer);
    if (status == BPT_OK)
        *out = m;
    else
        bpt_model_close(m);
    return status;
}

static bpt_status_t finish(bpt_model_t *m, bpt_status_t status, bpt_model_t **out) {
    if (status == BPT_OK) status = bpt_model_config_format(&m->config, &m->config_text);
    if (status == BPT_OK) status = start(m);
    if (status == BPT_OK)
        *out = m;
    else
        bpt_model_close(m);
    return status;
}

static bpt_status_t describe(bpt_model_t *m, const char *path) {
    const bool run = bpt_folder_exists(path);
    BPT_TRY(bpt_strdup(path, run ? &m->origin.run : &m->origin.file));
    if (!run) return describe_file(m);
    if (m->options.checkpoint) BPT_TRY(bpt_strdup(m->options.checkpoint, &m->origin.checkpoint));
    return describe_run(m);
}

static bpt_status_t describe_other(const bpt_model_t *m, const char *path, bpt_model_t *other) {
    other->options = m->options;
    other->options.checkpoint = NULL;
    other->options.with_count = 0;
    BPT_TRY(describe(other, path));
    BPT_TRY(bpt_same_vocab(m->texts.vocabulary, other->texts.vocabulary, "the vocabulary"));
    BPT_TRY(bpt_same_vocab(m->texts.source_vocabulary, other->texts.source_vocabulary, "the vocabulary of what is translated"));
    return bpt_same_labels(&m->texts.names, &other->texts.names);
}

static bpt_status_t describe_others(bpt_model_t *m) {
    const bpt_model_options_t *o = &m->options;
    BPT_TRY(bpt_alloc((size_t)o->with_count, sizeof(bpt_model_t *), &m->others));
    for (int64_t i = 0; i < o->with_count; ++i) {
        if (!o->with[i]) return bpt_fail(BPT_ERR_USAGE, "with[%" PRId64 "] is a null pointer", i);
        BPT_TRY(bpt_alloc(1, sizeof(bpt_model_t), &m->others[i]));
        ++m->n_others;
        BPT_TRY(bpt_context(describe_other(m, o->with[i], m->others[i]), "%s", o->with[i]));
    }
    return BPT_OK;
}

bpt_status_t bpt_model_open(const char *path, const bpt_model_options_t *options, bpt_model_t **out) {
    bpt_model_t *m;
    if (!path || !out) return bpt_fail(BPT_ERR_USAGE, "bpt_model_open: path and out must not be null pointers");
    BPT_TRY(begin(options, &m));
    bpt_status_t status = describe(m, path);
    if (status == BPT_OK) status = describe_others(m);
    return finish(m, status, out);
}

bpt_status_t bpt_model_create(const char *config, uint64_t seed, const bpt_model_options_t *options, bpt_model_t **out) {
    bpt_model_t *m;
    if (!config || !out) return bpt_fail(BPT_ERR_USAGE, "bpt_model_create: config and out must not be null pointers");
    if (options && options->with_count) return bpt_fail(BPT_ERR_USAGE, "a new model trains, and a model trains alone: leave with out");
    BPT_TRY(begin(options, &m));
    m->options.trains = true;
    m->origin.seed = seed;
    return finish(m, describe_new(m, config), out);
}

void bpt_model_close(bpt_model_t *m) {
    if (!m) return;
    close_device(m);
    for (int64_t i = 0; i < m->n_others; ++i) bpt_model_close(m->others[i]);
    bpt_free(m->others);
    bpt_run_close(m->saved_to);
    bpt_side_texts_free(&m->texts);
    bpt_free(m->origin.run);
    bpt_free(m->origin.checkpoint);
    bpt_free(m->origin.file);
    bpt_free(m->config_text);
    bpt_free(m);
}

// ---- what a model is

const char *bpt_model_config(const bpt_model_t *m) { return m ? m->config_text : NULL; }
int64_t bpt_model_vocabulary(const bpt_model_t *m) { return m ? m->config.vocab : 0; }
int64_t bpt_model_classes(const bpt_model_t *m) { return m ? m->config.classes : 0; }
int64_t bpt_model_texts(const bpt_model_t *m) { return m ? bpt_task_texts(bpt_model_task(m)) : 0; }
int64_t bpt_model_inputs(const bpt_model_t *m) { return m ? m->config.d_input : 0; }
int64_t bpt_model_width(const bpt_model_t *m) { return m ? m->config.d_model : 0; }
int64_t bpt_model_step(const bpt_model_t *m) { return m ? m->state.step : 0; }

int64_t bpt_model_parameters(const bpt_model_t *m) {
    int64_t count = 0;
    if (!m || !m->runner) return 0;
    const bpt_params_t *params = bpt_runner_params(m->runner);
    for (size_t i = 0; i < params->count; ++i) count += params->items[i].count;
    return count;
}

const char *bpt_model_label(const bpt_model_t *m, int64_t label) {
    const bool known = m && bpt_model_task(m)->labelled && label >= 0 && (uint64_t)label < m->texts.names.count;
    return known ? m->texts.names.name[label] : NULL;
}

// ---- checks that the other files share

bpt_status_t bpt_model_ready(const bpt_model_t *m) {
    if (!m) return bpt_fail(BPT_ERR_USAGE, "the model is a null pointer");
    if (m->runner) return BPT_OK;
    return bpt_fail(BPT_ERR_DEVICE_LOST, "the device was lost and could not be opened again; call bpt_model_recover once it is back");
}

bpt_status_t bpt_model_need(const bpt_model_t *m, bool can, const char *what, const char *reason) {
    return can ? BPT_OK : bpt_fail(BPT_ERR_USAGE, "%s is for %s, and this is %s", what, reason, bpt_model_task(m)->model);
}

bpt_status_t bpt_model_check_finite(const float *values, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        if (!isfinite(values[i]))
            return bpt_fail(BPT_ERR_NUMERIC, "number %" PRId64 " of the result is not finite: the weights are not, or are too large", i);
    return BPT_OK;
}

bpt_status_t bpt_model_check_tokens(const bpt_model_t *m, const uint32_t *tokens, int64_t count) {
    if (count < 0) return bpt_fail(BPT_ERR_USAGE, "%" PRId64 " tokens are not possible", count);
    if (count && !tokens) return bpt_fail(BPT_ERR_USAGE, "the tokens are a null pointer");
    for (int64_t i = 0; i < count; ++i)
        if (tokens[i] >= m->config.vocab)
            return bpt_fail(BPT_ERR_USAGE, "token %" PRId64 " is %u; the model's vocabulary has %" PRId64, i, tokens[i], m->config.vocab);
    return BPT_OK;
}

bpt_status_t bpt_model_check_numbers(const float *numbers, int64_t count, const char *what) {
    for (int64_t i = 0; i < count; ++i)
        if (!isfinite(numbers[i])) return bpt_fail(BPT_ERR_USAGE, "number %" PRId64 " of %s is not finite", i, what);
    return BPT_OK;
}

// Tokens or vectors, by what the model reads.
static bpt_status_t check_input(const bpt_model_t *m, const bpt_sequences_t *s, int64_t total) {
    const int64_t inputs = m->config.d_input;
    if (m->config.ngram_max)
        return bpt_fail(BPT_ERR_USAGE,
                        "the model reads character n-grams of words beside the words: give texts to `bpt`, numbers of tokens "
                        "are not enough");
    if (!inputs && s->vectors) return bpt_fail(BPT_ERR_USAGE, "the model reads tokens, not vectors: give tokens, and NULL for vectors");
    if (!inputs) return bpt_model_check_tokens(m, s->tokens, total);
    if (s->tokens || !s->vectors)
        return bpt_fail(BPT_ERR_USAGE, "the model reads vectors of %" PRId64 " numbers: give `vectors`, and no tokens", inputs);
    if (total > INT64_MAX / inputs) return bpt_fail(BPT_ERR_USAGE, "%" PRId64 " vectors are too many", total);
    return bpt_model_check_numbers(s->vectors, total * inputs, "the vectors");
}

// Tokens of the vocabulary that is read: of a translator that of its sources.
static bpt_status_t check_source(const bpt_model_t *m, const bpt_sequences_t *s, int64_t total) {
    if (bpt_task_sides(bpt_model_task(m)) < 2) return check_input(m, s, total);
    if (!s->tokens) return bpt_fail(BPT_ERR_USAGE, "the tokens are a null pointer");
    for (int64_t i = 0; i < total; ++i)
        if (s->tokens[i] >= m->config.source_vocab)
            return bpt_fail(BPT_ERR_USAGE, "token %" PRId64 " is %u; the vocabulary of what is translated has %" PRId64, i, s->tokens[i],
                            m->config.source_vocab);
    return BPT_OK;
}

bpt_status_t bpt_model_check_read(const bpt_model_t *m, const bpt_sequences_t *s, bool targets, int64_t *total) {
    const bpt_model_config_t config = bpt_model_stack(&m->config, 0).config;
    if (!s || !s->lengths || s->count < 1)
        return bpt_fail(BPT_ERR_USAGE, "there are no sequences: tokens, lengths and count must be given");
    if (s->count % bpt_model_texts(m))
        return bpt_fail(BPT_ERR_USAGE, "%" PRId64 " sequences are no pairs: the model compares sequences 2e and 2e + 1", s->count);
    *total = 0;
    for (int64_t i = 0; i < s->count; ++i) {
        if (s->lengths[i] < 1 || s->lengths[i] > INT64_MAX - *total)
            return bpt_fail(BPT_ERR_USAGE, "sequence %" PRId64 " has length %" PRId64 "; each needs a token", i, s->lengths[i]);
        BPT_TRY(bpt_context(bpt_model_check_length(&config, s->lengths[i] > 1 && targets ? s->lengths[i] - 1 : s->lengths[i]),
                            "sequence %" PRId64, i));
        *total += s->lengths[i];
    }
    return check_source(m, s, *total);
}

bpt_status_t bpt_model_check_sequences(const bpt_model_t *m, const bpt_sequences_t *s, bool targets, int64_t *total) {
    if (bpt_task_sides(bpt_model_task(m)) == 2)
        return bpt_fail(BPT_ERR_USAGE,
                        "this is %s, which reads a text and its translation: use bpt_model_translate or "
                        "bpt_model_score_translations",
                        bpt_model_task(m)->model);
    return bpt_model_check_read(m, s, targets, total);
}
