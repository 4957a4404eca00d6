// `bpt info`: what a run or a model file is. Opens no device; reads the weights once, for their checksum.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/json.h"
#include "bpt/paths.h"
#include "bpt/safetensors.h"
#include "models/config/config_json.h"
#include "models/config/config_names.h"
#include "models/config/params_of.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/output.h"
#include "tools/bpt/report/progress.h"
#include "tools/bpt/runs/trained.h"

typedef struct {
    cli_trained_t trained;
    char *weights;  // the model file
    bpt_checksum_t sum;
    int64_t parameters;
    char types[64];    // of the numbers in the file, each once
    char written[32];  // when, in UTC
} info_t;

// ---- Finding out
static bpt_status_t count_parameters(info_t *info) {
    bpt_params_t params;
    BPT_TRY(bpt_model_params(&info->trained.config, (bpt_frozen_t){0}, &params));
    for (size_t i = 0; i < params.count; ++i) info->parameters += params.items[i].count;
    bpt_params_free(&params);
    return BPT_OK;
}

static bpt_status_t read_sum(void *user, const char *path, bool non_finite, bpt_checksum_t *sum) {
    info_t *info = user;
    (void)non_finite;
    BPT_TRY(bpt_checksum_read(path, &info->sum));
    if (sum) *sum = info->sum;
    return BPT_OK;
}

static bpt_status_t list_types(info_t *info) {
    bpt_safetensors_t *file;
    size_t used = 0;
    BPT_TRY(bpt_safetensors_open(info->weights, &file));
    for (size_t i = 0; i < bpt_safetensors_count(file); ++i) {
        const char *type = bpt_safetensors_dtype_name(bpt_safetensors_at(file, i)->dtype);
        if (strstr(info->types, type) || used + strlen(type) + 3 > sizeof info->types) continue;
        used += (size_t)snprintf(info->types + used, sizeof info->types - used, "%s%s", used ? ", " : "", type);
    }
    bpt_safetensors_close(file);
    return BPT_OK;
}

static bpt_status_t open_run(const cli_options_t *o, info_t *info) {
    BPT_TRY(cli_trained_open_files(o, &info->trained));
    BPT_TRY(cli_trained_open_texts(o, &info->trained));
    BPT_TRY(bpt_path_format(&info->weights, "%s/%s", info->trained.checkpoint.folder, BPT_MODEL_FILE));
    return bpt_checkpoint_read_model(&info->trained.checkpoint, read_sum, info);
}

static bpt_status_t open_file(const cli_options_t *o, info_t *info) {
    const char *path = o->arguments[0];
    if (cli_option_source(o, "checkpoint") != CLI_FROM_DEFAULT)
        return bpt_fail(BPT_ERR_USAGE, "%s is a model file, which has no checkpoints; leave --checkpoint out", path);
    BPT_TRY(cli_trained_open_exported(path, &info->trained));
    BPT_TRY(bpt_path_format(&info->weights, "%s", path));
    return read_sum(info, path, false, NULL);
}

static bpt_status_t find_out(const cli_options_t *o, info_t *info) {
    bpt_path_info_t file;
    struct tm time;
    BPT_TRY(bpt_file_exists(o->arguments[0]) ? open_file(o, info) : open_run(o, info));
    const time_t seconds = bpt_path_info(info->weights, &file) ? (time_t)file.seconds : -1;
    if (seconds >= 0 && gmtime_r(&seconds, &time))
        strftime(info->written, sizeof info->written, "%Y-%m-%dT%H:%M:%SZ", &time);
    BPT_TRY(list_types(info));
    return count_parameters(info);
}

