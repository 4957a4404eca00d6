// `bpt export`: the weights of a run, its vocabulary and labels, as a file or a folder for other programs. Knows no device.
#include "bpt/log.h"
#include "tools/bpt/commands/export_file.h"
#include "tools/bpt/commands/export_hf.h"
#include "tools/bpt/options/command.h"

enum { SAFETENSORS, HF };  // --format

static bpt_status_t export(const cli_options_t *o, const cli_trained_t *t) {
    const bool packed = o->use.weights == BPT_WEIGHTS_Q8;
    BPT_TRY((int)o->tool.format == HF ? cli_export_hf(t, packed, o->use.file) : cli_export_file(t, "bpt", packed, o->use.file));
    bpt_info("%s -> %s", t->checkpoint.folder, o->use.file);
    return BPT_OK;
}

static bpt_status_t run_export(cli_options_t *o) {
    if (!*o->use.file) return bpt_fail(BPT_ERR_USAGE, "bpt export needs --out FILE");
    cli_trained_t trained;
    BPT_TRY(cli_trained_open_files(o, &trained));
    const bpt_status_t status = export(o, &trained);
    cli_trained_close(&trained);
    return status;
}

const cli_command_t cli_command_export = {
    .bit = CLI_EXPORT,
    .name = "export",
    .arguments = "RUN",
    .purpose = "write a trained model as one safetensors file, or as a folder for Hugging Face's transformers",
    .description = "The file holds the weights under their names. Its metadata holds the model's configuration, vocabulary and "
                   "labels, and how examples are read (columns, --truncate and the like). Any safetensors library can read it. "
                   "With --weights q8 matrices are tensors of bytes, and the scales of their blocks are tensors beside them; such a file "
                   "is for use, not for training.\n"
                   "With --format hf it writes a folder that transformers loads with trust_remote_code=True: the same weights, the "
                   "configuration, the tokenizer, and the model in PyTorch (docs/huggingface.md). Language models, classifiers and "
                   "taggers of every kind but those that read trees can be written so.",
    .examples = "  bpt export run --out model.safetensors\n  bpt export run --weights q8 --out small.safetensors\n  bpt export run "
                "--checkpoint latest --out model.safetensors\n  bpt export run --format hf --out folder\n",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_export,
};
