// A model as one safetensors file (see export_file.h).
#include "tools/bpt/commands/export_file.h"

#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/json.h"
#include "bpt/safetensors.h"
#include "models/config/config_json.h"
#include "models/config/params_of.h"
#include "tools/bpt/corpus/side_files.h"

static bpt_status_t format_reading(const cli_options_t *stored, char **out) {
    json_t *object = json_object();
    bpt_status_t status = object ? BPT_OK : bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing the metadata");
    if (status == BPT_OK) status = cli_options_to_file(stored, object);
    if (status == BPT_OK) status = bpt_json_format(object, 0, out);
    json_decref(object);
    return status;
}

static bpt_status_t add_metadata(const cli_trained_t *t, const char *format, bpt_safetensors_writer_t *writer) {
    const bool lower = t->stored.data.lower;
    char context[24], *config = NULL, *vocab = NULL, *source = NULL, *subwords = NULL, *labels = NULL, *reading = NULL;
    snprintf(context, sizeof context, "%" PRId64, t->stored.data.eval_context ? t->stored.data.eval_context : t->stored.data.context);
    bpt_status_t status = bpt_model_config_format(&t->config, &config);
    if (status == BPT_OK) status = cli_run_text(&t->checkpoint, BPT_RUN_VOCAB, t->unit, lower, &vocab);
    if (status == BPT_OK) status = cli_run_text(&t->checkpoint, BPT_RUN_SOURCE_VOCAB, t->unit, lower, &source);
    if (status == BPT_OK) status = cli_run_subwords(&t->checkpoint, &subwords);
    if (status == BPT_OK) status = cli_run_text(&t->checkpoint, BPT_RUN_LABELS, t->unit, lower, &labels);
    if (status == BPT_OK) status = format_reading(&t->stored, &reading);
    const char *const metadata[][2] = {{"format", format},
                                       {"config", config},
                                       {"unit", bpt_unit_names[t->unit]},
                                       {"lower", lower ? "true" : "false"},
                                       {"eval_context", context},
                                       {"vocab", vocab},
                                       {BPT_SOURCE_VOCAB_KEY, source},
                                       {BPT_SUBWORD_KEY, subwords},
                                       {"labels", labels},
                                       {CLI_READING_KEY, reading},
                                       {BPT_SENTENCEPIECE_KEY, *t->stored.data.sentencepiece ? t->stored.data.sentencepiece : NULL}};
    for (size_t i = 0; i < BPT_COUNT(metadata) && status == BPT_OK; ++i)
        if (metadata[i][1]) status = bpt_safetensors_writer_metadata(writer, metadata[i][0], metadata[i][1]);
    bpt_free(config);
    bpt_free(vocab);
    bpt_free(source);
    bpt_free(subwords);
    bpt_free(labels);
    bpt_free(reading);
    return status;
}

typedef struct {
    bpt_params_t params;
    bpt_safetensors_writer_t *writer;
    bool packed;
} copy_t;

static bpt_status_t copy_tensors(void *user, const char *path, bool non_finite, bpt_checksum_t *sum) {
    const copy_t *c = user;
    return bpt_params_copy(&c->params, path, non_finite, c->packed, c->writer, sum);
}

bpt_status_t cli_export_file(const cli_trained_t *t, const char *format, bool packed, const char *out) {
    copy_t copy = {.packed = packed};
    bpt_status_t status = bpt_model_params(&t->config, (bpt_frozen_t){0}, &copy.params);
    if (status == BPT_OK) status = bpt_safetensors_writer_create(out, &copy.writer);
    if (status == BPT_OK) status = add_metadata(t, format, copy.writer);
    if (status == BPT_OK) status = bpt_checkpoint_read_model(&t->checkpoint, copy_tensors, &copy);
    if (status == BPT_OK) status = bpt_safetensors_writer_finish(copy.writer);
    bpt_safetensors_writer_destroy(copy.writer);
    bpt_params_free(&copy.params);
    return status;
}