// ---- As JSON
static bpt_status_t add_texts(const info_t *info, json_t *o) {
    const cli_trained_t *t = &info->trained;
    const int64_t words = bpt_vocab_size(t->vocab);
    BPT_TRY(bpt_json_set_text(o, "unit", bpt_unit_names[t->unit]));
    BPT_TRY(bpt_json_set_bool(o, "lower", t->stored.data.lower));
    if (words) BPT_TRY(bpt_json_set_int(o, "vocabulary", words));
    if (t->source_vocab) BPT_TRY(bpt_json_set_int(o, "source_vocabulary", bpt_vocab_size(t->source_vocab)));
    if (!bpt_model_labels(&t->config)) return BPT_OK;
    json_t *labels = json_array();
    if (json_object_set_new(o, "labels", labels)) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory");
    for (int64_t i = 0; i < (int64_t)t->labels.count; ++i)
        if (json_array_append_new(labels, json_string(t->labels.name[i]))) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory");
    return BPT_OK;
}

// What the weights have seen; a file of weights alone does not know it.
static bpt_status_t add_training(const info_t *info, json_t *o) {
    const cli_trained_t *t = &info->trained;
    const bpt_run_state_t *s = &t->checkpoint.state;
    if (!t->run) return BPT_OK;
    BPT_TRY(bpt_json_set_int(o, "step", s->step));
    BPT_TRY(bpt_json_set_int(o, "steps", t->stored.train.steps));
    BPT_TRY(bpt_json_set_real(o, "epoch", s->epoch));
    BPT_TRY(bpt_json_set_int(o, "tokens", s->tokens));
    BPT_TRY(bpt_json_set_real(o, "seconds", s->seconds));
    BPT_TRY(bpt_json_set_u64(o, "seed", s->seed));
    BPT_TRY(bpt_json_set_text(o, "version", s->version));
    BPT_TRY(bpt_json_set_text(o, "precision", bpt_precision_names[t->stored.train.precision]));
    if (t->stored.data.paths.count) BPT_TRY(cli_option_to_json(&t->stored, cli_option_find(CLI_TRAIN, "data"), o));
    if (*s->data) BPT_TRY(bpt_json_set_text(o, "data_fingerprint", s->data));
    if (!isfinite(s->best_loss)) return BPT_OK;
    BPT_TRY(bpt_json_set_text(o, "best_by", bpt_best_by_names[t->stored.train.best_by]));
    BPT_TRY(bpt_json_set_real(o, "best", fabs(s->best_loss)));
    return bpt_json_set_int(o, "best_step", s->best_step);
}

static bpt_status_t fill(const info_t *info, const char *path, json_t *o) {
    const cli_trained_t *t = &info->trained;
    char sum[24];
    json_t *model;
    BPT_TRY(cli_json_set_bytes(o, "path", path, strlen(path)));
    BPT_TRY(bpt_json_set_text(o, "kind", t->run ? "run" : "model file"));
    BPT_TRY(cli_json_set_bytes(o, "weights", info->weights, strlen(info->weights)));
    BPT_TRY(bpt_json_set_text(o, "types", info->types));
    BPT_TRY(bpt_json_set_int(o, "bytes", (int64_t)info->sum.bytes));
    snprintf(sum, sizeof sum, "%016" PRIx64, info->sum.xxh3);
    BPT_TRY(bpt_json_set_text(o, "xxh3", sum));
    if (*info->written) BPT_TRY(bpt_json_set_text(o, "written", info->written));
    BPT_TRY(bpt_json_set_int(o, "parameters", info->parameters));
    BPT_TRY(bpt_model_config_to_json(&t->config, &model));
    if (json_object_set_new(o, "model", model)) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory");
    BPT_TRY(add_texts(info, o));
    return add_training(info, o);
}

static bpt_status_t print_json(const info_t *info, const char *path) {
    json_t *o = json_object();
    bpt_status_t status = o ? fill(info, path, o) : bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory");
    if (status == BPT_OK) status = cli_print_json(o, 2);
    json_decref(o);
    return status;
}

// ---- As text
enum { SHOWN_LABELS = 8 };

