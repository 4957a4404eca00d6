// `bpt doctor --compile`: every kernel that a device would use, compiled by the device's compiler, and what each takes. Nothing runs.
#ifndef BPT_TOOLS_COMPILE_CHECK_H
#define BPT_TOOLS_COMPILE_CHECK_H

#include "tools/bpt/options/options.h"

// Prints a table, or JSON. BPT_ERR_UNSUPPORTED when a kernel does not compile, BPT_ERR_UNAVAILABLE when there is nothing to compile for.
bpt_status_t cli_compile_check(const cli_options_t *o) BPT_MUST_USE;

#endif
