// A model as a folder that Hugging Face's transformers loads: model.safetensors, config.json, the model and the tokenizer in Python
// (tools/huggingface), and the tokenizer's files.
#ifndef BPT_TOOLS_EXPORT_HF_H
#define BPT_TOOLS_EXPORT_HF_H

#include "tools/bpt/runs/trained.h"

// The files of tools/huggingface; ended by a name of NULL. Made by tools/cmake/embed_files.cmake.
typedef struct {
    const char *name, *text;
} cli_hf_file_t;
extern const cli_hf_file_t cli_hf_files[];

// The folder appears under its name with all its files, or not at all. BPT_ERR_USAGE: the model is none that the files in Python can
// compute, `packed` (numbers of 8 bits) is asked for, or the folder has files already.
bpt_status_t cli_export_hf(const cli_trained_t *trained, bool packed, const char *folder) BPT_MUST_USE;

#endif
