// The weights of a run with all that is needed to use them, as one safetensors file.
#ifndef BPT_TOOLS_EXPORT_FILE_H
#define BPT_TOOLS_EXPORT_FILE_H

#include "tools/bpt/runs/trained.h"

// `format` is the metadata of this name: whose file it is. packed: matrices as numbers of 8 bits. The file appears under its name only when
// all that went into it was what the run lists.
bpt_status_t cli_export_file(const cli_trained_t *trained, const char *format, bool packed, const char *out) BPT_MUST_USE;

#endif
