// `bpt export`: one safetensors file with the weights of a run, its vocabulary and labels. Knows no model, only files.
#include <stdio.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "bpt/safetensors.h"
#include "tools/bpt/program.h"
#include "tools/bpt/trained.h"
#include "tools/bpt/transfer.h"

enum { BLOCK_BYTES = 1 << 20 };

static bpt_status_t add_file(bpt_safetensors_writer_t *writer, const char *key, const char *path) {
    char *text;
    size_t length;
    if (!bpt_file_exists(path)) return BPT_OK;
    BPT_TRY(bpt_file_read(path, CLI_MAX_SIDE_FILE_BYTES, &text, &length));
    const bpt_status_t status = bpt_context(bpt_safetensors_writer_metadata(writer, key, text), "%s", path);
    bpt_free(text);
    return status;
}

static bpt_status_t declare(const cli_trained_t *t, const bpt_safetensors_t *from, bpt_safetensors_writer_t *to) {
    char context[24];
    BPT_TRY(bpt_safetensors_writer_metadata(to, "format", "bpt"));
    BPT_TRY(bpt_safetensors_writer_metadata(to, "config", bpt_safetensors_metadata(from, "config")));
    BPT_TRY(bpt_safetensors_writer_metadata(to, "unit", cli_unit_names[t->unit]));
    BPT_TRY(bpt_safetensors_writer_metadata(to, "lower", t->stored.data.lower ? "true" : "false"));
    snprintf(context, sizeof context, "%lld",
             (long long)(t->stored.data.eval_context ? t->stored.data.eval_context : t->stored.data.context));
    BPT_TRY(bpt_safetensors_writer_metadata(to, "eval_context", context));
    BPT_TRY(add_file(to, "vocab", bpt_run_vocab_path(t->run)));
    BPT_TRY(add_file(to, "labels", bpt_run_labels_path(t->run)));
    for (size_t i = 0; i < bpt_safetensors_count(from); ++i) {
        const bpt_safetensors_tensor_t *tensor = bpt_safetensors_at(from, i);
        BPT_TRY(bpt_safetensors_writer_declare(to, tensor->name, tensor->dtype, tensor->rank, tensor->shape));
    }
    return BPT_OK;
}

static bpt_status_t copy_tensors(const bpt_safetensors_t *from, bpt_safetensors_writer_t *to, void *block) {
    for (size_t i = 0; i < bpt_safetensors_count(from); ++i) {
        const bpt_safetensors_tensor_t *tensor = bpt_safetensors_at(from, i);
        const int64_t size = (int64_t)bpt_safetensors_dtype_size(tensor->dtype), most = BLOCK_BYTES / size;
        for (int64_t first = 0; first < tensor->count; first += most) {
            const int64_t count = tensor->count - first < most ? tensor->count - first : most;
            BPT_TRY(bpt_safetensors_read(from, tensor, first, count, block));
            BPT_TRY(bpt_safetensors_writer_data(to, block, (size_t)(count * size)));
        }
    }
    return BPT_OK;
}

static bpt_status_t write_file(const cli_trained_t *t, const bpt_safetensors_t *from, const char *out) {
    bpt_safetensors_writer_t *writer;
    void *block;
    BPT_TRY(bpt_safetensors_writer_create(out, &writer));
    bpt_status_t status = bpt_alloc(BLOCK_BYTES, 1, &block);
    if (status == BPT_OK) {
        status = declare(t, from, writer);
        if (status == BPT_OK) status = copy_tensors(from, writer, block);
        if (status == BPT_OK) status = bpt_safetensors_writer_finish(writer);
        bpt_free(block);
    }
    bpt_safetensors_writer_destroy(writer);
    return status;
}

static bpt_status_t run_export(cli_options_t *o) {
    if (!*o->use.file) return bpt_fail(BPT_ERR_USAGE, "bpt export needs --out FILE");
    cli_trained_t trained;
    char *path = NULL;
    bpt_safetensors_t *from = NULL;
    BPT_TRY(cli_trained_open_files(o, &trained));
    bpt_status_t status = bpt_path_format(&path, "%s/%s", trained.folder, BPT_MODEL_FILE);
    if (status == BPT_OK) status = bpt_safetensors_open(path, &from);
    if (status == BPT_OK) status = write_file(&trained, from, o->use.file);
    if (status == BPT_OK) bpt_info("%s -> %s", path, o->use.file);
    bpt_safetensors_close(from);
    bpt_free(path);
    cli_trained_close(&trained);
    return status;
}

const cli_command_t cli_command_export = {
    .bit = CLI_EXPORT,
    .name = "export",
    .arguments = "RUN",
    .purpose = "write a trained model as one safetensors file",
    .description =
        "The file has the weights under their names, and in its metadata the model's configuration, vocabulary and labels; any safetensors "
        "library reads it.",
    .examples = "  bpt export run --out model.safetensors\n  bpt export run --checkpoint latest --out model.safetensors\n",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_export,
};
