// What export, import and average share: a run directory that nobody had before, and model files. The metadata of a model file beyond
// `format` and `config` is `unit` (byte, char, word, subword, ids), `lower` (true, false), `eval_context` (a number), `vocab` and `labels`
// (the text of vocab.txt and labels.txt), `subword_model` (the bytes of subword.model in base64), `sentencepiece` (the
// version that made the tokens), `reading` (the options of a run that say how examples are read, as JSON). All may be absent.
#ifndef BPT_TOOLS_TRANSFER_H
#define BPT_TOOLS_TRANSFER_H

#include "models/train/run_dir.h"

enum { CLI_MAX_SIDE_FILE_BYTES = 64 << 20 };

// The run directory that `command` makes; BPT_ERR_USAGE where there is one already.
bpt_status_t cli_new_run(const char *command, const char *path, bpt_run_t **out) BPT_MUST_USE;

#endif
