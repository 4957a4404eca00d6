// `bpt doctor --ledger FILE`: the kernels held against the ledger of the repository, or the ledger renewed.
#ifndef BPT_TOOLS_LEDGER_CHECK_H
#define BPT_TOOLS_LEDGER_CHECK_H

#include "tools/bpt/options/options.h"

// Compares sources, with --compile also what compilers say. Prints what changed; BPT_ERR_INPUT when something did, or a kernel breaks a
// limit that it is not known to break. With --renew the file is written: only what changed is compiled.
bpt_status_t cli_ledger_check(const cli_options_t *o) BPT_MUST_USE;

#endif