static bpt_status_t print_model(const info_t *info) {
    json_t *model, *value;
    const char *key, *between = "";
    BPT_TRY(bpt_model_config_to_json(&info->trained.config, &model));
    printf("model       %s for %s, %" PRId64 " parameters\nshape       ", json_string_value(json_object_get(model, "model")),
           json_string_value(json_object_get(model, "task")), info->parameters);
    json_object_foreach(model, key, value) {
        if (!strcmp(key, "model") || !strcmp(key, "task")) continue;
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        if (json_is_string(value))
            printf("%s%s %s", between, key, json_string_value(value));
        else
            printf("%s%s %s", between, key, json_is_true(value) ? "yes" : json_is_false(value) ? "no" : text ? text : "?");
        free(text);
        between = ", ";
    }
    printf("\n");
    json_decref(model);
    return BPT_OK;
}

static void print_texts(const cli_trained_t *t) {
    const int64_t words = bpt_vocab_size(t->vocab);
    printf("reads       %s%s", bpt_unit_names[t->unit], t->stored.data.lower ? ", in lower case" : "");
    if (words) printf(", vocabulary of %" PRId64, words);
    if (t->source_vocab) printf(", of sources %" PRId64, bpt_vocab_size(t->source_vocab));
    printf("\n");
    if (!bpt_model_labels(&t->config)) return;
    printf("labels      %" PRId64 ":", (int64_t)t->labels.count);
    for (size_t i = 0; i < t->labels.count && i < SHOWN_LABELS; ++i) printf(" %s", t->labels.name[i]);
    printf("%s\n", t->labels.count > SHOWN_LABELS ? " .." : "");
}

static void print_training(const cli_trained_t *t) {
    const bpt_run_state_t *s = &t->checkpoint.state;
    char time[32];
    cli_duration_text(s->seconds, time, sizeof time);
    printf("trained     step %" PRId64 " of %" PRId64 ", epoch %.2f, %" PRId64 " tokens, %s, seed %" PRIu64 ", %s, by bpt %s\n", s->step,
           t->stored.train.steps, s->epoch, s->tokens, time, s->seed, bpt_precision_names[t->stored.train.precision], s->version);
    for (size_t i = 0; i < t->stored.data.paths.count; ++i) printf("%-12s%s\n", i ? "" : "data", t->stored.data.paths.item[i]);
    if (isfinite(s->best_loss))
        printf("best        validation %s %.4f at step %" PRId64 "\n", bpt_best_by_names[t->stored.train.best_by], fabs(s->best_loss),
               s->best_step);
}

static bpt_status_t print_text(const info_t *info, const char *path) {
    const cli_trained_t *t = &info->trained;
    printf("%s: %s\n", path, t->run ? "a run" : "a model file");
    BPT_TRY(print_model(info));
    print_texts(t);
    if (t->run) print_training(t);
    printf("weights     %s, %s, %" PRIu64 " bytes, xxh3 %016" PRIx64 "%s, written %s\n", info->weights, info->types, info->sum.bytes,
           info->sum.xxh3, t->run && t->checkpoint.state.sums.known ? " as the checkpoint says" : "", info->written);
    return cli_flush_output();
}

static bpt_status_t run_info(cli_options_t *o) {
    info_t info = {0};
    bpt_status_t status = find_out(o, &info);
    if (status == BPT_OK) status = o->use.json ? print_json(&info, o->arguments[0]) : print_text(&info, o->arguments[0]);
    bpt_free(info.weights);
    cli_trained_close(&info.trained);
    return status;
}

const cli_command_t cli_command_info = {
    .bit = CLI_INFO,
    .name = "info",
    .arguments = "RUN|FILE",
    .purpose = "say what a run or a model file is",
    .description =
        "Prints the model's kind, shape and number of parameters, what it reads, its labels, how long it was trained and on what, its "
        "best score, and size, checksum and date of the weights, of a run (--checkpoint chooses which) or of a file that `bpt "
        "export` wrote. All files that belong together are checked as other commands check them. No device is opened.",
    .examples = "  bpt info run\n  bpt info run --checkpoint latest --json\n  bpt info model.safetensors\n",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_info,
};
