// The ways of `bpt generate` that have files of their own. Knows no arithmetic.
#ifndef BPT_TOOLS_GENERATE_H
#define BPT_TOOLS_GENERATE_H

#include "tools/bpt/commands/continuation.h"

// --prompts: a line of JSON for every line of the file, in order, as the lines come (generate_prompts.c).
bpt_status_t cli_generate_prompts(cli_writer_t *writer) BPT_MUST_USE;
// --interactive (generate_interactive.c).
bpt_status_t cli_generate_interactive(cli_writer_t *writer) BPT_MUST_USE;

#endif
