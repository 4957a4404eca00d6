// `bpt export`: one safetensors file with the weights of a run, its vocabulary and labels. Knows no device.
#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/log.h"
#include "bpt/safetensors.h"
#include "models/config/config_json.h"
#include "models/config/params_of.h"
#include "tools/bpt/corpus/side_files.h"
#include "tools/bpt/options/command.h"
#include "tools/bpt/runs/trained.h"

static bpt_status_t format_reading(const cli_options_t *stored, char **out) {
    json_t *object = json_object();
    bpt_status_t status = object ? BPT_OK : bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing the metadata");
    if (status == BPT_OK) status = cli_options_to_file(stored, object);
    if (status == BPT_OK) status = bpt_json_format(object, 0, out);
    json_decref(object);
    return status;
}

static bpt_status_t add_metadata(const cli_trained_t *t, bpt_safetensors_writer_t *writer) {
    const bool lower = t->stored.data.lower;
    char context[24], *config = NULL, *vocab = NULL, *source = NULL, *subwords = NULL, *labels = NULL, *reading = NULL;
    snprintf(context, sizeof context, "%" PRId64, t->stored.data.eval_context ? t->stored.data.eval_context : t->stored.data.context);
    bpt_status_t status = bpt_model_config_format(&t->config, &config);
    if (status == BPT_OK) status = cli_run_text(&t->checkpoint, BPT_RUN_VOCAB, t->unit, lower, &vocab);
    if (status == BPT_OK) status = cli_run_text(&t->checkpoint, BPT_RUN_SOURCE_VOCAB, t->unit, lower, &source);
    if (status == BPT_OK) status = cli_run_subwords(&t->checkpoint, &subwords);
    if (status == BPT_OK) status = cli_run_text(&t->checkpoint, BPT_RUN_LABELS, t->unit, lower, &labels);
    if (status == BPT_OK) status = format_reading(&t->stored, &reading);
    const char *const metadata[][2] = {{"format", "bpt"},
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

// The file appears under its name only when all that went into it was what the run lists.
static bpt_status_t export(const cli_trained_t *t, bool packed, const char *out) {
    copy_t copy = {.packed = packed};
    bpt_status_t status = bpt_model_params(&t->config, (bpt_frozen_t){0}, &copy.params);
    if (status == BPT_OK) status = bpt_safetensors_writer_create(out, &copy.writer);
    if (status == BPT_OK) status = add_metadata(t, copy.writer);
    if (status == BPT_OK) status = bpt_checkpoint_read_model(&t->checkpoint, copy_tensors, &copy);
    if (status == BPT_OK) status = bpt_safetensors_writer_finish(copy.writer);
    if (status == BPT_OK) bpt_info("%s -> %s", t->checkpoint.folder, out);
    bpt_safetensors_writer_destroy(copy.writer);
    bpt_params_free(&copy.params);
    return status;
}

static bpt_status_t run_export(cli_options_t *o) {
    if (!*o->use.file) return bpt_fail(BPT_ERR_USAGE, "bpt export needs --out FILE");
    cli_trained_t trained;
    BPT_TRY(cli_trained_open_files(o, &trained));
    const bpt_status_t status = export(&trained, o->use.weights == BPT_WEIGHTS_Q8, o->use.file);
    cli_trained_close(&trained);
    return status;
}

const cli_command_t cli_command_export = {
    .bit = CLI_EXPORT,
    .name = "export",
    .arguments = "RUN",
    .purpose = "write a trained model as one safetensors file",
    .description = "The file holds the weights under their names. Its metadata holds the model's configuration, vocabulary and "
                   "labels, and how examples are read (columns, --truncate and the like). Any safetensors library can read it. "
                   "With --weights q8 matrices are tensors of bytes, and the scales of their blocks are tensors beside them; such a file "
                   "is for use, not for training.",
    .examples = "  bpt export run --out model.safetensors\n  bpt export run --weights q8 --out small.safetensors\n  bpt export run "
                "--checkpoint latest --out model.safetensors\n",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_export,
};
